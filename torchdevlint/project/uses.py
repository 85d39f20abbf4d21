"""What the result for one file depends on besides its own text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from torchdevlint.project.locate import is_elsewhere, is_missing, locate, submodule
from torchdevlint.project.modules import Library, ModuleFile, ModuleText
from torchdevlint.project.tree import importers, imports_in, saying, stamp, stamp_of_importers, text_of
from torchdevlint.source.notebook import NOTEBOOK

BELOW = -1
"""In the place of the number of dots: a module below a package."""


class Uses(Struct, frozen=True):
    """What was asked of the other files of a project, and what they answered.

    `imports` are the folder of the importing file (or for `BELOW`, the package), the name, the number of dots, and the
    file that it led to; `files` a path, the digest of its bytes (empty if it could not be read), and for each name that
    was used the digest of what binds it; `importers` a module, the stamp of its project, and who imports it there,
    None for a project that is too large to tell; `saying` the words that were looked for, whether beside the code, the
    stamp, and the files that say them all, None likewise.
    """

    imports: tuple[tuple[str, str, int, str | None], ...] = ()
    files: tuple[tuple[str, str, dict[str, str]], ...] = ()
    importers: tuple[tuple[str, str, tuple[str, ...] | None], ...] = ()
    saying: tuple[tuple[tuple[str, ...], bool, str, tuple[str, ...] | None], ...] = ()


class Project(Struct):
    """One file among those of its project, by its absolute path, and what was asked of the others."""

    path: str
    library: Library
    imports: dict[tuple[str, str, int], str | None] = field(default_factory=dict)
    """Where imports led: see `Uses`."""
    names: dict[str, tuple[ModuleFile | ModuleText | None, dict[str, None]]] = field(default_factory=dict)
    """The other files, None for one that cannot be read, with the names that were asked of them; "" asks for all."""
    imported_by: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    """Who imports a module: see `Uses`."""
    said_by: dict[tuple[tuple[str, ...], bool], tuple[str, ...] | None] = field(default_factory=dict)
    """Which other files say some words: see `Uses`."""

    def locate(self, importer: str, module: str, level: int) -> str | None:
        """The file that an import of the file `importer` leads to."""
        if not level and is_elsewhere(module):
            return None
        beside = os.path.dirname(importer)
        found = self.imports[beside, module, level] = locate(beside, module, level)
        return found

    def submodule(self, package: str, name: str) -> str | None:
        """The file of a module of a package."""
        found = self.imports[package, name, BELOW] = submodule(package, name)
        return found

    def saying(self, words: tuple[str, ...], beside_code: bool = False) -> tuple[str, ...] | None:
        """The other files of the project whose texts hold all `words`; None where that is not known.

        With `beside_code` notebooks, configurations and the like, not its ``.py`` files.
        """
        found = self.said_by[words, beside_code] = saying(self.path, words, beside_code)
        return found

    def imported(self, path: str) -> Iterator[str]:
        """The ``.py`` files of the project that a file imports."""
        for module, level, names in imports_in(path):
            found = self.locate(path, module, level)
            below = (self.submodule(found, each) for each in names) if found is not None else ()
            yield from (each for each in (found, *below) if each is not None and each.endswith(".py"))

    def import_closure(self, paths: Iterable[str], most: int) -> list[str] | None:
        """Files and all that they import, directly or not, nearer ones first; None for more than `most`."""
        level = list(dict.fromkeys(paths))
        seen = dict.fromkeys(level)
        while level:
            imported = dict.fromkeys(path for home in level for path in self.imported(home))
            level = [path for path in imported if path not in seen]
            seen.update(dict.fromkeys(level))
            if len(seen) > most:
                return None
        return list(seen)

    def is_missing(self, module: str, level: int) -> bool:
        """Whether an import of this file leads into the project, and there to nothing, not even to what is compiled."""
        if self.locate(self.path, module, level) is not None:
            return False
        return is_missing(os.path.dirname(self.path), module, level)

    def used(self, path: str, name: str, module: ModuleFile | ModuleText | None) -> None:
        held, names = self.names.setdefault(path, (module, {}))
        names[name] = None
        if isinstance(held, ModuleText) and isinstance(module, ModuleFile):
            self.names[path] = (module, names)

    def module(self, path: str) -> ModuleFile | None:
        """A file, parsed, if it can be: what is told depends on all of it."""
        module = self.library.get(path)
        self.used(path, "", module)
        return module

    def text_of(self, path: str) -> ModuleText | None:
        """The text of another file, without parsing it; None if it cannot be read."""
        text = text_of(path)
        self.used(path, "", text)
        return text

    def notebooks(self) -> tuple[str, ...]:
        """The other notebooks of the project; none where they are too many."""
        return tuple(each for each in self.saying((), beside_code=True) or () if each.endswith(NOTEBOOK))

    def importers(self, home: str) -> tuple[str, ...]:
        """The files, notebooks too, that import the module at `home`; none where that is not known."""
        found = self.imported_by[home] = importers(home)
        return found or ()

    def add(self, other: Project) -> None:
        """What was asked for another file was asked for this one."""
        self.imports |= other.imports
        self.imported_by |= other.imported_by
        self.said_by |= other.said_by
        for path, (module, names) in other.names.items():
            for name in names:
                self.used(path, name, module)

    def uses(self) -> Uses:
        """All that was asked, with the digests of the answers."""
        imports = tuple((*question, path) for question, path in self.imports.items())
        files = tuple(
            (path, "" if module is None else module.bytes_digest, _digests(module, names))
            for path, (module, names) in self.names.items()
        )
        asked = tuple((home, stamp_of_importers(home), found) for home, found in self.imported_by.items())
        said = tuple(
            (words, beside_code, stamp(self.path, beside_code), found)
            for (words, beside_code), found in self.said_by.items()
        )
        return Uses(imports, files, asked, said)


def _digests(module: ModuleFile | ModuleText | None, names: dict[str, None]) -> dict[str, str]:
    return {} if module is None else {name: module.digest(name) for name in names}


def around(filename: str, library: Library) -> Project | None:
    """The project of a file that is on disk; None for text from elsewhere."""
    return Project(os.path.abspath(filename), library) if os.path.isfile(filename) else None


def shown(path: str, beside: str) -> str:
    """The absolute path of another file as who wrote the path `beside` would write it."""
    return (path if os.path.isabs(beside) else os.path.relpath(path)).replace(os.sep, "/")
