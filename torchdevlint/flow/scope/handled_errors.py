"""Errors that the program handles: it tries what torch may refuse, and goes on another way where torch does."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import dotted_path

_ANY = frozenset({"Exception", "BaseException"})


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
    return [dotted_path(each) or "" for each in (kind.elts if isinstance(kind, ast.Tuple) else [kind])]
