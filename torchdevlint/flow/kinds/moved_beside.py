"""What is a tensor because its siblings are moved as tensors are: other attributes of `self`, other entries of a dict.

So is what the other arm of a test moves one by one: ``if type(x) is list: x = [each.to(d) for each in x]``.

``self.x = self.x.to(d)`` beside the statement ``self.mask.to(d)``, and ``x = batch["x"].to(d)`` beside
``batch["w"].to(d)``. An object that another one holds may keep models as well, so that more has to show what its
attributes are: ``mesh.faces = mesh.faces.to(d)`` beside ``mesh.points.to(d)``. Only moves that are thrown away ask.
"""

from __future__ import annotations

import ast
import re
from typing import TypeGuard

from torchdevlint.flow.kinds.model_inputs import holds_graphs
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.scope.names import dotted_path, last_name, public_path
from torchdevlint.flow.scope.plain_moves import is_plain_move
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.flow.state.machine import Frame
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import (
    Assignment,
    dropped_by,
    is_inside,
    is_name,
    nodes_in,
    once_a_node,
    own_assignments_in,
)

_OF_TENSORS = frozenset[str]().union(
    torch_api.METHOD_TENSOR,
    torch_api.METHOD_TUPLE,
    torch_api.METHOD_LIST,
    torch_api.METHOD_PLAIN,
    torch_api.TENSOR_ATTRIBUTES,
    torch_api.CONVERSIONS,
    torch_api.SHAPE_ATTRIBUTES,
)
_OF_TENSORS_ALONE = _OF_TENSORS - torch_api.CONVERSIONS - torch_api.MODULE_ONLY_ATTRIBUTES - {"data", "device", "dtype"}
_LEAST_BESIDE = 2
_MOVES_IN_PLACE = regex(
    r"model|net(?:$|work|_)|module|coder|critic|actor|policy|layer|head|embed|norm|loss|metric|criteri|ema$|buffer|"
    r"graph|batch|data|sample|inputs|token|item|example|optim|sched|distribution|prior|agent",
    re.IGNORECASE,
)
"""Names of what may have a ``to`` of its own that moves in place."""

_CALLED_OUTPUT = regex(r"(?:^|_)(?:out|output|result|pred|prediction|logit|grad)s?$")
"""Names of what is no batch in a class of its own, which would move in place and is no dict."""


def moved_beside(frame: Frame, node: ast.expr) -> ast.AST | None:
    """The move of a sibling of `node` whose result is kept, where nothing says that `node` is another kind of thing."""
    scope = frame.function
    if scope is None or not isinstance(node, (ast.Attribute, ast.Subscript)) or holds_graphs(frame):
        return None
    holder, name = dotted_path(node.value), _name(node)
    if holder is None or name is None or _MOVES_IN_PLACE.search(name):
        return None
    of_self = holder == "self" or holder.startswith("self.")
    if of_self and frame.owner is None:
        return None
    whole = frame.owner.node if of_self and frame.owner is not None else scope
    if not _is_used_as_tensor(whole, node):
        return None
    if "." in holder or (isinstance(node, ast.Attribute) and holder != "self"):
        return _moved_of_held(scope, whole, node, holder)
    if isinstance(node, ast.Attribute) and (frame.owner is None or frame.owner.is_module):
        return None
    kept = _kept(scope).get((type(node), holder), ())
    return next((each for each in kept if ast.dump(each) != ast.dump(node)), None)


def _moved_of_held(scope: Scope, whole: ast.AST, node: ast.expr, holder: str) -> ast.AST | None:
    """A sibling in an object that `holder` names, which is bound to its own move, if all is read as tensors are.

    That is the attribute itself, or one of several siblings.
    """
    bound = {id(each.value) for each in own_assignments_in(scope) if _is_bound_to_own_move(each)}
    calls = (each for each in nodes_in(scope, ast.Call) if id(each) in bound)
    moved = [each.func.value for each in calls if isinstance(each.func, ast.Attribute)]
    beside = [each for each in moved if isinstance(each, type(node)) and dotted_path(each.value) == holder]  # type: ignore[attr-defined]
    beside = [each for each in beside if ast.dump(each) != ast.dump(node)]
    if not beside or is_named_like_a_model(node) or any(_MOVES_IN_PLACE.search(last_name(each)) for each in beside):
        return None
    is_read = _is_read_as_tensor(whole, node)
    if not is_read and (len(beside) < _LEAST_BESIDE or not any(_is_read_as_tensor(whole, each) for each in beside)):
        return None
    return beside[0]


def _is_bound_to_own_move(assigned: Assignment) -> bool:
    """``mesh.faces = mesh.faces.to(device)``."""
    move, target = assigned.value, assigned.targets[0]
    moved = move.func.value if is_plain_move(move) and isinstance(move.func, ast.Attribute) else None
    return moved is not None and _is(moved, type(target), ast.unparse(target))


def _is_read_as_tensor(whole: ast.AST, node: ast.expr) -> bool:
    """Whether what is done with it is done with tensors: ``x.clone()``, ``2 * x``, ``x[:, 0]``, ``torch.sum(x)``."""
    text, kind = ast.unparse(node), type(node)
    if any(each.attr in _OF_TENSORS_ALONE and _is(each.value, kind, text) for each in nodes_in(whole, ast.Attribute)):
        return True
    if any(_is(each.left, kind, text) or _is(each.right, kind, text) for each in nodes_in(whole, ast.BinOp)):
        return True
    by_axes = (each.value for each in nodes_in(whole, ast.Subscript) if isinstance(each.slice, ast.Tuple))
    if any(_is(each, kind, text) for each in by_axes):
        return True
    calls = (each for each in nodes_in(whole, ast.Call) if public_path(each.func).startswith("torch."))
    return any(_is(given, kind, text) for each in calls for given in each.args)


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
    """``x = [each.to(device) for each in x]``, ``x = {k: v.to(device) for k, v in x.items()}``."""
    if not isinstance(statement, ast.Assign) or not is_name(statement.targets[0], name):
        return False
    made = statement.value
    if isinstance(made, ast.ListComp):
        moved, part, source = made.elt, made.generators[0].target, made.generators[0].iter
    elif isinstance(made, ast.DictComp):
        moved, part, source = made.value, made.generators[0].target, made.generators[0].iter
        if not isinstance(part, ast.Tuple) or not _is_items(source) or not _CALLED_OUTPUT.search(name):
            return False
        part, source = part.elts[-1], source.func.value  # type: ignore[attr-defined]
    else:
        return False
    if not isinstance(moved, ast.Call) or not isinstance(moved.func, ast.Attribute):
        return False
    each = moved.func.value
    is_part = isinstance(each, ast.Name) and is_name(part, each.id) and is_name(source, name)
    return is_part and moved.func.attr in torch_api.MOVE_METHODS


def _is_items(node: ast.expr) -> TypeGuard[ast.Call]:
    """``x.items()``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "items"


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
