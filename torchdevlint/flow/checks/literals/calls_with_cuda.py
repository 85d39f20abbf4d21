"""Functions that are told ``device="cuda"`` where what calls them shows another device (TDL012).

What they make is used beside tensors of an argument whose size they are told too, or beside what the same function
puts on a device that it knows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.literals.for_cuda import is_for_cuda
from torchdevlint.flow.checks.literals.given_devices import Given, at_hand
from torchdevlint.flow.checks.literals.given_operands import by_operand
from torchdevlint.flow.checks.literals.placement import is_guarded, is_what_it_is_for, literal_place, record
from torchdevlint.flow.events import ForeignCalled, FunctionCalled, Operated, UnknownCalled
from torchdevlint.flow.kinds.sizes import sizes_asked
from torchdevlint.flow.run.operand_kinds import calculated_with
from torchdevlint.flow.scope.names import device_spec, parameter_names
from torchdevlint.flow.scope.naming_cuda import cuda_in_words
from torchdevlint.flow.state.devices import Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Tensor, Unknown
from torchdevlint.flow.vouch.devices import remember
from torchdevlint.flow.vouch.elsewhere import stands_here
from torchdevlint.source.nodes import arguments_of


def _note_function(event: FunctionCalled) -> None:
    """``grid(x.shape[0], device="cuda")``, of a function of the project."""
    _look(event.frame, event.state, event.node)


def _note_unknown(event: UnknownCalled | ForeignCalled) -> None:
    _look(event.frame, event.state, event.node)


def _look(frame: Frame, state: State, node: ast.Call) -> None:
    text = next((_named(each) for each in node.keywords if each.arg == "device"), None)
    if text is None or frame.function is None or frame.depth or frame.machine.in_child:
        return
    if is_what_it_is_for(frame) or is_for_cuda(frame) or is_guarded(state):
        return
    remember(frame, state, node)
    found = sized_by(frame, state, node) or at_hand(frame, state, node)
    if found is not None:
        record(frame, state, node, text, found)


def _note_operands(event: Operated) -> None:
    """``x * torch.rand(x.shape, device="cuda")`` of an argument: what has a shape and meets a tensor is one.

    So does ``x / keep``.
    """
    frame, operands = event.frame, event.operands
    if frame.function is None or frame.depth or frame.machine.in_child or len(operands) < 2:
        return
    tensors = [(at, value) for at, value in operands if type(value) is Tensor]
    if Origin.LITERAL not in {value.device.origin for _, value in tensors}:
        return
    unknown = {
        each.id: (each, value)
        for at, value in operands
        for each in (calculated_with(frame.function, at) if isinstance(value, Unknown) else ())
        if isinstance(each, ast.Name)
    }
    asked = unknown.keys() & parameter_names(frame.function)
    placed = ((at, literal_place(frame, value)) for at, value in tensors if asked)
    for put, place in placed:
        name = next((each for each, _ in _sizes_told(place) if each in asked), None)
        if name is None or place is None or not stands_here(frame, place, unknown[name][0]):
            continue
        found = by_operand(frame, (place, put), unknown[name], f"{name}.device")
        if found is not None:
            record(frame, event.state, place, cuda_in_words(place), found)


def _sizes_told(call: ast.AST | None) -> Iterator[tuple[str, ast.Attribute]]:
    """`x` in ``f(x.shape[0], n=x.size(1))``, and the place that asks for its size."""
    given = arguments_of(call) if isinstance(call, ast.Call) else []
    for each in sizes_asked(given):
        if isinstance(each.value, ast.Name):
            yield each.value.id, each


def _named(keyword: ast.keyword) -> str | None:
    """``"cuda"``, as it is written."""
    spec = device_spec(keyword.value)
    value = spec.value if isinstance(spec, ast.Constant) else None
    return f'"{value}"' if value in ("cuda", "cuda:0") else None


def sized_by(frame: Frame, state: State, node: ast.Call) -> Given | None:
    """The argument of the caller whose size is told: ``make(images.shape[0], device="cuda")``."""
    for name, asked in _sizes_told(node):
        if name not in parameter_names(frame.function):  # type: ignore[arg-type]
            continue
        value = state.env.get(name)
        if isinstance(value, Tensor) and value.device.origin in (Origin.ARGUMENT, Origin.MODEL):
            return Given(f"{name}.device", f"`{name}` says how large it is", asked)
    return None


SAYING = ("cuda", "device")
EVENTS = {
    FunctionCalled: _note_function,
    UnknownCalled: _note_unknown,
    ForeignCalled: _note_unknown,
    Operated: _note_operands,
}
