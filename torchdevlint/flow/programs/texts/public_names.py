"""The names by which other files call what a file defines, and whether such a name tells what is called."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import positional_names
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import once_a_node

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@once_a_node
def public_names(tree: ast.Module) -> dict[ast.AST, str]:
    """The names by which other files call functions of the top level and methods; ``__init__`` by its class."""
    found: dict[ast.AST, str] = {}
    for statement in tree.body:
        if isinstance(statement, _FUNCTIONS):
            found[statement] = statement.name
        elif isinstance(statement, ast.ClassDef):
            for each in statement.body:
                if isinstance(each, _FUNCTIONS):
                    found[each] = statement.name if each.name.startswith("__") else each.name
    return found


def is_name_of_its_own(function: ast.AST, name: str, project: Project) -> bool:
    """Whether a method alone goes by a name of two words, which no other file of the project defines, nor torch does.

    Then it is called by that name, of whatever object.
    """
    if getattr(function, "name", "") != name or "_" not in name.strip("_") or torch_api.is_of_tensors(name):
        return False
    return name not in torch_api.MODULE_ATTRIBUTES and project.saying((f"def {name}(",)) == ()


def places_of(function: ast.AST, argument: str) -> list[tuple[str, int, str]]:
    """The place and the keyword by which calls of a method give it an argument."""
    names = positional_names(function) if isinstance(function, _FUNCTIONS) else []
    given = names[1:] if names[:1] == ["self"] else []
    return [("", given.index(argument), ""), ("", 0, argument)] if argument in given else []
