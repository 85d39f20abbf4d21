"""Imports that end a program: a file asks its own project for a module, or for a name in one, that is not there.

A module that no Python can parse is not there either.

Only statements of the top level are looked at, so not what is tried. A module may be built by a script, and a name may
be bound in ways that the text of its module does not show; then nothing is missing.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import PurePath

from torchdevlint.patterns import regex
from torchdevlint.project.asked_modules import Asked, asked_in, is_built, is_fetched, is_path_plain
from torchdevlint.project.locate import bare_folder, folder_of
from torchdevlint.project.misplaced import is_beside_its_copy, is_in_renamed_root
from torchdevlint.project.modules import ModuleFile, is_main_guard
from torchdevlint.project.tree import from_root
from torchdevlint.project.uses import Project
from torchdevlint.source.python import module_of
from torchdevlint.source.python_2 import is_for_python_2

_MOST_MODULES = 12
_OF_OLDER_PYTHON = regex(r"\basync\s*=")
"""An argument of old moves, ``x.cuda(async=True)``, which Python read before 3.7: who runs that today renames it."""
_OWN = frozenset(
    "core data_loader dataloader helper_functions helpers layers lib libs losses model models my_utils networks src "
    "util utils".split()
)
"""What research code calls its own modules, and hardly anybody installs; not what its users write (`config`)."""
_TELLING = (".md", ".rst", ".sh", ".toml", ".yaml", ".yml")
"""Files that may tell where a module comes from."""
WRITTEN_DICTIONARY = (
    r"(?<!self\.)\b__dict__(?:\.(?:update|setdefault|pop)\b|\s*\[[^\]\n]*\]\s*\|?=(?!=)|\s*\|?=(?!=)|\s*[,)\]}]|\s*(?:#.*)?$)"
)
"""The names of a module where something is done with them, but to read one, or to go through them."""
_BINDS_OTHERWISE = regex(
    rf"\bglobals\(|\bexec\(|\bsys\.modules\b|{WRITTEN_DICTIONARY}|\bsetattr\(\s*(?!self\b)", re.MULTILINE
)
"""How a module may bind names that none of its statements names."""


def cannot_be_imported(tree: ast.Module, project: Project) -> bool:
    """Whether the file that `project` looks from ends at an import from its own project."""
    asked = list(asked_in(tree))
    return any(_ends_here(each, asked, project) for each in asked)


def asks_for_what_is_nowhere(tree: ast.Module, project: Project) -> bool:
    """Whether a file imports a module of a name that hardly any library has, and that is nowhere in its project.

    That is an estimate, unlike `cannot_be_imported`.
    """
    asked = (each.module or "" for each in tree.body if isinstance(each, ast.ImportFrom) and not each.level)
    named = (each for each in asked if each.partition(".")[0] in _OWN)
    return any(_is_nowhere(each, project) for each in named)


def read_first(tree: ast.Module, project: Project) -> Iterator[str]:
    """The files of its project that the file which `project` looks from reads at once, whatever it is used for."""
    asked = list(asked_in(tree))
    for node in asked:
        if node.level or _is_own(node, asked, project):
            found = project.locate(project.path, node.module, node.level)
            if found is not None and found.endswith(".py"):
                yield found


def _ends_here(node: Asked, asked: list[Asked], project: Project) -> bool:
    module, level = node.module, node.level
    if not level and node.names and _is_a_part_alone(module, project):
        return True
    if not level and not _is_own(node, asked, project):
        return is_beside_its_copy(module, project) or is_in_renamed_root(node, asked, project)
    if project.is_missing(module, level):
        return not (is_built(module, project) or is_fetched(module, project))
    found = project.locate(project.path, module, level)
    if found is None:
        return False
    if _is_broken(found, project):
        return True
    unbound = [each for each in node.names if is_unbound(each, found, project)]
    if folder_of(found) is None:  # a module alone has nothing that is built
        return bool(unbound)
    parts = (f"{module}.{each}".lstrip(".") for each in unbound)
    return any(project.is_missing(each, level) and not is_built(each, project) for each in parts)


def _is_nowhere(module: str, project: Project) -> bool:
    """Whether a module has no file or folder of its first name anywhere in a project.

    A file that adds a folder to the path of modules may bring it from there, and a document may say where it is.
    """
    top = module.partition(".")[0]
    if project.locate(project.path, top, 0) is not None or _extends_path(project):
        return False
    if is_built(top, project) or is_fetched(top, project):
        return False
    others, beside = project.saying(()), project.saying((), beside_code=True)
    if others is None or beside is None:
        return False
    paths = (PurePath(from_root(each)).with_suffix("") for each in (project.path, *others))
    if any(top in each.parts for each in paths):
        return False
    brought = re.compile(rf"\b{top}\.(?:py|zip)\b|\bclone\b.*\b{top}\b")
    texts = (project.text_of(each) for each in beside if each.endswith(_TELLING))
    return all(each is not None and brought.search(each.text) is None for each in texts)


def _extends_path(project: Project) -> bool:
    """Whether the file, or one that imports it, may add a folder to the path of modules."""
    texts = [project.text_of(each) for each in (project.path, *project.importers(project.path))]
    return any(each is None or "sys.path" in each.text for each in texts)


def _is_broken(home: str, project: Project) -> bool:
    """Whether no Python reads a module, be it Python 2, or 3.6 for an argument of old moves."""
    held = project.text_of(home) if home.endswith(".py") and project.library.get(home) is None else None
    if held is None or _OF_OLDER_PYTHON.search(held.text):
        return False
    try:
        module_of(held.text)
    except SyntaxError as error:
        return not is_for_python_2(held.text.encode(), error.msg, in_notebook=False)
    except (ValueError, RecursionError, MemoryError):
        return False
    return False


def _is_a_part_alone(module: str, project: Project) -> bool:
    """Whether a module beside the file, which imports from its package, is imported by its name alone: it has none."""
    found = None if "." in module else project.locate(project.path, module, 0)
    if found is None or os.path.dirname(found) != os.path.dirname(project.path) or not found.endswith(".py"):
        return False
    if os.path.basename(found) == "__init__.py":  # the package itself, which one of its modules asks for another
        return False
    part = project.module(found)
    return part is not None and any(isinstance(each, ast.ImportFrom) and each.level for each in part.tree.body)


def _is_own(node: Asked, asked: list[Asked], project: Project) -> bool:
    """Whether an absolute import surely means the project, and nothing that is installed under the same name.

    That is so for a package beside the file, or around it, and where another import of the file finds all that it asks
    for there, or a module of that package, or of one beside it; or where the module has some of the names that are
    asked of it. A script finds what lies beside it first; so does a file that finds all that it asks of another module
    there.
    """
    top = node.module.partition(".")[0]
    home = project.locate(project.path, top, 0)
    if home is None:
        return _is_in_bare_folder(top, asked, project)
    if os.path.dirname(home) == os.path.dirname(project.path) and home.endswith(".py") and _is_script(project):
        return True
    folder = folder_of(home)
    is_beside = folder is not None and os.path.dirname(folder) == os.path.dirname(project.path)
    if folder is not None and is_beside and (folder != home or _is_package_alone(folder, project)):
        return True
    if folder is not None and folder in map(str, PurePath(project.path).parents):
        return True
    if _has_some(node, project):
        return True
    others = (each for each in asked if each is not node and not each.level and _is_found(each, project))
    return any(_is_beside(each.module.partition(".")[0], home, project) for each in others)


def _is_in_bare_folder(top: str, asked: list[Asked], project: Project) -> bool:
    """Whether a package is a folder of folders, as ``src`` is, with the file in it, or what else the file asks for."""
    folder = bare_folder(os.path.dirname(project.path), top)
    if folder is None or not is_path_plain(project):
        return False
    if folder in map(str, PurePath(project.path).parents):
        return True
    parts = (each.module for each in asked if not each.level and each.module.startswith(f"{top}."))
    return any((project.locate(project.path, each, 0) or "").startswith(folder + os.sep) for each in parts)


def _is_script(project: Project) -> bool:
    """Whether a file is started by its path: it has a main guard, and nobody imports it."""
    module = project.library.get(project.path)
    return module is not None and any(map(is_main_guard, module.tree.body)) and not project.importers(project.path)


def _is_beside(top: str, home: str, project: Project) -> bool:
    """Whether what a file imports lies in the folder of another package or module: that is on the path of both."""
    other = project.locate(project.path, top, 0)
    if other is not None and other.endswith(".py") and home.endswith(".py") and not _are_packages(other, home):
        return os.path.dirname(other) == os.path.dirname(home)
    folders = None if other is None else (folder_of(other), folder_of(home))
    return folders is not None and None not in folders and len({os.path.dirname(each or "") for each in folders}) == 1


def _are_packages(*homes: str) -> bool:
    return any(os.path.basename(each) == "__init__.py" for each in homes)


def _is_found(node: Asked, project: Project) -> bool:
    found = project.locate(project.path, node.module, 0)
    if found is not None and found.endswith(".py") and "." in node.module:
        return True
    if found is None or not node.names or (found.endswith(".py") and project.library.get(found) is None):
        return False
    return not any(is_unbound(each, found, project) for each in node.names)


def _has_some(node: Asked, project: Project) -> bool:
    found = project.locate(project.path, node.module, 0)
    module = project.library.get(found) if found is not None and found.endswith(".py") else None
    return module is not None and any(each in module.bindings for each in node.names)


def is_unbound(name: str, home: str, project: Project) -> bool:
    """Whether the module at `home`, or the folder of one, surely has nothing by this name."""
    if name == "*" or project.submodule(home, name) is not None:
        return False
    if not home.endswith(".py"):
        return _is_package_alone(home, project)
    module = project.library.get(home)
    if module is None:
        return False
    project.used(home, "", module)
    return name not in module.bindings and not _may_bind(module, name)


def _is_package_alone(folder: str, project: Project) -> bool:
    """Whether a folder without ``__init__.py`` is what all import that name it: others ask it for its modules.

    It has nothing else. Python prefers a package of that name which is installed, and these would not find theirs.
    """
    modules = [each for each in project.saying(()) or () if os.path.dirname(each) == folder]
    return any(project.importers(each) for each in modules[:_MOST_MODULES])


def _may_bind(module: ModuleFile, name: str) -> bool:
    """Whether a module may bind a name that none of the statements of its top level names."""
    if module.stars or "__getattr__" in module.bindings or name in module.rebound:
        return True
    return _BINDS_OTHERWISE.search(module.source.text) is not None
