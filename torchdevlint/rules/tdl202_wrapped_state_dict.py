"""A state dict is saved or loaded with the prefix of a wrapper such as `DataParallel` or `torch.compile`.

## What it does
Finds `torch.save(wrapper.state_dict(), ...)` where `wrapper` is a `DataParallel`, a `DistributedDataParallel`, an
`AveragedModel` or the result of `torch.compile(model)`, and the load of such a file into an unwrapped model or of an
unwrapped file into a wrapper. A function of a file that is not seen counts as `torch.save` where its name begins with
`save`.

## Why is this bad?
The wrapper holds the model as an attribute, so every key in the file starts with `module.` (`_orig_mod.` for
`torch.compile`). Whoever loads the file without the same wrapper, mostly for inference on another machine, gets

    RuntimeError: Error(s) in loading state_dict for Net:
        Missing key(s) in state_dict: "weight", "bias".
        Unexpected key(s) in state_dict: "module.weight", "module.bias".

With `strict=False` there is no error: not one parameter is loaded, and the model predicts with random weights.

## Example
```python
model = nn.DataParallel(nn.Linear(4, 2))
torch.save(model.state_dict(), "model.pt")
```

## Use instead
```python
model = nn.DataParallel(nn.Linear(4, 2))
torch.save(model.module.state_dict(), "model.pt")
```
Loading works the same way, through `model.module.load_state_dict(...)`. For files that already have the prefix there
is `torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")`. A compiled model keeps the
original in `_orig_mod`; `model.compile()` compiles in place and adds no prefix.

## Fix safety
The fix asks the model inside, `model.module` or `model._orig_mod`; where it is wrapped on some paths only, by
`getattr`. It is unsafe, since it changes the format of the files that a program writes: other programs may count on the
prefix, and files that were written before have it.

## What it cannot see
Files written by another program, wrappers from libraries that it does not know, and a wrap in another file. It is
silent when the same file loads the state back into an equal wrapper, or into the very attribute that was saved, or
strips the prefix, since then the format is at least consistent, and when another file of the project that fills a model
from a file takes prefixes off the keys, or all that do wrap their models in any case.

## References
- [Saving and loading models](https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html), "Saving
  torch.nn.DataParallel models"
- [torch.nn.DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html)
- `module.`: menzelab/implicit-shape-reconstruction#2, pytorch/pytorch#3805, abeardear/pytorch-YOLO-v1#4,
  amanchadha/iSeeBetter#12
- `_orig_mod.`: huggingface/pytorch-image-models#1566, rasbt/LLMs-from-scratch#580, mlfoundations/open_clip#639,
  meta-pytorch/tnt#441
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.checkpoints import WrappedStateDict
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.rules.edits import attribute_renamed, fix, replaced
from torchdevlint.rules.wording import code, edit

SEVERITY = Severity.WARNING
EXECUTION = "prefix"
PROBE = '''
"""The state dict of a `DataParallel` wrapper cannot be loaded into the model itself."""
import torch

NEEDS = "cpu"
RAISES = {"RuntimeError": ['Unexpected key(s) in state_dict: "module.weight", "module.bias"']}


def flagged(device):
    wrapper = torch.nn.DataParallel(torch.nn.Linear(2, 2))
    torch.save(wrapper.state_dict(), "model.pt")
    return load("model.pt", device)


def repaired(device):
    wrapper = torch.nn.DataParallel(torch.nn.Linear(2, 2))
    torch.save(wrapper.module.state_dict(), "model.pt")
    return load("model.pt", device)


def load(path, device):
    state = torch.load(path, map_location=device)
    torch.nn.Linear(2, 2).load_state_dict(state)
    return {"keys": ", ".join(state)}
'''


def check(fact: WrappedStateDict) -> Iterator[Report]:
    notes = [Note(f"{code(fact.model)} {_wrapped(fact)}", fact.wrapped_at)]
    if fact.saved_at is not None and fact.saved_at != fact.at:
        notes.append(Note("the file was written here", fact.saved_at))
    yield Report(
        span=fact.at,
        message=_message(fact),
        symptom=_symptom(fact),
        help=_help(fact),
        notes=tuple(notes),
        fix=_fix(fact),
    )


def _fix(fact: WrappedStateDict) -> Fix | None:
    inside = fact.prefix.rstrip(".")
    if fact.model_at is None or fact.method_at is None:
        return None
    if fact.conditional:
        edit = replaced(fact.model_at, _one_inside(fact))
    else:
        method = "state_dict" if fact.direction == "save" else "load_state_dict"
        edit = attribute_renamed(fact.method_at, method, f"{inside}.{method}")
    return fix(Applicability.UNSAFE, f"{fact.direction} the model inside, by `.{inside}`", edit)


def _one_inside(fact: WrappedStateDict) -> str:
    """The model inside, if it is wrapped."""
    return f'getattr({fact.model}, "{fact.prefix.rstrip(".")}", {fact.model})'


def _wrapped(fact: WrappedStateDict) -> str:
    if fact.tested:
        return f"is {code(fact.wrapper) if fact.wrapper else 'a wrapper'} where this test holds"
    return f"is wrapped in {fact.wrapper}{', on some paths only,' if fact.conditional else ''} here"


def _wrapper(fact: WrappedStateDict) -> str:
    """The wrapper by its class; a test for ``.module`` names none."""
    return fact.wrapper or "a wrapper"


def _message(fact: WrappedStateDict) -> str:
    if fact.direction == "save":
        sometimes = "sometimes " if fact.conditional else ""
        return f"the keys of this state dict {sometimes}carry the prefix `{fact.prefix}` of {_wrapper(fact)}"
    return f"the file and {code(fact.model)} do not agree on the prefix `{fact.prefix}` of {_wrapper(fact)}"


def _symptom(fact: WrappedStateDict) -> str:
    return (
        "RuntimeError: Error(s) in loading state_dict: Missing key(s) in state_dict: ...; "
        f'Unexpected key(s) in state_dict: "{fact.prefix}..." '
        "(with strict=False: silently loads nothing)"
    )


def _help(fact: WrappedStateDict) -> str:
    inner = f"{fact.model}.{fact.prefix.rstrip('.')}"
    if fact.direction == "load":
        return (
            f"save and load the model inside, {code(inner)}, or strip the prefix with "
            "`torch.nn.modules.utils.consume_prefix_in_state_dict_if_present`"
        )
    if fact.conditional:
        inner = _one_inside(fact)
    return f"save the model inside: {edit(f'{inner}.state_dict()')}"
