"""Operands under the names that they have in the user's code, where the line of an error shows them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from torchdevlint.report import lines_of_file
from torchdevlint.runtime.record.recorder import OperandStory
from torchdevlint.runtime.record.sites import Site

LONGEST = 40
SIDES = ("self", "other")
"""What torch's schemas call the operands of a binary operator."""


def named(operands: Sequence[OperandStory], site: Site | None) -> tuple[OperandStory, ...]:
    """`operands` of the operation at `site`; those of a binary operator (``self`` and ``other``) with their source.

    The others keep the variable that the recorder found; so do these, where the expression is not known or is long.
    """
    sides = None if site is None or site.inside is not None or len(operands) != len(SIDES) else _sides(site)
    if sides is None or {one.name for one in operands} != set(SIDES):
        return tuple(operands)
    texts = dict(zip(SIDES, sides, strict=True))
    return tuple(replace(one, variable=_short(texts[one.name]) or one.variable) for one in operands)


def thrown_away(move: Site) -> bool:
    """Whether nothing gets the result of the call at `move`: it is a statement, or goes to the variable of a loop that
    is at its end with it. What is moved within an expression is used there.
    """
    tree = _tree(move.filename)
    return tree is not None and any(_drops(node, move) for node in ast.walk(tree))


def _drops(node: ast.AST, move: Site) -> bool:
    if isinstance(node, ast.Expr):
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(value, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            value = value.elt
        return isinstance(value, ast.Call) and _is_at(value, move)
    if isinstance(node, (ast.For, ast.AsyncFor)):
        names = {name.id for name in ast.walk(node.target) if isinstance(name, ast.Name)}
        last = node.body[-1]
        return (
            isinstance(last, ast.Assign)
            and all(isinstance(target, ast.Name) and target.id in names for target in last.targets)
            and _is_at(last.value, move)
        )
    return False


def _is_at(node: ast.expr, move: Site) -> bool:
    """Whether `move` is the call `node`, or one at the beginning of its chain: ``x.to(device).float()``."""
    if not move.end_line:
        return node.lineno <= move.line <= (node.end_lineno or 0)
    return (node.lineno, node.col_offset) == (move.line, move.column)


@cache
def _tree(filename: str) -> ast.Module | None:
    try:
        return ast.parse(Path(filename).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else ""


def _sides(site: Site) -> tuple[str, str] | None:
    """Left and right of the operator that stands at `site`."""
    segment = text_at(site)
    try:
        (statement,) = ast.parse(segment).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    node = statement.value if isinstance(statement, ast.Expr) else statement
    if isinstance(node, ast.BinOp):
        return _text(segment, node.left), _text(segment, node.right)
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        return _text(segment, node.left), _text(segment, node.comparators[0])
    if isinstance(node, ast.AugAssign):
        return _text(segment, node.target), _text(segment, node.value)
    return None


def _text(segment: str, node: ast.expr) -> str:
    """As the user has written it, on one line."""
    return " ".join((ast.get_source_segment(segment, node) or "").split())


def text_at(site: Site) -> str:
    """The source of the expression at `site`; empty where it is not known."""
    lines = lines_of_file(site.filename)
    if not 0 < site.line <= site.end_line <= len(lines):
        return ""
    rows = [line.encode("utf-8", "surrogatepass") for line in lines[site.line - 1 : site.end_line]]
    rows[-1] = rows[-1][: site.end_column]
    rows[0] = rows[0][site.column :]
    return b"\n".join(rows).decode("utf-8", "replace")
