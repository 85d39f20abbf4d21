"""A parameter is moved after it was made, and what the Module gets is no parameter any more.

## What it does
Finds `self.w = nn.Parameter(...).to(device)`, `.cuda()` and their kin in a `torch.nn.Module`: the move stands outside
of `nn.Parameter(...)`.

## Why is this bad?
`Tensor.to` returns the tensor itself when there is nothing to do, and a new tensor when there is. On the CPU the
attribute is the parameter, and everything works. On an accelerator it is a plain tensor which was *computed* from the
parameter: the Module does not register it. Nothing raises. `parameters()` does not list it, so the optimizer never
trains it; `state_dict()` does not hold it, so a checkpoint written on the accelerator lacks the key, and loading one
from the CPU fails with `Unexpected key(s) in state_dict`. Where the Module has a Parameter under that name already, as
in `self.w = self.w.to(device)`, the assignment raises: `cannot assign 'torch.cuda.FloatTensor' as parameter 'w'`.

## Example
```python
class Prompt(nn.Module):
    def __init__(self, length, device):
        super().__init__()
        self.tokens = nn.Parameter(torch.zeros(length, 8)).to(device)
```

## Use instead
```python
class Prompt(nn.Module):
    def __init__(self, length, device):
        super().__init__()
        self.tokens = nn.Parameter(torch.zeros(length, 8, device=device))
```
Best of all, leave the device out of `__init__`: `model.to(device)` moves the parameter in place.

## Fix safety
The fix moves the tensor before it is wrapped. It is unsafe: on accelerators the repaired Module has one more parameter,
and its state dict one more key, which checkpoints that were written there lack.

## What it cannot see
A parameter that gets a name of its own first and is moved in a helper of another file, or in one arm of a conditional
expression. `.double()` and other changes of dtype alone lose the parameter on every machine, and are left out.

## References
- [torch.nn.parameter.Parameter](https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html)
- [torch.Tensor.to](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html): returns self when nothing
  changes
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.modules import MovedParameter
from torchdevlint.model import Applicability, Fix, Report, Severity
from torchdevlint.rules.edits import call_added, cut_after, fix
from torchdevlint.rules.wording import code

SEVERITY = Severity.ERROR
EXECUTION = "registration"
PROBE = '''
"""A parameter that is moved after it was made is not registered; one made of a moved tensor is."""
import torch

NEEDS = "device"
OBSERVES = {"parameters": 0, "keys": 0}


class Prompt(torch.nn.Module):
    def __init__(self, device, inside):
        super().__init__()
        if inside:
            self.tokens = torch.nn.Parameter(torch.zeros(2).to(device))
        else:
            self.tokens = torch.nn.Parameter(torch.zeros(2)).to(device)


def flagged(device, inside=False):
    prompt = Prompt(device, inside)
    return {"parameters": len(list(prompt.parameters())), "keys": len(prompt.state_dict())}


def repaired(device):
    return flagged(device, inside=True)
'''


def check(fact: MovedParameter) -> Iterator[Report]:
    held = f"self.{fact.attribute}"
    refused = f"`{fact.class_name}` does not take it as {code(held)}, which is a Parameter"
    yield Report(
        span=fact.at,
        message=f"{code(fact.move)} after `nn.Parameter` gives a plain tensor on an accelerator: "
        + (refused if fact.registered else f"`{fact.class_name}` does not register {code(held)}"),
        symptom=f"TypeError: cannot assign 'torch.cuda.FloatTensor' as parameter '{fact.attribute}'"
        if fact.registered
        else "nothing raises here: on an accelerator `parameters()` and `state_dict()` silently lack "
        f"`{fact.attribute}`, and the optimizer never trains it",
        help="move the tensor before it is wrapped, `nn.Parameter(tensor.to(device))`, or move the whole Module",
        fix=_fix(fact),
    )


def _fix(fact: MovedParameter) -> Fix | None:
    if fact.tensor_at is None or fact.wrap_at is None or not fact.ending:
        return None
    moved = call_added(fact.tensor, fact.tensor_at, fact.ending)
    return fix(Applicability.UNSAFE, "move the tensor before it is wrapped", *moved, cut_after(fact.wrap_at, fact.at))
