"""Keys of the dicts that Modules of a project give: ``output, extra = model(x)``, and ``extra["entropy"]`` of it."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import unpacked_to, values_by_path
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.others import resolved
from torchdevlint.flow.state.values import Cls
from torchdevlint.source.nodes import nodes_in


def is_key_of_no_model(frame: Frame, node: ast.expr, key: object) -> bool:
    """Whether a model gave it, the Modules that the file names give dicts, and none of these classes says that key.

    Then it is another model, or there is no such entry: of what may be in it nothing is known.
    """
    machine = frame.machine
    if not isinstance(key, str) or not _is_output(frame.function or machine.tree, node):
        return False
    found = (resolved(each, machine.others) for each in list(machine.globals.values()))
    classes = [each.info for each in found if isinstance(each, Cls) and each.info.is_module]
    giving = [each for each in classes if _gives_dicts(each)]
    return bool(giving) and not any(_says(each, key) for each in classes)


def _is_output(scope: ast.AST, node: ast.expr) -> bool:
    """Whether a name is bound to what something gave that is called like a model, or to a part of that."""
    if not isinstance(node, ast.Name):
        return False
    made = [*values_by_path(scope).get(node.id, ()), *(value for _, value in unpacked_to(scope, node.id))]
    return bool(made) and all(isinstance(each, ast.Call) and is_named_like_a_model(each.func) for each in made)


def _gives_dicts(info: ClassInfo) -> bool:
    """Whether `forward` makes dicts, all of keys that are spelled out."""
    method = info.all_methods.get("forward", (None, None))[1]
    keys = [key for made in nodes_in(method, ast.Dict) for key in made.keys] if method is not None else []
    return bool(keys) and all(isinstance(key, ast.Constant) for key in keys)


def _says(info: ClassInfo, key: str) -> bool:
    return any(each.value == key for base in info.mro for each in nodes_in(base.node, ast.Constant))
