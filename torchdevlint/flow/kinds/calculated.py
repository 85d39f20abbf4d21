"""What is a tensor since it is calculated with, of what can be moved: ``p - anchor`` and ``anchor.to(p.device)``.

Modules, batches and graphs have a ``to`` as well, and arrays and numbers are calculated with: tensors alone do both.
Only moves that are thrown away ask.
"""

from __future__ import annotations

import ast
import re

from torchdevlint.flow.kinds.annotated import is_used_otherwise
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.dimensions import takes_along
from torchdevlint.flow.scope.uses import Scope, uses_in
from torchdevlint.flow.state.machine import Frame
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import assignments_in, below, is_name, nodes_in, once_a_node

_OF_NUMBERS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult, ast.Pow)
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_KEEPS = torch_api.CONVERSIONS | {"clone", "contiguous", "detach", "squeeze"}
"""What gives a tensor where it is asked of one, and may be asked of an array or a Module."""
_HAS_OPERATORS = regex(
    r"metric|meter|averag|ema$|model|module|net(?:$|work)|graph|data|(?<!\b[xy]_)batch|distribution", re.IGNORECASE
)
"""Names of what moves in place, or may, though it is added and multiplied: metrics, graphs."""


def may_move_in_place(name: str) -> bool:
    """Whether a name is that of what moves in place, though it may be added and multiplied."""
    return _HAS_OPERATORS.search(name) is not None


def calculated_at(frame: Frame, node: ast.expr) -> ast.expr | None:
    """Where the function calculates with `node`, or what it calculates it of; None if it does not, or not surely."""
    scope = frame.function or frame.machine.tree
    if isinstance(node, ast.Subscript):
        return _entry_of_numbers(scope, node)
    if not isinstance(node, ast.Name) or may_move_in_place(node.id) or node.id not in uses_in(scope):
        return None
    if is_used_otherwise(frame, scope, node.id):
        return None
    made = _calculated(scope).get(node.id)
    return made if made is not None else _operands(scope).get(node.id)


def operators(node: ast.expr) -> tuple[str, ...]:
    """The methods of which a class has to have one, so that its objects are calculated with in this way."""
    if isinstance(node, ast.BinOp):
        name = _METHODS.get(type(node.op), "pow")
        return f"__{name}__", f"__r{name}__"
    if isinstance(node, ast.Compare):
        return "__lt__", "__gt__", "__le__", "__ge__"
    return ("__getitem__",) if isinstance(node, ast.Subscript) else ()


_METHODS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.MatMult: "matmul"}


@once_a_node
def _calculated(scope: Scope) -> dict[str, ast.expr]:
    """The names that a scope binds to outcomes of calculations alone, with the first one of each."""
    found: dict[str, ast.expr] = {}
    others: set[str] = set()
    for each in assignments_in(scope):
        for target in each.targets:
            if not isinstance(target, ast.Name):
                others.update(one.id for one in nodes_in(target, ast.Name) if isinstance(one.ctx, ast.Store))
            elif is_name(_start(each.value), target.id):
                continue
            elif _is_calculated(each.value):
                found.setdefault(target.id, each.value)
            else:
                others.add(target.id)
    bound = {each.target.id for each in nodes_in(scope, ast.For) if isinstance(each.target, ast.Name)}
    return {name: value for name, value in found.items() if name not in others | bound}


def _start(node: ast.expr) -> ast.expr:
    """`x` of ``x.to(device).float()``."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPS:
        node = node.func.value
    return node


def _is_calculated(node: ast.expr) -> bool:
    """``f(x).div_(255)``, ``f(x) + low``, ``x[:, None]``, ``steps < lengths``: what can be moved of it is a tensor."""
    node = _start(node)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr in torch_api.TENSOR_ONLY_METHODS
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, _OF_NUMBERS) and not _is_of_texts(node)
    if isinstance(node, ast.Compare):
        return isinstance(node.ops[0], _ORDERS)
    return isinstance(node, ast.Subscript) and takes_along(node.slice)


def _is_of_texts(node: ast.BinOp) -> bool:
    held = (each for each in below([node]) if isinstance(each, (ast.Constant, ast.JoinedStr, ast.List)))
    return not all(map(_is_number, held))


def _is_number(node: object) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


@once_a_node
def _operands(scope: Scope) -> dict[str, ast.expr]:
    """The names that a scope calculates with, as they are or but for a sign, with the first operation of each."""
    found: dict[str, ast.expr] = {}
    for each in nodes_in(scope, ast.BinOp):
        if isinstance(each.op, _OF_NUMBERS) and not _is_of_texts(each):
            _note(found, each, each.left, each.right)
    for asked in nodes_in(scope, ast.Compare):
        if isinstance(asked.ops[0], _ORDERS):
            _note(found, asked, asked.left, *asked.comparators)
    return found


def _note(found: dict[str, ast.expr], operation: ast.expr, *operands: ast.expr) -> None:
    for each in operands:
        operand = each.operand if isinstance(each, ast.UnaryOp) else each
        if isinstance(operand, ast.Name):
            found.setdefault(operand.id, operation)


def _entry_of_numbers(scope: Scope, node: ast.Subscript) -> ast.expr | None:
    """Where ``state["v"]`` is calculated with, if `node` is ``state[key]`` in a loop over the keys of `state`."""
    holder, key = node.value, node.slice
    if not isinstance(holder, ast.Name) or not isinstance(key, ast.Name) or may_move_in_place(holder.id):
        return None
    if not any(is_name(each.iter, holder.id) and is_name(each.target, key.id) for each in nodes_in(scope, ast.For)):
        return None
    for each in nodes_in(scope, ast.BinOp):
        for operand in (each.left, each.right):
            if isinstance(operand, ast.Subscript) and is_name(operand.value, holder.id):
                return each
    return None
