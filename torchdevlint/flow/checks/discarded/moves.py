"""Moves whose result is thrown away (TDL001), and loops that move their own target and drop it (TDL002)."""

from __future__ import annotations

import ast
import sys
from bisect import bisect_right
from collections.abc import Iterator

from torchdevlint.flow.checks.discarded import dead_moves, lost_moves, made_anew
from torchdevlint.flow.checks.discarded.receivers import loop_through_batch, moved_one_by_one, tensor_evidence
from torchdevlint.flow.checks.discarded.scattered import is_only_scattered
from torchdevlint.flow.events import Discarded, Looped
from torchdevlint.flow.facts.tensors import DiscardedMove
from torchdevlint.flow.kinds.encoded import is_encoding
from torchdevlint.flow.kinds.model_inputs import holds_graphs
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.arguments import evaluate_arguments
from torchdevlint.flow.run.moves import method_device, to_device
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.scope.uses import Uses, bindings_in, uses_in
from torchdevlint.flow.state.devices import LOADER, Device, Origin, Relation, on_cpu, relation
from torchdevlint.flow.state.joins import alternatives, element_of, is_module
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import NONE, Cls, Dev, Library, Obj, Ref, Seq, Tensor, Value
from torchdevlint.flow.vouch.names import assignable
from torchdevlint.source.nodes import assignment_of, dropped_by, inside, is_inside, nodes_in, once_a_node


def _note_statement(event: Discarded) -> None:
    """``labels.to(device)`` as a statement: a tensor is not moved in place, so nothing happens."""
    frame, node, state = event.frame, event.node, event.state
    if isinstance(node.value, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        _check_comprehension(frame, node, node.value, state)
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
            _explain(frame, frame.evaluate(each, state))
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


def _note_loop(event: Looped) -> None:
    """``for t in batch: t = t.to(d)`` where `t` is not used again: the container still holds the old tensors."""
    frame, node, state = event.frame, event.node, event.state
    for statement, later, tested, moved in _moves_of_items(node):
        name = moved.func.value.id  # type: ignore[attr-defined]
        if any(_reads(each, name) for each in [*later, *node.orelse]) or _read_after(frame, node, name):
            continue
        if tested or _holds_tensors(frame, node.iter, state):
            lost_moves.note_lost(frame.machine, statement, frame.evaluate(node.iter, state))
            dead_moves.record_in_loop(frame, node, statement, moved)
            source = _container_of(node.iter)
            for part in source.elts if isinstance(source, (ast.List, ast.Tuple)) else [source]:
                _explain(frame, frame.evaluate(part, state))


@once_a_node
def _moves_of_items(loop: ast.For | ast.AsyncFor) -> list[tuple[ast.stmt, tuple[ast.AST, ...], bool, ast.Call]]:
    """Each ``t = t.to(d)`` of what the loop binds, with what follows it, whether it is tested, and the call.

    What each round has moved before is another tensor, which is brought back: the container holds none that is missed.
    """
    targets = {each.id for each in inside(loop.target) if isinstance(each, ast.Name)}
    found: list[tuple[ast.stmt, tuple[ast.AST, ...], bool, ast.Call]] = []
    for statement, later, tested in _with_what_follows(loop.body):
        move = _self_move(statement)
        name = move.func.value.id if move is not None else ""  # type: ignore[attr-defined]
        if move is not None and name in targets:
            found.append((statement, later, tested, move))
            targets -= {name} if statement in loop.body else set()
    return found


def _explain(frame: Frame, batch: Value) -> None:
    """That the batch is where it was has its reason in the move that is lost."""
    if isinstance(batch, Tensor) and batch.device == LOADER and batch.steps:
        frame.machine.explain(("batch", batch.steps[0].node))


def _with_what_follows(
    body: list[ast.stmt], after: tuple[ast.AST, ...] = (), tested: bool = False
) -> Iterator[tuple[ast.stmt, tuple[ast.AST, ...], bool]]:
    """Each statement of a loop body, those under an `if`, `with` or `try` too, with what runs later in the round.

    The flag says whether an enclosing test asks for a tensor.
    """
    for place, statement in enumerate(body):
        later = (*body[place + 1 :], *after)
        yield statement, later, tested
        if isinstance(statement, ast.If):
            yield from _with_what_follows(statement.body, later, tested or _asks_for_tensor(statement.test))
            yield from _with_what_follows(statement.orelse, later, tested)
        elif isinstance(statement, ast.With):
            yield from _with_what_follows(statement.body, later, tested)
        elif isinstance(statement, ast.Try):
            rest = (*statement.handlers, *statement.orelse, *statement.finalbody, *later)
            yield from _with_what_follows(statement.body, rest, tested)


def _asks_for_tensor(test: ast.expr) -> bool:
    name = (dotted_path(test.func) or "") if isinstance(test, ast.Call) else ""
    if name.endswith("is_tensor"):
        return True
    kind = test.args[1] if isinstance(test, ast.Call) and name == "isinstance" and len(test.args) == 2 else None
    return kind is not None and (dotted_path(kind) or "").endswith("Tensor")


def _self_move(statement: ast.stmt) -> ast.Call | None:
    """The call in ``t = t.to(d)``, else None."""
    assigned = assignment_of(statement)
    if assigned is None or len(assigned.targets) != 1 or not isinstance(assigned.value, ast.Call):
        return None
    target, call = assigned.targets[0], assigned.value
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in torch_api.MOVE_METHODS:
        return None
    same = isinstance(target, ast.Name) and isinstance(call.func.value, ast.Name) and call.func.value.id == target.id
    return call if same else None


def _read_after(frame: Frame, loop: ast.For | ast.AsyncFor, name: str) -> bool:
    """Whether the moved name is read after the loop, before it is bound again."""
    scope = frame.function or frame.machine.tree
    found = bindings_in(scope).get(name, [])
    after = bisect_right(found, (loop.end_lineno or loop.lineno, True, sys.maxsize))
    return after < len(found) and not found[after][1]


def _reads(node: ast.AST, name: str) -> bool:
    return any(
        isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load) for each in inside(node)
    )


def _holds_tensors(frame: Frame, source: ast.expr, state: State) -> bool:
    """Whether what is iterated holds tensors: by inference, or by how the container is used. Modules move in place."""
    whole = frame.evaluate(source, state)
    element = element_of(whole)
    found = [each for _, each in alternatives(element) if each != NONE]
    if isinstance(whole, Seq) and any(map(is_encoding, found)):
        return False
    if isinstance(element, Seq):
        found = list(element.items or (element.element,))
    if any(isinstance(each, (Library, Obj)) for each in found):
        return False
    if any(isinstance(each, Tensor) for each in found):
        return True
    if isinstance(source, (ast.List, ast.Tuple)):
        return any(tensor_evidence(frame, each, state) is not None for each in source.elts)
    scope, root = frame.function or frame.machine.tree, _container_of(source)
    uses = uses_in(scope).get(root.id) if scope is not None and isinstance(root, ast.Name) else None
    return uses is not None and not holds_graphs(frame) and _used_as_batch(frame, uses, state)


def _container_of(source: ast.expr) -> ast.expr:
    """``batch`` in ``enumerate(batch)`` and ``batch.items()``."""
    while isinstance(source, ast.Call):
        if isinstance(source.func, ast.Attribute) and source.func.attr in ("items", "values"):
            source = source.func.value
        elif isinstance(source.func, ast.Name) and source.func.id in _SAME_ELEMENTS and source.args:
            source = source.args[0]
        else:
            break
    return source


_SAME_ELEMENTS = frozenset("enumerate list tuple reversed sorted iter set".split())


def _used_as_batch(frame: Frame, uses: Uses, state: State) -> bool:
    """Whether a container of unknown things is used as a batch is, and not as a list or dict of modules.

    It is spread into a call, or given whole to a module, or its items are arguments.
    """
    if uses.is_module or uses.item_attributes & (torch_api.MODULE_ONLY_ATTRIBUTES | {"()"}):
        return False
    if uses.items_given or any(not _is_class(frame, call.func, state) for call in uses.spread_in):
        return True
    return any(place == 0 and _is_called_module(frame, call.func, state) for call, place in uses.arguments)


def _is_class(frame: Frame, callee: ast.expr, state: State) -> bool:
    value = frame.evaluate(callee, state)
    return isinstance(value, Cls) or (isinstance(value, Ref) and value.name.rpartition(".")[2][:1].isupper())


def _is_called_module(frame: Frame, callee: ast.expr, state: State) -> bool:
    if is_module(frame.evaluate(callee, state)):
        return True
    scope = frame.function or frame.machine.tree
    uses = uses_in(scope).get(callee.id) if scope is not None and isinstance(callee, ast.Name) else None
    return uses is not None and uses.is_module


def _check_comprehension(
    frame: Frame, node: ast.Expr, value: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, state: State
) -> None:
    call = value.value if isinstance(value, ast.DictComp) else value.elt
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    if call.func.attr not in torch_api.MOVE_METHODS or not isinstance(call.func.value, ast.Name):
        return
    source = value.generators[0].iter
    targets = {each.id for each in inside(value.generators[0].target) if isinstance(each, ast.Name)}
    if call.func.value.id in targets and _holds_tensors(frame, source, state):
        lost_moves.note_lost(frame.machine, node, frame.evaluate(source, state))
        dead_moves.record_comprehension(frame, node, value, call)


EVENTS = {Discarded: _note_statement, Looped: _note_loop}
