"""What the value of a name was made of in a function, as its text says: through lists, loops and parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import dotted_path, public_path
from torchdevlint.source.nodes import assignments_in, nodes_in, once_a_node

_FILLS = frozenset({"append", "extend", "insert", "add"})
_OF_ITEMS = frozenset({"enumerate", "zip", "list", "tuple", "reversed", "sorted", "sum", "iter", "next"})
"""Builtins that hand the items of their arguments on."""
_MOVES = frozenset({"to", "cuda"})


def made_of(function: ast.AST, name: str) -> Iterator[ast.expr]:
    """The expressions that a name stands for, and those of the names in them: ``xs.append(x[i])``, ``for x in xs``."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for value in _put_into(function).get(path, ()):
            yield value
            waiting.extend(_handed_on(value))


@once_a_node
def _put_into(function: ast.AST) -> dict[str, list[ast.expr]]:
    """The values that are bound to each name, and those that are put into what it stands for."""
    found: dict[str, list[ast.expr]] = {}
    bound = [(target, each.value) for each in assignments_in(function) for target in each.targets]
    bound += [(each.target, each.iter) for each in nodes_in(function, ast.For)]
    bound += [(each.target, each.iter) for each in nodes_in(function, ast.comprehension)]
    for call in nodes_in(function, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _FILLS and call.args:
            bound.append((call.func.value, call.args[-1]))
    for target, value in bound:
        for path in _targets(target):
            found.setdefault(path, []).append(value)
    return found


def _targets(target: ast.expr) -> Iterator[str]:
    """`xs` of ``xs[i]``, and each name of ``i, (x, y)``."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from _targets(each)
    elif isinstance(target, (ast.Subscript, ast.Starred)):
        yield from _targets(target.value)
    elif (path := dotted_path(target)) is not None:
        yield path


def _handed_on(value: ast.expr) -> Iterator[str]:
    """The names whose tensors, or items, an expression consists of; a move makes others of them, as any call may."""
    parts: list[ast.expr] = [value]
    while parts:
        part = parts.pop()
        if isinstance(part, ast.Subscript):
            parts.append(part.value)
        elif isinstance(part, (ast.Name, ast.Attribute)):
            yield from _targets(part)
        elif isinstance(part, ast.Call):
            parts.extend(_handed_by_call(part))
        elif isinstance(part, (ast.ListComp, ast.GeneratorExp)):
            parts.append(part.elt)
        else:
            parts.extend(each for each in ast.iter_child_nodes(part) if isinstance(each, ast.expr))


def _handed_by_call(call: ast.Call) -> list[ast.expr]:
    """What a call gives back as a tensor where its own are: the object of a method, the arguments of torch."""
    name = public_path(call.func)
    if name.startswith("torch.") or name in _OF_ITEMS:
        return call.args
    if isinstance(call.func, ast.Attribute) and call.func.attr not in _MOVES:
        return [call.func.value]
    return []
