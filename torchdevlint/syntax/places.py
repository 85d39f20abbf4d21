"""Where libcst's nodes stand, counted as `ast` counts: rows from 1, columns as UTF-8 offsets from 0."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TypeVar

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from torchdevlint.patterns import regex

Point = tuple[int, int]
Node = TypeVar("Node", bound=ast.AST)

_NEWLINE = regex(r"\r\n?|\n")


class Places:
    """The positions of one module's nodes.

    libcst's range of an expression leaves out the parentheses around it, as `ast` does; `outer_start` and `outer_end`
    include them, which is where an enclosing node begins and ends.
    """

    def __init__(self, module: cst.Module, text: str) -> None:
        self._lines = _NEWLINE.split(text)
        self._ranges: Mapping[cst.CSTNode, CodeRange] = _ranges(module)

    def start(self, node: cst.CSTNode) -> Point:
        where = self._ranges[node].start
        return where.line, self._offset(where.line, where.column)

    def end(self, node: cst.CSTNode) -> Point:
        where = self._ranges[node].end
        return where.line, self._offset(where.line, where.column)

    def outer_start(self, node: cst.CSTNode) -> Point:
        opening: Sequence[cst.CSTNode] = getattr(node, "lpar", ())
        return self.start(opening[0] if opening else node)

    def outer_end(self, node: cst.CSTNode) -> Point:
        closing: Sequence[cst.CSTNode] = getattr(node, "rpar", ())
        return self.end(closing[-1] if closing else node)

    def token_end(self, token: cst.Comma | cst.Colon | cst.Semicolon) -> Point:
        """The end of a one-character token, without the white space that libcst counts to it."""
        row, offset = self.end(token.whitespace_before)
        return row, offset + 1

    def enclosed(self, node: cst.CSTNode, items: Sequence[cst.CSTNode]) -> tuple[Point, Point]:
        """The place of a tuple, generator or pattern: its own parentheses, or else its items with the last comma."""
        opening: Sequence[cst.CSTNode] = getattr(node, "lpar", ())
        closing: Sequence[cst.CSTNode] = getattr(node, "rpar", ())
        if opening:
            return self.start(opening[-1]), self.end(closing[0])
        comma = getattr(items[-1], "comma", None)
        return self.start(node), self.token_end(comma) if isinstance(comma, cst.Comma) else self.end(node)

    def source(self, first: cst.CSTNode, last: cst.CSTNode) -> str:
        """The text from one node to another, both included."""
        start, end = self._ranges[first].start, self._ranges[last].end
        rows = self._lines[start.line - 1 : end.line]
        rows[-1] = rows[-1][: end.column]
        rows[0] = rows[0][start.column :]
        return "\n".join(rows)

    def mark(self, tree: Node, node: cst.CSTNode) -> Node:
        """Give `tree` the place of `node`."""
        return place(tree, self.start(node), self.end(node))

    def _offset(self, row: int, column: int) -> int:
        line = self._lines[row - 1]
        return column if line.isascii() else len(line[:column].encode("utf-8", "surrogatepass"))


def _ranges(module: cst.Module) -> Mapping[cst.CSTNode, CodeRange]:
    try:
        return MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    except KeyError as error:  # what a RecursionError turns into where libcst looks up the end of a body
        if isinstance(error.__context__, RecursionError):
            raise RecursionError from error
        raise


def place(tree: Node, start: Point, end: Point) -> Node:
    """Set the four position attributes."""
    tree.lineno, tree.col_offset = start  # type: ignore[attr-defined]
    tree.end_lineno, tree.end_col_offset = end  # type: ignore[attr-defined]
    return tree
