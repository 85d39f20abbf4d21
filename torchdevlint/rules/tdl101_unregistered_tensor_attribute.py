"""A Module keeps a plain tensor as an attribute, which `.to()` does not move.

## What it does
Finds tensors that `__init__` of a `torch.nn.Module` makes on the default device, or is given as an argument, and keeps
as a plain attribute, in a list, a dict or a distribution (`self.scale = torch.ones(3)`, `self.weights = weights`), and
that `forward` or another method then combines with the model's parameters, its inputs, or an argument. What `__init__`
makes of the Module's own parameters and buffers counts as well (`self.first = self.layer.weight.detach().clone()`),
what `train` or `eval` keeps of them for evaluation, what is made on a device that `__init__` may be told
(`device=None`) and hands on as it came, and a tensor that is there for nothing but its device
(`x.to(self.dummy.device)`), or that goes to a function of another file together with an input and a parameter
(`interpolate(x, self.weight, self.knots)`). The report starts at the factory, or where the tensor is kept.

## Why is this bad?
`model.to("cuda")` moves parameters, buffers and submodules, and nothing else. A plain tensor stays on the CPU, and the
first batch on an accelerator raises

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

or, for a table that is read with the model's index,

    RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)

It is not in `state_dict()` either, and `half()` and `double()` pass it over. An argument that is kept stays where the
caller made it: the error depends on whether that was the accelerator already. That an argument has dimensions is told
by its uses, by those who give it in the file, and by a buffer that is registered right beside it.

## Example
```python
class Normalize(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = torch.tensor([0.485, 0.456, 0.406])

    def forward(self, x: torch.Tensor):
        return x - self.mean[:, None, None]
```

## Use instead
```python
class Normalize(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]), persistent=False)

    def forward(self, x: torch.Tensor):
        return x - self.mean[:, None, None]
```
A buffer moves with the Module. `persistent=False` keeps it out of the state dict, so that old checkpoints still load;
leave it out where the values are learned or computed from data. What is trained is a `nn.Parameter`.

## Fix safety
The fix makes a buffer of the attribute, which is not part of the state dict, where the class assigns it once and has
nothing else of that name. It is unsafe: a buffer is also converted by `half()` and `double()`, and broadcast by
`DistributedDataParallel`, and a tensor that is shared with others moves alone.

## What it cannot see
Attributes that another file reads, and Modules whose base class is neither in the file nor known. It is silent for a
0-dim tensor in an elementwise operation, for an argument there that nothing shows to have dimensions or that may be a
number as well, for an index into a tensor of the accelerator, for what is moved where it is used or registered later,
and for classes that move it themselves, by overriding `_apply`, `to` or `cuda`. A tensor that goes to a function of
another file without a parameter is not followed there, nor is what a method keeps from its inputs.

## References
- [torch.nn.Module.register_buffer](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html)
- [torch.nn.Module.to](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to)
- coqui-ai/TTS@bc1f93c2, facebookresearch/fairseq (`CharacterTokenEmbedder`), huggingface/transformers (CTRL)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from torchdevlint.flow.facts.common import BUILT, UNREGISTERED, Creation
from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.model import Applicability, Fix, Note, Report, Severity, Span
from torchdevlint.rules.edits import added_after, fix, replaced
from torchdevlint.rules.mixed import Cause, cause_of, creation_report, is_marker, is_type_of_kept
from torchdevlint.rules.wording import code, edit, is_on

SEVERITY = Severity.ERROR
EXECUTION = "operation"
PROBE = '''
"""A plain tensor attribute stays on the CPU when its Module is moved; a buffer moves along."""
import torch

NEEDS = "device"
OBSERVES = {"attribute moved": False, "weight moved": True}


class Scale(torch.nn.Module):
    def __init__(self, register):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))
        if register:
            self.register_buffer("factor", torch.ones(2), persistent=False)
        else:
            self.factor = torch.ones(2)


def flagged(device, register=False):
    scale = Scale(register).to(device)
    return {
        "attribute moved": scale.factor.device.type == device.type,
        "weight moved": scale.weight.device.type == device.type,
    }


def repaired(device):
    return flagged(device, register=True)
'''


def _message(fact: MixedDevices, first: Creation) -> str:
    other = f"and {is_on(fact.other.text, fact.other.device)}"
    kept = f"`self.{first.attribute}`"
    if is_marker(fact):
        return f"{kept} stays on the CPU when the Module moves, and {code(fact.other.text)} is to say where that is"
    if is_type_of_kept(fact):
        return f"{kept} stays on the CPU when the Module moves, and takes {code(fact.other.text)} there with its type"
    if first.function:
        return f"`{first.function}` makes a tensor that {kept} keeps on the CPU when the Module moves, {other}"
    if fact.stayed.device == BUILT:
        return f"{kept} is made of the Module's own tensors and does not move with it, {other}"
    if fact.stayed.device == UNREGISTERED:
        return f"{kept} keeps a tensor that does not move with the Module, {other}"
    return f"{kept} keeps a tensor that `__init__` is given and does not move with the Module, {other}"


def _help(first: Creation) -> str:
    if not first.is_attribute:
        return (
            f"register each tensor that `self.{first.attribute}` holds as a buffer of its own, "
            "and take it from there where it is used"
        )
    return "register it, so that it moves with the Module: " + edit(
        f'self.register_buffer("{first.attribute}", tensor, persistent=False)'
    )


def check(fact: MixedDevices) -> Iterator[Report]:
    if cause_of(fact) is not Cause.ATTRIBUTE:
        return
    first = fact.creations[0]
    if any(each.attribute == first.attribute and each.span < first.span for each in fact.creations):
        return
    report = replace(creation_report(fact, _message(fact, first), _help(first)), fix=_fix(first))
    yield replace(report, notes=(*report.notes, *_kept(first)))


def _kept(first: Creation) -> Iterator[Note]:
    """Where the attribute gets what another function makes."""
    if first.kept_by is not None:
        at = first.kept_by[1]
        if at.file != first.span.file or not at.row <= first.span.row <= at.end_row:
            yield Note(f"`self.{first.attribute}` keeps it here", at)


def _fix(first: Creation) -> Fix | None:
    statement, at = first.kept_by or ("", first.span)
    head = re.match(rf"self\.{first.attribute}[ \t]*=[ \t]*", statement)
    if head is None or first.attribute in torch_api.MODULE_ATTRIBUTES:  # as a buffer it would be refused
        return None
    start = Span(at.row, at.column, at.row, at.column + head.end(), at.file)
    return fix(
        Applicability.UNSAFE,
        "register it as a buffer",
        replaced(start, f'self.register_buffer("{first.attribute}", '),
        added_after(at, ", persistent=False)"),
    )
