"""An attribute of the model is read from `DataParallel` or `DistributedDataParallel`, which does not have it.

## What it does
Finds `wrapped.names` and `wrapped.generate(...)` where `wrapped` is `nn.DataParallel(model)`,
`DistributedDataParallel(model)` or `AveragedModel(model)`, and the name is none of the wrapper's own. What the
`prepare` of accelerate gives is `DistributedDataParallel(model)` where several processes run.

## Why is this bad?
The wrapper is a Module of its own, which holds the model as its attribute `module` and hands nothing else through:

    AttributeError: 'DataParallel' object has no attribute 'names'

The wrap often stands under `if torch.cuda.device_count() > 1`, or runs only where `torchrun` starts the script. Then
the line works on a laptop and on one GPU, and fails on the first machine with two.

## Example
```python
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.names = ["cat", "dog"]

    def forward(self, x):
        return self.layer(x)


def train(model=Net()):
    if torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)
    return model.names
```

## Use instead
```python
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.names = ["cat", "dog"]

    def forward(self, x):
        return self.layer(x)


def train(model=Net()):
    names = model.names
    if torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)
    return names
```
After the wrap it is `model.module.names`, or `getattr(model, "module", model).names` where the wrap depends on the
machine; for accelerate it is `accelerator.unwrap_model(model).names`. A method that runs the network does so on one GPU
when it is called through `.module`; to use all of them, let `forward` call it.

## Fix safety
The fix asks the model inside: by `.module`, by `getattr` where it is wrapped on some paths only, or by the function
that the library has for it. It is unsafe: calling a method through `.module` goes around the wrapper, which with
`DistributedDataParallel` leaves gradients unsynchronised.

## What it cannot see
Wrappers that were made in another file, wrappers of other libraries, an `Accelerator` that is an argument, and models
that are wrapped by one method of a class and read by another one when it is not sure which of them runs first. Names
that begin with an underscore are reported only where the class of the model is known to have them; `wrapped.device` is
left to TDL107. It is silent where the function asks with `hasattr`, or by a function that does, or catches the
`AttributeError`, and where the file puts such an attribute on a wrapper.

## References
- [torch.nn.DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html)
- [torch.nn.parallel.DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html)
- `DataParallel`: naver/deep-image-retrieval#5, epfml/attention-cnn#11, nashory/pggan-pytorch#60, Jungjee/ASVspoof_PA#7
- `DistributedDataParallel`: huggingface/transformers#18974, huggingface/diffusers#8477
- [accelerate: `unwrap_model`](https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.unwrap_model)
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.parallel import HiddenAttribute
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.rules.edits import attribute_renamed, fix, replaced
from torchdevlint.rules.wording import code, edit, operand

SEVERITY = Severity.ERROR
EXECUTION = "exception"
PROBE = '''
"""`DataParallel` has no attribute of the model that it wraps; the model inside has."""
import torch

NEEDS = "cpu"
RAISES = {"AttributeError": ["'DataParallel' object has no attribute 'names'"]}


class Net(torch.nn.Linear):
    names = ["cat", "dog"]


def flagged(device):
    return {"names": len(torch.nn.DataParallel(Net(2, 2)).names)}


def repaired(device):
    return {"names": len(torch.nn.DataParallel(Net(2, 2)).module.names)}
'''


def check(fact: HiddenAttribute) -> Iterator[Report]:
    wrapper = fact.wrapper.rpartition(".")[2]
    some = ", on some paths only," if fact.conditional else ""
    some = ", with several processes," if fact.unwrap else some
    yield Report(
        span=fact.at,
        message=f"`{wrapper}` does not hand `{fact.attribute}` through{_owner(fact)}",
        symptom=f"AttributeError: '{wrapper}' object has no attribute '{fact.attribute}'{_when(fact)}",
        help=_help(fact),
        notes=(Note(f"{code(fact.model)} is wrapped{some} here", fact.wrapped_at),),
        fix=_fix(fact),
    )


def _owner(fact: HiddenAttribute) -> str:
    what = "a method" if fact.called else "an attribute"
    return f": it is {what} of `{fact.class_name}`, the model inside" if fact.class_name else " to the model inside"


def _when(fact: HiddenAttribute) -> str:
    return ", where the model is wrapped" if fact.conditional else ""


def _help(fact: HiddenAttribute) -> str:
    model, call = operand(fact.model), "(...)" if fact.called else ""
    inside = _inside(fact) or f"{model}.module"
    return f"ask the model inside: {edit(f'{inside}.{fact.attribute}{call}')}"


def _fix(fact: HiddenAttribute) -> Fix | None:
    inside = _inside(fact)
    if not fact.unwrap_here:
        return None
    if inside:
        change = replaced(fact.model_at, inside)
    else:
        change = attribute_renamed(fact.at, fact.attribute, f"module.{fact.attribute}")
    return fix(Applicability.UNSAFE, "ask the model inside", change)


def _inside(fact: HiddenAttribute) -> str:
    """The model inside, where ``.module`` does not always give it; else empty."""
    if fact.unwrap:
        return f"{fact.unwrap}({fact.model})"
    return f'getattr({fact.model}, "module", {fact.model})' if fact.conditional else ""
