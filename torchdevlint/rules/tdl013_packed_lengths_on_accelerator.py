"""`pack_padded_sequence` is given lengths that are on an accelerator; it takes them from the CPU only.

## What it does
Finds calls of `torch.nn.utils.rnn.pack_padded_sequence` whose lengths are a tensor that was moved to an accelerator,
that was made there, that `forward` calculates from its inputs, such as `mask.sum(1)`, or that it takes out of the same
dict as the sequences.

## Why is this bad?
The lengths say how the sequences are cut, which happens on the host. Since PyTorch 1.7 they are no longer copied there
silently:

    RuntimeError: 'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor

## Example
```python
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(8, 16, batch_first=True)

    def forward(self, x: torch.Tensor, mask: torch.Tensor):
        lengths = mask.sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return self.rnn(packed)[1]
```

## Use instead
```python
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(8, 16, batch_first=True)

    def forward(self, x: torch.Tensor, mask: torch.Tensor):
        lengths = mask.sum(1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return self.rnn(packed)[1]
```
Lengths that a loader gives are best never moved: what is not needed on the accelerator costs a copy there and back.

## Fix safety
The fix is safe: it appends `.cpu()` to the lengths in this call, which gives the same numbers, and the tensor itself
where it is on the CPU already. The accelerator is waited for in each call, so that lengths which come from a loader
are better never moved.

## What it cannot see
Inputs of `forward` that are called lengths: a caller may keep them on the CPU, and should, unless another operation of
the function takes them beside an input. The same holds for arguments of functions, whose device is the caller's.

## References
- [torch.nn.utils.rnn.pack_padded_sequence](https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_padded_sequence.html):
  "lengths (Tensor or list(int)) - must be on the CPU if provided as a tensor"
- Tencent/NeuralNLP-NeuralClassifier and UKPLab/sentence-transformers moved the lengths back by `.cpu()`
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchdevlint.flow.checks.operands.host_reads import is_off_host
from torchdevlint.flow.checks.operands.met_elsewhere import is_placed_elsewhere, led_by
from torchdevlint.flow.events import Met
from torchdevlint.flow.facts.common import Fact, Operand
from torchdevlint.flow.kinds.parameters import place_of_argument
from torchdevlint.flow.scope.names import dotted_path, parameter_names, public_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import MODEL
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import given_tensor
from torchdevlint.flow.state.values import Tensor, Unknown, Value
from torchdevlint.flow.vouch.devices import is_surely_tensor
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.patterns import regex
from torchdevlint.rules.edits import call_added, fix
from torchdevlint.rules.wording import code, edit, operand
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import assignments_in, binds_name, inside, is_name

SEVERITY = Severity.ERROR
EXECUTION = "operation"
PROBE = '''
"""Sequences are packed by lengths of the CPU; lengths of the accelerator are refused."""
import torch
from torch.nn.utils.rnn import pack_padded_sequence

NEEDS = "accelerator"
RAISES = {"RuntimeError": ["'lengths' argument should be a 1D CPU int64 tensor"]}


def flagged(device, place=lambda lengths: lengths):
    x, lengths = torch.ones(2, 3, 4, device=device), torch.tensor([3, 2], device=device)
    packed = pack_padded_sequence(x, place(lengths), batch_first=True)
    return {"packed": str(packed.data.device)}


def repaired(device):
    return flagged(device, lambda lengths: lengths.cpu())
'''


class LengthsOnAccelerator(Fact, frozen=True):
    """`pack_padded_sequence`, called as `call`, is given lengths that are on an accelerator.

    `surely` says that they are a tensor on all paths, and no list of numbers on some; `led_by` is the call in this file
    that leads to one in another file, which does not place them itself.
    """

    call: str
    lengths: Operand
    surely: bool
    led_by: Operand | None = None


class _Memory:
    """Tensors that functions used as operands beside others: few files ask which of them were arguments."""

    def __init__(self) -> None:
        self.met: dict[AnyFunction, list[tuple[Tensor, Tensor]]] = {}


def _note_met(event: Met) -> None:
    """``torch.masked_select(keys, lengths > 0)``: torch refuses that where the lengths are elsewhere than the keys.

    An index may be on the CPU.
    """
    frame = event.frame
    if frame.function is not None and not isinstance(event.node, ast.Subscript):
        frame.machine.memory(_Memory).met.setdefault(frame.function, []).append((event.one[1], event.other[1]))


def _has_met_another(frame: Frame, value: Tensor) -> bool:
    """Whether the argument behind a tensor, as it came, was an operand beside another one so far."""
    function = frame.function
    name = "" if function is None else _argument_behind(function, value)
    if function is None or not name:
        return False
    for pair in frame.machine.memory(_Memory).met.get(function, ()):
        names = {_argument_behind(function, each) for each in pair}
        if name in names and "" not in names and len(names) > 1:
            return True
    return False


def _argument_behind(function: AnyFunction, value: Tensor) -> str:
    """The argument that a tensor which nothing has moved is, or was calculated from alone."""
    came = bool(value.steps) and not value.moved and not value.steps[0].of_module
    if not came or value.device != MODEL or value.ndim == 0:
        return ""
    node = value.steps[0].node
    for _ in range(_MAX_HOPS):
        if isinstance(node, ast.arg):
            return node.arg
        names = {each.id for each in inside(node) if isinstance(each, ast.Name)}
        name = names.pop() if len(names) == 1 else ""
        if name in parameter_names(function):
            return name
        places = [each for each in assignments_in(function) if binds_name(each, name)]
        if len(places) != 1:
            break
        node = places[0].value
    return ""


_MAX_HOPS = 4
_LENGTHS = regex(r"len|siz|num|count", re.IGNORECASE)
"""Names of inputs that callers keep on the CPU, since nothing is calculated with them."""


def _note_packing(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    lengths = arguments.get(1, "lengths")
    if lengths is None:
        return
    at, value = lengths
    for _, held in alternatives(value, state.conditions):
        sum_of_mask = _sum_of_mask(frame, at) if isinstance(held, Unknown) and held.given == MODEL else None
        each = held if sum_of_mask is None else given_tensor(MODEL, sum_of_mask)
        if not isinstance(each, Tensor) or not is_off_host(frame, each):
            continue
        if each.opaque and not each.moved:  # what a module of unknown class gives may be a list of numbers
            continue
        met = _has_met_another(frame, each)
        if met or not _came_as_lengths(frame, at, each) or _came_with_input(frame, arguments, at):
            _record(frame, state, node, at, each)


def _sum_of_mask(frame: Frame, node: ast.expr) -> ast.expr | None:
    """``mask.sum(1)``: a mask that `forward` takes is one of its inputs, and so are the lengths that it says."""
    for _ in range(_MAX_HOPS):
        if isinstance(node, ast.Name) and frame.function is not None:
            places = [each for each in assignments_in(frame.function) if binds_name(each, node.id)]
            if len(places) != 1:
                return None
            node = places[0].value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr != "sum":
            node = node.func.value
    summed = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    names = (each for each in inside(summed) if isinstance(each, ast.Name)) if summed is not None else ()
    return node if any("mask" in each.id for each in names) else None


def _came_with_input(frame: Frame, arguments: Arguments, lengths: ast.expr) -> bool:
    """Whether `forward` takes both out of one dict that it is given: what moves a batch moves all of its tensors."""
    packed = arguments.get(0, "input")
    if packed is None or frame.context != "forward":
        return False
    holder = _holder(frame, packed[0])
    return holder is not None and place_of_argument(frame, holder) == MODEL and holder == _holder(frame, lengths)


def _holder(frame: Frame, node: ast.expr) -> str | None:
    """The name of what a value is an item of, under a literal key: `d` for ``torch.clamp(d["lengths"], min=1)``."""
    for _ in range(_MAX_HOPS):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_torch = public_path(node.func.value) == "torch"
            if of_torch and not node.args:
                return None
            node = node.args[0] if of_torch else node.func.value
        elif isinstance(node, ast.Name) and frame.function is not None:
            places = [each for each in assignments_in(frame.function) if binds_name(each, node.id)]
            if len(places) != 1:
                return None
            node = places[0].value
        else:
            break
    keyed = (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    )
    return dotted_path(node.value) if isinstance(node, ast.Subscript) and keyed else None


def _came_as_lengths(frame: Frame, node: ast.expr, value: Tensor) -> bool:
    """Whether it is, or is made of, an input that is called so, and that nothing has moved."""
    if value.moved:
        return False
    text = frame.machine.text_of
    first = value.steps[0] if value.steps else None
    if first is None or first.of_module:
        return first is None and bool(_LENGTHS.search(text(node)))
    if _LENGTHS.search(text(first.node)):
        return True
    return bool(_LENGTHS.search(text(node))) and isinstance(first.node, ast.arg) and _are_items(frame, first.node)


def _are_items(frame: Frame, argument: ast.arg) -> bool:
    """``x, lengths = batch[0], batch[1]``: whether what is called lengths is an item of an argument, as that came."""
    while frame.called_at is not None and (frame.function is None or argument not in inside(frame.function.args)):
        frame = frame.called_at[1]
    for each in assignments_in(frame.function) if frame.function is not None else ():
        parts = list(inside(each.value)) if _LENGTHS.search(frame.machine.text_of(each.targets[0])) else []
        if any(is_name(part, argument.arg) for part in parts) and not any(isinstance(part, ast.Call) for part in parts):
            return True
    return False


def _record(frame: Frame, state: State, node: ast.Call, at: ast.expr, value: Tensor) -> None:
    machine = frame.machine

    def make() -> LengthsOnAccelerator:
        lengths = Operand(
            machine.text_of(at), value.device.describe(), machine.span_of(at), machine.evidence(value.steps)
        )
        surely = is_surely_tensor(frame, state, at)
        led = led_by(frame, node) if not is_placed_elsewhere(frame, value) else None
        call = led[0] if led is not None else None
        by = None if call is None else Operand(machine.text_of(call), lengths.device, machine.span_of(call))
        place = machine.span_of(node) if by is None else by.span
        return LengthsOnAccelerator(place, machine.text_of(node.func), lengths, surely, by)

    machine.record(("lengths", node), make, state)


EVENTS = {Met: _note_met}
FUNCTIONS = {"torch.nn.utils.rnn.pack_padded_sequence": _note_packing}


def check(fact: LengthsOnAccelerator) -> Iterator[Report]:
    lengths, by = fact.lengths, fact.led_by
    read = () if by is None else ((f"{code(lengths.text)} is read here", lengths.span),)
    needs = f"{code(fact.call)} needs lengths of the CPU, but {code(lengths.text)} is on {lengths.device}"
    yield Report(
        span=fact.at,
        message=needs if by is None else f"{code(by.text)} leads to another file, where {needs}",
        symptom="RuntimeError: 'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
        help=f"copy the lengths to the host: {edit(f'{operand(lengths.text)}.cpu()')}",
        notes=tuple(Note(message, span) for message, span in (*read, *lengths.evidence) if span != fact.at),
        fix=_fix(lengths) if fact.surely and by is None else None,
    )


def _fix(lengths: Operand) -> Fix | None:
    edits = call_added(lengths.text, lengths.span, ".cpu()")
    return fix(Applicability.SAFE, f"append `.cpu()` to {code(lengths.text)}", *edits)
