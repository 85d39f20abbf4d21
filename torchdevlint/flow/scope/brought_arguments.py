"""Reads by NumPy of an argument, in a function that brings another argument to the CPU for NumPy.

Who calls it has both in one place: of a hundred functions that bring one argument, three read another one as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.brought_origins import root_of_calculated
from torchdevlint.flow.scope.brought_reads import brought_in, converts_itself, is_of_data, read_name
from torchdevlint.flow.scope.names import parameter_names
from torchdevlint.flow.scope.place_tests import asks_before, exclude
from torchdevlint.flow.scope.uses import Scope, bindings_in
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import assignments_in, inside, is_name, nodes_in, once_a_node


def brought_among_arguments(function: Scope, read: ast.Call) -> ast.Call | None:
    """``y.cpu().numpy()`` of a function that reads ``x.float().numpy()``, where both are arguments that came so.

    Labels and lengths may have stayed on the CPU, but no target that has a source beside it; and a function that reads
    several arguments as they are may know of some where they are.
    """
    name = _argument_in(read)
    if not name or not brought_in(function) or _is_of_data(function, name):
        return None
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or name not in _as_they_came(function):
        return None
    if asks_before(function, read) or _read_as_they_are(function) - {name}:
        return None
    return next((each for each in _brought_arguments(function, read) if not exclude(function, read, each)), None)


def _is_of_data(function: Scope, name: str) -> bool:
    """Whether an argument is called like labels, and is not one side of a pair: `x_source` and `x_target`."""
    source = name.replace("target", "source").replace("Target", "Source")
    is_paired = source != name and isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
    return is_of_data(name) and not (is_paired and source in parameter_names(function))  # type: ignore[arg-type]


def _argument_in(read: ast.Call) -> str:
    """`x` of ``x[0].float().numpy()``: what only methods of tensors are called on."""
    methods = (each.func for each in inside(read) if isinstance(each, ast.Call))
    if all(isinstance(each, ast.Attribute) and torch_api.is_of_tensors(each.attr) for each in methods):
        return read_name(read)
    return ""


@once_a_node
def _as_they_came(function: FunctionNode) -> frozenset[str]:
    """The arguments that a function binds to nothing else, but for arrays and calculations of themselves."""
    calculated = _calculated_of_themselves(function)
    bound = {
        name
        for name, places in bindings_in(function).items()
        for line, binds, _ in places
        if binds and line not in converts_itself(function).get(name, ()) and (name, line) not in calculated
    }
    return frozenset(parameter_names(function)) - bound - {"self", "cls"}


@once_a_node
def _calculated_of_themselves(function: FunctionNode) -> frozenset[tuple[str, int]]:
    """The names and lines of ``x = torch.argmax(x, 1)`` and of ``x = y if x is None else x``, of another argument.

    So of ``x, y = tensor_of(x), tensor_of(y)``, where one function makes several arguments what they are to be.
    """
    found = set[tuple[str, int]]()
    converted: dict[str, list[ast.Name]] = {}
    for each in assignments_in(function):
        target, value = each.targets[0], each.value
        arms = (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
        roots = {root_of_calculated(arm) for arm in arms}
        if isinstance(target, ast.Name) and target.id in roots and roots <= parameter_names(function):
            found.add((target.id, target.lineno))
        elif isinstance(target, ast.Name) and isinstance(value, ast.Call) and _is_of(value, target.id):
            converted.setdefault(ast.dump(value.func), []).append(target)
    alike = (each for targets in converted.values() if len(targets) > 1 for each in targets)
    return frozenset(found.union((each.id, each.lineno) for each in alike))


def _is_of(call: ast.Call, name: str) -> bool:
    """``tensor_of(x)``."""
    plain = isinstance(call.func, ast.Name) and len(call.args) == 1 and not call.keywords
    return plain and is_name(call.args[0], name)


def _brought_arguments(function: FunctionNode, read: ast.Call) -> Iterator[ast.Call]:
    """What is called like labels has to be given to a call together with what is read."""
    for name in sorted(_as_they_came(function)):
        found = brought_in(function).get(ast.dump(ast.Name(name, ast.Load())), ())
        plain = not _is_of_data(function, name)
        yield from (each for each in found if plain or _are_given_together(function, read, each))


def _are_given_together(function: FunctionNode, one: ast.Call, other: ast.Call) -> bool:
    """``score(one, other)``."""
    return any(one in call.args and other in call.args for call in nodes_in(function, ast.Call))


@once_a_node
def _read_as_they_are(function: FunctionNode) -> frozenset[str]:
    """The arguments that are read by ``x.numpy()`` without a copy."""
    reads = (each for each in nodes_in(function, ast.Call) if isinstance(each.func, ast.Attribute))
    names = (_argument_in(each) for each in reads if each.func.attr == "numpy")  # type: ignore[attr-defined]
    return frozenset(names) & _as_they_came(function)
