"""Decorated functions: what stands between a call and the function that it names."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from torchdevlint.flow.run.imports import resolve
from torchdevlint.flow.scope.decorators import is_harmless
from torchdevlint.flow.scope.handed_on import hands_on_other_arguments
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import UNKNOWN, Func, Value


def as_handed_on(
    frame: Frame, function: Func, arguments: Sequence[Value], keywords: Mapping[str, Value]
) -> tuple[Sequence[Value], Mapping[str, Value]]:
    """The arguments as the function gets them: unknown where a decorator makes something else of them."""
    if function.plain or not _gets_other_arguments(frame, function):
        return arguments, keywords
    return [UNKNOWN] * len(arguments), dict.fromkeys(keywords, UNKNOWN)


def _gets_other_arguments(frame: Frame, function: Func) -> bool:
    """Whether a decorator that the file binds, or imports from the project, calls the function with other arguments."""
    if isinstance(function.node, ast.Lambda):
        return False
    for decorator in function.node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if is_harmless(decorator) or not isinstance(called, ast.Name):
            continue
        found = resolve(frame, function.closure.scopes[-1].get(called.id, UNKNOWN))
        if isinstance(found, Func) and not isinstance(found.node, ast.Lambda) and hands_on_other_arguments(found.node):
            return True
    return False
