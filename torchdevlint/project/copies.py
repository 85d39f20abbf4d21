"""Libraries that were copied into a project as a whole, with their licenses and documents."""

from __future__ import annotations

import os

from torchdevlint.project.locate import root_of
from torchdevlint.project.uses import Project

_LICENSES = ("LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "COPYING")
_DOCUMENTS = (".md", ".rst", ".txt")
_STARTED = ("__main__", "parse_args")


def is_of_copy(path: str, project: Project) -> bool:
    """Whether a document tells the users of a library what it has, of which the project has a copy with its license.

    Where something of that folder is started, it may be what the document tells of.
    """
    folder = os.path.dirname(path) if path.endswith(_DOCUMENTS) else ""
    root = root_of(os.path.dirname(project.path))
    while folder.startswith(root + os.sep):
        if any(project.text_of(os.path.join(folder, each)) is not None for each in _LICENSES):
            started = [project.saying((word,)) for word in _STARTED]
            paths = [each for found in started for each in found or ()]
            return None not in started and not any(each.startswith(folder + os.sep) for each in paths)
        folder = os.path.dirname(folder)
    return False
