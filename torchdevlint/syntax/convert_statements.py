"""libcst's statements as `ast`'s."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from functools import singledispatch
from typing import Any

import libcst as cst

from torchdevlint.syntax.convert_expressions import (
    BINARY,
    arguments,
    call_arguments,
    expression,
    identifier,
    optional,
    store,
    target,
)
from torchdevlint.syntax.convert_patterns import pattern
from torchdevlint.syntax.places import Node, Places, place

_TRY_STAR: type[ast.Try] = getattr(ast, "TryStar", ast.Try)


@singledispatch
def statement(node: cst.CSTNode, at: Places) -> ast.stmt:
    """Convert one statement. What a later libcst may add becomes ``pass``."""
    return at.mark(ast.Pass(), node)


def body(nodes: Iterable[cst.CSTNode], at: Places) -> list[ast.stmt]:
    """Convert statements, with those that share a line by ``;`` side by side."""
    trees: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, cst.SimpleStatementLine):
            trees += [statement(one, at) for one in node.body]
        else:
            trees.append(statement(node, at))
    return trees


def suite(node: Any, at: Places) -> list[ast.stmt]:
    """The body of a compound statement, or of its ``else`` or ``finally``, if any."""
    if node is None:
        return []
    return suite(node.body, at) if isinstance(node, (cst.Else, cst.Finally)) else body(node.body, at)


def _compound(tree: Node, node: cst.CSTNode, at: Places) -> Node:
    """Give a compound statement its place: it ends with the last token in it, be it a semicolon."""
    last: Any = node
    while not isinstance(last, cst.BaseSmallStatement):
        parts = (getattr(last, name, None) for name in ("finalbody", "orelse", "handlers", "cases", "body"))
        part = next(part for part in parts if part)
        last = part[-1] if isinstance(part, Sequence) else part
    end = at.token_end(last.semicolon) if isinstance(last.semicolon, cst.Semicolon) else at.end(last)
    return place(tree, at.start(node), end)


def _type_params(tree: Node) -> Node:
    """Python 3.12 wants the field; what it held is dropped, since no inference needs it."""
    if "type_params" in tree._fields:
        tree.type_params = []  # type: ignore[attr-defined]
    return tree


# --- simple statements ----------------------------------------------------------------------------------------------


@statement.register
def _(node: cst.Expr, at: Places) -> ast.stmt:
    return at.mark(ast.Expr(value=expression(node.value, at)), node)


@statement.register
def _(node: cst.Assign, at: Places) -> ast.stmt:
    targets = [target(one.target, at) for one in node.targets]
    return at.mark(ast.Assign(targets=targets, value=expression(node.value, at)), node)


@statement.register
def _(node: cst.AnnAssign, at: Places) -> ast.stmt:
    tree = ast.AnnAssign(
        target=target(node.target, at),
        annotation=expression(node.annotation.annotation, at),
        value=optional(node.value, at),
        simple=int(isinstance(node.target, cst.Name) and not node.target.lpar),
    )
    return at.mark(tree, node)


@statement.register
def _(node: cst.AugAssign, at: Places) -> ast.stmt:
    operator = BINARY[type(node.operator).__name__.removesuffix("Assign")]()
    tree = ast.AugAssign(target=target(node.target, at), op=operator, value=expression(node.value, at))
    return at.mark(tree, node)


@statement.register
def _(node: cst.TypeAlias, at: Places) -> ast.stmt:
    """``type X = ...`` as the assignment that it amounts to."""
    return at.mark(ast.Assign(targets=[target(node.name, at)], value=expression(node.value, at)), node)


@statement.register
def _(node: cst.Del, at: Places) -> ast.stmt:
    tree = store(expression(node.target, at), ast.Del)
    targets = tree.elts if isinstance(tree, ast.Tuple) and not node.target.lpar else [tree]
    return at.mark(ast.Delete(targets=targets), node)


@statement.register
def _(node: cst.Return, at: Places) -> ast.stmt:
    return at.mark(ast.Return(value=optional(node.value, at)), node)


@statement.register
def _(node: cst.Raise, at: Places) -> ast.stmt:
    cause = optional(node.cause.item, at) if node.cause else None
    return at.mark(ast.Raise(exc=optional(node.exc, at), cause=cause), node)


@statement.register
def _(node: cst.Assert, at: Places) -> ast.stmt:
    return at.mark(ast.Assert(test=expression(node.test, at), msg=optional(node.msg, at)), node)


@statement.register
def _(node: cst.Break, at: Places) -> ast.stmt:
    return at.mark(ast.Break(), node)


@statement.register
def _(node: cst.Continue, at: Places) -> ast.stmt:
    return at.mark(ast.Continue(), node)


@statement.register
def _(node: cst.Global, at: Places) -> ast.stmt:
    return at.mark(ast.Global(names=[identifier(one.name) for one in node.names]), node)


@statement.register
def _(node: cst.Nonlocal, at: Places) -> ast.stmt:
    return at.mark(ast.Nonlocal(names=[identifier(one.name) for one in node.names]), node)


def _import(node: cst.Import, at: Places) -> ast.stmt:
    return at.mark(ast.Import(names=[_alias(one, at) for one in node.names]), node)


def _import_from(node: cst.ImportFrom, at: Places) -> ast.stmt:
    if isinstance(node.names, cst.ImportStar):
        names = [at.mark(ast.alias(name="*"), node.names)]
    else:
        names = [_alias(one, at) for one in node.names]
    module = _dotted(node.module) if node.module else None
    return at.mark(ast.ImportFrom(module=module, names=names, level=len(node.relative)), node)


def _alias(node: cst.ImportAlias, at: Places) -> ast.alias:
    name = node.asname.name if node.asname else None
    tree = ast.alias(name=_dotted(node.name), asname=identifier(name) if isinstance(name, cst.Name) else None)
    return place(tree, at.start(node), at.end(name or node.name))


def _dotted(node: cst.BaseExpression) -> str:
    words: list[str] = []
    while isinstance(node, cst.Attribute):
        words.append(identifier(node.attr))
        node = node.value
    words.append(identifier(node) if isinstance(node, cst.Name) else "")
    return ".".join(reversed(words))


for _kind, _convert in (
    ("Import", _import),
    ("LazyImport", _import),  # libcst 1.9, PEP 810
    ("ImportFrom", _import_from),
    ("LazyImportFrom", _import_from),
):
    if hasattr(cst, _kind):
        statement.register(getattr(cst, _kind), _convert)


# --- compound statements --------------------------------------------------------------------------------------------


@statement.register
def _(node: cst.If, at: Places) -> ast.stmt:
    orelse = [statement(node.orelse, at)] if isinstance(node.orelse, cst.If) else suite(node.orelse, at)
    tree = ast.If(test=expression(node.test, at), body=suite(node.body, at), orelse=orelse)
    return _compound(tree, node, at)


@statement.register
def _(node: cst.While, at: Places) -> ast.stmt:
    tree = ast.While(test=expression(node.test, at), body=suite(node.body, at), orelse=suite(node.orelse, at))
    return _compound(tree, node, at)


@statement.register
def _(node: cst.For, at: Places) -> ast.stmt:
    tree = (ast.AsyncFor if node.asynchronous else ast.For)(
        target=target(node.target, at),
        iter=expression(node.iter, at),
        body=suite(node.body, at),
        orelse=suite(node.orelse, at),
    )
    return _compound(tree, node, at)


@statement.register
def _(node: cst.With, at: Places) -> ast.stmt:
    items = [
        ast.withitem(
            context_expr=expression(one.item, at), optional_vars=target(one.asname.name, at) if one.asname else None
        )
        for one in node.items
    ]
    tree = (ast.AsyncWith if node.asynchronous else ast.With)(items=items, body=suite(node.body, at))
    return _compound(tree, node, at)


def _try(node: cst.Try | cst.TryStar, at: Places) -> ast.stmt:
    tree = (_TRY_STAR if isinstance(node, cst.TryStar) else ast.Try)(
        body=suite(node.body, at),
        handlers=[_handler(one, at) for one in node.handlers],
        orelse=suite(node.orelse, at),
        finalbody=suite(node.finalbody, at),
    )
    return _compound(tree, node, at)


statement.register(cst.Try, _try)
statement.register(cst.TryStar, _try)


def _handler(node: cst.ExceptHandler | cst.ExceptStarHandler, at: Places) -> ast.ExceptHandler:
    name = identifier(node.name.name) if node.name and isinstance(node.name.name, cst.Name) else None
    tree = ast.ExceptHandler(type=optional(node.type, at), name=name, body=suite(node.body, at))
    return _compound(tree, node, at)


@statement.register
def _(node: cst.Match, at: Places) -> ast.stmt:
    cases = [
        ast.match_case(pattern=pattern(one.pattern, at), guard=optional(one.guard, at), body=suite(one.body, at))
        for one in node.cases
    ]
    tree = ast.Match(subject=expression(node.subject, at), cases=cases)
    return _compound(tree, node, at)


@statement.register
def _(node: cst.FunctionDef, at: Places) -> ast.stmt:
    tree = (ast.AsyncFunctionDef if node.asynchronous else ast.FunctionDef)(
        name=identifier(node.name),
        args=arguments(node.params, at),
        body=suite(node.body, at),
        decorator_list=[expression(one.decorator, at) for one in node.decorators],
        returns=optional(node.returns.annotation, at) if node.returns else None,
    )
    return _compound(_type_params(tree), node, at)


@statement.register
def _(node: cst.ClassDef, at: Places) -> ast.stmt:
    bases, keywords = call_arguments((*node.bases, *node.keywords), at)
    tree = ast.ClassDef(
        name=identifier(node.name),
        bases=bases,
        keywords=keywords,
        body=suite(node.body, at),
        decorator_list=[expression(one.decorator, at) for one in node.decorators],
    )
    return _compound(_type_params(tree), node, at)
