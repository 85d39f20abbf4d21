"""Parts of one result that a statement takes apart, of which a function moves others, and uses one as it came (TDL310).

``x, y = self.draw(); x = x.to(self.device); loss(self.model(x), y)``: what gave both is not known, but who has to move
the one has to move the other. It counts where it meets what the others were brought to, and is used as only a tensor
is: a rate or a length, and what the host reads, stay for a reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.events import Called, FileStarted, LayerCalled, ModuleCalled, Operated, UnknownCalled
from torchdevlint.flow.kinds.loaders import is_from_loader, may_be_placed, moved_by
from torchdevlint.flow.kinds.managed_batches import moves_batches
from torchdevlint.flow.kinds.tensor_uses import is_tensor_by_use
from torchdevlint.flow.run.arguments import evaluate_arguments
from torchdevlint.flow.run.batch_beside import is_taken_along, scatters, taken_by_name
from torchdevlint.flow.run.moves import method_device, to_device
from torchdevlint.flow.run.operations import combine
from torchdevlint.flow.scope.annotations import annotated_tensor
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping, is_quantity
from torchdevlint.flow.scope.call_sites import gets_batches
from torchdevlint.flow.scope.model_names import is_named_like_a_loss, is_named_like_a_model
from torchdevlint.flow.scope.names import (
    dotted_path,
    has_stars,
    is_cpu_spec,
    parameter_names,
    positional_names,
    public_path,
)
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.scope.taken_by_torch import is_index_of_method, takes_tensor
from torchdevlint.flow.scope.used_with_moved import is_left_alone, is_used_with
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import Device, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import is_as_given
from torchdevlint.flow.state.values import Func, Library, Obj, Tensor, Unknown, Value
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, inside, nodes_in, once_a_node

Given = list[tuple[ast.expr, Value]]


class _Left(NamedTuple):
    """What a statement takes out of `source`: where, and the moves of other parts by the names that they keep."""

    at: ast.expr
    moves: dict[str, ast.Call]
    source: ast.expr


def _begin(event: FileStarted) -> None:
    machine = event.machine
    if not any(map(_left_in, functions_that_place(machine.tree))):
        return
    machine.observe(Operated, _note_operation)
    machine.observe(LayerCalled, _note_layer)
    machine.observe(ModuleCalled, _note_called)
    machine.observe(UnknownCalled, _note_called)
    machine.observe(Called, _note_helper)


@once_a_node
def _left_in(function: FunctionNode) -> dict[str, _Left]:
    """The names that a statement takes out of one thing and nothing binds again or moves, though others are moved."""
    moves = dict(_kept_moves(function))
    if not moves:
        return {}
    bindings = bindings_in(function)
    found: dict[str, _Left] = {}
    for target, source in taken_apart(function):
        names = {each.id: each for each in target.elts if isinstance(each, ast.Name)}
        beside = {name: moves[name] for name in names if name in moves}
        for name, at in names.items() if beside else ():
            bound = sum(is_bound for _, is_bound, _ in bindings.get(name, ()))
            if name not in beside and bound == 1 and not is_quantity(name):
                found[name] = _Left(at, beside, source)
    return {name: left for name, left in found.items() if is_left_alone(function, name)}


def taken_apart(function: FunctionNode) -> Iterator[tuple[ast.Tuple, ast.expr]]:
    """The targets of ``x, y = draw()`` and ``for x, y in drawn``, and what they are taken from."""
    for statement in nodes_in(function, ast.Assign):
        target = statement.targets[0]
        if isinstance(target, ast.Tuple) and not isinstance(statement.value, (ast.Tuple, ast.List)):
            yield target, statement.value
    for loop in nodes_in(function, ast.For):
        if isinstance(loop.target, ast.Tuple):
            yield from ((each, loop.iter) for each in inside(loop.target) if isinstance(each, ast.Tuple))


def _kept_moves(function: FunctionNode) -> Iterator[tuple[str, ast.Call]]:
    """``x.to(device)`` whose result is used, to a place that is not that of another tensor, by the name."""
    dropped = {id(each.value) for each in nodes_in(function, ast.Expr)}
    for call in nodes_in(function, ast.Call):
        moved = moved_by(call)
        if isinstance(moved, ast.Name) and id(call) not in dropped and not any(map(_is_of_other, arguments_of(call))):
            yield moved.id, call


def _is_of_other(node: ast.expr) -> bool:
    """``w.device`` of a tensor, or the CPU: what is brought there may have come from anywhere."""
    path = dotted_path(node) or ""
    named = path.rpartition(".")
    return is_cpu_spec(node) or (named[2] == "device" and named[0] not in ("", "self", "args", "self.args"))


def _note_operation(event: Operated) -> None:
    left = _candidates(event.frame, event.state, event.operands)
    for at, one, other in left:
        if not is_bookkeeping(at.id) and _is_tensor_in(event.frame, event.node, at):
            _note(event.frame, event.state, at, one, other)


def _note_layer(event: LayerCalled) -> None:
    _note_given(event.frame, event.state, event.node, event.operands)


def _note_called(event: ModuleCalled | UnknownCalled) -> None:
    of_graphs = isinstance(event, ModuleCalled) and _is_of_graphs(event.module)
    _note_given(event.frame, event.state, event.node, event.arguments.pairs, of_graphs)


def _note_helper(event: Called) -> None:
    """``self.step(x, y)``, a function of the project that calculates with `y`, beside what was moved.

    What is as a loader gave it is compared with the rest at once, so that TDL005 tells of it.
    """
    frame = event.frame
    if frame.depth or not isinstance(frame.function, FunctionNode) or not _left_in(frame.function):
        return
    helper, owner = _function_of(event.function, event.node.func)
    given = _by_parameter(helper, owner, event.node) if helper is not None else {}
    values = dict(event.arguments.pairs)
    for name, at in given.items():
        value = values.get(at)
        if helper is None or value is None or not isinstance(at, ast.Name) or at.id not in _left_in(frame.function):
            continue
        moves = _left_in(frame.function)[at.id].moves
        beside = {each: one for each, one in given.items() if isinstance(one, ast.Name) and one.id in moves}
        if not beside or is_bookkeeping(at.id) or not _calculates_with(frame, helper, owner, name, frozenset(beside)):
            continue
        if is_from_loader(value) and not scatters(frame) and not moves_batches(frame):
            moved = [(one, values[one]) for one in beside.values() if one in values]
            combine(frame, event.state, event.node, f"`{helper.name}()`", [*moved[:1], (at, value)], True)
            continue
        for left, one, other in _candidates(frame, event.state, [(at, value), *event.arguments.pairs]):
            if left is at:
                _note(frame, event.state, at, one, other)


def _by_parameter(helper: FunctionNode, owner: ClassInfo | None, call: ast.Call) -> dict[str, ast.expr]:
    """What a call gives each parameter of a function."""
    if has_stars(call):
        return {}
    names = [each for each in positional_names(helper) if owner is None or each not in ("self", "cls")]
    return {**dict(zip(names, call.args, strict=False)), **{each.arg: each.value for each in call.keywords if each.arg}}


def _calculates_with(
    frame: Frame, helper: FunctionNode, owner: ClassInfo | None, name: str, beside: frozenset[str]
) -> bool:
    """Whether a function takes a tensor by that name, which it moves nowhere, and calculates with it."""
    told = next((each for each in nodes_in(helper.args, ast.arg) if each.arg == name), None)
    if told is None or is_bookkeeping(name) or any(bound for _, bound, _ in bindings_in(helper).get(name, ())):
        return False
    if not annotated_tensor(told.annotation) and not is_tensor_by_use(frame, helper, name, owner, 1):
        return False
    return is_used_with(helper, name, told, beside)  # type: ignore[arg-type]


def _function_of(called: Value, callee: ast.expr) -> tuple[FunctionNode | None, ClassInfo | None]:
    """The function or method that is called, with its class."""
    if isinstance(called, Func) and isinstance(called.node, FunctionNode):
        return called.node, called.owner
    if isinstance(called, Obj) and isinstance(callee, ast.Attribute):
        owner, method = called.info.all_methods.get(callee.attr, (None, None))
        return method, owner
    return None, None


def _is_of_graphs(module: Value) -> bool:
    """Whether it takes nothing but tensors: nodes, and the edges between them, by which it looks the nodes up."""
    return isinstance(module, Library) and module.name.startswith("torch_geometric.nn.")


def _note_given(frame: Frame, state: State, node: ast.Call, given: Given, of_graphs: bool = False) -> None:
    """``criterion(output, y)`` and ``model(ids, attention_mask=mask)``: both take tensors, in one place."""
    compares = is_named_like_a_loss(node.func) and len(node.args) == 2
    left = _candidates(frame, state, given, compares)
    if not left:
        return
    for at, one, other in left:
        if of_graphs:
            _note(frame, state, at, one, other)
        if is_bookkeeping(at.id):
            continue
        taken = at in taken_by_name(node) or (is_named_like_a_model(node.func) and is_taken_along(at))
        if (compares and at in node.args) or taken or _is_used_as_tensor(frame, at):
            _note(frame, state, at, one, other)


def _candidates(
    frame: Frame, state: State, given: Iterable[tuple[ast.expr, Value]], compares: bool = False
) -> list[tuple[ast.Name, _Left, ast.Call]]:
    """The operands that are left, beside what is where a part that came with them was brought.

    A `DataParallel` brings its inputs to where it is, but not the target that a loss compares its output with.
    """
    function = frame.function
    if not isinstance(function, FunctionNode) or frame.depth or function in frame.machine.pipeline:
        return []
    known = _left_in(function)
    if not known:
        return []
    names = [at for at, value in given if isinstance(at, ast.Name) and at.id in known and _is_unknown(value)]
    names = [at for at in names if _is_of_caller(frame.machine.tree, function, known[at.id].source)]
    if not names or state.guarded or (scatters(frame) and not compares) or moves_batches(frame):
        return []
    names = [at for at in names if not may_be_placed(frame, known[at.id].source, state)]
    places = [_place(each) for _, value in given for _, each in alternatives(value)]
    found = []
    for at in names:
        for move in known[at.id].moves.values():
            place = _place_of_move(frame, state, move)
            if place is not None and not on_cpu(place) and place in places:
                found.append((at, known[at.id], move))
                break
    return found


def _is_of_caller(tree: ast.Module, function: FunctionNode, source: ast.expr) -> bool:
    """Whether callers in this file, if any, give an argument as a loop got it: others may have moved all of it."""
    name = source.id if isinstance(source, ast.Name) else ""
    return name not in parameter_names(function) or gets_batches(tree, function, name)


def _place_of_move(frame: Frame, state: State, move: ast.Call) -> Device | None:
    if move.func.attr == "to":  # type: ignore[attr-defined]
        return to_device(frame, evaluate_arguments(frame, move, state))
    return method_device(frame, "cuda", evaluate_arguments(frame, move, state))


def _place(value: Value) -> Device | None:
    """Where an operand is, also one of which nothing else is known."""
    if isinstance(value, Tensor):
        return value.device
    return value.given if isinstance(value, Unknown) else None


def _is_unknown(value: Value) -> bool:
    return all(is_as_given(each) for _, each in alternatives(value))


def _is_tensor_in(frame: Frame, node: ast.AST, at: ast.Name) -> bool:
    """Whether an operation takes nothing but a tensor there, or the rest of the function says that it is one."""
    if isinstance(node, ast.Call):
        place: int | str | None = next((number for number, each in enumerate(node.args) if each is at), None)
        place = next((each.arg for each in node.keywords if each.value is at), None) if place is None else place
        path = public_path(node.func)
        if place is not None and (takes_tensor(path, place) or is_index_of_method(node, place)):
            return True
        if place in (1, "target") and path.startswith("torch.nn.functional.") and is_named_like_a_loss(node.func):
            return True
    return _is_used_as_tensor(frame, at)


def _is_used_as_tensor(frame: Frame, at: ast.Name) -> bool:
    return frame.function is not None and is_tensor_by_use(frame, frame.function, at.id, frame.owner, 1)


def _note(frame: Frame, state: State, at: ast.Name, left: _Left, move: ast.Call) -> None:
    assert isinstance(frame.function, FunctionNode)
    record(frame.machine, frame.function, "beside", at, move, at=left.at, name=at.id, state=state)


SAYING = (".to(", ".cuda(")
EVENTS = {FileStarted: _begin}
