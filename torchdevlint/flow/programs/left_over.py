"""Files that nobody needs any longer: put aside, beside those that are used, or another version."""

from __future__ import annotations

import ast
import os
import re
from pathlib import PurePath

from torchdevlint.flow.programs.application import Application
from torchdevlint.flow.programs.callers import Callers
from torchdevlint.flow.programs.ends_in_error import ends_in_error
from torchdevlint.flow.programs.mentions import names_of
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.names import last_name
from torchdevlint.flow.scope.programs import is_program, mentions_accelerators
from torchdevlint.patterns import regex
from torchdevlint.project.locate import root_around, root_of
from torchdevlint.project.modules import is_main_guard
from torchdevlint.project.packaging import has_users
from torchdevlint.project.put_aside import is_put_aside
from torchdevlint.project.tree import from_root
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import inside, nodes_in
from torchdevlint.source.notebook import NOTEBOOK

_NO_WORD = regex(r"\W")
_MOST_BESIDE = 12
_MOST_SAYING = 40
_CLASSES_OF_A_VERSION = 2
"""So many classes of the same names make two files versions of one; fewer may have their names by chance."""


def is_left_over(tree: ast.Module, project: Project, callers: Callers, application: Application) -> bool:
    """Whether a file is of the past: as a copy, or in an application by its folder, or since nothing needs it."""
    if _is_copy(project) or _is_of_the_past(project) or _is_earlier_draft(tree, project, callers):
        return True
    if has_users(project):
        return False
    return _is_put_aside(project, callers) or _is_unused(tree, project, callers, application)


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
    if not tried or own is None or callers.importers() or not _has_another_version(tree, project, 1):
        return False
    return ends_in_error(project).are_so_in(Scope(own, project), tried)


def _is_put_aside(project: Project, callers: Callers) -> bool:
    """Whether it is kept in a folder of the past, and nothing outside of such imports it."""
    paths = [project.path, *(each.path for each in callers.importers())]
    return all(is_put_aside(from_root(each)) for each in paths)


def _is_unused(tree: ast.Module, project: Project, callers: Callers, application: Application) -> bool:
    """Whether nothing runs or imports the file, or says its name, as others beside it are.

    Where none of these is imported, what would import them may not be there, unless another version of the file is.
    """
    if callers.importers() or not application.is_of_several or project.path.endswith(NOTEBOOK) or is_program(tree):
        return False
    own, others = project.path, project.saying(()) or ()
    beside = [each for each in others if PurePath(each).parent == PurePath(own).parent]
    if not any(map(project.importers, beside[:_MOST_BESIDE])) and not _has_another_version(tree, project):
        return False
    names = {each.name for each in tree.body if isinstance(each, (ast.FunctionDef, ast.ClassDef))}
    guards = (each for each in tree.body if is_main_guard(each))
    return all(_is_trial_on_cpu(each, names) for each in guards) and not _is_said(project)


def _is_trial_on_cpu(guard: ast.stmt, names: set[str]) -> bool:
    """Whether a file tries what it defines when it is started, loads nothing, and says nothing of accelerators."""
    if names.isdisjoint(each.id for each in nodes_in(guard, ast.Name)):
        return False
    loads = any("load" in last_name(each.func) for each in nodes_in(guard, ast.Call))
    return not loads and not mentions_accelerators(ast.unparse(guard))


def _is_said(project: Project) -> bool:
    """Whether the name of the file is said: beside code, or in code, by what does not surely mean another file."""
    stem = PurePath(project.path).stem
    said = project.saying((stem,))
    if said is None or len(said) > _MOST_BESIDE or project.saying((stem,), beside_code=True) != ():
        return True
    return any(_may_mean_it(project, path, stem) for path in said)


def _may_mean_it(project: Project, path: str, stem: str) -> bool:
    """Whether a file says a name otherwise than in its comments, or to import another file of that name."""
    module = project.library.get(path)
    project.used(path, "", module)
    if module is None or any(stem in names_of(each) for each in inside(module.tree)):
        return True
    imported = [(each.name, 0) for node in nodes_in(module.tree, ast.Import) for each in node.names]
    for node in nodes_in(module.tree, ast.ImportFrom):
        imported += [(f"{node.module or ''}.{each.name}".strip("."), node.level) for each in node.names]
        imported.append((node.module or "", node.level))
    naming = (each for each in imported if each[0].rpartition(".")[2] == stem)
    return any(project.locate(path, *each) in (None, project.path) for each in naming)


def _has_another_version(tree: ast.Module, project: Project, fewest: int = _CLASSES_OF_A_VERSION) -> bool:
    """Whether a file that is imported defines all classes that this one does, of which there are enough."""
    names = tuple(each.name for each in tree.body if isinstance(each, ast.ClassDef))
    if len(names) < fewest:
        return False
    defined = [re.compile(rf"^class {name}\b", re.MULTILINE) for name in names]
    for path in (project.saying(names) or ())[:_MOST_SAYING]:
        text = project.text_of(path) if path.endswith(".py") else None
        if text is not None and all(each.search(text.text) for each in defined) and project.importers(path):
            return True
    return False
