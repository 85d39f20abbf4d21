"""Classes of a project that are no Modules and move in place: their ``to`` writes to what they keep."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import dotted_path, last_name, positional_names
from torchdevlint.flow.state.machine import Frame
from torchdevlint.source.nodes import nodes_in, once_a_node

_MOST_FILES = 60
"""Where more files define such a method, nobody looks at them."""


def may_be_of_moving_class(frame: Frame, method: str) -> bool:
    """Whether another file of the project has a class whose `method` moves its objects in place.

    What an object keeps, and of which nothing else is known, may be of such a class. Nobody knows where too many files
    define one.
    """
    if frame.machine.others is None:
        return False
    project = frame.machine.others.project
    paths = project.saying((f"def {method}(self", "class "))
    if paths is None or len(paths) > _MOST_FILES:
        return True
    for path in paths:
        module = project.library.get(path)
        project.used(path, "", module)
        if module is not None and method in _moving_in_place(module.tree):
            return True
    return False


@once_a_node
def _moving_in_place(tree: ast.Module) -> frozenset[str]:
    """The methods of a file's classes that write to attributes of the object, and take a device or none."""
    return frozenset(
        each.name
        for node in nodes_in(tree, ast.ClassDef)
        if not any(last_name(base).endswith("Module") for base in node.bases)
        for each in node.body
        if isinstance(each, ast.FunctionDef) and any(_writes_to_own(each))
    )


def _writes_to_own(method: ast.FunctionDef) -> Iterator[bool]:
    """``self.x = self.x.to(device)``, ``setattr(self, name, value.to(device))``."""
    own = next(iter(positional_names(method)), "")
    for stored in nodes_in(method, ast.Attribute):
        yield isinstance(stored.ctx, ast.Store) and dotted_path(stored.value) == own
    for call in nodes_in(method, ast.Call):
        yield dotted_path(call.func) == "setattr" and bool(call.args) and dotted_path(call.args[0]) == own
