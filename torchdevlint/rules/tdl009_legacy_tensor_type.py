"""A legacy tensor type brings a tensor to the CPU, where the others are on an accelerator.

## What it does
Finds `x.type(torch.FloatTensor)` of a tensor that is where the model or an argument is, whose result is then combined
with others from there. Such a type stands for two things, a dtype and the CPU. The report starts at the conversion. It
is an error where this code has placed the other tensors or their model, so that the operation surely raises. A legacy
constructor such as `torch.FloatTensor(values)` is reported as any factory is: in `forward` by TDL003, beside an
argument by TDL014, beside what the same code has placed by TDL004.

## Why is this bad?
`x.type(torch.FloatTensor)` was meant to convert, and also moves. On the CPU nobody notices; elsewhere the next
operation raises

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

Where nothing raises, as before `.numpy()`, it is a hidden copy that waits for the accelerator.

## Example
```python
def masked_mean(x: torch.Tensor, keep: torch.Tensor):
    mask = keep[:, None].type(torch.FloatTensor)
    return (x * mask).sum() / mask.sum()
```

## Use instead
```python
def masked_mean(x: torch.Tensor, keep: torch.Tensor):
    mask = keep[:, None].float()
    return (x * mask).sum() / mask.sum()
```
`.to(torch.float)` and `.type(torch.float)` convert as well, and stay where the tensor is; `.to(x)` and `.type_as(x)`
take dtype and device of another one.

## Fix safety
The fix converts the dtype alone, with `.float()` and its kin. It is unsafe: where the result is meant to be on the CPU,
as for NumPy, `.cpu()` has to be written too.

## What it cannot see
Types that are kept in a variable which tests for CUDA, and tensors of which nothing says where they are. It is silent
where the result stays among tensors of the CPU, is read by NumPy, or is moved afterwards.

## References
- [torch.Tensor.type](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.type.html)
- [Data types](https://docs.pytorch.org/docs/stable/tensors.html#data-types): legacy constructors are discouraged
- jwyang/faster-rcnn.pytorch (`gridgen.py`), badripatro/simba#15, bentrevett/pytorch-pos-tagging#5, pytorch/pytorch#729
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from torchdevlint.flow.facts.common import Creation
from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.model import Applicability, Fix, Report, Severity, Span
from torchdevlint.patterns import regex
from torchdevlint.rules.edits import fix, replaced
from torchdevlint.rules.mixed import Cause, cause_of, creation_report
from torchdevlint.rules.wording import code, is_on

SEVERITY = Severity.WARNING
EXECUTION = "operation"
PROBE = '''
"""A conversion to `torch.DoubleTensor` also moves to the CPU; one to a dtype does not."""
import torch

NEEDS = "accelerator"
OBSERVES = {"stayed": False}


def flagged(device, kind=torch.DoubleTensor):
    return {"stayed": torch.ones(2, device=device).type(kind).device.type == device.type}


def repaired(device):
    return flagged(device, torch.float64)
'''
_METHODS = {
    "Float": "float",
    "Double": "double",
    "Half": "half",
    "BFloat16": "bfloat16",
    "Long": "long",
    "Int": "int",
    "Short": "short",
    "Char": "char",
    "Byte": "byte",
    "Bool": "bool",
}
_CONVERTS = regex(rf"""\.type\(["']?torch\.({"|".join(_METHODS)})Tensor["']?\)$""")


def check(fact: MixedDevices) -> Iterator[Report]:
    if cause_of(fact) is not Cause.LEGACY:
        return
    first = fact.creations[0]
    other = is_on(fact.other.text, fact.other.device)
    message = f"{code(first.text)} names a type of the CPU and moves there, and {other}"
    report = creation_report(
        fact, message, "convert the dtype alone, with `.float()`, `.long()` or `.to(dtype)`", _fix(first)
    )
    yield report if fact.other_origin == "argument" else replace(report, severity=Severity.ERROR)


def _fix(conversion: Creation) -> Fix | None:
    match = _CONVERTS.search(conversion.text)
    if match is None:
        return None
    end, new = conversion.span, f".{_METHODS[match[1]]}()"
    place = Span(end.end_row, end.end_column - len(match[0]), end.end_row, end.end_column, end.file)
    return fix(Applicability.UNSAFE, f"convert the dtype alone, with `{new}`", replaced(place, new))
