"""What a file asks for in its imports, and what may bring a module that stands in no file of its project.

That is what builds the project, a submodule of git, a folder that git ignores, and a longer path of modules.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple

from torchdevlint.patterns import regex
from torchdevlint.project.locate import root_of
from torchdevlint.project.uses import Project

_GENERATED = regex(r"^_|_pb2|version")
"""Names of modules that stand in no repository."""
_BUILDING = ("CMakeLists.txt", "meson.build", "pyproject.toml")
"""What builds a project besides a ``setup.py``."""
_SUBMODULE = regex(r"^\s*path\s*=\s*(\S+)", re.MULTILINE)
_IGNORED = ".gitignore"
_SET_PATH = regex(r"PYTHONPATH['\"\]]*[ \t]*\+?=[ \t]*([^\s;&]*)")
_PLAIN = frozenset({"", ".", "./", "PWD", "pwd", "PYTHONPATH"})
"""Parts of a path of modules which say that it is the folder where one is: ``$(pwd):$PYTHONPATH``."""
_EXTENDING = "sys.path"


class Asked(NamedTuple):
    """What an import asks for: a module, the number of dots before it, and names in it; none of ``import module``."""

    module: str
    level: int
    names: tuple[str, ...]


def asked_in(tree: ast.Module) -> Iterator[Asked]:
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (Asked(each.name, 0, ()) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield Asked(node.module or "", node.level, tuple(each.name for each in node.names))


def is_built(module: str, project: Project) -> bool:
    """Whether a module may come from elsewhere: compiled or generated, as its name or what builds the project says."""
    name = module.rpartition(".")[2]
    paths = (each for each in project.saying((name,)) or () if PurePath(each).name == "setup.py")
    scripts = (text.text for each in paths if (text := project.text_of(each)) is not None)
    built = re.compile(rf"['\"/.]{re.escape(name)}['\"]")
    if _GENERATED.search(name) is not None or any(map(built.search, scripts)):
        return True
    root = root_of(os.path.dirname(project.path))
    held = (project.text_of(os.path.join(root, each)) for each in _BUILDING)
    return any(re.search(rf"\b{re.escape(name)}\b", each.text) for each in held if each is not None)


def is_fetched(module: str, project: Project) -> bool:
    """Whether a module lies in another repository, which git fetches into a folder of this one: a submodule."""
    root = root_of(os.path.dirname(project.path))
    held = project.text_of(os.path.join(root, ".gitmodules"))
    fetched = () if held is None else _SUBMODULE.findall(held.text)
    return not {path.rstrip("/").rpartition("/")[2] for path in fetched}.isdisjoint(module.split("."))


def is_path_plain(project: Project, but_for: str | None = None) -> bool:
    """Whether the path of modules is what Python makes it, for the file and what imports it or is imported by it.

    Nothing says ``sys.path`` there, nor does a text of the project set ``PYTHONPATH`` but to the current folder, or
    where only one folder is asked for, to others that have another name.
    """
    imported = project.imported(project.path)
    paths = dict.fromkeys((project.path, *project.importers(project.path), *imported))
    texts = [project.text_of(each) for each in paths]
    if any(each is None or _EXTENDING in each.text for each in texts):
        return False
    beside, code = project.saying(("PYTHONPATH",), beside_code=True), project.saying(("PYTHONPATH",))
    if beside is None or code is None:
        return False
    setting = [project.text_of(each) for each in (*beside, *code)]
    set_to = (found for each in setting if each is not None for found in _SET_PATH.findall(each.text))
    return None not in setting and all(_is_here(each, but_for) for each in set_to)


def _is_here(path: str, but_for: str | None) -> bool:
    folders = [each.strip("\"'`${}()") for each in path.split(":")]
    others = [each for each in folders if each not in _PLAIN]
    named = [each.rstrip("/").rpartition("/")[2] for each in others]
    return not others or (but_for is not None and all(each.isidentifier() and each != but_for for each in named))


def is_ignored(module: str, project: Project) -> bool:
    """Whether git ignores what goes by a part of the name of a module, which may be there nevertheless."""
    root = root_of(os.path.dirname(project.path))
    held = project.text_of(os.path.join(root, _IGNORED))
    lines = () if held is None else held.text.splitlines()
    names = {part for each in lines if not each.startswith("#") for part in re.split(r"[/.*!\s]+", each)}
    return not names.isdisjoint(module.split("."))
