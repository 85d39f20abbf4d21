"""The one node that a change of a text replaces, for tools that fix by replacing nodes, such as Fixit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import libcst as cst

REPLACEABLE = (cst.BaseExpression, cst.BaseSmallStatement, cst.SimpleStatementLine)


def replacement(old: cst.Module, new: cst.Module) -> tuple[cst.CSTNode, cst.CSTNode] | None:
    """The smallest expression or simple statement of `old` and what stands for it in `new`, if all else is the same.

    None where nothing differs, or where what differs is not within one simple statement.
    """
    best: tuple[cst.CSTNode, cst.CSTNode] | None = None
    pair: tuple[cst.CSTNode, cst.CSTNode] | None = (old, new)
    while pair is not None:
        if all(isinstance(node, REPLACEABLE) for node in pair):
            best = pair
        pair = _only_difference(*pair)
    return best


def _only_difference(old: cst.CSTNode, new: cst.CSTNode) -> tuple[cst.CSTNode, cst.CSTNode] | None:
    """The one child that differs; None if more than one does, or something that is no child."""
    if type(old) is not type(new):
        return None
    found = None
    for field in dataclasses.fields(old):
        before, after = getattr(old, field.name), getattr(new, field.name)
        if not _alike(before, after):
            return None
        for one, other in _pairs(before, after):
            if not one.deep_equals(other):
                if found is not None:
                    return None
                found = one, other
    return found


def _alike(before: object, after: object) -> bool:
    """Whether two values of a field can differ in their children only."""
    if isinstance(before, cst.CSTNode) or isinstance(after, cst.CSTNode):
        return isinstance(before, cst.CSTNode) and isinstance(after, cst.CSTNode)
    if isinstance(before, Sequence) and isinstance(after, Sequence) and not isinstance(before, (str, bytes)):
        return len(before) == len(after)
    return before == after


def _pairs(before: object, after: object) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    if isinstance(before, cst.CSTNode) and isinstance(after, cst.CSTNode):
        yield before, after
    elif isinstance(before, Sequence) and isinstance(after, Sequence) and not isinstance(before, (str, bytes)):
        yield from zip(before, after, strict=True)
