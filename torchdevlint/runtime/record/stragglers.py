"""Tensors that a module holds besides its parameters and buffers, and that stayed on the CPU when it was moved.

`Module.to` moves registered parameters, buffers and submodules. A tensor in a plain attribute, or in a list or dict,
and a module in a Python container stay where they are (torch/nn/modules/module.py, `Module._apply`). Only weak
references are kept. A tensor that dies while its module lives was replaced, most likely by a moved copy; one that
lives to the end, or dies with its module, stayed behind.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from dataclasses import asdict
from types import CodeType
from typing import Any

import torch

from torchdevlint.runtime.modules import registered_tensors
from torchdevlint.runtime.record.sites import Site, site_of

DEPTH, LARGEST, MOST = 3, 1000, 100
REGISTERED = frozenset({"_parameters", "_buffers", "_modules"})


class Stragglers:
    """What the modules that were moved have left behind; `created_at` says which line made a tensor, if it is known."""

    def __init__(self, created_at: Callable[[Any], Site | tuple[CodeType, int] | None]) -> None:
        self.created_at = created_at
        self.modules: dict[int, tuple[weakref.ref[Any], str, Site | None]] = {}
        self.watched: dict[tuple[int, str], weakref.ref[Any]] = {}
        self.rows: dict[tuple[int, str], dict[str, Any]] = {}
        self.confirmed: dict[tuple[int, str], dict[str, Any]] = {}

    def look(self, module: Any, device: str, site: Site | None) -> None:
        """`module` has been moved to `device` at `site`: remember what it left on the CPU."""
        self.modules[id(module)] = (weakref.ref(module), device, site)
        for path, tensor, what in _held(module):
            key = (id(module), path)
            if len(self.rows) >= MOST or str(tensor.device) != "cpu" or key in self.rows:
                continue
            self.rows[key] = self._row(module, path, tensor, what, device, site)
            self.watched[key] = weakref.ref(tensor, self._death_of(key))

    def found(self) -> list[dict[str, Any]]:
        """All that stayed behind, in order of their lines."""
        for module_of, device, site in list(self.modules.values()):
            module = module_of()
            if module is not None:
                self.look(module, device, site)
        rows = dict(self.confirmed)
        for key, reference in list(self.watched.items()):
            tensor = reference()
            if tensor is not None and str(tensor.device) == "cpu":
                rows[key] = self.rows[key]
        unique = {repr(row): row for row in rows.values()}
        return sorted(unique.values(), key=lambda row: (row["module"], row["path"]))

    def _row(self, module: Any, path: str, tensor: Any, what: str, device: str, site: Site | None) -> dict[str, Any]:
        created = site_of(self.created_at(tensor))
        return {
            "module": type(module).__name__,
            "path": path,
            "kind": what,
            "shape": list(tensor.shape),
            "device": device,
            "created": None if created is None else asdict(created),
            "moved": None if site is None else asdict(site),
        }

    def _death_of(self, key: tuple[int, str]) -> Any:
        """A callback that tells a tensor which dies with its module from one that is replaced.

        A weak reference to an object is dead before what the object holds is released, also where the garbage
        collector ends a cycle (CPython, Objects/typeobject.c `subtype_dealloc`, Modules/gcmodule.c `handle_weakrefs`).
        """

        def died(_reference: object) -> None:
            self.watched.pop(key, None)
            row = self.rows.pop(key, None)
            entry = self.modules.get(key[0])
            if row is not None and entry is not None and entry[0]() is None:
                self.confirmed[key] = row

        return died


def _held(root: Any) -> Iterator[tuple[str, Any, str]]:
    """Path, tensor, and ``tensor`` or ``module`` for what a module and its submodules hold unregistered.

    Of a module in a Python container, the first parameter or buffer stands for all.
    """
    registered = set(map(id, torch.nn.Module.modules(root)))
    known = set(map(id, registered_tensors(root)))
    for prefix, module in torch.nn.Module.named_modules(root):
        for name, value in list(vars(module).items()):
            if name in REGISTERED or (name.startswith("_") and name.endswith("_hooks")):
                continue
            for path, item in _inside(f"{prefix}.{name}" if prefix else name, value, DEPTH):
                if isinstance(item, torch.Tensor):
                    if id(item) not in known:
                        known.add(id(item))
                        yield path, item, "tensor"
                elif id(item) not in registered:
                    registered.add(id(item))
                    first = next(registered_tensors(item), None)
                    if first is not None and id(first) not in known:
                        yield path, first, "module"


def _inside(path: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (torch.Tensor, torch.nn.Module)):
        yield path, value
    elif depth and isinstance(value, (list, tuple)):
        for number, item in enumerate(value[:LARGEST]):
            yield from _inside(f"{path}[{number}]", item, depth - 1)
    elif depth and isinstance(value, dict):
        for key, item in list(value.items())[:LARGEST]:
            yield from _inside(f"{path}[{key!r}]", item, depth - 1)
