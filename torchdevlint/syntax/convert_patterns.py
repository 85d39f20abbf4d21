"""libcst's ``match`` patterns as `ast`'s."""

from __future__ import annotations

import ast
from functools import singledispatch

import libcst as cst

from torchdevlint.syntax.convert_expressions import expression, identifier
from torchdevlint.syntax.places import Places, place


@singledispatch
def pattern(node: cst.CSTNode, at: Places) -> ast.pattern:
    """Convert a pattern. What a later libcst may add becomes ``_``, which matches anything."""
    return at.mark(ast.MatchAs(pattern=None, name=None), node)


@pattern.register
def _(node: cst.MatchValue, at: Places) -> ast.pattern:
    return at.mark(ast.MatchValue(value=expression(node.value, at)), node.value)


@pattern.register
def _(node: cst.MatchSingleton, at: Places) -> ast.pattern:
    value = {"None": None, "True": True, "False": False}[node.value.value]
    return at.mark(ast.MatchSingleton(value=value), node.value)


@pattern.register
def _(node: cst.MatchSequenceElement, at: Places) -> ast.pattern:
    return pattern(node.value, at)


@pattern.register
def _(node: cst.MatchStar, at: Places) -> ast.pattern:
    # libcst's range takes in the comma that follows
    end = at.start(node.comma) if isinstance(node.comma, cst.Comma) else at.end(node)
    return place(ast.MatchStar(name=_captured(node.name)), at.start(node), end)


@pattern.register
def _(node: cst.MatchList, at: Places) -> ast.pattern:
    tree = ast.MatchSequence(patterns=[pattern(one, at) for one in node.patterns])
    if node.lbracket:
        return at.mark(tree, node)
    return place(tree, *at.enclosed(node, node.patterns))


@pattern.register
def _(node: cst.MatchTuple, at: Places) -> ast.pattern:
    tree = ast.MatchSequence(patterns=[pattern(one, at) for one in node.patterns])
    return place(tree, *at.enclosed(node, node.patterns))


@pattern.register
def _(node: cst.MatchMapping, at: Places) -> ast.pattern:
    keys = [expression(one.key, at) for one in node.elements]
    patterns = [pattern(one.pattern, at) for one in node.elements]
    rest = identifier(node.rest) if node.rest else None
    return at.mark(ast.MatchMapping(keys=keys, patterns=patterns, rest=rest), node)


@pattern.register
def _(node: cst.MatchClass, at: Places) -> ast.pattern:
    return at.mark(
        ast.MatchClass(
            cls=expression(node.cls, at),
            patterns=[pattern(one, at) for one in node.patterns],
            kwd_attrs=[identifier(one.key) for one in node.kwds],
            kwd_patterns=[pattern(one.pattern, at) for one in node.kwds],
        ),
        node,
    )


@pattern.register
def _(node: cst.MatchAs, at: Places) -> ast.pattern:
    inner = pattern(node.pattern, at) if node.pattern else None
    return at.mark(ast.MatchAs(pattern=inner, name=_captured(node.name)), node)


@pattern.register
def _(node: cst.MatchOr, at: Places) -> ast.pattern:
    return at.mark(ast.MatchOr(patterns=[pattern(one.pattern, at) for one in node.patterns]), node)


def _captured(name: cst.Name | None) -> str | None:
    return identifier(name) if name and name.value != "_" else None
