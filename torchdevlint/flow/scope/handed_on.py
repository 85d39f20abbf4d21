"""What a decorator gives the function that it wraps: what it was called with, or something that it made of that."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import parameter_names, public_path
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import nodes_in, once_a_node, own_nodes_in


@once_a_node
def hands_on_other_arguments(decorator: FunctionNode) -> bool:
    """Whether the text of a decorator shows that it calls what it wraps with other arguments than it got.

    As in ``def wrapper(*args): return function(*move(args))``.
    """
    around = set(parameter_names(decorator))
    inner = functions_in(decorator)
    for each in inner:
        around.update(parameter_names(each))
    return any(not _is_handed_on(wrapper, call) for wrapper in inner for call in _calls_of(wrapper, around))


@once_a_node
def hands_all_on(decorator: ast.AST) -> bool:
    """Whether a decorator changes nothing: what it gives hands all arguments on, and gives what it gets back.

    As in ``def wrapper(*args, **kwargs): return function(*args, **kwargs)``.
    """
    body = decorator.body if isinstance(decorator, ast.FunctionDef) else ()
    inner = [each for each in body if isinstance(each, ast.FunctionDef)]
    if not isinstance(decorator, ast.FunctionDef) or len(inner) != 1 or len(parameter_names(decorator)) != 1:
        return False
    returned = [each.value for each in own_nodes_in(decorator, ast.Return)]
    if not returned or any(not isinstance(each, ast.Name) or each.id != inner[0].name for each in returned):
        return False
    return _gives_back(inner[0], *parameter_names(decorator))


def _gives_back(wrapper: ast.FunctionDef, function: str) -> bool:
    """Whether a function of ``*args, **kwargs`` alone calls `function` once with both, and returns the result."""
    spec, names = wrapper.args, nodes_in(wrapper, ast.Name)
    wraps = (each.func if isinstance(each, ast.Call) else each for each in wrapper.decorator_list)
    if spec.vararg is None or spec.kwarg is None or parameter_names(wrapper):
        return False
    if any(public_path(each) != "functools.wraps" for each in wraps):
        return False
    calls = [
        each for each in nodes_in(wrapper, ast.Call) if isinstance(each.func, ast.Name) and each.func.id == function
    ]
    if len(calls) != 1 or ast.unparse(calls[0]) != f"{function}(*{spec.vararg.arg}, **{spec.kwarg.arg})":
        return False
    given = [spec.vararg.arg, spec.kwarg.arg]
    if sorted(each.id for each in names if each.id in given) != sorted(given):
        return False
    results = [path for path, values in values_by_path(wrapper).items() if values == calls]
    returned = [each.value for each in own_nodes_in(wrapper, ast.Return)]
    gives = (each is calls[0] or (isinstance(each, ast.Name) and each.id in results) for each in returned)
    return bool(returned) and all(gives)


def _calls_of(wrapper: FunctionNode, names: set[str]) -> Iterator[ast.Call]:
    """The calls in a function of what an enclosing function was given under one of these names."""
    own = set(parameter_names(wrapper))
    for call in nodes_in(wrapper, ast.Call):
        if isinstance(call.func, ast.Name) and call.func.id in names - own:
            yield call


def _is_handed_on(wrapper: FunctionNode, call: ast.Call) -> bool:
    given = set(parameter_names(wrapper))
    given.update(each.arg for each in (wrapper.args.vararg, wrapper.args.kwarg) if each is not None)
    given -= {each.id for each in nodes_in(wrapper, ast.Name) if isinstance(each.ctx, ast.Store)}
    values = [each.value if isinstance(each, ast.Starred) else each for each in call.args]
    values += [each.value for each in call.keywords]
    return all(isinstance(each, ast.Name) and each.id in given for each in values)
