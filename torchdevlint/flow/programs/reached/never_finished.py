"""Functions that nobody has ever run to their end: on each way they read a name that nothing binds."""

from __future__ import annotations

import ast

from torchdevlint.flow.programs.reached.ends_in_error import ends_in_error
from torchdevlint.flow.programs.texts.project_calls import around
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
