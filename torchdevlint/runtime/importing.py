"""Do something as soon as a module has been imported, whoever imports it. Imports no torch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def when_imported(name: str, then: Callable[[ModuleType], None]) -> None:
    """Call ``then(module)`` once the module `name` has been executed; at once, if that is long past."""
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        then(module)
        return
    sys.meta_path.insert(0, _Finder(name, then))


class _Finder:
    """Finds nothing itself: lets those behind it find the module, and wraps what executes it. Goes after its one use.

    Those in front were asked before, and one of them may be asking.
    """

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self.name = name
        self.then = then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :] if self in sys.meta_path else ():
            spec = finder.find_spec(fullname, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                self._watch(spec.loader)
                return spec
        return None

    def _watch(self, loader: Any) -> None:
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module: ModuleType) -> None:
            if vars(loader).get("exec_module") is exec_module:
                del loader.exec_module
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self.then(module)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            sys.stderr.write(f"torchdevlint: the import of {self.name} cannot be watched ({type(loader).__name__})\n")
