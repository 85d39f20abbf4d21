"""The file of a finding is imported with its flagged expressions wrapped, and all others as they are. No torch."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType

from torchdevlint.runtime.execute.instrument import Flagged, instrumented


class Finder(importlib.abc.MetaPathFinder):
    """Gives the module of one file with flagged expressions wrapped; all else is left to the other finders.

    `watches` are the expressions of each finding in it, and the name of its watch.
    """

    def __init__(self, path: str, watches: Sequence[tuple[Flagged, str]]) -> None:
        self.path = os.path.realpath(path)
        self.watches = watches

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        behind = sys.meta_path[sys.meta_path.index(self) + 1 :] if self in sys.meta_path else sys.meta_path
        for finder in behind:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                break
        else:
            return None
        loader = spec.loader
        if type(loader) is importlib.machinery.SourceFileLoader and os.path.realpath(loader.path) == self.path:
            spec.loader = _Loader(loader.name, loader.path, self.watches)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles from the source always: no cache of bytecode is read or written."""

    def __init__(self, name: str, path: str, watches: Sequence[tuple[Flagged, str]]) -> None:
        super().__init__(name, path)
        self.watches = watches

    def get_code(self, fullname: str) -> CodeType | None:
        tree = ast.parse(self.get_data(self.path), self.path)
        for told, name in self.watches:
            tree.body = instrumented(tree.body, told, name)
        return compile(tree, self.path, "exec", dont_inherit=True)
