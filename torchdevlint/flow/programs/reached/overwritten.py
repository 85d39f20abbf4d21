"""Functions and classes that a later one of the same name replaces before anybody could use them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise

from torchdevlint.flow.programs.texts.places import first_holding
from torchdevlint.source.nodes import inside, once_a_node

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)


def is_overwritten(tree: ast.Module, line: int) -> bool:
    """Whether a line is in a definition of the top level that another one replaces.

    Nothing may read the name in between as the file is imported; what functions read later is the other one.
    """
    around = first_holding(tree.body, line)
    return around is not None and around in _overwritten_in(tree)


@once_a_node
def _overwritten_in(tree: ast.Module) -> list[ast.stmt]:
    found: dict[str, list[tuple[int, ast.stmt]]] = {}
    for at, each in enumerate(tree.body):
        if isinstance(each, _DEFINITIONS):
            found.setdefault(each.name, []).append((at, each))
    return [
        first
        for name, held in found.items()
        for (at, first), (later, other) in pairwise(held)
        if _replaces(name, first, other, tree.body[at + 1 : later])
    ]


def _replaces(name: str, first: ast.stmt, other: ast.stmt, between: Sequence[ast.stmt]) -> bool:
    if first.decorator_list or other.decorator_list:  # type: ignore[attr-defined]  # may register or combine them
        return False
    begun = ast.Module([ast.Expr(each) for each in _read_at_once(other)], [])
    return not any(_reads(name, each) for each in (*between, begun))


def _read_at_once(definition: ast.stmt) -> list[ast.expr]:
    """What is evaluated where a definition stands: the bases of a class, the defaults of a function."""
    if isinstance(definition, ast.ClassDef):
        return [*definition.bases, *(each.value for each in definition.keywords)]
    given = definition.args  # type: ignore[attr-defined]
    return [*given.defaults, *(each for each in given.kw_defaults if each is not None)]


def _reads(name: str, statement: ast.AST) -> bool:
    """Whether a statement says a name as the file is imported: what is in a function is not run by then, if uncalled.

    A call may run whatever is defined so far.
    """
    if isinstance(statement, _FUNCTIONS):
        return any(_reads(name, each) for each in (*statement.decorator_list, *_read_at_once(statement)))
    parts = list(inside(statement))
    if isinstance(statement, ast.ClassDef):
        bodies = {id(part) for each in statement.body if isinstance(each, _FUNCTIONS) for part in inside(each)}
        parts = [each for each in parts if id(each) not in bodies]
    is_called = any(isinstance(each, ast.Call) for each in parts) and not isinstance(statement, ast.ClassDef)
    return is_called or any(isinstance(each, ast.Name) and each.id == name for each in parts)
