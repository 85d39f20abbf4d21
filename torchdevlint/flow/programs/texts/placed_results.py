"""Methods whose results other files of a project place: ``h = net.init_hidden(3)``, ``h.to(device)``."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.call_sites import MOST_FILES
from torchdevlint.flow.scope.own_devices import is_placed_by_callers
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in


def is_placed_elsewhere(name: str, project: Project) -> bool:
    """Whether another file moves what a method gives where it calls it, or gets the method by its name as a text.

    What becomes of it is not seen there: ``make = getattr(model, "initial_states")``.
    """
    paths = project.saying((name,))
    if not paths or len(paths) > MOST_FILES:
        return False
    for path in paths:
        module = project.module(path)
        if module is None:
            continue
        if is_placed_by_callers(module.tree, name) or any(
            each.value == name for each in nodes_in(module.tree, ast.Constant)
        ):
            return True
    return False
