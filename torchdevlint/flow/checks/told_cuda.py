"""Functions that are told ``device="cuda"`` where what calls them shows another device (TDL012).

What they make is used beside tensors of an argument whose size they are told too, or beside what the same function
puts on a device that it knows.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.for_cuda import is_for_cuda
from torchdevlint.flow.checks.given_devices import Given, at_hand
from torchdevlint.flow.checks.placement import is_guarded, is_what_it_is_for, record
from torchdevlint.flow.events import ForeignCalled, FunctionCalled, UnknownCalled
from torchdevlint.flow.scope.names import argument_names
from torchdevlint.flow.state.devices import Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Tensor
from torchdevlint.flow.vouch.devices import remember
from torchdevlint.source.nodes import inside


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


def _named(keyword: ast.keyword) -> str | None:
    """``"cuda"``, as it is written."""
    value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
    return f'"{value}"' if value in ("cuda", "cuda:0") else None


def sized_by(frame: Frame, state: State, node: ast.Call) -> Given | None:
    """The argument of the caller whose size is told: ``make(images.shape[0], device="cuda")``."""
    given = [*node.args, *(each.value for each in node.keywords)]
    for each in (part for argument in given for part in inside(argument)):
        holder = each.value if isinstance(each, ast.Attribute) and each.attr in ("shape", "size") else None
        if not isinstance(holder, ast.Name) or holder.id not in argument_names(frame.function):  # type: ignore[arg-type]
            continue
        value = state.env.get(holder.id)
        if isinstance(value, Tensor) and value.device.origin in (Origin.ARGUMENT, Origin.MODEL):
            return Given(f"{holder.id}.device", f"`{holder.id}` says how large it is", each)
    return None


EVENTS = {FunctionCalled: _note_function, UnknownCalled: _note_unknown, ForeignCalled: _note_unknown}
