"""Methods that are only called while objects are built, which is before anything is moved: ``n = tokens.length()``."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.programs.texts.project_calls import ProjectCalls, around, called_by
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in
from torchdevlint.source.notebook import NOTEBOOK


def is_run_when_built(own: ModuleFile, project: Project, line: int) -> bool:
    """Whether a line is in a method, and each call of its name stands in an ``__init__`` that moves nothing."""
    held = around(own, line)
    if not held or own.path.endswith(NOTEBOOK):
        return False
    _, function, owner = held[-1]
    name = called_by(function, owner) if owner is not None and function.name != "__init__" else None
    sites = ProjectCalls(own, project).of_method(name) if name is not None else None
    return bool(sites) and all(_is_of_constructor(file, call) for file, call in sites or ())


def _is_of_constructor(file: ModuleFile, call: ast.Call) -> bool:
    held = around(file, call.lineno)
    if not held or held[-1][1].name != "__init__":
        return False
    called = (each.func for each in nodes_in(held[-1][1], ast.Call))
    return all(not isinstance(each, ast.Attribute) or each.attr not in torch_api.DEVICE_METHODS for each in called)
