"""Modules that are executed when the first of their functions is called, and not when that is imported.

Half of what is imported for a small file is never called there, and to import is most of the time that it takes. Python
3.15 has lazy imports for that (PEP 810). Before, a name that is imported has to stand for an object at once. So a
module has functions without code at first, whose names are in `torchdevlint.functions`. The first call of one, or any
other name that is asked of the module, executes its text; then the functions get the code of those that it defines, and
whoever imported them has them already. From then on a call costs what it always does.

The command `check` and the flake8 plugin put this in place. Everybody else sees the modules as they are written.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec
from types import FunctionType, ModuleType
from typing import Any

from torchdevlint.functions import FUNCTIONS, ONCE_A_NODE

_PACKAGE = "torchdevlint."
_COMPILED = f"{_PACKAGE}flow.analyse"
"""A module that a wheel with compiled modules has compiled; see `hatch_build.py`."""


def defer() -> None:
    """Import modules in this way from now on, if they are sources in a folder."""
    spec = find_spec(_COMPILED)
    if _Finder not in sys.meta_path and spec is not None and type(spec.loader) is SourceFileLoader:
        sys.meta_path.insert(0, _Finder)


def execute_all() -> bool:
    """Execute all modules that wait for it, and those that they import; whether there was any."""
    found = False
    while waiting := [loader for loader in map(_waiting, list(sys.modules.values())) if loader is not None]:
        found = True
        for each in waiting:
            each.execute()
    return found


def _waiting(module: ModuleType | None) -> _Loader | None:
    """The loader of a module that was not executed yet."""
    loader: _Loader | None = getattr(module, "__dict__", {}).get("__later__")
    return loader


class _Finder:
    """Finds the modules of the table in the folder of their package, without looking into it."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        functions = FUNCTIONS.get(name.removeprefix(_PACKAGE))
        if functions is None or path is None:
            return None
        loader = _Loader(name, f"{path[0]}/{name.rpartition('.')[2]}.py", functions.split())
        return ModuleSpec(name, loader, origin=loader.path)


class _Loader(SourceFileLoader):
    """Gives a module functions without code, and executes it when one of them is called."""

    def __init__(self, name: str, path: str, functions: Sequence[str]) -> None:
        super().__init__(name, path)
        self._functions = functions

    def exec_module(self, module: ModuleType) -> None:
        """Leave the text for later; not that of a module without functions, since it is needed for what else it has."""
        self._module = module
        self._space = vars(module)
        self._space["__file__"] = self.path
        if not self._functions:
            super().exec_module(module)
            return
        self._without_code: dict[str, FunctionType] = {}
        self._given: dict[str, Any] = {}
        """The same functions, wrapped as those of the text are."""
        for written in self._functions:
            name = written.removeprefix(ONCE_A_NODE)
            given = self._without_code[name] = _without_code(name, self._space)
            self._given[name] = given if name is written else _kept_with_nodes(given)
        self._wait()

    def _wait(self) -> None:
        self._space.pop("__doc__", None)
        self._space.update(self._given, __later__=self, __getattr__=self.attribute)

    def execute(self) -> None:
        """Execute the text, unless that has begun, and put its functions into those that others have imported."""
        if self._space.pop("__later__", None) is None:
            return
        del self._space["__getattr__"]
        self._space["__doc__"] = None
        try:
            super().exec_module(self._module)
        except BaseException:  # such as a stack that has no room left for it: it may have another time
            self._wait()
            raise
        for name, function in self._without_code.items():
            given, own = self._given[name], self._space.get(name)
            own = own if given is function else getattr(own, "__wrapped__", None)
            if type(own) is not FunctionType:  # the table is older than the module: calls go through `_first_call`
                continue
            function.__defaults__, function.__kwdefaults__ = own.__defaults__, own.__kwdefaults__
            function.__doc__, function.__annotations__ = own.__doc__, own.__annotations__
            function.__code__ = own.__code__
            self._space[name] = given

    def attribute(self, name: str) -> Any:
        """What the module has under a name that is none of its functions'; the ``__getattr__`` of the module."""
        if not name.startswith("__") or name == "__doc__":
            self.execute()
            if name in self._space:
                return self._space[name]
        raise AttributeError(f"module {self.name!r} has no attribute {name!r}")


def _without_code(name: str, space: dict[str, Any]) -> FunctionType:
    function = FunctionType(_first_call.__code__, space, name)
    function.__qualname__ = name
    function.__kwdefaults__ = {"function__": name}
    return function


def _kept_with_nodes(function: FunctionType) -> Any:
    from torchdevlint.source.nodes import once_a_node

    return once_a_node(function)


def _first_call(*given: Any, function__: str, **options: Any) -> Any:
    """What the first call of a function does. It is run among the names of the function's module."""
    space = globals()
    if "__later__" in space:
        space["__later__"].execute()
    return space[function__](*given, **options)
