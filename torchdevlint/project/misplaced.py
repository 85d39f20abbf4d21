"""Imports of what a project has elsewhere, or under another name: as its author had laid out the files."""

from __future__ import annotations

import os
import re

from torchdevlint.project.asked_modules import Asked, is_built, is_fetched, is_ignored, is_path_plain
from torchdevlint.project.locate import is_elsewhere, is_missing, root_of
from torchdevlint.project.uses import Project

_REQUIRED = ("requirements.txt", "environment.yml", "environment.yaml", "pyproject.toml", "setup.py", "setup.cfg")
"""What says which libraries a project needs."""
_FEWEST = 2
"""So many modules found under another name of the root tell that it is one; one may be a copy of a library's."""


def is_beside_its_copy(module: str, project: Project) -> bool:
    """Whether what is imported lies beside a copy of the file in another folder, and not beside the file.

    Whoever starts the file ends there, and the copy is what is used.
    """
    own = os.path.basename(project.path)
    if "." in module or is_elsewhere(module) or project.locate(project.path, module, 0) is not None:
        return False
    paths = project.saying(()) or ()
    homes = (os.path.dirname(each) for each in paths if os.path.basename(each) == f"{module}.py")
    copies = [path for each in homes if (path := os.path.join(each, own)) in paths]
    text = project.text_of(project.path) if copies else None
    return text is not None and any(
        (other := project.text_of(each)) is not None
        and other.text == text.text
        and is_path_plain(project, os.path.basename(os.path.dirname(each)))
        for each in copies
    )


def is_in_renamed_root(node: Asked, asked: list[Asked], project: Project) -> bool:
    """Whether the file calls the root of its project by another name, and there is no such module in it.

    ``from seg2d.data.loader import load`` is such a call where `seg2d` is nowhere, and ``data/loader.py`` has a `load`.
    """
    top, _, rest = node.module.partition(".")
    if node.level or not rest or not _is_root(top, asked, project):
        return False
    root = root_of(os.path.dirname(project.path))
    first = rest.partition(".")[0]
    gone = not any(each.partition(".")[0] == first for each in os.listdir(root)) or is_missing(root, rest, 0)
    is_brought = is_built(rest, project) or is_fetched(rest, project) or is_ignored(rest, project)
    return gone and not is_brought and is_path_plain(project)


def _is_root(top: str, asked: list[Asked], project: Project) -> bool:
    """Whether several modules of the project are asked for by a name before theirs, which nothing has in it."""
    if not top or is_elsewhere(top) or project.locate(project.path, top, 0) is not None:
        return False
    root = root_of(os.path.dirname(project.path))
    required = [project.text_of(os.path.join(root, each)) for each in _REQUIRED]
    if any(each is not None and re.search(rf"\b{re.escape(top)}\b", each.text) for each in required):
        return False
    found = set()
    for each in asked:
        first, _, rest = each.module.partition(".")
        path = os.path.join(root, *rest.split(".")) + ".py"
        if each.level or first != top or "." not in rest or project.locate(project.path, rest, 0) != path:
            continue
        module = project.library.get(path)
        project.used(path, "", module)
        if module is not None and all(name in module.bindings for name in each.names):
            found.add(path)
    return len(found) >= _FEWEST
