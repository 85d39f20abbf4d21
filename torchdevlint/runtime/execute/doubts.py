"""Why a slice may have left out what puts a finding right: it then confirms nothing. No torch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from torchdevlint.runtime.execute.reading import bound_by, flat
from torchdevlint.runtime.execute.target import Place, Region, Target, dotted, statement_at

_ABOUT_PLACES = re.compile(r"device|cuda|\.cpu\b|\.to\b|type_as|\bxpu\b|\bmps\b")
_TYPE_ONLY = re.compile(r"\.to\((?:dtype=)?\w+\.(?:b?float|double|half|u?int|long|short|bool|complex)\d*\)")
"""A conversion, which leaves a tensor where it is."""
_SAYS_WHERE = re.compile(r"device|meta|default")
_MOVES_ITSELF = frozenset({"_apply", "to", "cuda"})
_DEFAULTS = frozenset({"set_default_device", "set_default_tensor_type"})


def doubts(
    target: Target, place: Place | None, body: Sequence[ast.stmt], kept: Sequence[ast.stmt], known: frozenset[str]
) -> Iterator[str]:
    """The reasons, in words; none if what is left out says nothing of where tensors are."""
    if any(node.attr in _DEFAULTS for node in ast.walk(target.tree) if isinstance(node, ast.Attribute)):
        yield "the file sets a default device"
    owner = place.owner if place is not None else None
    if owner is not None and _MOVES_ITSELF & {each.name for each in owner.body if isinstance(each, ast.FunctionDef)}:
        yield f"`{owner.name}` says itself how it is moved"
    regions = place.regions if place is not None else (target.at, *target.notes)
    yield from _around(body, regions)
    yield from _left_out(body, kept, known)
    if target.code in ("TDL001", "TDL002"):
        yield from _came_from_elsewhere(target, body, kept)


def _came_from_elsewhere(target: Target, body: Sequence[ast.stmt], kept: Sequence[ast.stmt]) -> Iterator[str]:
    """What is moved, and was made by a statement that the slice does not run: it may have been there all along."""
    rows = {each.lineno for each in kept}
    moved = {
        path
        for statement in statement_at(body, target.at)[-1:]
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute) and (path := dotted(node.value))
    }
    for statement in flat(body):
        before = statement.lineno < target.at.row and statement.lineno not in rows
        bound = bound_by(statement) if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) else set()
        for path in sorted(bound & moved) if before else ():
            yield f"`{path}` is bound in line {statement.lineno}, which the slice does not run"


def _around(body: Sequence[ast.stmt], regions: Iterable[Region]) -> Iterator[str]:
    """Tests that ask where something is, contexts that say so, and handlers, around the flagged statements."""
    for region in regions:
        for node in statement_at(body, region)[:-1]:
            if isinstance(node, ast.Try) and node.handlers:
                yield f"line {node.lineno} handles exceptions"
            asks = isinstance(node, (ast.If, ast.While)) and _is_about_places(node.test)
            contexts = node.items if isinstance(node, (ast.With, ast.AsyncWith)) else []
            if asks or any(_SAYS_WHERE.search(ast.unparse(item)) for item in contexts):
                yield f"line {node.lineno} asks where something is, or says it"


def _is_about_places(node: ast.AST) -> bool:
    return _ABOUT_PLACES.search(_TYPE_ONLY.sub("", ast.unparse(node))) is not None


def _left_out(body: Sequence[ast.stmt], kept: Sequence[ast.stmt], known: frozenset[str]) -> Iterator[str]:
    """Statements that bind what the slice reads or has bound, and that it does not run."""
    rows = {each.lineno for each in kept}
    last = max(rows, default=0)
    read = {node.id for each in kept for node in ast.walk(each) if isinstance(node, ast.Name)}
    read |= {ast.unparse(node) for each in kept for node in ast.walk(each) if isinstance(node, ast.Attribute)}
    made: set[str] = set()
    for statement in flat(body):
        if statement.lineno > last:
            continue
        bound = bound_by(statement) if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) else set()
        if statement.lineno in rows:
            made |= bound
            continue
        for path in sorted(bound & read):
            value = getattr(statement, "value", None)
            by_function = (
                isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id not in known
            )
            if by_function or path in made or _is_about_places(statement):
                yield f"`{path}` is bound in line {statement.lineno}, which the slice does not run"
