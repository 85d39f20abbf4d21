"""What the result for one file depends on besides its own text."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from torchdevlint.project.modules import Library, ModuleFile


@dataclass(slots=True)
class Project:
    """One file among those of its project, and what was asked of the others.

    `path` is absolute; `shown` is the path as it was given, after whose fashion the paths of other files are shown.
    """

    path: str
    shown: str
    library: Library
    imports: dict[tuple[str, str, int], str | None] = field(default_factory=dict)
    """Where imports led, by the importing file, the name and the number of dots (-1: a module below a package)."""
    names: dict[tuple[str, str], ModuleFile | None] = field(default_factory=dict)
    """The names that were asked of other files, which are None if they cannot be read; "" stands for all of a file."""

    def found(self, importer: str, module: str, level: int, path: str | None) -> None:
        self.imports[importer, module, level] = path

    def used(self, path: str, name: str, module: ModuleFile | None) -> None:
        self.names[path, name] = module

    def show(self, path: str) -> str:
        """The path of another file as a user of `shown` would write it."""
        if not os.path.isabs(self.shown):
            path = os.path.relpath(path)
        return path.replace(os.sep, "/")


def around(shown: str, library: Library) -> Project | None:
    """The project of a file that is on disk under the path `shown`; None for text from elsewhere."""
    return Project(os.path.abspath(shown), shown, library) if os.path.isfile(shown) else None
