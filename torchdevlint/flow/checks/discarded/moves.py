"""Moves whose result is thrown away (TDL001)."""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.discarded import dead_moves, lost_moves, made_anew
from torchdevlint.flow.checks.discarded.receivers import loop_through_batch, moved_one_by_one, tensor_evidence
from torchdevlint.flow.checks.discarded.scattered import is_only_scattered
from torchdevlint.flow.events import Discarded
from torchdevlint.flow.facts.tensors import DiscardedMove
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.arguments import evaluate_arguments
from torchdevlint.flow.run.moves import method_device, to_device
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.devices import Device, Origin, Relation, on_cpu, relation
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import NONE, Dev, Ref, Tensor
from torchdevlint.flow.vouch.names import assignable
from torchdevlint.source.nodes import dropped_by, is_inside, nodes_in


def _note_statement(event: Discarded) -> None:
    """``labels.to(device)`` as a statement: a tensor is not moved in place, so nothing happens."""
    frame, node, state = event.frame, event.node, event.state
    if isinstance(node.value, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return
    for each in (node.value,) if type(node.value) is ast.Call else dropped_by(node.value):
        _check_move(frame, node, each, state)


def _check_move(frame: Frame, node: ast.Expr, call: ast.expr, state: State) -> None:
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    if call.func.attr not in torch_api.CONVERSIONS:
        return
    method, receiver = call.func.attr, call.func.value
    if method in ("to", "type") and not call.args and not call.keywords:
        return
    if frame.machine.muted or not _has_a_name(frame, receiver, state) or _is_written_in_place(receiver):
        return
    evidence = tensor_evidence(frame, receiver, state, call)
    evidence = made_anew.told_by_method(frame, call, state) if evidence is None else evidence
    if evidence is None or _is_trial(frame, receiver, state):
        return
    moves, target = method not in torch_api.DTYPE_METHODS, None
    if method == "to":
        arguments = evaluate_arguments(frame, call, state)
        target = to_device(frame, arguments)
        moves = target is not None
        like = arguments.value(0, "device")
        if moves and isinstance(like, (Dev, Tensor)):
            target = like.device
    elif method in torch_api.DEVICE_METHODS:
        target = method_device(frame, method, evaluate_arguments(frame, call, state))
    if target is not None and not dead_moves.converts(frame, call, state) and _is_there(frame, receiver, target, state):
        return
    machine, whole = frame.machine, loop_through_batch(frame, receiver, state)
    if moves and is_only_scattered(frame, state, node, receiver):
        return
    if moves:
        lost_moves.note_lost(machine, node, frame.evaluate(receiver if whole is None else whole.iter, state))
        through = moved_one_by_one(frame, receiver)
        for each in ([] if whole is None else [whole.iter]) + ([] if through is None else [through[1]]):
            lost_moves.explain(frame.machine, frame.evaluate(each, state))
    machine.record_anyway(
        ("discarded", call),
        lambda: DiscardedMove(
            machine.span_of(node),
            machine.text_of(receiver),
            method,
            ", ".join(machine.text_of(each) for each in (*call.args, *call.keywords)),
            moves,
            evidence,
            call is node.value and _can_be_assigned(frame, node, receiver, state),
            target is not None and dead_moves.only_moves(frame, node, call, target, state),
            "" if whole is None else machine.text_of(whole.iter),
            target is not None and _is_on_named_gpu(frame, receiver, target, state),
            frame.scope,
        ),
    )


def _is_written_in_place(receiver: ast.expr) -> bool:
    """``self.fc.weight.data.copy_(table).to(device)``: the statement is there for what it writes."""
    name = last_name(receiver.func) if isinstance(receiver, ast.Call) else ""
    return name.endswith("_") and not name.startswith("_")


def _can_be_assigned(frame: Frame, node: ast.Expr, receiver: ast.expr, state: State) -> bool:
    """Whether ``x = x.to(d)`` in the place of ``x.to(d)`` is right, and something reads `x` after it.

    A function that does not bind the name would make it its own by that. Attributes and items may be read anywhere. A
    Parameter would become a plain tensor, which a Module refuses under that name, and an optimizer anywhere.
    """
    held = alternatives(frame.evaluate(receiver, state))
    if any(isinstance(each, Tensor) and each.parameter for _, each in held):
        return False
    if not isinstance(receiver, ast.Name):
        return dotted_path(receiver) is not None
    scope = frame.function or frame.machine.tree
    if not assignable(frame, receiver.id, node):
        return False
    loops = [*nodes_in(scope, ast.For), *nodes_in(scope, ast.While)]
    first = min((each.lineno for each in loops if is_inside(node, each)), default=node.lineno)
    own = range(node.lineno, (node.end_lineno or node.lineno) + 1)
    return any(line >= first and line not in own and not bound for line, bound, _ in bindings_in(scope)[receiver.id])


def _is_there(frame: Frame, node: ast.expr, target: Device, state: State) -> bool:
    """Whether the tensor is where the statement would put it, on all paths that come here.

    So is a buffer on the device of an input of forward, and what was made of a tensor that was moved there before. What
    was brought to something, ``x = x.to(weight.device)``, has no need of a place by name. What an object was made on is
    no matter to its own ``to``: it is called to go elsewhere.
    """
    if frame.owner is not None and getattr(frame.function, "name", "") == "to" and isinstance(node, ast.Attribute):
        return False
    held = [each for _, each in alternatives(frame.evaluate(node, state), state.conditions) if each != NONE]
    named = target.origin is Origin.LITERAL
    return not on_cpu(target) and all(
        isinstance(each, Tensor)
        and (relation(each.device, target) is Relation.AGREE or (named and _is_brought_to_other(each)))
        for each in held
    )


def _is_brought_to_other(value: Tensor) -> bool:
    """Whether it was moved to where another thing is: ``x.to(self.layer.weight.device)``."""
    return value.moved and value.device.origin in (Origin.MODEL, Origin.ARGUMENT, Origin.EXPRESSION)


def _is_on_named_gpu(frame: Frame, node: ast.expr, target: Device, state: State) -> bool:
    """Whether the tensor is on CUDA by name on all paths that come here, and the statement sends it to no CPU."""
    held = [each for _, each in alternatives(frame.evaluate(node, state), state.conditions) if each != NONE]
    named = [each for each in held if isinstance(each, Tensor) and each.device.name == "cuda"]
    is_so = len(named) == len(held) and all(each.device.origin is Origin.LITERAL for each in named)
    return bool(held) and is_so and not on_cpu(target)


def _is_trial(frame: Frame, receiver: ast.expr, state: State) -> bool:
    """Whether a tensor is made only to be moved, in a `try` or a loop: to see if that works, or how long it takes."""
    value, scope = frame.evaluate(receiver, state), frame.function or frame.machine.tree
    if scope is None or not isinstance(receiver, ast.Name) or not isinstance(value, Tensor):
        return False
    if not value.steps or not value.steps[0].made_by:
        return False
    reads = sum(not bound for _, bound, _ in bindings_in(scope).get(receiver.id, ()))
    moves = [each for each in nodes_in(scope, ast.Expr) if _is_move_of(each.value, receiver.id)]
    parts: list[ast.For | ast.While | ast.Try] = [*nodes_in(scope, ast.For), *nodes_in(scope, ast.While)]
    parts += nodes_in(scope, ast.Try)
    return reads == len(moves) and any(
        part.lineno < move.lineno <= (part.body[-1].end_lineno or 0) for part in parts for move in moves
    )


def _is_move_of(node: ast.expr, name: str) -> bool:
    receiver = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    return isinstance(receiver, ast.Name) and receiver.id == name and node.func.attr in torch_api.CONVERSIONS  # type: ignore[attr-defined]


def _has_a_name(frame: Frame, node: ast.expr, state: State) -> bool:
    """Whether the receiver comes from something named: ``torch.zeros(1).cuda()`` only starts the driver."""
    while not isinstance(node, ast.Name):
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return False
    return not isinstance(frame.evaluate(node, state), Ref)


EVENTS = {Discarded: _note_statement}
