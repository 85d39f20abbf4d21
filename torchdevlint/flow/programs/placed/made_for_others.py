"""Tensors of the CPU that are made for others: to try what a file defines, of what is no tensor, or to be moved.

They hurt nobody in an application, whose files can all be read.
"""

from __future__ import annotations

from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.flow.programs.placed.given_in_place import is_given_in_place
from torchdevlint.flow.programs.reached.tensors_alone import TensorsAlone
from torchdevlint.flow.programs.texts.callers import Callers
from torchdevlint.flow.programs.texts.places import first_holding
from torchdevlint.flow.scope.programs import is_program
from torchdevlint.project.modules import ModuleFile, is_main_guard
from torchdevlint.project.uses import Project


def is_made_for_others(
    fact: MixedDevices, own: ModuleFile, project: Project, callers: Callers, *, is_of_several: bool
) -> bool:
    """Whether what stayed is made where a file tries what it defines for others, under its main guard, or is made of
    what is no tensor, while its programs give tensors; or by those who move what keeps it to the same device.

    `is_of_several` says whether the application has several files, so that all callers are seen.
    """
    rows = [0 if each.span.file else each.span.row for each in fact.creations]
    if not rows:
        return False
    if is_given_in_place(own.tree, fact, project):
        return True
    guards = [each for each in own.tree.body if is_main_guard(each)]
    is_tried = all(first_holding(guards, each) for each in rows) and first_holding(guards, fact.at.row) is None
    if is_tried and not is_program(own.tree) and callers.importers():
        return True
    given = TensorsAlone([own, *callers.parsed(callers.importers())])
    return is_of_several and all(map(given.are_given, rows))
