"""Lost moves that a program has no need of, be it of what an object keeps.

Nothing reads it again but to move it, or all that reads it moves it, or what is made of it, to a device itself.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.facts.tensors import DiscardedMove
from torchdevlint.flow.programs.lost.kept_for_movers import is_kept_for_movers, is_made_for_movers
from torchdevlint.flow.programs.lost.moved_before import is_made_there
from torchdevlint.flow.programs.lost.moved_results import is_moved_next, is_never_read_again
from torchdevlint.flow.programs.lost.moving_readers import is_moved_by_readers
from torchdevlint.project.uses import Project


def is_lost_in_vain(tree: ast.Module, fact: DiscardedMove, project: Project, is_alone: bool) -> bool:
    """Whether the function, the class, or the top level of the script that loses a move has no need of it.

    Where the project is not all that uses it (`is_alone`), only what the lines right before have made is known.
    """
    if is_made_there(tree, fact):
        return True
    if not is_alone:
        return False
    if is_never_read_again(tree, fact) or is_moved_next(tree, fact) or is_moved_by_readers(tree, fact, project):
        return True
    return is_kept_for_movers(tree, fact, project) or is_made_for_movers(tree, fact, project)
