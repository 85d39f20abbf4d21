"""Functions that are called movers, ask for tensors, and give all that they are given back as it came (TDL310).

``def to_device(self, x): if isinstance(x, dict): return {k: self.to_device(v) for k, v in x.items()}; return x``: it
makes containers anew, and moves nothing that is in them. What a function calls besides may move something; where it is
told a device, `unread_devices` has the finding.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.forgotten.tested_but_left import asks_for_mover, asks_for_tensor
from torchdevlint.flow.checks.forgotten.unread_devices import is_called_mover
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.scope.decorators import is_plain
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.names import dotted_path, last_name, mentions_device, parameter_names
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import nodes_in

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
    for function in movers:
        told = any(map(mentions_device, parameter_names(function)))
        asked = _asked(function) if is_plain(function) and not told else None
        kept = _kept(function) if asked is not None and _changes_nothing(function) else None
        if asked is not None and kept is not None:
            record(machine, function, "asked", kept, asked, at=kept)


def _asked(function: FunctionNode) -> ast.Call | None:
    """``isinstance(x, torch.Tensor)`` of an argument, or of a part of one."""
    return next((each for each in nodes_in(function, ast.Call) if asks_for_tensor(each) or asks_for_mover(each)), None)


def _kept(function: FunctionNode) -> ast.expr | None:
    """The argument that a return gives back as it came, the first one."""
    names = {*parameter_names(function)} - {"self", "cls"}
    returned = [each.value for each in sorted(nodes_in(function, ast.Return), key=lambda each: each.lineno)]
    return next((each for each in returned if isinstance(each, ast.Name) and each.id in names), None)


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
