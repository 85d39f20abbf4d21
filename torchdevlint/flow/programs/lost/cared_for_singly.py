"""Modules in a plain list each of which is moved and trained by itself, where nothing asks the Module that keeps them.

What `parameters`, `state_dict`, `to` or `eval` of that Module would pass over is passed over by nobody then.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.facts.modules import ModulesInContainer
from torchdevlint.flow.programs.texts.object_uses import ObjectUses
from torchdevlint.flow.programs.texts.places import holds
from torchdevlint.flow.scope.names import dotted_path, public_path
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import inside, nodes_in

_MOVES = frozenset({"to", "cuda"})


def are_cared_for_singly(fact: ModulesInContainer, own: ModuleFile | None, project: Project | None) -> bool:
    """Whether a class moves each module of a list, gives an optimizer the parameters of each, and is asked for none."""
    if own is None or project is None or fact.holds != "modules" or fact.holder != "self" or fact.returned_at:
        return False
    owners = [each for each in nodes_in(own.tree, ast.ClassDef) if holds(each, fact.at.row)]
    if len(owners) != 1 or owners[0] not in own.tree.body:
        return False
    asked = set(_asked_of_elements(owners[0], f"self.{fact.attribute}"))
    if "parameters" not in asked or asked.isdisjoint(_MOVES) or not _optimizes(owners[0]):
        return False
    return not ObjectUses(own, project).ask_whole(owners[0])


def _optimizes(owner: ast.ClassDef) -> bool:
    return any(public_path(each.func).startswith("torch.optim.") for each in nodes_in(owner, ast.Call))


def _asked_of_elements(owner: ast.ClassDef, path: str) -> Iterator[str]:
    """The methods that a class calls of what it takes out of a list."""
    loops: list[ast.For | ast.comprehension] = [*nodes_in(owner, ast.For), *nodes_in(owner, ast.comprehension)]
    over = [each for each in loops if any(dotted_path(part) == path for part in inside(each.iter))]
    names = {part.id for each in over for part in inside(each.target) if isinstance(part, ast.Name)}
    for call in nodes_in(owner, ast.Call):
        if not isinstance(call.func, ast.Attribute):
            continue
        element = call.func.value
        is_item = isinstance(element, ast.Subscript) and dotted_path(element.value) == path
        if is_item or (isinstance(element, ast.Name) and element.id in names):
            yield call.func.attr
