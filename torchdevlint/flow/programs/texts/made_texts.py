"""What is known of a text that code makes when it runs: how it begins, and how it ends."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import parameter_names
from torchdevlint.source.functions import functions_in
from torchdevlint.source.nodes import is_below, nodes_in


def values_of(tree: ast.Module, call: ast.Call, given: ast.expr) -> list[ast.expr]:
    """What a call in a file is given: what is assigned to a variable of the scope around it, where that is all.

    So ``name = "models." + args.model`` is given by ``import_module(name)``.
    """
    if not isinstance(given, ast.Name):
        return [given]
    scope: ast.AST = tree
    for function in functions_in(tree):
        if is_below(call, function):
            scope = function
            if given.id in parameter_names(function):
                return [given]
    values = values_by_path(scope).get(given.id, [])
    bound = (each for each in nodes_in(scope, ast.Name) if each.id == given.id and isinstance(each.ctx, ast.Store))
    return values if values and len(values) == sum(1 for _ in bound) else [given]


def known_beginning(node: ast.expr) -> str | None:
    """The text that an expression surely begins with: ``f"Net{size}"``, ``"Net" + size``, ``"Net%s" % size``."""
    if isinstance(node, ast.JoinedStr) and node.values:
        return known_beginning(node.values[0])
    if isinstance(node, ast.BinOp):
        text = known_beginning(node.left)
        return text if text is None or not isinstance(node.op, ast.Mod) else text.partition("%")[0]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        text = known_beginning(node.func.value)
        return None if text is None else text.partition("{")[0]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def known_ending(node: ast.expr) -> str:
    """The text that an expression surely ends with: ``f"models.{name}.train"``, ``name + "net"``."""
    if isinstance(node, ast.JoinedStr) and node.values:
        return known_ending(node.values[-1])
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
        return known_ending(node.right)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
