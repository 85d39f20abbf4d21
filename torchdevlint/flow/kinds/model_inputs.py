"""What is a tensor because of what takes it: entries of a dict of inputs, and parts of a pair.

Only moves that are thrown away ask: what is given to a model may also be a batch whose ``to`` works in place, so more
is needed than the call alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

from torchdevlint.flow.kinds.tensor_uses import is_tensor_by_use
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import targets_by_value
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.scope.taken_by_torch import takes_tensor
from torchdevlint.flow.scope.uses import Scope, Uses, asked_in, uses_in
from torchdevlint.flow.state.joins import is_module
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Library, Ref
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import arguments_of, assignments_in, dropped_by, inside, is_inside, nodes_in, once_a_node

_RUNS_IT = frozenset({"forward", "generate"})
_ONLY_CALLED_MODULES = torch_api.MODULE_ONLY_ATTRIBUTES | {"to", "cuda"}
"""What says of something that is called that it is a module."""
_MOVES_IN_PLACE = regex(
    r"model|net(?:$|work|_)|module|coder|critic|actor|policy|layer|graph|(?<!\b[xy]_)batch(?!_[xy]\b)", re.IGNORECASE
)
"""Names of what may move in place, though it was made together with tensors; `x_batch` is a part of a batch."""
_OF_OUTPUTS = torch_api.TENSOR_ONLY_ATTRIBUTES | torch_api.TENSOR_ONLY_METHODS | {"argmax", "max", "shape", "squeeze"}
"""What says of the outcome of a model that it is a tensor: that it is no array is known."""


def entry_shown_by(frame: Frame, node: ast.expr, state: State) -> ast.AST | None:
    """What says that ``inputs["key"]`` is a tensor: a tokenizer made it, or a model takes it by that key."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return None
    scope, name = frame.function or frame.machine.tree, node.value.id
    uses = uses_in(scope).get(name) if scope is not None else None
    if scope is None or uses is None or not isinstance(node.slice, ast.Constant) or not uses.text_keys:
        return None
    if uses.is_module or uses.item_attributes & (torch_api.MODULE_ONLY_ATTRIBUTES | {"()"}):
        return None
    made = [each.value for each in assignments_in(scope) if name in tuple(map(dotted_path, each.targets))]
    if made and all(_gives_tensors(each) for each in made):
        return made[0]
    if holds_graphs(frame):
        return None
    spread = (call for call in uses.spread_in if any(_is_spread(each, name) for each in call.keywords))
    taken = (call for call in nodes_in(scope, ast.Call) if _takes_entry(call, name, node.slice.value))
    return next((call for call in (*spread, *taken) if _runs_model(frame, call, state)), None)


def shown_by(frame: Frame, node: ast.expr, state: State) -> ast.AST | None:
    """What says that a name or an entry of a dict, which nothing else tells of, is a tensor."""
    return part_shown_by(frame, node, state) if isinstance(node, ast.Name) else entry_shown_by(frame, node, state)


def part_shown_by(frame: Frame, node: ast.Name, state: State) -> ast.AST | None:
    """What says that one part of a pair is a tensor: a loss, or a model whose output a loss takes; or its twin.

    A loss takes it beside an output, as the target. The twin is another part, and is moved as tensors are. Of an
    argument beside another one that is moved so, what takes it has to say it.
    """
    scope = frame.function or frame.machine.tree
    uses = uses_in(scope).get(node.id) if scope is not None else None
    if scope is None or uses is None or uses.is_module or uses.is_container or uses.called or holds_graphs(frame):
        return None
    if uses.is_of_class or _MOVES_IN_PLACE.search(node.id):
        return None
    parts = parts_beside(scope, node.id)
    if not parts and not _is_argument_beside(scope, node.id):
        return None
    for call, place in uses.arguments:
        if place == 0 and _runs_model(frame, call, state) and _is_tensor(frame, call, state):
            return call
        if place == 1 and _is_loss(frame, call, state):
            return call
    kept = next((each for name, each in _kept_moves(scope) if name in parts), None)
    return kept if kept is not None else _left_beside(frame, scope, node.id, parts - {node.id}, state)


def _is_argument_beside(scope: Scope, name: str) -> bool:
    """Whether a name is an argument of a function that moves another one of its arguments, and keeps it."""
    if isinstance(scope, ast.Module):
        return False
    arguments = parameter_names(scope)
    return name in arguments and any(each != name and each in arguments for each, _ in _kept_moves(scope))


def _left_beside(frame: Frame, scope: Scope, name: str, parts: frozenset[str], state: State) -> ast.AST | None:
    """A statement that moves another part as one moves `name`, where that part is a tensor and `name` only an argument.

    ``x.to(d)`` beside ``y.to(d)``: whoever writes so takes both for the same kind of thing.
    """
    uses = uses_in(scope)
    only_given = uses[name].attributes <= torch_api.MOVE_METHODS and not uses[name].spread_in
    moves = _left_moves(scope)
    if not only_given or name not in moves:
        return None
    for other in sorted(parts.intersection(moves)):
        if moves[other][0] == moves[name][0] and _is_told_tensor(frame, scope, other, state):
            return moves[other][1]
    return None


def _is_told_tensor(frame: Frame, scope: Scope, name: str, state: State) -> bool:
    uses = uses_in(scope).get(name)
    if uses is not None and any(place == 1 and _is_loss(frame, call, state) for call, place in uses.arguments):
        return True
    return is_tensor_by_use(frame, scope, name, frame.owner, 1)


@once_a_node
def _left_moves(scope: Scope) -> dict[str, tuple[str, ast.Call]]:
    """The names that statements move without keeping the result, with how they are moved, and the first such call."""
    found: dict[str, tuple[str, ast.Call]] = {}
    for statement in nodes_in(scope, ast.Expr):
        for call in dropped_by(statement.value):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            moved, method = call.func.value, call.func.attr
            if isinstance(moved, ast.Name) and method in torch_api.MOVE_METHODS:
                told = [ast.dump(each) for each in (*call.args, *call.keywords)]
                found.setdefault(moved.id, (" ".join((method, *told)), call))
    return found


@once_a_node
def _kept_moves(scope: Scope) -> tuple[tuple[str, ast.expr], ...]:
    """What a scope moves as tensors are moved, ``x = x.to(d)`` and ``f(x.to(d))``, with the calls that do it."""
    dropped = {id(each) for node in nodes_in(scope, ast.Expr) for each in dropped_by(node.value)}
    bound, found = targets_by_value(scope), []
    for call in nodes_in(scope, ast.Call):
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in torch_api.MOVE_METHODS:
            continue
        path = dotted_path(call.func.value)
        if path is not None and id(call) not in dropped and (call not in bound or dotted_path(bound[call]) == path):
            found.append((path, call))
    return tuple(found)


def holds_graphs(frame: Frame) -> bool:
    """Whether the file imports a library whose batches move in place."""
    return any(
        isinstance(value, Ref) and value.name.startswith("torch_geometric") for value in frame.machine.globals.values()
    )


def _gives_tensors(node: ast.expr) -> bool:
    """``tokenizer(texts, return_tensors="pt")`` and the like."""
    asked = [each.value for each in node.keywords if each.arg == "return_tensors"] if isinstance(node, ast.Call) else []
    return bool(asked) and isinstance(asked[0], ast.Constant) and asked[0].value == "pt"


def _is_spread(keyword: ast.keyword, name: str) -> bool:
    return keyword.arg is None and dotted_path(keyword.value) == name


def _takes_entry(call: ast.Call, name: str, key: object) -> bool:
    return any(
        isinstance(each, ast.Subscript)
        and dotted_path(each.value) == name
        and isinstance(each.slice, ast.Constant)
        and each.slice.value == key
        for each in arguments_of(call)
    )


def _runs_model(frame: Frame, call: ast.Call, state: State) -> bool:
    """Whether what is called is a module: by inference, or since it is moved, trained or asked for parameters."""
    callee = call.func
    if isinstance(callee, ast.Attribute) and callee.attr in _RUNS_IT:
        callee = callee.value
    if is_module(frame.evaluate(callee, state)):
        return True
    path, around = dotted_path(callee), frame.owner.node if frame.owner is not None else frame.function
    asked = asked_in(around or frame.machine.tree).get(path, set()) if path is not None else set()
    return not asked.isdisjoint(_ONLY_CALLED_MODULES)


def parts_beside(scope: Scope, name: str) -> frozenset[str]:
    """The names that are taken out of a tuple, dict or list together with `name`, which is among them.

    ``x, y = batch``, and ``x = batch["image"]`` with ``y = batch["label"]``.
    """
    pairs = [each.target for each in nodes_in(scope, ast.For) if not _is_numbered(each.iter)]
    pairs += [
        each.target.elts[1] for each in nodes_in(scope, ast.For) if _is_numbered(each.iter) and _is_pair(each.target)
    ]
    pairs += [each.targets[0] for each in assignments_in(scope) if not isinstance(each.value, ast.Tuple)]
    taken = (tuple(map(dotted_path, each.elts)) for target in pairs for each in _tuples(target))
    groups = (*taken, *_entries_by_holder(scope))
    return frozenset(path for paths in groups if name in paths for path in paths if path is not None)


@once_a_node
def _entries_by_holder(scope: Scope) -> tuple[tuple[str, ...], ...]:
    """The names that are bound to entries of one name each, under keys that are written there."""
    found: dict[str, list[str]] = {}
    for each in assignments_in(scope):
        target, value = each.targets[0], each.value
        if not isinstance(target, ast.Name) or not isinstance(value, ast.Subscript):
            continue
        if isinstance(value.value, ast.Name) and isinstance(value.slice, ast.Constant):
            found.setdefault(value.value.id, []).append(target.id)
    return tuple(map(tuple, found.values()))


def _is_numbered(source: ast.expr) -> bool:
    """Whether a loop goes over pairs of a number or key and something: ``enumerate(loader)``, ``found.items()``."""
    while isinstance(source, ast.Call):
        called = (dotted_path(source.func) or "").rpartition(".")[2]
        if called in ("enumerate", "items"):
            return True
        if not source.args:
            break
        source = source.args[0]
    return False


def _is_pair(target: ast.expr) -> TypeGuard[ast.Tuple]:
    return isinstance(target, ast.Tuple) and len(target.elts) == 2


def _tuples(target: ast.expr) -> Iterator[ast.Tuple | ast.List]:
    if isinstance(target, (ast.Tuple, ast.List)):
        yield target
        for each in target.elts:
            yield from _tuples(each)


def _is_tensor(frame: Frame, made: ast.Call, state: State) -> bool:
    """Whether the result of a call is a tensor by what is done with it, there or under a name."""
    scope = frame.function or frame.machine.tree
    if any(each.value is made and each.attr in _OF_OUTPUTS for each in nodes_in(scope, ast.Attribute)):
        return True
    if any(made in call.args[:1] and _is_loss(frame, call, state) for call in nodes_in(scope, ast.Call)):
        return True
    for each in assignments_in(scope):
        target = each.targets[0]
        if each.value is not made or not isinstance(target, ast.Name) or scope is None:
            continue
        uses = uses_in(scope).get(target.id) or Uses()
        if is_tensor_by_use(frame, scope, target.id, frame.owner, 1):
            return True
        if any(place == 0 and _is_loss(frame, call, state) for call, place in uses.arguments):
            return True
    return False


def _is_loss(frame: Frame, call: ast.Call, state: State) -> bool:
    """Whether a call takes a tensor first: a function or loss of torch, or one whose result is differentiated."""
    callee = frame.evaluate(call.func, state)
    if isinstance(callee, Ref):
        return takes_tensor(callee.name, 0)
    if isinstance(callee, Library):
        return callee.name.startswith("torch.nn.")
    scope = frame.function or frame.machine.tree
    for each in assignments_in(scope):
        target = each.targets[0]
        if each.value is call and isinstance(target, ast.Name) and scope is not None:
            return "backward" in (uses_in(scope).get(target.id) or Uses()).attributes
    return False


def asked_for_device(frame: Frame, node: ast.Subscript) -> ast.AST | None:
    """Where ``if batch[k].device != device: batch[k].to(device)`` asks: what else a loader gives has no device."""
    asked, scope = ast.dump(node), frame.function or frame.machine.tree
    tests = (each.test for each in nodes_in(scope, ast.If) if is_inside(node, each))
    read = (each for test in tests for each in inside(test) if isinstance(each, ast.Attribute))
    return next((each for each in read if each.attr == "device" and ast.dump(each.value) == asked), None)
