"""Functions that are called movers, ask for tensors, and give all that they are given back as it came (TDL310).

``def to_device(self, x): if isinstance(x, dict): return {k: self.to_device(v) for k, v in x.items()}; return x``: it
makes containers anew, and moves nothing that is in them. It need not ask where another mover of its class moves what it
is given: ``return module.to(self.device)``. What a function calls besides may move something; where it is told a
device, `unread_devices` has the finding.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.forgotten.tested_but_left import asks_for_mover, asks_for_tensor
from torchdevlint.flow.checks.forgotten.unread_devices import is_called_mover
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.scope.annotations import annotated_tensor
from torchdevlint.flow.scope.decorators import is_plain
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.names import dotted_path, last_name, mentions_device, parameter_names
from torchdevlint.flow.scope.plain_moves import moved_by
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import is_bare_constant, nodes_in

_OF_CONTAINERS = frozenset(
    """
    dict list tuple set frozenset zip enumerate range len iter sorted map filter isinstance issubclass hasattr getattr
    setattr type callable any all items values keys append extend update insert copy get is_tensor is_dataclass fields
    namedtuple OrderedDict defaultdict __class__ _make _replace super
    warn warning info debug format str print
    """.split()
)
"""What makes containers, walks through them, asks what something is, or logs: tensors in them stay where they are."""


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    movers = [each for each in functions_in(machine.tree) if is_called_mover(each.name)]
    if not movers or not imports_torch(machine.tree):
        return
    owners = {method: owner for owner in nodes_in(machine.tree, ast.ClassDef) for method in owner.body}
    for function in movers:
        told = any(map(mentions_device, parameter_names(function)))
        if told or not is_plain(function) or not _changes_nothing(function):
            continue
        asked, kept = _asked(function), _kept(function)
        if asked is not None and kept is not None:
            record(machine, function, "asked", kept, asked, at=kept)
            continue
        owner = owners.get(function)
        moves = [move for each in movers if each is not function and owners.get(each) is owner for move in _moves(each)]
        alone = _only_returned(function)
        if owner is not None and moves and alone is not None:
            record(machine, function, "makers", alone, moves[0], at=alone)


def _asked(function: FunctionNode) -> ast.Call | None:
    """``isinstance(x, torch.Tensor)`` of an argument, or of a part of one."""
    return next((each for each in nodes_in(function, ast.Call) if asks_for_tensor(each) or asks_for_mover(each)), None)


def _kept(function: FunctionNode) -> ast.expr | None:
    """The argument that a return gives back as it came, the first one."""
    names = {*parameter_names(function)} - {"self", "cls"}
    returned = [each.value for each in sorted(nodes_in(function, ast.Return), key=lambda each: each.lineno)]
    return next((each for each in returned if isinstance(each, ast.Name) and each.id in names), None)


def _moves(function: FunctionNode) -> list[ast.Call]:
    """The moves that a function gives: ``return module.to(self.device)``."""
    returned = [each.value for each in nodes_in(function, ast.Return) if each.value is not None]
    return [move for each in returned if (move := moved_by(each)) is not None]


def _only_returned(function: FunctionNode) -> ast.expr | None:
    """The argument, a tensor by what is said of it, if a function does nothing but to give it back."""
    body = function.body[1:] if is_bare_constant(function.body[0]) else function.body
    value = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
    if isinstance(value, ast.Name):
        said = next((each.annotation for each in nodes_in(function.args, ast.arg) if each.arg == value.id), None)
        return value if said is not None and annotated_tensor(said) else None
    return None


def _changes_nothing(function: FunctionNode) -> bool:
    """Whether all that it calls are itself, and what makes containers."""
    for call in nodes_in(function, ast.Call):
        name = last_name(call.func)
        made_by_class = isinstance(call.func, ast.Call) and dotted_path(call.func.func) == "type"
        if name != function.name and name not in _OF_CONTAINERS and not made_by_class:
            return False
    return True


SAYING = ("dev", "Dev", "DEV")
EVENTS = {FileEnded: _note_end}
