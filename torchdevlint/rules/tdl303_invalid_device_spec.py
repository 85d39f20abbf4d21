"""What is given for a device is none: a string that PyTorch cannot read, a context manager, a tuple.

## What it does
Finds, where a function or method of PyTorch is told a device:

- strings that name none: `"gpu"`, `"0"`, `"CUDA"`, `"cuda:-1"`, `"cuda:0,1"`, also those that are put together, as in
  `f"cuda:{device}"` where `device` is `"cuda:0"` already; negative numbers;
- a number for the `map_location` of a load, and `"cuda"` without a number for `torch.cuda.set_device`;
- `torch.cuda.device(..)`, which is a context manager, where `torch.device(..)` is meant;
- a tuple, from a comma at the end of `device = torch.device("cuda"),`;
- names that the file does not define, where a string is meant: `torch.device(cpu)`;
- `device=` for `torch.LongTensor` and its kin, which make tensors of the CPU only.

## Why is this bad?
Each of them raises when the line is run. What is written for the accelerator is mostly run on an accelerator only, so
that the CPU does not show it:

    RuntimeError: Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy,
    vulkan, mps, meta, hpu, mtia, privateuseone device type at start of device string: gpu
    RuntimeError: Invalid device string: '0'
    RuntimeError: Device index must not be negative
    RuntimeError: don't know how to restore data location of torch.storage.UntypedStorage (tagged with gpu)
    RuntimeError: legacy constructor expects device type: cpu but device type: cuda was passed
    ValueError: Expected a torch.device with a specified index or an integer, but got:cuda
    TypeError: to() received an invalid combination of arguments - got (tuple), but expected one of: ...
    TypeError: zeros(): argument 'device' must be torch.device, not tuple
    TypeError: 'int' object is not callable
    NameError: name 'cpu' is not defined

## Example
```python
device = torch.device("gpu" if torch.cuda.is_available() else "cpu")
```

## Use instead
```python
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
```
A device is named by its type, alone or with a colon and a number: `"cuda"`, `"cuda:1"`, `"cpu"`. Several devices have
no common name. What `torch.LongTensor(data)` makes on the CPU, `torch.tensor(data, dtype=torch.int64, device=device)`
makes on any device.

## Fix safety
The fix writes the device that is meant. It is safe for `"gpu"` and other spellings of a type where they are given, and
for the comma behind a device: both raise whenever they are reached. It is unsafe where the string has a name first,
which other code may read, and where other code reads the tuple that the comma makes; for a number, a name that is not
bound, and `torch.cuda.device(..)`, where the device that is meant is the likely one, not the only one; and for a
constructor such as `torch.LongTensor`, given a list, which becomes `torch.tensor` with that type. A negative number,
and a string that names several devices, have none.

## What it cannot see
Strings that are read from a command line, a configuration or another file. Types that PyTorch itself does not know,
such as `"npu"`, are left alone, since an extension can register them, and so is everything in a file that registers
one. Methods of objects whose class is not known are left alone as well: other libraries have devices called `"gpu"`.

## References
- [torch.device](https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device)
- [torch.cuda.device](https://docs.pytorch.org/docs/stable/generated/torch.cuda.device.html): "Context-manager that
  changes the selected device"
- `"gpu"`: opendatalab/MinerU#324, meta-pytorch/torchrec#1688, jeffheaton/app_deep_learning#6; a number as a string:
  AshwinRJ/Federated-Learning-PyTorch#28; a number for a load: V2AI/Det3D#45; no number for
  `set_device`: chenhsuanlin/bundle-adjusting-NeRF#73
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.devices import InvalidDevice
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.rules.edits import added_after, fix, replaced
from torchdevlint.rules.wording import code, edit

SEVERITY = Severity.ERROR
EXECUTION = "exception"
PROBE = '''
"""`"gpu"` is no device type, `"0"` no device string, and a comma makes a tuple of a device."""
import torch

NEEDS = "cpu"
OBSERVES = {"a type": "RuntimeError", "a number": "RuntimeError", "a tuple": "TypeError", "a context": "TypeError"}


def flagged(device):
    return {
        "a type": effect(lambda: torch.device("gpu")),
        "a number": effect(lambda: torch.device("0")),
        "a tuple": effect(lambda: torch.zeros(2, device=(torch.device(device),))),
        "a context": effect(lambda: torch.zeros(2).to(torch.cuda.device(0))),
    }


def repaired(device):
    return {
        "a type": effect(lambda: torch.device("cuda")),
        "a number": effect(lambda: torch.device("cuda:0")),
        "a tuple": effect(lambda: torch.zeros(2, device=torch.device(device))),
        "a context": effect(lambda: torch.zeros(2).to(torch.device(device))),
    }


def effect(give):
    try:
        give()
    except (RuntimeError, TypeError) as error:
        return type(error).__name__
    return "a device"
'''

_LOADS = ("torch.load", "torch.hub.load_state_dict_from_url", "torch.utils.model_zoo.load_url")


def check(fact: InvalidDevice) -> Iterator[Report]:
    notes = () if fact.used_at is None else (Note(f"given to {code(fact.function)} here", fact.used_at),)
    yield Report(
        span=fact.at, message=_message(fact), symptom=_symptom(fact), help=_help(fact), notes=notes, fix=_fix(fact)
    )


def _fix(fact: InvalidDevice) -> Fix | None:
    if not fact.written:
        return None
    if fact.problem == "legacy" and fact.callee_at is not None:
        dtype = f", dtype={fact.written.rpartition('.')[0]}.{fact.suggestion}"
        edits = (replaced(fact.callee_at, fact.written), added_after(fact.at, dtype))
        return fix(Applicability.UNSAFE, f"call {edit(fact.written)}", *edits)
    safe = (fact.problem == "tuple" and not fact.read) or (fact.problem == "type" and fact.used_at is None)
    applicability = Applicability.SAFE if safe else Applicability.UNSAFE
    return fix(applicability, f"write {edit(fact.written)}", replaced(fact.at, fact.written))


def _message(fact: InvalidDevice) -> str:
    found, quoted = code(fact.found), code(f'"{fact.found}"')
    return {
        "type": f"{quoted} is not a type of device that PyTorch knows",
        "string": f"{quoted} does not name a device",
        "index": f"{found} is given as the number of a device, which cannot be negative",
        "unnumbered": f"{code(fact.function)} needs the number of a GPU, and {found} has none",
        "number": f"{code(fact.function)} takes a device or its name for `map_location`, but {found} is a number",
        "context": f"{found} is a context manager, and is used as a device",
        "tuple": f"{found} is a tuple, and is used as a device",
        "name": f"{found} is not defined in this file, and is used as a device",
        "legacy": f"{code(fact.function)} makes tensors of the CPU only, and is told {code('device=' + fact.found)}",
    }[fact.problem]


def _symptom(fact: InvalidDevice) -> str:
    method = fact.function.rpartition(".")[2]
    if fact.problem == "name":
        return f"NameError: name '{fact.found}' is not defined"
    if fact.problem == "legacy":
        return "RuntimeError: legacy constructor expects device type: cpu but device type: cuda was passed"
    if fact.problem == "index":
        return "RuntimeError: Device index must not be negative"
    if fact.problem == "unnumbered":
        return "ValueError: Expected a torch.device with a specified index or an integer, but got:cuda"
    if fact.problem in ("context", "tuple", "number"):
        given = {"context": "device", "tuple": "tuple", "number": "int"}[fact.problem]
        if fact.function in _LOADS:
            return f"TypeError: '{given}' object is not callable"
        if method in ("to", "device"):
            return f"TypeError: {method}() received an invalid combination of arguments - got ({given})"
        return f"TypeError: {method}(): argument 'device' must be torch.device, not {given}"
    if fact.function in _LOADS and not fact.found.startswith("cuda"):
        return (
            "RuntimeError: don't know how to restore data location of torch.storage.UntypedStorage "
            f"(tagged with {fact.found})"
        )
    if fact.problem == "string":
        return f"RuntimeError: Invalid device string: '{fact.found}'"
    return (
        "RuntimeError: Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, "
        f"lazy, vulkan, mps, meta, hpu, mtia, privateuseone device type at start of device string: {fact.found}"
    )


def _help(fact: InvalidDevice) -> str:
    if fact.problem == "legacy":
        return f"use a factory that takes a device, such as {edit(f'torch.tensor(.., dtype=torch.{fact.suggestion})')}"
    if fact.problem == "unnumbered":
        return "leave the call out, since the first GPU is the current one, or name one: `torch.cuda.set_device(0)`"
    if fact.problem == "number":
        return f"""name the device, as in {edit('map_location=f"cuda:{number}"')}"""
    if fact.problem == "tuple":
        return f"write {edit(fact.suggestion)}, without the comma"
    if fact.suggestion:
        return f"write {edit(fact.suggestion)}"
    return 'write the type, alone or with a colon and one number that is not negative: `"cuda"`, `"cuda:0"`'
