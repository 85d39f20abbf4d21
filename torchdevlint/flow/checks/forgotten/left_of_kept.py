"""What ``__init__`` keeps as a function gave it, on the CPU, beside other attributes that it moves (TDL310).

``self.rows = self.rows.to(self.device); self.angles = self.angles.to(self.device); self.turns = read_turns(path)``: the
methods calculate with all three. What a method moves later, or reads on the host, stays for a reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.registration.kept_together import leaves
from torchdevlint.flow.events import FunctionEnded
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.plain_moves import moved_by, place_of
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import DEFAULT
from torchdevlint.flow.state.values import Tensor, Value
from torchdevlint.source.nodes import Assignment, assignment_of, is_below, own_assignments_in

_LEAST_MOVED = 2
_MOVERS = frozenset({"to", "cuda", "_apply", "to_device", "move_to"})


def _note_end(event: FunctionEnded) -> None:
    frame, owner = event.frame, event.frame.owner
    function = frame.function
    if frame.depth or owner is None or not isinstance(function, ast.FunctionDef) or not event.end.alive:
        return
    if function.name != "__init__" or owner.is_module or _MOVERS.intersection(owner.methods):
        return
    moves = dict(_moved(function))
    if len(moves) < _LEAST_MOVED or len({place_of(each) for each in moves.values()}) != 1:
        return
    for each in filter(None, map(assignment_of, function.body)):
        name = _kept(each)
        value = event.end.paths.get(f"self.{name}") if name and name not in moves else None
        if value is not None and _is_left(function, value) and not _stays(owner, name):
            beside = next(iter(moves.values()))
            record(frame.machine, function, "beside", each.value, beside, at=each.value)


def _moved(function: ast.FunctionDef) -> Iterator[tuple[str, ast.Call]]:
    """The attributes that are bound to something that is moved as it is bound."""
    for each in own_assignments_in(function):
        path, move = dotted_path(each.targets[0]) or "", moved_by(each.value)
        if move is not None and path.startswith("self.") and path.count(".") == 1:
            yield path.removeprefix("self."), move


def _kept(assigned: Assignment) -> str:
    """`turns` of ``self.turns = read_turns(path)``."""
    path = dotted_path(assigned.targets[0]) or ""
    own = isinstance(assigned.value, ast.Call) and path.startswith("self.") and path.count(".") == 1
    return path.removeprefix("self.") if own else ""


def _is_left(function: ast.FunctionDef, value: Value) -> bool:
    """Whether it is a tensor with dimensions that another function has made on the default device."""
    if not isinstance(value, Tensor) or value.device != DEFAULT or not value.ndim or not value.creations:
        return False
    return not value.parameter and not any(is_below(each.node, function) for each in value.creations)


def _stays(owner: ClassInfo, name: str) -> bool:
    return is_bookkeeping(name) or leaves(owner, name)


EVENTS = {FunctionEnded: _note_end}
