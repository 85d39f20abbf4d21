"""Models that a function makes in several cases, of which it moves all but one (TDL310).

``if deep: model = DeepNet(size) else: model = Net(size).to(device)``: what comes behind that takes either, and so does
who gets what ``return Net(size).to(device)`` gives in the other cases.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchdevlint.flow.checks.forgotten.left_behind import Scope, callee_of, record
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.knowledge import libraries, torch_api
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.scope.names import (
    dotted_path,
    last_name,
    mentions_cuda,
    mentions_device,
    public_path,
)
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.values import Cls
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import arguments_of, assignment_of, inside, nodes_in, own_nodes_in

_LEAST_RETURNED = 2
_OF_A_PLACE = regex(r"dev|cuda|gpu|cpu|parallel|distributed|ddp|fsdp|deepspeed|quant|bit|rank|accelerat|shard")
"""Words of a test that may decide where a model is to be."""
_LOSS = regex(r"Loss|Criterion|CrossEntropy")
_MOVE_OTHERWISE = frozenset({"to", "cuda", "prepare", "cpu", "to_empty", "apply", "_apply"})


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    if not imports_torch(machine.tree):
        return
    trained = _of_what_is_trained(machine)
    for scope in (machine.tree, *functions_that_place(machine.tree)):
        for left, move in (*_bound(machine.tree, scope, scope in trained), *_returned(scope)):
            if not _cannot_move(machine, left):
                record(machine, scope, "cases", left, move, at=left)


def _cannot_move(machine: Machine, made: ast.Call) -> bool:
    """Whether it is an instance of a class of the project that is no Module, and that has no ``to``.

    A loss of a library that no file shows has seldom anything to move.
    """
    kind = callee_of(machine, made)
    is_seen = isinstance(kind, Cls) or public_path(made.func).startswith("torch.")
    if not is_seen and _LOSS.search(last_name(made.func)) is not None:
        return True
    return (
        isinstance(kind, Cls)
        and kind.info.resolved
        and not kind.info.is_module
        and _MOVE_OTHERWISE.isdisjoint(kind.info.all_methods)
    )


def _of_what_is_trained(machine: Machine) -> frozenset[ast.AST]:
    """The methods of classes that a trainer moves, with all that they keep, be it moved already: `LightningModule`."""
    managed = (info for info in machine.classes.values() if any(map(libraries.is_moved_by_trainer, info.library_bases)))
    return frozenset(each for info in managed for each in info.node.body)


def _bound(tree: ast.Module, scope: Scope, is_trained: bool) -> Iterator[tuple[ast.Call, ast.Call]]:
    """What one arm of a test binds to a name as it is made, which the other arms move."""
    asked = {id(each.orelse[0]) for each in own_nodes_in(scope, ast.If) if _is_elif(each)}
    for first in own_nodes_in(scope, ast.If):
        if id(first) in asked:
            continue
        arms, tests = _arms(first)
        if len(arms) < 2:
            continue
        made: dict[str, list[tuple[ast.Call, bool]]] = {}
        for arm in arms:
            for path, found in _last_bound(arm).items():
                made.setdefault(path, []).extend(found)
        for path, values in made.items():
            if is_trained and path.startswith("self."):
                continue
            left = _left(values)
            if left is None or _is_moved(tree if path.startswith("self.") else scope, path):
                continue
            if not is_of_places(tests):
                yield left


def is_of_places(tests: Sequence[ast.expr]) -> bool:
    """Whether a test may decide where things are to be, by its words."""
    return any(_OF_A_PLACE.search(ast.unparse(each).lower()) for each in tests)


def _is_elif(asked: ast.If) -> bool:
    return len(asked.orelse) == 1 and isinstance(asked.orelse[0], ast.If)


def _arms(first: ast.If) -> tuple[list[list[ast.stmt]], list[ast.expr]]:
    """The arms of a test and of those that come instead of it, with what is asked."""
    arms, tests = [first.body], [first.test]
    while _is_elif(first):
        first = first.orelse[0]  # type: ignore[assignment]
        arms.append(first.body)
        tests.append(first.test)
    return ([*arms, first.orelse] if first.orelse else arms), tests


def _last_bound(arm: Sequence[ast.stmt]) -> dict[str, list[tuple[ast.Call, bool]]]:
    """What an arm makes and binds, and whether it moves that at once; nothing of what it does more with.

    There are several where the arm has arms of its own.
    """
    found: dict[str, list[tuple[ast.Call, bool]]] = {}
    for statement in arm:
        if isinstance(statement, ast.If) and statement.orelse and not is_of_places([statement.test]):
            inner = [_last_bound(each) for each in (statement.body, statement.orelse)]
            found.update({path: [*inner[0][path], *inner[1][path]] for path in inner[0] if path in inner[1]})
            continue
        assigned = assignment_of(statement)
        path = dotted_path(assigned.targets[0]) if assigned is not None and len(assigned.targets) == 1 else None
        if assigned is not None and path is not None:
            made = _made(assigned.value)
            found.pop(path, None)
            if made is not None and (is_named_like_a_model(assigned.targets[0]) or _is_of_class(made[0])):
                found[path] = [made]
        for other in [each for each in found if assigned is None or each != path]:
            if any(dotted_path(each) == other for each in inside(statement)):
                found.pop(other)
    return found


def _made(value: ast.expr) -> tuple[ast.Call, bool] | None:
    """The call that makes a model in ``Net(size).to(device).eval()``, and whether it is moved."""
    moved = False
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _OF_MODELS:
        if not isinstance(value.func.value, ast.Call):
            return None
        moved = moved or places(value)
        value = value.func.value
    if not isinstance(value, ast.Call) or public_path(value.func).startswith("torch.tensor"):
        return None
    return value, moved


def _is_moved_model(node: ast.expr) -> bool:
    """``Net(size).to(device)``, also inside of another call."""
    made = _made(node)
    return made is not None and made[1] and last_name(made[0].func)[:1].isupper()


_OF_MODELS = torch_api.MODULE_MODES | torch_api.MODULE_DTYPES | {"to", "cuda"}


def places(call: ast.Call) -> bool:
    """``x.cuda()``, and ``x.to(..)`` that says a place."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return method == "cuda" or (method == "to" and says_place(call))


def says_place(call: ast.Call) -> bool:
    """Whether a call is given a device, by its name or by a text."""
    given = arguments_of(call)
    names = any(mentions_device(each.arg or "") for each in call.keywords)
    return names or any(
        mentions_device(last_name(each)) or mentions_cuda(last_name(each)) or _is_cuda(each) for each in given
    )


def _is_cuda(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and mentions_cuda(node.value)


def _is_of_class(call: ast.Call) -> bool:
    return last_name(call.func)[:1].isupper() and not public_path(call.func).startswith("torch.")


def _left(values: Sequence[tuple[ast.Call, bool]]) -> tuple[ast.Call, ast.Call] | None:
    """The only one that is not moved, and one that is; none where it is told a device, or may be of another kind."""
    left = [call for call, moved in values if not moved]
    moved = [call for call, is_moved in values if is_moved]
    if len(left) != 1 or not moved or says_place(left[0]) or not _is_told_alike(left[0], moved):
        return None
    if any(is_named_like_a_model(each) or _is_moved_model(each) for each in left[0].args):  # it may be a wrapper
        return None
    return left[0], moved[0]


def _is_told_alike(left: ast.Call, moved: Sequence[ast.Call]) -> bool:
    """Whether a call is given no dict of keywords, or the one that the same maker is given where it is moved.

    Other dicts may hold a device.
    """
    given = {ast.dump(each.value) for each in left.keywords if each.arg is None}
    alike = [each for each in moved if ast.dump(each.func) == ast.dump(left.func)]
    told = [{ast.dump(each.value) for each in call.keywords if each.arg is None} for call in alike]
    return not given or any(given <= each for each in told)


def _is_moved(scope: Scope, path: str) -> bool:
    """Whether what was bound may be moved behind the test: by a method, or by what is given it."""
    for call in nodes_in(scope, ast.Call):
        given = arguments_of(call)
        method = call.func if isinstance(call.func, ast.Attribute) else None
        if method is not None and method.attr in _MOVE_OTHERWISE and _root(method.value) == path:
            return True
        if any(dotted_path(each) == path for each in given) and _may_move(call):
            return True
    return False


def _may_move(call: ast.Call) -> bool:
    """Whether a call may bring a model somewhere: a wrapper, or what is given a device as well."""
    return (
        _OF_A_PLACE.search(last_name(call.func).lower()) is not None
        or says_place(call)
        or (last_name(call.func) in _MOVE_OTHERWISE)
    )


def _root(node: ast.expr) -> str:
    """What a chain of method calls begins with."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return dotted_path(node) or ""


def _returned(scope: Scope) -> Iterator[tuple[ast.Call, ast.Call]]:
    """``return Net(size)`` of a function that returns others as ``Net(size, True).to(device)``."""
    values = [each.value for each in own_nodes_in(scope, ast.Return) if each.value is not None]
    made = [_made(each) for each in values]
    found = [each for each in made if each is not None and _is_of_class(each[0])]
    if len(found) == len(values) > _LEAST_RETURNED and (left := _left(found)) is not None:
        yield left


SAYING = (").to(", ").cuda(")
EVENTS = {FileEnded: _note_end}
