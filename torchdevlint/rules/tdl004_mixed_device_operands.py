"""One operation is given tensors that this code has put on two different devices.

## What it does
Finds operations whose operands are surely on different devices because the code around them says so itself: one side
was made or moved with `device="cuda"`, `.cuda()` or `"cuda:1"`, the other one was left on the default device, moved
with `.cpu()`, or put on another accelerator. A model that is made here, that nothing moves, and that is called with
what was moved, is such a side too: a teacher, a target network, a copy that was taken before the move. So are averages
of parameters (EMA) that were made before the model moved, a layer that it got behind that, what was moved to the CPU
from where the other side is, and an input that was left where it was made, beside one that was moved.
The report stands at the operation. Where the stray side is a factory in `forward`, in a function with tensor arguments,
or an attribute of a Module, TDL003, TDL014 and TDL101 report the factory instead; a tensor of the CPU that is read with
an index of an accelerator is a matter of TDL007.

## Why is this bad?
Two tensors with dimensions have to be on one device for almost every operation. Where they are not, it raises

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

or, for a gradient that is assigned (`x.grad = torch.zeros(x.shape)`), be it without dimensions,

    RuntimeError: attempting to assign a gradient with device type 'cpu' to a tensor with device type 'cuda'

## Example
```python
weights = torch.ones(4, device="cuda")
total = weights + torch.zeros(4)
```

## Use instead
```python
weights = torch.ones(4, device="cuda")
total = weights + torch.zeros(4, device=weights.device)
```

## Fix safety
The fix is unsafe: which of the two devices is the right one is the author's knowledge. It makes the factory where the
other side is, or moves what is on the CPU where the operation reads it. There is no fix where no expression for the
other device is surely bound there, and none where the operation writes to what is on the CPU.

## What it cannot see
Devices that come from a configuration or an argument may be the CPU, so a tensor that was moved to the CPU by name is
only held against an accelerator by name, a model, or where it was moved from. It is silent where PyTorch takes both:
a 0-dim tensor of the CPU in an elementwise operation, an index of the CPU into an accelerator's tensor, `copy_` and
assignments to slices. Models that are given to a function of another file, or to one that does more with them than to
call them and to ask for their parameters, kept in a container, or of a class that speaks of devices may be moved
there.

## References
- [torch.Tensor.to](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html)
- [CUDA semantics](https://docs.pytorch.org/docs/stable/notes/cuda.html): cross-GPU operations are not allowed
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.model import Applicability, Fix, Note, Report, Severity, Span
from torchdevlint.rules.mixed import Cause, cause_of, made_there, moved_there, symptom, takes_no_device
from torchdevlint.rules.wording import code

SEVERITY = Severity.ERROR
EXECUTION = "operation"
PROBE = '''
"""An elementwise operation refuses a tensor of the CPU beside one of the accelerator."""
import torch

NEEDS = "accelerator"
RAISES = {"RuntimeError": ["Expected all tensors to be on the same device"]}


def flagged(device, on=None):
    total = torch.ones(2, device=device) + torch.zeros(2, device=on)
    return {"total": str(total.device)}


def repaired(device):
    return flagged(device, on=device)
'''


def check(fact: MixedDevices) -> Iterator[Report]:
    if cause_of(fact) is not Cause.OPERATION:
        return
    if fact.met_at is not None:
        yield _report_of_call(fact, fact.met_at)
        return
    stayed, other = fact.stayed, fact.other
    place, text = _place(fact)
    yield Report(
        span=place,
        message=f"{code(text)} is on {stayed.device} and {code(other.text)} on {other.device}, "
        f"and {fact.operation} needs them on one device",
        symptom=_symptom(fact),
        help=_help(fact),
        notes=_notes(fact, place),
        fix=_fix(fact),
    )


def _report_of_call(fact: MixedDevices, met_at: Span) -> Report:
    """What this file has another one do, which made the one operand and cannot know where the other one is."""
    stayed, other = fact.stayed, fact.other
    found = {met_at: f"{code(stayed.text)} meets {code(other.text)} here, in {fact.operation}"}
    for message, span in (*stayed.evidence, *other.evidence):
        found.setdefault(span, message)
    return Report(
        span=fact.at,
        message=f"{code(fact.led_by)} leads to {fact.operation} in another file, "
        f"where {code(stayed.text)} is on {stayed.device} and {code(other.text)} on {other.device}",
        symptom=_symptom(fact),
        help=_help(fact),
        notes=tuple(Note(message, span) for span, message in found.items() if span != fact.at),
    )


def _place(fact: MixedDevices) -> tuple[Span, str]:
    """The operation and what stayed behind there; if it is in another file, what this file makes and brings there.

    Not where another file brings the other operand to its device: it may know when.
    """
    if fact.at.file and fact.creations and not fact.placed_elsewhere:
        if fact.brought is not None:
            return fact.brought.span, fact.brought.text
        return fact.creations[0].span, fact.creations[0].text
    return fact.at, fact.stayed.text


def _fix(fact: MixedDevices) -> Fix | None:
    made = made_there(fact) if fact.creations else None
    if made is not None:
        return replace(made, applicability=Applicability.UNSAFE)
    edits = moved_there(fact)
    return (
        Fix(Applicability.UNSAFE, f"move {code(fact.stayed.text)} to {code(f'{fact.here}')}", edits) if edits else None
    )


def _symptom(fact: MixedDevices) -> str:
    text = symptom(fact)
    if "CPU" in fact.stayed.device or fact.stayed.device == "cpu":
        return text
    return text.replace("cuda:0 and cpu!", f"{fact.other.device} and {fact.stayed.device}!")


def _help(fact: MixedDevices) -> str:
    """Names a device only by what surely gives it there: a Module has no `.device`, and names are bound elsewhere."""
    if fact.made_of:
        return f"move {code(fact.made_of)} before copies of it are taken"
    if fact.creations:
        verb = "move" if takes_no_device(fact.creations[0].function) else "make"
        where = fact.there
        if where is not None:
            where = f"{'to' if verb == 'move' else 'on'} {code(where)}"
        return f"{verb} {code(fact.creations[0].text)} {where or _where(fact, verb)}"
    if fact.here is not None:
        return f"move {code(fact.stayed.text)} to {code(fact.here)} first"
    return f"move {code(fact.stayed.text)} {_where(fact, 'move')} first"


def _where(fact: MixedDevices, verb: str) -> str:
    to = "to " if verb == "move" else ""
    if fact.other.text.isidentifier():
        return f"{to}where {code(fact.other.text)} is"
    return f"{to or 'on '}the same device"


def _notes(fact: MixedDevices, place: Span) -> tuple[Note, ...]:
    found = {fact.at: f"{code(fact.stayed.text)} meets {code(fact.other.text)} here"}
    if fact.through is not None:
        found.setdefault(fact.through, "this call leads there")
    for message, span in (*fact.stayed.evidence, *fact.other.evidence):
        found.setdefault(span, message)
    return tuple(Note(message, span) for span, message in found.items() if span != place)
