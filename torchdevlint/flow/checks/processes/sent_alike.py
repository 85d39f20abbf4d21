"""Whether a file shows that what processes send each other has to be on a device, whatever backend is chosen (TDL404).

``dist.reduce(torch.tensor(values, device=self.device), 0)`` in one method says so of ``dist.broadcast(torch.zeros(1),
0)`` in another one: both go the same way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.processes.groups import OTHER_BACKENDS
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, mentions_device, places_in, public_path
from torchdevlint.flow.scope.same_size import told_place
from torchdevlint.flow.state.machine import Frame
from torchdevlint.source.functions import functions_in
from torchdevlint.source.nodes import is_below, nodes_in, once_a_node, own_nodes_in


def others_are_placed(frame: Frame, node: ast.Call, collectives: frozenset[str]) -> bool:
    """Whether another collective of the file sends what is put on a device, and no other backend is named."""
    machine = frame.machine
    tree = machine.tree
    if not is_below(node, tree) or machine.words & OTHER_BACKENDS:
        return False
    return any(sent is not node for sent in _placed(tree) if public_path(sent.func).rpartition(".")[2] in collectives)


@once_a_node
def _placed(tree: ast.Module) -> list[ast.Call]:
    """The calls of `torch.distributed` that are given what is made on, or moved to, a device with a name."""
    found: list[ast.Call] = []
    for function in functions_in(tree):
        calls = own_nodes_in(function, ast.Call)
        sends = [each for each in calls if public_path(each.func).startswith("torch.distributed.") and each.args]
        found += [each for each in sends if any(map(_is_placed, _values(function, each.args[0])))]
    return found


def _values(function: ast.AST, node: ast.expr) -> Iterator[ast.expr]:
    path = dotted_path(node)
    yield from values_by_path(function).get(path, ()) if path is not None else [node]


def _is_placed(value: ast.expr) -> bool:
    """``torch.zeros(1, device=device)``, ``torch.tensor(x).to(self.device)``."""
    for each in [value, *nodes_in(value, ast.Call)]:
        if not isinstance(each, ast.Call):
            continue
        if told_place(each) is not None:
            return True
        if isinstance(each.func, ast.Attribute) and each.func.attr == "to":
            named = (dotted_path(place) or "" for place in places_in(each))
            if any(mentions_device(one.rpartition(".")[2]) for one in named):
                return True
    return False
