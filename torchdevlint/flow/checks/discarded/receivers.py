"""What the receiver of a move is whose result is thrown away: a tensor, and why, or something that nobody knows."""

from __future__ import annotations

import ast

from torchdevlint.flow.kinds import loaders
from torchdevlint.flow.kinds.annotated import is_used_otherwise
from torchdevlint.flow.kinds.calculated import calculated_at, may_move_in_place, operators
from torchdevlint.flow.kinds.model_inputs import asked_for_device, holds_graphs, shown_by
from torchdevlint.flow.kinds.moved_beside import moved_beside, moved_in_other_arm
from torchdevlint.flow.kinds.moving_classes import may_be_of_moving_class
from torchdevlint.flow.kinds.tensor_uses import is_tensor_by_use
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import (
    dotted_path,
    is_called_loader,
    is_cpu_spec,
    last_name,
    mentions_device,
    places_in,
)
from torchdevlint.flow.scope.uses import Scope, Uses, uses_in
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import NONE, Tensor, Unknown, Value
from torchdevlint.model import Span
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import inside, is_inside, is_name, nodes_in, once_a_node

Evidence = tuple[tuple[str, Span], ...]
_IN_PLACE_CONTAINER = frozenset(
    "x y edge_index edge_attr batch pos num_graphs num_nodes input_ids attention_mask ndata edata".split()
)

_CALLED_DATA = regex(r"(?:\w+_)?(?:batch|inputs|samples?|features|targets|labels|tensors)(?:_dict)?")
"""Names of dicts that hold tensors: a second witness, beside a loop that does nothing but move each value."""


def tensor_evidence(frame: Frame, node: ast.expr, state: State, call: ast.Call | None = None) -> Evidence | None:
    """Why `node` is a tensor, as related places; None if it is not, or nobody knows.

    Of a tensor nobody asks whether it has a ``to``.
    """
    value = frame.evaluate(node, state)
    found = [each for _, each in alternatives(value, state.conditions) if each != NONE]
    if found and all(isinstance(each, Tensor) and not each.opaque for each in found):
        steps = found[0].steps  # type: ignore[attr-defined]
        return frame.machine.evidence(steps[:1])
    scope = frame.function or frame.machine.tree
    if scope is not None and ast.dump(node) in _asked_for_methods(scope):
        return None
    if isinstance(node, ast.Subscript) and found and _is_of_batch(frame, node, found):
        return _shown(frame, node, asked_for_device(frame, node)) or _value_of_batch(frame, node)
    in_one_case = _in_one_case(frame, node, found)
    if in_one_case is not None:
        return None if _may_move_in_place(frame, node, call) else frame.machine.evidence(in_one_case.steps[:1])
    if call is not None and _says_place(call) and found and all(isinstance(each, (Tensor, Unknown)) for each in found):
        calculated = calculated_at(frame, node)
        if calculated is not None and not _may_move_in_place(frame, node, call, operators(calculated)):
            return _shown(frame, node, calculated)
    unknown = isinstance(value, Unknown) or (bool(found) and all(isinstance(each, Unknown) for each in found))
    if not unknown and not (found and all(map(loaders.is_from_loader, found))):
        return None
    evidence = _used_as_tensor(frame, node) if isinstance(node, ast.Name) else None
    if evidence is None:
        evidence = _shown(frame, node, shown_by(frame, node, state))
    if evidence is None and isinstance(node, ast.Name):
        evidence = _element_of_batch(frame, node, state)
    if evidence is None and isinstance(node, (ast.Name, ast.Subscript)):
        evidence = _value_of_batch(frame, node)
    if evidence is None:
        evidence = _shown(frame, node, moved_beside(frame, node) or moved_in_other_arm(frame, node))
    return None if evidence is None or _may_move_in_place(frame, node, call) else evidence


def _says_place(call: ast.Call) -> bool:
    """``x.cuda()``, ``x.to(device)``, ``x.to(y.device)``; a quantity is converted by a ``to`` as well."""
    told = places_in(call)
    if last_name(call.func) != "to":
        return True
    return bool(told) and (is_cpu_spec(told[0]) or mentions_device(last_name(told[0])))


def _in_one_case(frame: Frame, node: ast.expr, found: list[Value]) -> Tensor | None:
    """The tensor that a name holds in one case, where nothing is known of the others: a default, a value of a dict.

    What a function puts under one name is of one kind.
    """
    tensors = [each for each in found if isinstance(each, Tensor)]
    others = [each for each in found if not isinstance(each, Tensor)]
    scope = frame.function
    if not isinstance(node, ast.Name) or scope is None or not tensors or not others or may_move_in_place(node.id):
        return None
    if any(each.opaque for each in tensors) or any(type(each) is not Unknown or each.made_by for each in others):
        return None
    uses = uses_in(scope).get(node.id)
    return None if uses is None or uses.is_module or is_used_otherwise(frame, scope, node.id) else tensors[0]


def _may_move_in_place(
    frame: Frame, node: ast.expr, call: ast.Call | None, operators: tuple[str, ...] = ()
) -> bool:
    """Whether a name or attribute of unknown value may be an object of the project that the call moves in place.

    Of what is calculated with, only a class that has one of these `operators` is one.
    """
    path, scope = dotted_path(node), frame.function or frame.machine.tree
    if path is None or scope is None or isinstance(node, ast.Subscript):
        return False
    asked = {each.attr for each in nodes_in(scope, ast.Attribute) if dotted_path(each.value) == path}
    method = "to" if call is None else last_name(call.func)
    if not operators:
        return may_be_of_moving_class(frame, method, asked, call)
    return any(may_be_of_moving_class(frame, method, asked | {each}, call) for each in operators)


def _is_of_batch(frame: Frame, node: ast.Subscript, found: list[Value]) -> bool:
    if all(map(loaders.is_from_loader, found)):
        return True
    unknown = all(isinstance(each, Unknown) for each in found)
    return unknown and isinstance(node.value, ast.Name) and _is_of_own_loop(frame, node.value.id)


def _is_of_own_loop(frame: Frame, name: str) -> bool:
    """Whether a name is only what a loop over a loader gives, in a method: no library moves what that takes."""
    if frame.owner is None or frame.function is None:
        return False
    loops = [each for each in nodes_in(frame.function, ast.For) if is_called_loader(each.iter)]
    taken = {each for loop in loops for each in inside(loop.target)}
    inner = {each for part in nodes_in(frame.function, ast.comprehension) for each in inside(part.target)}
    bound = [each for each in nodes_in(frame.function, ast.Name) if each.id == name and isinstance(each.ctx, ast.Store)]
    return bool(taken & set(bound)) and taken.issuperset(each for each in bound if each not in inner)


def _element_of_batch(frame: Frame, node: ast.Name, state: State) -> Evidence | None:
    loop = loop_through_batch(frame, node, state)
    if loop is None:
        return None
    text = f"`{node.id}` is each part of the batch `{frame.machine.text_of(loop.iter)}`"
    return ((text, frame.machine.span_of(loop.target)),)


def loop_through_batch(frame: Frame, node: ast.expr, state: State) -> ast.For | None:
    """The loop over what a loader gave that has `node` as its target, and only moves it."""
    if not isinstance(node, ast.Name) or holds_graphs(frame):
        return None
    for loop in nodes_in(frame.function or frame.machine.tree, ast.For):
        target = loop.target
        if isinstance(target, ast.Name) and target.id == node.id and is_inside(node, loop):
            reads = sum(isinstance(each, ast.Name) and each.id == node.id for each in inside(loop)) - 1
            return loop if reads == 1 and loaders.is_from_loader(frame.evaluate(loop.iter, state)) else None
    return None


def _value_of_batch(frame: Frame, node: ast.expr) -> Evidence | None:
    found = moved_one_by_one(frame, node)
    if found is None:
        return None
    loop, batch = found
    text = f"`{frame.machine.text_of(node)}` is each tensor of the batch `{frame.machine.text_of(batch)}`"
    return ((text, frame.machine.span_of(loop.target)),)


def moved_one_by_one(frame: Frame, node: ast.expr) -> tuple[ast.For, ast.Name] | None:
    """The loop that is there to move what a dict holds that is called data, and the dict.

    ``for k, v in batch.items(): v.to(d)``, and ``for k in batch: batch[k].to(d)``.
    """
    if frame.function is None or holds_graphs(frame):
        return None
    for loop in nodes_in(frame.function, ast.For):
        batch = _dict_of_keys(loop, node) if isinstance(node, ast.Subscript) else _dict_of_values(loop, node)
        name = node.slice if isinstance(node, ast.Subscript) else node
        if batch is None or not isinstance(name, ast.Name) or not _CALLED_DATA.fullmatch(batch.id):
            continue
        if is_inside(node, loop) and sum(is_name(each, name.id) for each in inside(loop)) == 2:
            return loop, batch
    return None


def _dict_of_values(loop: ast.For, node: ast.expr) -> ast.Name | None:
    """`batch` of ``for k, v in batch.items()``, and of ``for v in batch.values()``, where `node` is `v`."""
    source = loop.iter.func if isinstance(loop.iter, ast.Call) and not loop.iter.args else None
    value = loop.target.elts[-1] if isinstance(loop.target, ast.Tuple) else loop.target
    if not isinstance(source, ast.Attribute) or source.attr not in ("items", "values"):
        return None
    same = isinstance(value, ast.Name) and is_name(node, value.id)
    return source.value if same and isinstance(source.value, ast.Name) else None


def _dict_of_keys(loop: ast.For, node: ast.Subscript) -> ast.Name | None:
    """`batch` of ``for k in batch``, and of ``for k in list(batch.keys())``, where `node` is ``batch[k]``."""
    source = loop.iter
    if isinstance(source, ast.Call) and dotted_path(source.func) in ("list", "sorted", "tuple") and source.args:
        source = source.args[0]
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) and source.func.attr == "keys":
        source = source.func.value
    key = loop.target.id if isinstance(loop.target, ast.Name) else ""
    same = isinstance(source, ast.Name) and is_name(node.value, source.id) and is_name(node.slice, key)
    return source if same and isinstance(source, ast.Name) else None


@once_a_node
def _asked_for_methods(scope: Scope) -> frozenset[str]:
    """The expressions, dumped, that a scope asks for a method by name: ``hasattr(batch, "to")``."""
    calls = (call for call in nodes_in(scope, ast.Call) if dotted_path(call.func) == "hasattr" and len(call.args) == 2)
    return frozenset(
        ast.dump(call.args[0])
        for call in calls
        if isinstance(call.args[1], ast.Constant) and call.args[1].value in torch_api.MOVE_METHODS
    )


def _shown(frame: Frame, node: ast.expr, place: ast.AST | None) -> Evidence | None:
    if place is None:
        return None
    text = f"`{frame.machine.text_of(node)}` is a tensor by what is done here"
    return ((text, frame.machine.span_of(place)),)


def _used_as_tensor(frame: Frame, node: ast.Name) -> Evidence | None:
    scope = frame.function or frame.machine.tree
    uses = uses_in(scope).get(node.id) or Uses()
    if uses.is_module or uses.attributes & _IN_PLACE_CONTAINER:
        return None
    if not is_tensor_by_use(frame, scope, node.id, frame.owner, 2):
        return None
    first = uses.tensor_use
    return () if first is None else ((f"`{node.id}` is used as a tensor here", frame.machine.span_of(first)),)
