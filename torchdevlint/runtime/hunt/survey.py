"""In a child process: imports the modules of a project one after the other, and lists what they define."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from torchdevlint.runtime.execute.alarm import Alarm, TooLongError
from torchdevlint.runtime.execute.called import FUNCTION, METHOD, MODULE
from torchdevlint.runtime.execute.errors import told
from torchdevlint.runtime.execute.missing import advice
from torchdevlint.runtime.hunt.targets import PROGRESS

SECONDS = 60
"""What one module may take to be imported."""


def survey(modules: Sequence[tuple[str, str]], root: str) -> dict[str, Any]:
    """The targets of the modules as rows, and why some cannot be imported.

    The name of the module that is at work stands in a file: if this process dies, that one was it.
    """
    progress = Path(tempfile.gettempdir()).parent / PROGRESS
    failed: dict[str, str] = {}
    rows: dict[str, list[Any]] = {}
    exported: set[int] = set()
    for name, folder in modules:
        progress.write_text(name, encoding="utf-8")
        module = brought(name, folder)
        if isinstance(module, str):
            failed[name] = module
            continue
        for row in _targets(module, root):
            rows.setdefault(f"{row[0]}:{row[1]}", row)
        if hasattr(module, "__path__"):
            exported |= {id(value) for value in vars(module).values()}
    progress.write_text("", encoding="utf-8")
    return {"targets": [[*row, id(_owner(row)) in exported] for row in rows.values()], "failed": failed}


def _owner(row: Sequence[Any]) -> Any:
    """The function or class of a target."""
    return getattr(sys.modules[row[0]], row[1].partition(".")[0])


def brought(name: str, folder: str) -> ModuleType | str:
    """The module, or in one line why it cannot be imported."""
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        with Alarm(SECONDS):
            return importlib.import_module(name)
    except TooLongError:
        return f"importing it takes longer than {SECONDS} s"
    except ModuleNotFoundError as error:
        root = (error.name or "").partition(".")[0]
        if root and root != name.partition(".")[0]:
            return f"importing it needs `{error.name}`, which is not installed here ({advice(error.name or root)})"
        return f"importing it fails: {told(error)}"
    except BaseException as error:  # noqa: BLE001 (`sys.exit()` at import is an answer as well)
        return f"importing it fails: {told(error)}"


def _targets(module: ModuleType, root: str) -> Iterator[list[Any]]:
    """Rows of module, qualified name, kind, file and line, in the order of the file's names."""
    for name, value in sorted(vars(module).items()):
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value):
            yield from _row(module, name, FUNCTION, value, root)
        elif inspect.isclass(value):
            yield from _of_class(module, name, value, root)


def _of_class(module: ModuleType, name: str, found: type, root: str) -> Iterator[list[Any]]:
    if inspect.isabstract(found) or issubclass(found, (BaseException, torch.autograd.Function)):
        return
    is_module = issubclass(found, torch.nn.Module)
    forward = getattr(found, "forward", None)
    if is_module and _is_own(forward, root):
        yield from _row(module, name, MODULE, forward, root)
    for each, value in sorted(vars(found).items()):
        plain = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        called = each == "__call__" and not is_module
        if (each.startswith("_") and not called) or not inspect.isfunction(plain) or (is_module and each == "forward"):
            continue
        yield from _row(module, f"{name}.{each}", METHOD, plain, root)


def _row(module: ModuleType, qualname: str, kind: str, function: Any, root: str) -> Iterator[list[Any]]:
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if code is None or inspect.iscoroutinefunction(function) or not _is_own(function, root):
        return
    if not _takes_anything(function, kind):
        return
    yield [module.__name__, qualname, kind, code.co_filename, code.co_firstlineno]


def _is_own(function: Any, root: str) -> bool:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code is not None and os.path.realpath(code.co_filename).startswith(root)


def _takes_anything(function: Any, kind: str) -> bool:
    """A function without parameters gets no tensor; a method has those of its instance."""
    try:
        return kind != FUNCTION or bool(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False
