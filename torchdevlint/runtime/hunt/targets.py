"""What is hunted: the functions, Modules and methods of a project that code outside can name. No torch.

A target is found in a child process that imports the project (`survey`), and is named like ``package.module:Class``.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from torchdevlint.runtime.execute.called import Callee
from torchdevlint.runtime.execute.target import import_name

PROGRESS = "progress"
"""The file of the harness's folder that names the module which is being imported."""
_LEFT_OUT = frozenset({"setup.py", "conftest.py", "__main__.py", "noxfile.py", "versioneer.py"})
_FOLDERS_LEFT_OUT = frozenset({"test", "tests", "testing", "docs", "doc", "build"})


class Target(Callee, frozen=True, order=True):
    """What is called. What is `exported` is given by a package under its own name as well."""

    exported: bool = False

    @property
    def row(self) -> list[Any]:
        """Its fields, from which another process makes the same."""
        return list(astuple(self))

    def is_selected(self, patterns: tuple[str, ...]) -> bool:
        """Whether one of the patterns, as those of a shell, fits its name or its dotted path; all do without any."""
        names = (self.name, self.name.replace(":", "."), self.qualname)
        return not patterns or any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


class Project(Struct, frozen=True):
    """What there is to import: the modules by name, each with the folder that has to be on the import path.

    `root` is the folder whose code is the project's; it ends with a separator, as paths below it begin with it.
    """

    root: str
    modules: tuple[tuple[str, str], ...]

    @property
    def folders(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(folder for _, folder in self.modules))


def project_of(files: tuple[str, ...], root: Path) -> Project:
    """The modules of some files, without tests and what only builds the project."""
    found: dict[str, str] = {}
    for file in files:
        path = Path(file).resolve()
        inside = path.relative_to(root).parts[:-1] if path.is_relative_to(root) else ()
        if path.suffix != ".py" or path.name in _LEFT_OUT or path.name.startswith("test_"):
            continue
        if _FOLDERS_LEFT_OUT.intersection(inside):
            continue
        folder, name = import_name(path)
        if name and all(part.isidentifier() for part in name.split(".")):
            found.setdefault(name, str(folder))
    return Project(f"{root}{os.sep}", tuple(sorted(found.items())))
