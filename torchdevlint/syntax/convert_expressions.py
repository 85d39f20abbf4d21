"""libcst's expressions as `ast`'s; strings are in `convert_strings`."""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Iterable, Iterator
from functools import singledispatch
from typing import Any

import libcst as cst

from torchdevlint.source.python import literal_of
from torchdevlint.syntax.places import Places, Point, place

BINARY: dict[str, type[ast.operator]] = {
    "Add": ast.Add,
    "BitAnd": ast.BitAnd,
    "BitOr": ast.BitOr,
    "BitXor": ast.BitXor,
    "Divide": ast.Div,
    "FloorDivide": ast.FloorDiv,
    "LeftShift": ast.LShift,
    "MatrixMultiply": ast.MatMult,
    "Modulo": ast.Mod,
    "Multiply": ast.Mult,
    "Power": ast.Pow,
    "RightShift": ast.RShift,
    "Subtract": ast.Sub,
}
UNARY: dict[str, type[ast.unaryop]] = {
    "BitInvert": ast.Invert,
    "Minus": ast.USub,
    "Not": ast.Not,
    "Plus": ast.UAdd,
}
COMPARE: dict[str, type[ast.cmpop]] = {
    "Equal": ast.Eq,
    "GreaterThan": ast.Gt,
    "GreaterThanEqual": ast.GtE,
    "In": ast.In,
    "Is": ast.Is,
    "IsNot": ast.IsNot,
    "LessThan": ast.Lt,
    "LessThanEqual": ast.LtE,
    "NotEqual": ast.NotEq,
    "NotIn": ast.NotIn,
}
_SINGLETONS = {"None": None, "True": True, "False": False}


@singledispatch
def expression(node: cst.CSTNode, at: Places) -> ast.expr:
    """Convert an expression, in Load context. What a later libcst may add becomes ``...``: nothing is known of it."""
    return at.mark(ast.Constant(value=...), node)


def store(tree: ast.expr, context: type[ast.expr_context] = ast.Store) -> ast.expr:
    """Turn a converted expression, in place, into what is assigned to or deleted."""
    if isinstance(tree, (ast.Name, ast.Attribute, ast.Subscript, ast.Starred, ast.List, ast.Tuple)):
        tree.ctx = context()
    if isinstance(tree, (ast.List, ast.Tuple)):
        for element in tree.elts:
            store(element, context)
    elif isinstance(tree, ast.Starred):
        store(tree.value, context)
    return tree


def target(node: cst.CSTNode, at: Places) -> Any:
    """Convert what is assigned to."""
    return store(expression(node, at))


def optional(node: cst.CSTNode | None, at: Places) -> ast.expr | None:
    return None if node is None else expression(node, at)


def identifier(node: cst.Name) -> str:
    """A name as Python compares it (NFKC)."""
    return node.value if node.value.isascii() else unicodedata.normalize("NFKC", node.value)


@expression.register
def _(node: cst.Name, at: Places) -> ast.expr:
    if node.value in _SINGLETONS:
        return at.mark(ast.Constant(value=_SINGLETONS[node.value]), node)
    return at.mark(ast.Name(id=identifier(node), ctx=ast.Load()), node)


@expression.register
def _(node: cst.BaseNumber, at: Places) -> ast.expr:
    try:
        value = literal_of(node.value)  # type: ignore[attr-defined]
    except (SyntaxError, ValueError):  # more digits than the interpreter converts
        value = ...
    return at.mark(ast.Constant(value=value), node)


@expression.register
def _(node: cst.Attribute, at: Places) -> ast.expr:
    return at.mark(ast.Attribute(value=expression(node.value, at), attr=identifier(node.attr), ctx=ast.Load()), node)


@expression.register
def _(node: cst.UnaryOperation, at: Places) -> ast.expr:
    operator = UNARY[type(node.operator).__name__]()
    return at.mark(ast.UnaryOp(op=operator, operand=expression(node.expression, at)), node)


@expression.register
def _(node: cst.BinaryOperation, at: Places) -> ast.expr:
    left, right = expression(node.left, at), expression(node.right, at)
    return at.mark(ast.BinOp(left=left, op=BINARY[type(node.operator).__name__](), right=right), node)


@expression.register
def _(node: cst.BooleanOperation, at: Places) -> ast.expr:
    operator = type(node.operator)
    operands: list[cst.BaseExpression] = [node.right]
    left = node.left
    while isinstance(left, cst.BooleanOperation) and isinstance(left.operator, operator) and not left.lpar:
        operands.append(left.right)
        left = left.left
    operands.append(left)
    values = [expression(operand, at) for operand in reversed(operands)]
    return at.mark(ast.BoolOp(op=ast.And() if operator is cst.And else ast.Or(), values=values), node)


@expression.register
def _(node: cst.Comparison, at: Places) -> ast.expr:
    return at.mark(
        ast.Compare(
            left=expression(node.left, at),
            ops=[COMPARE[type(one.operator).__name__]() for one in node.comparisons],
            comparators=[expression(one.comparator, at) for one in node.comparisons],
        ),
        node,
    )


@expression.register
def _(node: cst.NamedExpr, at: Places) -> ast.expr:
    return at.mark(ast.NamedExpr(target=target(node.target, at), value=expression(node.value, at)), node)


@expression.register
def _(node: cst.IfExp, at: Places) -> ast.expr:
    test, body, orelse = (expression(part, at) for part in (node.test, node.body, node.orelse))
    return at.mark(ast.IfExp(test=test, body=body, orelse=orelse), node)


@expression.register
def _(node: cst.Await, at: Places) -> ast.expr:
    return at.mark(ast.Await(value=expression(node.expression, at)), node)


@expression.register
def _(node: cst.Yield, at: Places) -> ast.expr:
    if isinstance(node.value, cst.From):
        return at.mark(ast.YieldFrom(value=expression(node.value.item, at)), node)
    return at.mark(ast.Yield(value=optional(node.value, at)), node)


@expression.register
def _(node: cst.Lambda, at: Places) -> ast.expr:
    return at.mark(ast.Lambda(args=arguments(node.params, at), body=expression(node.body, at)), node)


# --- displays and comprehensions ------------------------------------------------------------------------------------


@expression.register
def _(node: cst.StarredElement, at: Places) -> ast.expr:
    value = expression(node.value, at)
    return place(ast.Starred(value=value, ctx=ast.Load()), at.start(node), at.outer_end(node.value))


@expression.register
def _(node: cst.Element, at: Places) -> ast.expr:
    return expression(node.value, at)


@expression.register
def _(node: cst.Tuple, at: Places) -> ast.expr:
    elements = [expression(element, at) for element in node.elements]
    return place(ast.Tuple(elts=elements, ctx=ast.Load()), *at.enclosed(node, node.elements))


@expression.register
def _(node: cst.List, at: Places) -> ast.expr:
    return at.mark(ast.List(elts=[expression(element, at) for element in node.elements], ctx=ast.Load()), node)


@expression.register
def _(node: cst.Set, at: Places) -> ast.expr:
    return at.mark(ast.Set(elts=[expression(element, at) for element in node.elements]), node)


@expression.register
def _(node: cst.Dict, at: Places) -> ast.expr:
    keys = [expression(one.key, at) if isinstance(one, cst.DictElement) else None for one in node.elements]
    return at.mark(ast.Dict(keys=keys, values=[expression(one.value, at) for one in node.elements]), node)


@expression.register
def _(node: cst.ListComp, at: Places) -> ast.expr:
    return at.mark(ast.ListComp(elt=expression(node.elt, at), generators=generators(node.for_in, at)), node)


@expression.register
def _(node: cst.SetComp, at: Places) -> ast.expr:
    return at.mark(ast.SetComp(elt=expression(node.elt, at), generators=generators(node.for_in, at)), node)


@expression.register
def _(node: cst.DictComp, at: Places) -> ast.expr:
    key, value = expression(node.key, at), expression(node.value, at)
    return at.mark(ast.DictComp(key=key, value=value, generators=generators(node.for_in, at)), node)


@expression.register
def _(node: cst.GeneratorExp, at: Places) -> ast.expr:
    tree = ast.GeneratorExp(elt=expression(node.elt, at), generators=generators(node.for_in, at))
    return place(tree, *at.enclosed(node, (node,)))


def generators(node: cst.CompFor, at: Places) -> list[ast.comprehension]:
    return [
        ast.comprehension(
            target=target(one.target, at),
            iter=expression(one.iter, at),
            ifs=[expression(condition.test, at) for condition in one.ifs],
            is_async=int(one.asynchronous is not None),
        )
        for one in _loops(node)
    ]


def _loops(node: cst.CompFor | None) -> Iterator[cst.CompFor]:
    while node is not None:
        yield node
        node = node.inner_for_in


# --- subscripts -----------------------------------------------------------------------------------------------------


@expression.register
def _(node: cst.Subscript, at: Places) -> ast.expr:
    value = expression(node.value, at)
    elements = [expression(element.slice, at) for element in node.slice]
    index, comma = elements[0], node.slice[-1].comma
    if len(elements) > 1 or isinstance(comma, cst.Comma) or isinstance(index, ast.Starred):
        end = at.token_end(comma) if isinstance(comma, cst.Comma) else _slice_end(node.slice[-1], elements[-1], at)
        index = place(ast.Tuple(elts=elements, ctx=ast.Load()), at.start(node.slice[0]), end)
    return at.mark(ast.Subscript(value=value, slice=index, ctx=ast.Load()), node)


@expression.register
def _(node: cst.Index, at: Places) -> ast.expr:
    value = expression(node.value, at)
    if node.star is None:
        return value
    return place(ast.Starred(value=value, ctx=ast.Load()), at.start(node), at.outer_end(node.value))


@expression.register
def _(node: cst.Slice, at: Places) -> ast.expr:
    tree = ast.Slice(lower=optional(node.lower, at), upper=optional(node.upper, at), step=optional(node.step, at))
    start = at.outer_start(node.lower) if node.lower else at.end(node.first_colon.whitespace_before)
    if node.step:
        end = at.outer_end(node.step)
    elif isinstance(node.second_colon, cst.Colon):
        end = at.token_end(node.second_colon)
    else:
        end = at.outer_end(node.upper) if node.upper else at.token_end(node.first_colon)
    return place(tree, start, end)


def _slice_end(node: cst.SubscriptElement, tree: ast.expr, at: Places) -> Point:
    return (
        at.outer_end(node.slice.value)
        if isinstance(node.slice, cst.Index)
        else (tree.end_lineno or 0, tree.end_col_offset or 0)
    )


# --- calls and parameters -------------------------------------------------------------------------------------------


@expression.register
def _(node: cst.Call, at: Places) -> ast.expr:
    args, keywords = call_arguments(node.args, at)
    if len(node.args) == 1 and isinstance(args[0] if args else None, ast.GeneratorExp) and not node.args[0].value.lpar:
        place(args[0], at.end(node.whitespace_after_func), at.end(node))
    return at.mark(ast.Call(func=expression(node.func, at), args=args, keywords=keywords), node)


def call_arguments(nodes: Iterable[cst.Arg], at: Places) -> tuple[list[ast.expr], list[ast.keyword]]:
    """The arguments of a call or class statement, by position and by name."""
    args: list[ast.expr] = []
    keywords: list[ast.keyword] = []
    for node in nodes:
        value = expression(node.value, at)
        start, end = at.start(node), at.outer_end(node.value)
        if node.star == "*":
            args.append(place(ast.Starred(value=value, ctx=ast.Load()), start, end))
        elif node.star == "**" or node.keyword is not None:
            name = identifier(node.keyword) if node.keyword else None
            keywords.append(place(ast.keyword(arg=name, value=value), start, end))
        else:
            args.append(value)
    return args, keywords


def arguments(node: cst.Parameters, at: Places) -> ast.arguments:
    """The parameters of a function or lambda."""
    positional = (*node.posonly_params, *node.params)
    return ast.arguments(
        posonlyargs=[_parameter(one, at) for one in node.posonly_params],
        args=[_parameter(one, at) for one in node.params],
        vararg=_parameter(node.star_arg, at) if isinstance(node.star_arg, cst.Param) else None,
        kwonlyargs=[_parameter(one, at) for one in node.kwonly_params],
        kw_defaults=[optional(one.default, at) for one in node.kwonly_params],
        kwarg=_parameter(node.star_kwarg, at) if node.star_kwarg else None,
        defaults=[expression(one.default, at) for one in positional if one.default],
    )


def _parameter(node: cst.Param, at: Places) -> ast.arg:
    annotation = node.annotation.annotation if node.annotation else None
    tree = ast.arg(arg=identifier(node.name), annotation=optional(annotation, at))
    return place(tree, at.start(node.name), at.outer_end(annotation or node.name))


_STARRED_DICT = getattr(cst, "StarredDictComp", None)
if _STARRED_DICT is not None:  # libcst 1.9, PEP 798: `{**d for d in ds}` holds what `{k: v for d in ds ...}` would

    @expression.register(_STARRED_DICT)
    def _(node: cst.DictComp, at: Places) -> ast.expr:
        value = expression(node.value, at)
        return at.mark(ast.DictComp(key=value, value=value, generators=generators(node.for_in, at)), node)
