"""Statements that can stand before an earlier one of their block, as far as names tell."""

from __future__ import annotations

import ast
import builtins

from torchdevlint.flow.facts.common import Reordering
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.vouch.bound import blocks_around, bound_at_the_end, surely_bound
from torchdevlint.model import Span
from torchdevlint.source.nodes import inside, names_bound_in, nodes_in, once_a_node

_FURTHEST = 50
"""A statement is moved over so many others at most."""


def moved_before(frame: Frame, late: ast.AST, early: ast.AST) -> Reordering | None:
    """The statement that `late` is, or is the target of, in lines of its own before the statement that holds `early`.

    None where they are not in one block, or where what the statement reads is bound between the two.
    """
    scope = frame.function or frame.machine.tree
    if isinstance(scope, ast.Lambda) or frame.machine.reading.is_elsewhere:
        return None
    for block in blocks_around(scope, late):
        first, last = block.number_of(early), block.number_of(late)
        if first is not None and last is not None and first < last <= first + _FURTHEST:
            statement = block.body[last]
            return _reordered(frame, statement, block.body[first:last]) if _is_own(statement, late) else None
    return None


def _is_own(statement: ast.stmt, late: ast.AST) -> bool:
    if isinstance(statement, ast.Expr):
        return statement.value is late
    return isinstance(statement, ast.Assign) and (statement.value is late or statement.targets == [late])


def _reordered(frame: Frame, statement: ast.stmt, between: list[ast.stmt]) -> Reordering | None:
    scope, machine = frame.function or frame.machine.tree, frame.machine
    assert not isinstance(scope, ast.Lambda)
    read = {each.id for each in nodes_in(statement, ast.Name) if isinstance(each.ctx, ast.Load)}
    bound = surely_bound(scope, between[0]).union(vars(builtins))
    if scope is not machine.tree:
        bound |= _bound_at_its_end(machine.tree) - names_bound_in(scope)
    paths = {dotted_path(each) for each in inside(statement)} - {None}
    written = {dotted_path(each) for part in between for each in inside(part) if _is_written(each)}
    text, place = _lines(frame, statement), _lines(frame, between[0])
    if not read <= bound or paths & written or text is None or place is None:
        return None
    return Reordering(text[0], text[1], Span(place[1].row, 1, place[1].row, 1))


@once_a_node
def _bound_at_its_end(tree: ast.Module) -> frozenset[str]:
    return bound_at_the_end(tree.body)


def _is_written(node: ast.AST) -> bool:
    return not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _lines(frame: Frame, statement: ast.stmt) -> tuple[str, Span] | None:
    """The lines of a statement that shares them with no other one, with what ends them; not of decorated ones."""
    if getattr(statement, "decorator_list", None):
        return None
    source = frame.machine.reading.source
    span = source.span(statement)
    if span.end_row >= len(source.lines):
        return None
    head = source.between(Span(span.row, 1, span.row, span.column))
    whole = Span(span.row, 1, span.end_row + 1, 1)
    tail = source.between(Span(span.end_row, span.end_column, whole.end_row, 1)).strip()
    if head.strip() or (tail and not tail.startswith("#")):
        return None
    return source.between(whole), whole
