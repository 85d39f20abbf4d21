"""What a decorator gives the function that it wraps: what it was called with, or something that it made of that."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import argument_names
from torchdevlint.source.nodes import nodes_in, once_a_node

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@once_a_node
def hands_on_other_arguments(decorator: _Function) -> bool:
    """Whether the text of a decorator shows that it calls what it wraps with other arguments than it got.

    As in ``def wrapper(*args): return function(*move(args))``.
    """
    around = set(argument_names(decorator))
    inner: list[_Function] = [*nodes_in(decorator, ast.FunctionDef), *nodes_in(decorator, ast.AsyncFunctionDef)]
    for each in inner:
        around.update(argument_names(each))
    return any(not _is_handed_on(wrapper, call) for wrapper in inner for call in _calls_of(wrapper, around))


def _calls_of(wrapper: _Function, names: set[str]) -> Iterator[ast.Call]:
    """The calls in a function of what an enclosing function was given under one of these names."""
    own = set(argument_names(wrapper))
    for call in nodes_in(wrapper, ast.Call):
        if isinstance(call.func, ast.Name) and call.func.id in names - own:
            yield call


def _is_handed_on(wrapper: _Function, call: ast.Call) -> bool:
    given = set(argument_names(wrapper))
    given.update(each.arg for each in (wrapper.args.vararg, wrapper.args.kwarg) if each is not None)
    given -= {each.id for each in nodes_in(wrapper, ast.Name) if isinstance(each.ctx, ast.Store)}
    values = [each.value if isinstance(each, ast.Starred) else each for each in call.args]
    values += [each.value for each in call.keywords]
    return all(isinstance(each, ast.Name) and each.id in given for each in values)
