"""An attribute that a method uses as it is, beside its twin, which the method moves (TDL310).

``std = self.std.to(x.device); return x * std + self.mean``, where the class makes both in the same way, of data or
sizes, and brings the other one nowhere. So it is with two metrics of one class: ``self.first.to(device).update(x)``
beside ``self.second.update(x)``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.forgotten.left_in_one_case import places, says_place
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.leaving_attributes import leaves
from torchdevlint.flow.scope.names import dotted_path, is_cpu_spec, places_in, public_path, stem_of
from torchdevlint.flow.state.machine import Machine
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, dropped_by, inside, nodes_in

_MAKERS = torch_api.FACTORIES | torch_api.LEGACY_CONSTRUCTORS | {"from_numpy"}
_METRICS = "torchmetrics."
SIZES = torch_api.SHAPE_ATTRIBUTES | {"size", "dim", "numel", "dtype", "device"}


def look(machine: Machine) -> None:
    """Record what is left so in a file that moves something."""
    for owner in nodes_in(machine.tree, ast.ClassDef):
        moving = [each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name != "__init__"]
        moves = [(method, dict(_moves(method))) for method in moving]
        makers = _makers(owner) if any(found for _, found in moves) else {}
        for method, moved in moves if len(makers) > 1 else ():
            for left, move in _left(method, moved, makers):
                if not leaves(machine.tree, left.attr):
                    record(machine, method, "beside", left, move, at=left, name=left.attr)


def _moves(method: FunctionNode) -> Iterator[tuple[str, ast.Call]]:
    """``self.x.to(y.device)``, whose result is used, by the name of the attribute."""
    dropped = {id(each) for node in nodes_in(method, ast.Expr) for each in dropped_by(node.value)}
    for call in nodes_in(method, ast.Call):
        held = call.func.value if isinstance(call.func, ast.Attribute) else None
        if held is None or (path := dotted_path(held)) is None or not path.startswith("self.") or id(call) in dropped:
            continue
        if places(call) and path.count(".") == 1 and not any(map(is_cpu_spec, places_in(call))):
            yield path.removeprefix("self."), call


def _makers(owner: ast.ClassDef) -> dict[str, str]:
    """What makes the attributes that a class makes in one way, on the CPU: by a factory or of a class of metrics."""
    found: dict[str, str] = {}
    for path, values in values_by_path(owner).items():
        made = [each for each in values if not _is_of_itself(each, path) and not _is_none(each)]
        if path.startswith("self.") and path.count(".") == 1 and len(made) == 1 and isinstance(made[0], ast.Call):
            start = _start(made[0])
            maker = public_path(start.func)
            is_made = maker.startswith("torch.") and maker.rpartition(".")[2] in _MAKERS
            if (is_made or maker.startswith(_METRICS)) and start.args and not any(map(says_place, _calls(made[0]))):
                found[path.removeprefix("self.")] = maker
    return found


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_of_itself(value: ast.expr, path: str) -> bool:
    """``self.x = self.x.to(device)``."""
    return dotted_path(stem_of(value)) == path


def _start(node: ast.Call) -> ast.Call:
    """The call that a chain of methods begins with."""
    while isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        node = node.func.value
    return node


def _calls(node: ast.Call) -> list[ast.Call]:
    return [each for each in inside(node) if isinstance(each, ast.Call)]


def _left(
    method: FunctionNode, moved: dict[str, ast.Call], makers: dict[str, str]
) -> Iterator[tuple[ast.Attribute, ast.Call]]:
    """The only attribute of a maker that a method calculates with as it is, where it moves all others of it."""
    by_maker: dict[str, list[str]] = {}
    for name in sorted(set(moved).intersection(makers)):
        by_maker.setdefault(makers[name], []).append(name)
    for maker, names in by_maker.items():
        twins = {name for name, made_by in makers.items() if made_by == maker and name not in moved}
        calculates = _given_to_metrics if maker.startswith(_METRICS) else _operands
        used = {each.attr: each for each in calculates(method, moved[names[0]]) if each.attr in twins}
        read = {each.attr for each in nodes_in(method, ast.Attribute) if dotted_path(each) == f"self.{each.attr}"}
        if len(used) == 1 and len(read & twins) == 1 and not is_bookkeeping(next(iter(used))):
            yield next(iter(used.values())), moved[names[0]]


def _operands(method: FunctionNode, move: ast.Call) -> Iterator[ast.Attribute]:
    """The attributes of `self` that operators and functions of torch get, as they are or in part."""
    for operation in nodes_in(method, ast.BinOp):
        yield from _own(operation.left)
        yield from _own(operation.right)
    for call in nodes_in(method, ast.Call):
        if public_path(call.func).startswith("torch.") and public_path(call.func).rpartition(".")[2] not in _MAKERS:
            for given in arguments_of(call):
                yield from _own(given)


def _own(node: ast.expr) -> Iterator[ast.Attribute]:
    found = attribute_behind(node)
    if found is not None and isinstance(found.value, ast.Name) and found.value.id == "self":
        yield found


def attribute_behind(node: ast.expr) -> ast.Attribute | None:
    """`self.x` of ``self.x[:, None]`` and ``self.x.float()``, but not of ``self.x.shape[0]``."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr not in SIZES:
            node = node.func.value
        else:
            return node if isinstance(node, ast.Attribute) else None


def _given_to_metrics(method: FunctionNode, move: ast.Call) -> Iterator[ast.Attribute]:
    """The metrics of `self` that are called, or updated, with something that the moved one gets as well."""
    held = move.func.value if isinstance(move.func, ast.Attribute) else move
    bound = {name for name, values in values_by_path(method).items() if any(each is move for each in values)}
    calls = [each for each in nodes_in(method, ast.Call) if each.args]
    given = {
        ast.unparse(one)
        for each in calls
        for one in each.args
        if any(part is held for part in inside(each.func)) or dotted_path(stem_of(each.func)) in bound
    }
    for each in calls:
        callee = each.func.value if isinstance(each.func, ast.Attribute) and each.func.attr == "update" else each.func
        if given & set(map(ast.unparse, each.args)):
            yield from _own(callee)
