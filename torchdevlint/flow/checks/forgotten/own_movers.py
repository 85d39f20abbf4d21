"""Objects that move themselves: a ``to`` of their own that moves some attributes and forgets one.

``self.adj = self.adj.to(device)`` in the class's own ``to`` or ``cuda`` says what is meant to move. What ``__init__``
makes besides, or a method makes, and meets these, stays on the CPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import permutations

from torchdevlint.flow.events import FileStarted, Mixed, Operated
from torchdevlint.flow.kinds.construction import is_part_of_init
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.made_of_own import is_of_self, made_of_own
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import DEFAULT, Device, Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.members import writers_of
from torchdevlint.flow.state.values import Step, Tensor, Value
from torchdevlint.source.nodes import assignments_in, nodes_in, once_a_node

_MOVERS = ("to", "cuda", "_apply")


def _begin(event: FileStarted) -> None:
    if any(_moved_in(node) for node in nodes_in(event.machine.tree, ast.ClassDef)):
        event.machine.observe(Operated, _note_operands)


def _note_operands(event: Operated) -> None:
    """``self.adj @ x / self.degree``, where ``to`` moves `self.adj` alone."""
    frame, owner = event.frame, event.frame.owner
    moved = _moved_in(owner.node) if owner is not None and not frame.depth else {}
    if not moved or owner is None or len(event.operands) < 2 or _is_before_the_move(frame, owner):
        return
    for (at, _), (other_at, other) in permutations(event.operands, 2):
        names = set(made_of_own(at))
        if not names or not names <= moved.keys() or not _stays(frame, owner, other_at, other):
            continue
        move = moved[min(names)]
        step = Step("moved by the object itself", move)
        there = Tensor(Device(Origin.EXPRESSION, "self"), None, (), (step,), moved=True)
        strict = event.operation == "`@`"
        if strict or other.ndim:  # type: ignore[attr-defined]
            pair = (other_at, other), (at, there)
            frame.machine.emit(Mixed(frame, event.state, event.node, event.operation, *pair, False))  # type: ignore[arg-type]
        return


def _is_before_the_move(frame: Frame, owner: ClassInfo) -> bool:
    """Whether a method moves the object, makes it, or runs only while it is made."""
    name = getattr(frame.function, "name", "__init__")
    return name in ("__init__", "cpu", *_MOVERS) or is_part_of_init(frame.machine, owner, name)


def _stays(frame: Frame, owner: ClassInfo, node: ast.expr, value: Value) -> bool:
    """Whether an operand is a new tensor of the method, or one that ``__init__`` keeps and nothing writes or moves."""
    names = list(made_of_own(node))
    if not isinstance(value, Tensor) or value.device != DEFAULT or not value.creations:
        return False
    if not names and all(site.scope == frame.scope for site in value.creations):
        return True
    if len(names) != 1:
        return False
    if any(site.where != "init" and not site.scope.endswith("__init__") for site in value.creations):
        return False
    writers = writers_of(owner, names[0])
    spoken = {path.attr for path in _paths_in_movers(owner.node)}
    return len(writers) == 1 and getattr(writers[0], "name", "") == "__init__" and names[0] not in spoken


def _paths_in_movers(owner: ast.ClassDef) -> Iterator[ast.Attribute]:
    return (each for mover in _movers(owner) for each in nodes_in(mover, ast.Attribute) if is_of_self(each))


def _movers(owner: ast.ClassDef) -> list[ast.FunctionDef]:
    return [each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name in _MOVERS]


@once_a_node
def _moved_in(owner: ast.ClassDef) -> dict[str, ast.AST]:
    """The attributes that the class itself moves, with the moves: ``self.a = self.a.to(device)``."""
    found: dict[str, ast.AST] = {}
    for assign in (each for mover in _movers(owner) for each in assignments_in(mover)):
        call, path = assign.value, dotted_path(assign.targets[0])
        if path is None or not path.startswith("self.") or path.count(".") > 1 or not isinstance(call, ast.Call):
            continue
        moves = isinstance(call.func, ast.Attribute) and call.func.attr in torch_api.MOVE_METHODS
        if moves and dotted_path(call.func.value) == path:  # type: ignore[attr-defined]
            found[path.removeprefix("self.")] = call
    return found


EVENTS = {FileStarted: _begin}
