"""Whether a run comes to a place without an earlier one, as options choose: ``if args.train:``, ``if args.test:``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import dotted_path, first_name
from torchdevlint.source.nodes import inside, is_below, nodes_in, once_a_node

_CHOOSING = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)


def is_of_another_part(scope: ast.AST, before: ast.AST, place: ast.AST) -> bool:
    """Whether tests of options alone, one behind the other, decide over two places, and the second asks for others.

    ``if args.do_train: torch.save(..)`` and ``if args.do_eval: torch.load(..)``: who evaluates need not have trained.
    """
    first, second = (list(_parts_around(scope, each)) for each in (before, place))
    asked = {ast.dump(each) for test in second for each in _conjuncts(test.test)}
    return any(
        not is_below(place, one) and not is_below(before, other) and ast.dump(one.test) not in asked
        for one in first
        for other in second
    )


def _parts_around(scope: ast.AST, place: ast.AST) -> Iterator[ast.If]:
    return (each for each in _parts(scope) if is_below(place, each))


@once_a_node
def _parts(scope: ast.AST) -> tuple[ast.If, ...]:
    return tuple(each for each in nodes_in(scope, ast.If) if _asks_options(scope, each.test))


def _conjuncts(test: ast.expr) -> list[ast.expr]:
    return [test, *test.values] if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _asks_options(scope: ast.AST, test: ast.expr) -> bool:
    """Whether a test asks for options alone: attributes of what the scope calls no method of, and sets nothing of."""
    if isinstance(test, ast.BoolOp):
        return all(_asks_options(scope, each) for each in test.values)
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not) and _asks_options(scope, test.operand)
    if isinstance(test, ast.Compare):
        compared = [test.left, *test.comparators]
        asked = [
            each
            for each in compared
            if not all(isinstance(one, (ast.Constant, ast.List, ast.Tuple, ast.Load)) for one in inside(each))
        ]
        return all(isinstance(each, _CHOOSING) for each in test.ops) and len(asked) == 1 and _is_option(scope, asked[0])
    return _is_option(scope, test)


def _is_option(scope: ast.AST, node: ast.expr) -> bool:
    path = dotted_path(node) if isinstance(node, ast.Attribute) else None
    return path is not None and first_name(path) not in {"self", *_acting(scope)}


@once_a_node
def _acting(scope: ast.AST) -> frozenset[str]:
    """The names of objects that a scope asks to do something, or changes: they hold more than options."""
    called = (each.func for each in nodes_in(scope, ast.Call))
    stored = (each for each in nodes_in(scope, ast.Attribute) if not isinstance(each.ctx, ast.Load))
    paths = (dotted_path(each) or "" for each in (*called, *stored) if isinstance(each, ast.Attribute))
    return frozenset(map(first_name, paths))


def is_within(node: ast.AST, body: list[ast.stmt]) -> bool:
    """Whether a node is in the lines of a body."""
    line: int = node.lineno  # type: ignore[attr-defined]
    return body[0].lineno <= line <= (body[-1].end_lineno or line)
