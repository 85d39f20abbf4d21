"""Loops and comprehensions that move their own target and drop it: what they go through stays where it was (TDL002)."""

from __future__ import annotations

import ast
import sys
from bisect import bisect_right
from collections.abc import Iterator

from torchdevlint.flow.checks.discarded import dead_moves, lost_moves
from torchdevlint.flow.checks.discarded.receivers import tensor_evidence
from torchdevlint.flow.events import Discarded, Looped
from torchdevlint.flow.kinds.encoded import is_encoding
from torchdevlint.flow.kinds.model_inputs import holds_graphs
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.uses import Uses, bindings_in, uses_in
from torchdevlint.flow.state.joins import alternatives, element_of, is_module
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import NONE, Cls, Library, Obj, Ref, Seq, Tensor
from torchdevlint.source.nodes import assignment_of, inside, once_a_node


def _note_loop(event: Looped) -> None:
    """``for t in batch: t = t.to(d)`` where `t` is not used again: the container still holds the old tensors.

    A loop that works on one of the parts that it moves has no need of the others: no container is meant.
    """
    frame, node, state = event.frame, event.node, event.state
    if any(_is_used(frame, node, later, moved) for _, later, _, moved in _moves_of_items(node)):
        return
    for statement, _, tested, moved in _moves_of_items(node):
        if tested or _holds_tensors(frame, node.iter, state):
            lost_moves.note_lost(frame.machine, statement, frame.evaluate(node.iter, state))
            dead_moves.record_in_loop(frame, node, statement, moved)
            source = _container_of(node.iter)
            for part in source.elts if isinstance(source, (ast.List, ast.Tuple)) else [source]:
                lost_moves.explain(frame.machine, frame.evaluate(part, state))


def _is_used(frame: Frame, loop: ast.For | ast.AsyncFor, later: tuple[ast.AST, ...], moved: ast.Call) -> bool:
    name = moved.func.value.id  # type: ignore[attr-defined]
    return any(_reads(each, name) for each in [*later, *loop.orelse]) or _read_after(frame, loop, name)


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


def _note_comprehension(event: Discarded) -> None:
    """``[t.to(d) for t in batch]`` as a statement."""
    frame, node, state, value = event.frame, event.node, event.state, event.node.value
    if not isinstance(value, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return
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


EVENTS = {Discarded: _note_comprehension, Looped: _note_loop}
