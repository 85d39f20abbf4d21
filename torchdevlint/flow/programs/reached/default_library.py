"""Libraries that work on the default device: ``torch.empty(n, device=torch.get_default_device())``.

Who wants them on an accelerator calls ``torch.set_default_device`` first: what is made without a device is there then.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.flow.scope.names import mentions_device, parameter_names, public_path
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import functions_in
from torchdevlint.source.nodes import nodes_in, once_a_node

_ASKED = "get_default_device"
_MOST_FILES = 10


def is_of_default_library(tree: ast.Module, project: Project | None, fact: Fact) -> bool:
    """Whether a function makes something, in a project that asks torch for the default device, and nobody for another.

    What a module makes as it is imported is made before anybody sets one.
    """
    made = fact.creations if isinstance(fact, MixedDevices) else ()
    if project is None or any(each.where == "module" for each in made):
        return False
    if _works_on_default(tree):
        return True
    paths = project.saying((_ASKED,)) or ()
    modules = (project.module(each) for each in paths if each.endswith(".py"))
    return len(paths) <= _MOST_FILES and any(each is not None and _works_on_default(each.tree) for each in modules)


@once_a_node
def _works_on_default(tree: ast.Module) -> bool:
    """Whether code asks for the default device where it takes no other one from its callers."""
    asked = {each for each in nodes_in(tree, ast.Call) if public_path(each.func) == f"torch.{_ASKED}"}
    choosing = (each for each in functions_in(tree) if any(map(mentions_device, parameter_names(each))))
    return bool(asked.difference(*(nodes_in(each, ast.Call) for each in choosing)))
