"""Files that nobody needs any longer: put aside, beside those that are used, or another version."""

from __future__ import annotations

import ast
import os
from pathlib import PurePath

from torchdevlint.flow.programs.reached.application import Application
from torchdevlint.flow.programs.reached.ends_in_error import ends_in_error
from torchdevlint.flow.programs.reached.trial_files import MOST_TOGETHER, has_another_version, is_unused
from torchdevlint.flow.programs.texts.callers import Callers
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.patterns import regex
from torchdevlint.project.locate import root_around, root_of
from torchdevlint.project.modules import is_main_guard
from torchdevlint.project.packaging import has_users
from torchdevlint.project.put_aside import is_put_aside
from torchdevlint.project.tree import from_root
from torchdevlint.project.uses import Project

_NO_WORD = regex(r"\W")


def is_left_over(tree: ast.Module, project: Project, callers: Callers, application: Application) -> bool:
    """Whether a file is of the past: as a copy, or in an application by its folder, or since nothing needs it."""
    if _is_copy(project) or _is_of_the_past(project) or _is_earlier_draft(tree, project, callers):
        return True
    if has_users(project):
        return False
    if _is_put_aside(project, callers):
        return True
    importers = callers.importers()
    if not application.is_of_several or len(importers) >= MOST_TOGETHER:
        return False
    parsed = callers.parsed(importers)
    return len(parsed) == len(importers) and is_unused(tree, project, parsed)


def _is_copy(project: Project) -> bool:
    """Whether a package has a name that nobody can import, and the same file is in one whose name is like it."""
    own = PurePath(project.path)
    twin = own.parent.with_name(_NO_WORD.sub("_", own.parent.name)) if own.parent.name else own.parent
    if own.parent == twin or project.text_of(str(own.with_name("__init__.py"))) is None:
        return False
    return project.text_of(str(twin / own.name)) is not None


def _is_of_the_past(project: Project) -> bool:
    """Whether the project as a whole lies in a folder of the past of another one: ``archive/first/setup.py``."""
    root = root_of(str(PurePath(project.path).parent))
    place = os.path.relpath(root, root_around(root))
    return is_put_aside(PurePath(place, "setup.py").as_posix())


def _is_earlier_draft(tree: ast.Module, project: Project, callers: Callers) -> bool:
    """Whether nobody imports a file, what it tries itself ends in an error, and another one has taken its place."""
    tried = [each for guard in tree.body if is_main_guard(guard) for each in guard.body]  # type: ignore[attr-defined]
    own = callers.own
    if not tried or own is None or callers.importers() or not has_another_version(tree, project, 1):
        return False
    return ends_in_error(project).are_so_in(Scope(own, project), tried)


def _is_put_aside(project: Project, callers: Callers) -> bool:
    """Whether it is kept in a folder of the past, and nothing outside of such imports it."""
    paths = [project.path, *(each.path for each in callers.importers())]
    return all(is_put_aside(from_root(each)) for each in paths)
