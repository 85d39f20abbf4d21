"""Parts of one thing that a call gives to a model, of which some are moved in the call, and one is not (TDL005).

``model(batch["ids"].to(device), batch["mask"])``: both were left where the loader, or the caller, made them. What comes
behind a part that is moved may be a text or a length, so that it counts only if it is called like what models calculate
with, or if the file moves a part of that name in another place.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchdevlint.flow.events import LayerCalled, Mixed, ModuleCalled
from torchdevlint.flow.kinds.managed_batches import moves_batches
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.batch_beside import is_put_somewhere, scatters
from torchdevlint.flow.run.operations import Operands
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping, is_called_text
from torchdevlint.flow.scope.model_names import TAKEN_BY_NAME, is_named_like_a_model
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.flow.state.devices import LOADER, Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Library, Step, Tensor, Unknown, Value
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

_READS = frozenset({"get", "items", "keys", "values"})
_CALCULATED_WITH = regex(
    r"x|edge_(?:index|attr|weight)|(?:\w+_)?(?:masks?|targets?|tgts?|labels?|imgs?|images?|features?|feats?|adj)"
)
"""Names of what models calculate with, and which are no texts and no lengths."""


class _Part(NamedTuple):
    """``batch["ids"]``: the path of what holds it, and its key or attribute, if that is a word."""

    holder: str
    key: str


def _note_layer(event: LayerCalled) -> None:
    _look(event.frame, event.state, event.node, event.layer, event.operands)


def _note_module(event: ModuleCalled) -> None:
    """A model whose class is not known."""
    if isinstance(event.module, Library) and not event.module.name:
        operands = [each for pair in event.arguments.pairs for each in tensor_operands(*pair)]
        _look(event.frame, event.state, event.node, event.node.func, operands)


def _look(frame: Frame, state: State, node: ast.Call, model: ast.expr, operands: Operands) -> None:
    if len(operands) < 2 or frame.depth or frame.context == "forward" or not is_named_like_a_model(model):
        return
    moved = [
        (place, part, (at, value))
        for place, (at, value) in enumerate(operands)
        if isinstance(value, Tensor) and is_put_somewhere(value) and (part := _part_of_move(at)) is not None
    ]
    if not moved or state.guarded or scatters(frame) or moves_batches(frame):
        return
    scope = frame.function or frame.machine.tree
    for place, (at, value) in enumerate(operands):
        part = _part(at)
        beside = [(where, other) for where, each, other in moved if part is not None and each.holder == part.holder]
        if part is None or not beside or not _is_left(value) or part in _lost_in(scope):
            continue
        if _given_away_in(scope).get(part.holder, node.lineno + 1) <= node.lineno:
            continue
        comes_before = place < beside[-1][0] and not is_bookkeeping(part.key) and not _is_text(at)
        if not comes_before and not _is_calculated_with(frame, part):
            continue
        operation = f"`{frame.machine.text_of(node.func)}()`"
        frame.machine.emit(Mixed(frame, state, node, operation, (at, _as_it_came(value, at)), beside[0][1]))
        return


def _is_left(value: Value) -> bool:
    """Whether it is a part of a batch, or of an argument, that nobody has moved; nothing else is known of it."""
    if isinstance(value, Tensor):
        return not value.moved and value.ndim != 0 and value.device.origin in (Origin.LOADER, Origin.ARGUMENT)
    return type(value) is Unknown


def _as_it_came(value: Value, at: ast.expr) -> Tensor:
    """A part of what is moved part by part: it was left where the loader made it."""
    if isinstance(value, Tensor) and value.device == LOADER:
        return value
    return Tensor(LOADER, None, (), (Step("is not moved, as other parts are", at),), opaque=True)


def _part_of_move(node: ast.expr) -> _Part | None:
    """The part that is moved: ``batch["ids"].to(device)``, ``data.x.float().to(device)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "to":
        return None
    return _part(node.func.value)


def _part(node: ast.expr) -> _Part | None:
    """``batch["ids"]``, ``data.x``, ``src[0].long()``."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in torch_api.NAMED_CONVERSIONS:
            break
        node = node.func.value
    if isinstance(node, ast.Attribute):
        holder = dotted_path(node.value)
        return _Part(holder, node.attr) if holder is not None and holder != "self" else None
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
        return None
    holder = dotted_path(node.value)
    key = node.slice.value
    return None if holder is None else _Part(holder, key if isinstance(key, str) else "")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and is_called_text(node.slice)


def _is_calculated_with(frame: Frame, part: _Part) -> bool:
    """Whether a model takes it as a tensor by its name, or the file moves a part of that name in another place."""
    if part.key in TAKEN_BY_NAME or _CALCULATED_WITH.fullmatch(part.key) is not None:
        return True
    return bool(part.key) and part.key in _keys_moved_in(frame.machine.tree)


@once_a_node
def _given_away_in(scope: Scope) -> dict[str, int]:
    """The first line of a scope in which something is bound, filled, or given to whoever may move it.

    ``batch = moved(batch)``, ``for k in batch: batch[k] = ..``. What loops bind is as it came, and so is what is asked
    for its parts.
    """
    asked = {each.value for each in nodes_in(scope, ast.Subscript) if _is_asked_part(each)}
    called = {each.func for each in nodes_in(scope, ast.Call)}
    attributes = nodes_in(scope, ast.Attribute)
    asked.update(each.value for each in attributes if each not in called or each.attr in _READS)
    loops: list[ast.For | ast.comprehension] = [*nodes_in(scope, ast.For), *nodes_in(scope, ast.comprehension)]
    asked.update(each for loop in loops for each in inside(loop.target))
    found: dict[str, int] = {}
    uses: list[ast.Name | ast.Attribute] = [*nodes_in(scope, ast.Name), *attributes]
    for each in uses:
        path = None if each in asked else dotted_path(each)
        if path is not None:
            found[path] = min(found.get(path, each.lineno), each.lineno)
    return found


def _is_asked_part(node: ast.Subscript) -> bool:
    return isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Constant)


@once_a_node
def _lost_in(scope: Scope) -> frozenset[_Part]:
    """The parts that statements of their own move, whose results are lost: each says by itself that its part stays."""
    parts = (_part_of_move(each.value) for each in nodes_in(scope, ast.Expr))
    return frozenset(each for each in parts if each is not None)


@once_a_node
def _keys_moved_in(tree: ast.Module) -> frozenset[str]:
    """The keys and attributes of what a file moves: ``batch["ids"].to(device)``."""
    parts = map(_part_of_move, nodes_in(tree, ast.Call))
    return frozenset(each.key for each in parts if each is not None)


EVENTS = {LayerCalled: _note_layer, ModuleCalled: _note_module}
