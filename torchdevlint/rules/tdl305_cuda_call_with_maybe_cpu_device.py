"""A call that takes devices of CUDA only gets one that may be the CPU.

## What it does
Finds `model.cuda(device)`, `torch.cuda.set_device(device)` and `torch.cuda.device(device)` where the code itself says
that the device may be the CPU: it is chosen as `"cuda" if torch.cuda.is_available() else "cpu"`, the default of the
parameter or of the command-line option is `"cpu"`, or it is the device of a tensor that a caller gives.

## Why is this bad?
`.cuda(..)` and the functions of `torch.cuda` refuse every other device, so the choice is in vain: where there is no
CUDA, and where the user asks for the CPU, the program stops with

    RuntimeError: Invalid device, must be cuda device
    ValueError: Expected a cuda device, but got: cpu

## Example
```python
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 2).cuda(device)
```

## Use instead
```python
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 2).to(device)
```
`.to(device)` takes every device. `torch.cuda.set_device` and `with torch.cuda.device(..)` belong under
`if device.type == "cuda":`; where every tensor is made with `device=`, neither is needed.

## Fix safety
The fix writes `.to(device)` for `.cuda(device)`, which does the same with every device that `.cuda` takes. It is safe
where what is moved is known to be a tensor or a module, and unsafe where a class of another library may have a `.cuda`
and no `.to`. For `torch.cuda.set_device` and `torch.cuda.device` there is none: what has to be under the test only the
author knows.

## What it cannot see
Devices that are chosen in another file, and parameters that nothing says may be the CPU. Calls are left alone after or
under a test that may be about devices (`if torch.cuda.is_available():`, `if device != "cpu":`, `if args.distributed:`),
and where what they raise is caught. `torch.cuda.device(x.device)` around a kernel is left alone too.

## References
- [torch.nn.Module.cuda](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.cuda)
- [torch.cuda.set_device](https://docs.pytorch.org/docs/stable/generated/torch.cuda.set_device.html): "Usage of this
  function is discouraged in favor of device"
- awslabs/dgl-lifesci#127, zeusees/License-Plate-Detector#32
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.devices import MaybeCpuDevice
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.rules.edits import attribute_renamed, fix
from torchdevlint.rules.wording import code, edit

SEVERITY = Severity.WARNING
EXECUTION = "exception"
PROBE = '''
"""`.cuda(device)` refuses the CPU, which `.to(device)` takes like any other device."""
import torch

NEEDS = "cpu"
RAISES = {"RuntimeError": ["Invalid device, must be cuda device"]}


def flagged(device):
    chosen = torch.device("cpu")
    return {"device": str(torch.nn.Linear(2, 2).cuda(chosen).weight.device)}


def repaired(device):
    chosen = torch.device("cpu")
    return {"device": str(torch.nn.Linear(2, 2).to(chosen).weight.device)}
'''


def check(fact: MaybeCpuDevice) -> Iterator[Report]:
    moves = fact.call == ".cuda"
    called = f"{fact.call}({fact.device})"
    yield Report(
        span=fact.at,
        message=f"{code(called)} takes devices of CUDA only, and {code(fact.device)} may be the CPU",
        symptom=(
            "on the CPU, RuntimeError: Invalid device, must be cuda device"
            if moves
            else "on the CPU, ValueError: Expected a cuda device, but got: cpu"
        ),
        help=f"write {edit(f'.to({fact.device})')}" if moves else "do it only where the device is one of CUDA",
        notes=(Note(fact.why, fact.why_at),),
        fix=_fix(fact),
    )


def _fix(fact: MaybeCpuDevice) -> Fix | None:
    if fact.callee_at is None:
        return None
    applicability = Applicability.SAFE if fact.of_torch else Applicability.UNSAFE
    return fix(applicability, f"write {edit(f'.to({fact.device})')}", attribute_renamed(fact.callee_at, "cuda", "to"))
