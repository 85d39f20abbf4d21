"""Operands under the names that they have in the user's code, where the line of an error shows them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchdevlint.report import lines_of_file
from torchdevlint.runtime.record.recorder import OperandStory
from torchdevlint.runtime.record.sites import Site

LONGEST = 40


def named(operands: Sequence[OperandStory], site: Site | None) -> tuple[OperandStory, ...]:
    """`operands` of the operation at `site`; those of a binary operator (``self`` and ``other``) with their source.

    A name of torch's schema stays where the expression is not known or is long.
    """
    if site is None or site.inside is not None or [one.name for one in operands] != ["self", "other"]:
        return tuple(operands)
    texts = _sides(site)
    return tuple(_renamed(one, text) for one, text in zip(operands, texts, strict=True)) if texts else tuple(operands)


def _renamed(operand: OperandStory, text: str) -> OperandStory:
    places = {name: getattr(operand, name) for name in OperandStory.__slots__}
    return OperandStory(**{**places, "name": text}) if 0 < len(text) <= LONGEST else operand


def _sides(site: Site) -> tuple[str, str] | None:
    """Left and right of the operator that stands at `site`."""
    segment = text_at(site)
    try:
        (statement,) = ast.parse(segment).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    node = statement.value if isinstance(statement, ast.Expr) else statement
    if isinstance(node, ast.BinOp):
        return ast.unparse(node.left), ast.unparse(node.right)
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        return ast.unparse(node.left), ast.unparse(node.comparators[0])
    if isinstance(node, ast.AugAssign):
        return ast.unparse(node.target), ast.unparse(node.value)
    return None


def text_at(site: Site) -> str:
    """The source of the expression at `site`; empty where it is not known."""
    lines = lines_of_file(site.filename)
    if not 0 < site.line <= site.end_line <= len(lines):
        return ""
    rows = [line.encode("utf-8", "surrogatepass") for line in lines[site.line - 1 : site.end_line]]
    rows[-1] = rows[-1][: site.end_column]
    rows[0] = rows[0][site.column :]
    return b"\n".join(rows).decode("utf-8", "replace")
