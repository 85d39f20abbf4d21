"""What the text of a class says: its methods, and which attributes they write. Found once for all analyses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import positional_names
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import nodes_in, once_a_node


@once_a_node
def methods_of(node: ast.ClassDef) -> dict[str, FunctionNode]:
    """The methods of a class by their names, those under an `if` or `try` too."""
    return {
        statement.name: statement
        for statement in _statements(node.body)
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
    }


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, (ast.If, ast.Try)):
            for part in (statement.body, statement.orelse):
                yield from _statements(part)


@once_a_node
def writers_in(node: ast.ClassDef) -> dict[str, tuple[ast.AST, ...]]:
    """For each attribute of `self`, the methods of a class that assign it."""
    found: dict[str, dict[ast.AST, None]] = {}
    for method in methods_of(node).values():
        for name in self_writes(method):
            found.setdefault(name, {})[method] = None
    return {name: tuple(nodes) for name, nodes in found.items()}


@once_a_node
def self_writes(method: FunctionNode) -> tuple[str, ...]:
    """The attributes of `self` that a method assigns or registers."""
    own = next(iter(positional_names(method)), None)
    stored = [
        node.attr
        for node in nodes_in(method, ast.Attribute)
        if type(node.ctx) is ast.Store and isinstance(node.value, ast.Name) and node.value.id == own
    ]
    registered = [
        str(call.args[0].value)
        for call in nodes_in(method, ast.Call)
        if type(call.func) is ast.Attribute
        and call.func.attr in _REGISTER
        and call.args
        and isinstance(call.args[0], ast.Constant)
    ]
    return tuple(dict.fromkeys((*stored, *registered))) if own is not None else ()


_REGISTER = ("register_buffer", "register_parameter", "add_module")


@once_a_node
def writes_behind_names(node: ast.ClassDef) -> bool:
    """Whether a class writes its attributes in a way that does not name them."""
    said = {each.attr for each in nodes_in(node, ast.Attribute)}
    return "__dict__" in said or "__setattr__" in said or "vars" in {each.id for each in nodes_in(node, ast.Name)}
