"""Functions that nobody has ever run to their end: on each way they read a name that nothing binds."""

from __future__ import annotations

import ast

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.devices import InvalidDevice
from torchdevlint.flow.programs.reached.ends_in_error import ends_in_error
from torchdevlint.flow.programs.texts.project_calls import ProjectCalls, around
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import own_nodes_in


def is_never_finished(own: ModuleFile, project: Project, line: int) -> bool:
    """Whether a line is in a function that ends in an error on every machine, whoever calls it with whatever.

    So is a function that is defined in such a one. A generator may be left before its end.
    """
    ending = ends_in_error(project)
    for _, function, owner in around(own, line):
        is_generator = bool(own_nodes_in(function, ast.Yield))
        if not is_generator and ending.are_so_in(Scope(own, project, function, owner), function.body):
            return True
    return False


def is_never_called(own: ModuleFile, project: Project, line: int) -> bool:
    """Whether all calls of the function of the top level that holds a line come after such an error in theirs."""
    _, function, owner = next(reversed(around(own, line)), (own, None, None))
    if function is None or owner is not None:
        return False
    calls = ProjectCalls(own, project).of(own.path, function.name)
    before = ends_in_error(project, after=False)
    return bool(calls) and all(before.is_so_within(file, call) for file, call in calls or ())


def fails_first(fact: Fact, own: ModuleFile, project: Project) -> bool:
    """Whether the function around a fact ends in another error than it, or all that call it do so before.

    A file that has nothing to do with others may be a piece of a program, which binds its names: that is not asked.
    """
    if isinstance(fact, InvalidDevice) and fact.problem == "name":
        return False
    return is_never_finished(own, project, fact.at.row) or is_never_called(own, project, fact.at.row)
