"""What is a tensor because its siblings are moved as tensors are: other attributes of `self`, other entries of a dict.

So is what the other arm of a test moves one by one: ``if type(x) is list: x = [each.to(d) for each in x]``.

``self.x = self.x.to(d)`` beside the statement ``self.mask.to(d)``, and ``x = batch["x"].to(d)`` beside
``batch["w"].to(d)``. Only moves that are thrown away ask.
"""

from __future__ import annotations

import ast
import re
from typing import TypeGuard

from torchdevlint.flow.kinds.model_inputs import holds_graphs
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.flow.state.machine import Frame
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import dropped_by, is_inside, is_name, nodes_in, once_a_node

_OF_TENSORS = frozenset().union(
    torch_api.METHOD_TENSOR,
    torch_api.METHOD_TUPLE,
    torch_api.METHOD_LIST,
    torch_api.METHOD_PLAIN,
    torch_api.TENSOR_ATTRIBUTES,
    torch_api.CONVERSIONS,
    torch_api.SHAPE_ATTRIBUTES,
)
_MOVES_IN_PLACE = regex(
    r"model|net(?:$|work|_)|module|coder|critic|actor|policy|layer|head|embed|norm|loss|metric|criteri|ema$|buffer|"
    r"graph|batch|data|sample|inputs|token|item|example|optim|sched|distribution|prior|agent",
    re.IGNORECASE,
)
"""Names of what may have a ``to`` of its own that moves in place."""


def moved_beside(frame: Frame, node: ast.expr) -> ast.AST | None:
    """The move of a sibling of `node` whose result is kept, where nothing says that `node` is another kind of thing."""
    scope = frame.function
    if scope is None or not isinstance(node, (ast.Attribute, ast.Subscript)) or holds_graphs(frame):
        return None
    holder, name = dotted_path(node.value), _name(node)
    if holder is None or name is None or "." in holder or _MOVES_IN_PLACE.search(name):
        return None
    if isinstance(node, ast.Attribute) and (holder != "self" or frame.owner is None or frame.owner.is_module):
        return None
    if not _is_used_as_tensor(frame.owner.node if holder == "self" and frame.owner is not None else scope, node):
        return None
    kept = _kept(scope).get((type(node), holder), ())
    return next((each for each in kept if ast.dump(each) != ast.dump(node)), None)


def moved_in_other_arm(frame: Frame, node: ast.expr) -> ast.AST | None:
    """Where the other arm of a test binds the name of `node` to the moved parts of what it held."""
    if not isinstance(node, ast.Name) or _MOVES_IN_PLACE.search(node.id) or frame.function is None:
        return None
    for asked in nodes_in(frame.function, ast.If):
        for own, other in ((asked.body, asked.orelse), (asked.orelse, asked.body)):
            if any(is_inside(node, each) for each in own):
                return next((each.value for each in other if _moves_parts(each, node.id)), None)
    return None


def _moves_parts(statement: ast.stmt, name: str) -> TypeGuard[ast.Assign]:
    """``x = [each.to(device) for each in x]``."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.ListComp):
        return False
    moved, source = statement.value.elt, statement.value.generators[0]
    if not isinstance(moved, ast.Call) or not isinstance(moved.func, ast.Attribute):
        return False
    each = moved.func.value
    is_part = isinstance(each, ast.Name) and is_name(source.target, each.id) and is_name(source.iter, name)
    return is_part and moved.func.attr in torch_api.MOVE_METHODS and is_name(statement.targets[0], name)


def _name(node: ast.Attribute | ast.Subscript) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return key if isinstance(key, str) else None


def _is_used_as_tensor(scope: ast.AST, node: ast.Attribute | ast.Subscript) -> bool:
    """Whether all that is asked of it is what tensors have, and it is not called."""
    text = ast.unparse(node)
    asked = {each.attr for each in nodes_in(scope, ast.Attribute) if _is(each.value, type(node), text)}
    called = any(_is(each.func, type(node), text) for each in nodes_in(scope, ast.Call))
    return asked <= _OF_TENSORS and not called


def _is(node: ast.expr, kind: type, text: str) -> bool:
    return type(node) is kind and ast.unparse(node) == text


@once_a_node
def _kept(scope: Scope) -> dict[tuple[type, str], list[ast.expr]]:
    """What a function moves and keeps, by the kind of place and what holds it."""
    dropped = {id(each) for node in nodes_in(scope, ast.Expr) for each in dropped_by(node.value)}
    found: dict[tuple[type, str], list[ast.expr]] = {}
    for call in nodes_in(scope, ast.Call):
        moved = call.func.value if isinstance(call.func, ast.Attribute) else None
        if not isinstance(moved, (ast.Attribute, ast.Subscript)) or id(call) in dropped:
            continue
        holder = dotted_path(moved.value)
        if call.func.attr in torch_api.MOVE_METHODS and holder is not None and _name(moved) is not None:  # type: ignore[attr-defined]
            found.setdefault((type(moved), holder), []).append(moved)
    return found
