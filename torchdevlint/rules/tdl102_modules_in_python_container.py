"""A Module keeps modules or parameters in a plain list, tuple or dict, where it does not find them.

## What it does
Finds attributes of a `torch.nn.Module` that hold modules with parameters, or parameters, in a Python list, tuple or
dict: `self.layers = [nn.Linear(8, 8) for _ in range(3)]`. The report stands at the assignment of the attribute, also
when the container is filled later, by `append`, by index or by key, or in a method that only the `__init__` of a base
calls; or at `setattr(self, f"block{i}", blocks)`, under a name that is worked out; or at `down.block = blocks` of an
`nn.Module()` that another class puts together; or at the `return` of a method that a class writes for the `__init__` of
its base, which keeps the list. A comma at the end makes a tuple of one: `self.layer = nn.Linear(8, 8),`.

## Why is this bad?
A Module registers what is assigned to one of its attributes *directly*; it does not look into containers. So
`model.to("cuda")` leaves these layers on the CPU, and the first batch raises

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

or, from a convolution, `Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same`.
On a machine without an accelerator it is silent and just as wrong: `parameters()` does not list them, so the optimizer
never trains them; `state_dict()` does not save them; `eval()`, `half()` and `requires_grad_()` pass them over. Where
nothing else is registered, the optimizer refuses with `ValueError: optimizer got an empty parameter list`. Where the
attribute is a module already, nothing but a Module replaces it:

    TypeError: cannot assign 'tuple' as child module 'layer' (torch.nn.Module or None expected)

## Example
```python
class Mlp(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = [nn.Linear(8, 8) for _ in range(depth)]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x
```

## Use instead
```python
class Mlp(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x
```
`nn.ModuleDict`, `nn.ParameterList` and `nn.ParameterDict` do the same for the other containers. They do not nest
themselves: a list of lists becomes a `ModuleList` of `ModuleList`s.

## Fix safety
The fix puts the list or dict that is written out into the class that registers what is in it, under the name that the
file has for it. It is unsafe: the state dict has more keys, which old checkpoints lack, and more is trained. There is
none where the attribute is assigned twice, where lists are in lists, or where it is used in a way that only a list or
dict can be.

## What it cannot see
Modules that a function of another file makes of anything but a layer that it is given, unless it is called like one
that builds layers (`build_block`), or that come as an argument of which neither an annotation nor a test says that it
holds modules; files that do not contain the word `torch`. What
`__init__` hands on to another constructor may be registered there. A list of one module that was given as an argument,
`self.teacher = [teacher]`, is the usual way to keep a module *out* of the registry on purpose, and is left alone; so is
one module that is moved in the list and has an optimizer of its own. So are modules without parameters, such as
`nn.ReLU`, modules which are registered under another name as well, be it by a Module of the project that they are given
to (`Stack(self.layers)`), modules that have nothing but parameters, which a `ParameterList` of the class has as well,
and classes that override `_apply`. Modules of this file that hold constant buffers only, and that the class itself
moves before each use, are left alone too; layers with parameters that are moved so compute in the right place, but are
still neither trained nor saved.

## References
- [torch.nn.ModuleList](https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html) and
  [torch.nn.ParameterList](https://docs.pytorch.org/docs/stable/generated/torch.nn.ParameterList.html)
- catalyst-team/catalyst@f6e292cb, cornellius-gp/gpytorch@2a5ce3aa, cornellius-gp/gpytorch@ad31d8e1,
  dmlc/dgl@f7039418, pykeen/pykeen@311120f0
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.modules import ModulesInContainer
from torchdevlint.model import Applicability, Edit, Fix, Note, Report, Severity
from torchdevlint.rules.edits import added_after, added_before, fix, replaced

SEVERITY = Severity.ERROR
EXECUTION = "registration"
PROBE = '''
"""Layers in a Python list are neither moved nor listed by the Module that holds them; those of a ModuleList are."""
import torch

NEEDS = "device"
OBSERVES = {"layer moved": False, "parameters": 0, "keys": 0}


class Mlp(torch.nn.Module):
    def __init__(self, container):
        super().__init__()
        self.layers = container([torch.nn.Linear(2, 2)])


def flagged(device, container=list):
    model = Mlp(container).to(device)
    return {
        "layer moved": model.layers[0].weight.device.type == device.type,
        "parameters": len(list(model.parameters())),
        "keys": len(model.state_dict()),
    }


def repaired(device):
    return flagged(device, torch.nn.ModuleList)
'''


def check(fact: ModulesInContainer) -> Iterator[Report]:
    attribute = f"{fact.holder}.{fact.attribute}"
    given = () if fact.returned_at is None else (Note(f"the {fact.container} is returned here", fact.returned_at),)
    used = () if fact.used_at is None else (Note(f"`{attribute}` is used here", fact.used_at),)
    taken = () if fact.instead_of is None else (Note(f"`{attribute}` is registered as a module here", fact.instead_of),)
    yield Report(
        span=fact.at,
        message=_message(fact, attribute),
        symptom=_symptom(fact),
        help=_help(fact),
        notes=(*taken, *given, *used),
        fix=_fix(fact),
    )


def _message(fact: ModulesInContainer, attribute: str) -> str:
    if fact.instead_of is not None:
        return (
            f"a plain {fact.container} of {fact.holds} cannot take the place of the module that `{attribute}` is "
            f"in `{fact.class_name}`"
        )
    return f"`{attribute}` is a plain {fact.container} of {fact.holds}, unregistered in `{fact.class_name}`"


def _symptom(fact: ModulesInContainer) -> str:
    if fact.instead_of is not None:
        return (
            f"TypeError: cannot assign '{fact.container}' as child module '{fact.attribute}' "
            "(torch.nn.Module or None expected)"
        )
    return (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, "
        f"cuda:0 and cpu! Anywhere: the {fact.holds} are neither trained nor saved"
    )


def _help(fact: ModulesInContainer) -> str:
    if fact.comma:
        return f"the comma at the end makes a tuple: drop it, or keep several in `{fact.suggestion}`"
    return f"keep them in `{fact.suggestion}`; `.to()`, `parameters()` and `state_dict()` then reach them"


def _fix(fact: ModulesInContainer) -> Fix | None:
    at = fact.written_at
    if at is None or fact.spelled is None:
        return None
    edits: tuple[Edit, ...] = (added_before(at, f"{fact.spelled}("), added_after(at, ")"))
    if fact.written in ("[]", "list()"):
        edits = (replaced(at, f"{fact.spelled}()"),)
    return fix(Applicability.UNSAFE, f"keep them in `{fact.spelled}`", *edits)
