"""Errors that the program handles: it tries what torch may refuse, and goes on another way where torch does."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable

from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.source.nodes import is_inside, nodes_in, parts_of_tuple

_ANY = frozenset({"Exception", "BaseException"})
WITHOUT_CUDA = (AssertionError, RuntimeError, ValueError)
"""What torch raises where CUDA is named and there is none, or what is named is no device of CUDA."""


_BY_HAND = frozenset({"KeyboardInterrupt", "SystemExit"})
"""What ends a program because somebody wants it to end."""


def may_catch(node: ast.Try, errors: Iterable[type[BaseException]]) -> bool:
    """Whether a handler takes one of the `errors`, or is for what nobody knows here.

    ``except KeyboardInterrupt`` and ``except FileNotFoundError`` wait for something else.
    """
    kinds = [getattr(builtins, name, None) for each in node.handlers for name in _caught(each.type)]
    return any(not isinstance(kind, type) or any(issubclass(each, kind) for each in errors) for kind in kinds)


def goes_on(handler: ast.ExceptHandler) -> bool:
    """Whether a program goes on after an error, before which not all that is tried was done.

    It does not after one that ends in ``raise``, or that only waits for somebody to stop the program.
    """
    return not _BY_HAND.issuperset(_caught(handler.type)) and not isinstance(handler.body[-1], ast.Raise)


def is_after_error(function: ast.AST, node: ast.AST) -> bool:
    """Whether a function comes to a place only after an error: it stands in a handler."""
    return any(is_inside(node, each) for each in nodes_in(function, ast.ExceptHandler))


def handles_refusal(node: ast.Try) -> bool:
    """Whether a ``try`` waits for the RuntimeError that its body may raise.

    A handler of any exception around several statements waits for nothing in particular.
    """
    names = {name for each in node.handlers for name in _caught(each.type)}
    return "RuntimeError" in names or (len(node.body) == 1 and bool(names & _ANY))


def suppresses_refusal(context: ast.expr) -> bool:
    """``with contextlib.suppress(RuntimeError)``."""
    if not isinstance(context, ast.Call) or (dotted_path(context.func) or "").rpartition(".")[2] != "suppress":
        return False
    return "RuntimeError" in {name for each in context.args for name in _caught(each)}


def _caught(kind: ast.expr | None) -> list[str]:
    """The names of the exceptions that a handler is for; one without a type is for all."""
    if kind is None:
        return ["BaseException"]
    return [dotted_path(each) or "" for each in parts_of_tuple(kind)]
