"""Devices that are handed down: whether all calls of a function give a parameter CUDA by name, or the CPU."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import cached_property

from torchdevlint.flow.programs.places import first_holding
from torchdevlint.flow.programs.project_calls import ProjectCalls
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.call_sites import are_sent_to_cuda, argument_of, call_sites
from torchdevlint.flow.scope.cuda_literals import Scope, is_cuda
from torchdevlint.flow.scope.names import (
    argument_names,
    device_spec,
    dotted_path,
    given_by_default,
    has_stars,
    last_name,
    positional_names,
)
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project

_MOST_HOPS = 4
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class HandedDevices:
    """The calls of some code, of which any function with the name that is called may be meant.

    `names` says whether a device is of the kind that is asked for, as it is written.
    """

    def __init__(
        self, calls: Iterable[tuple[Scope, ast.Call]], names: Callable[[Scope, ast.expr], bool] = is_cuda
    ) -> None:
        self._calls = calls
        self._names = names

    @cached_property
    def _by_name(self) -> dict[str, list[tuple[Scope, ast.Call]]]:
        found: dict[str, list[tuple[Scope, ast.Call]]] = {}
        for scope, call in self._calls:
            found.setdefault(last_name(call.func), []).append((scope, call))
        return found

    def is_so(self, scope: Scope, place: ast.expr, hops: int = _MOST_HOPS) -> bool:
        """Whether a place is such a one by name, here or for all who give the parameter that it is, or was kept of."""
        if hops == 0:
            return False
        if self._names(scope, place):
            return True
        path, function = dotted_path(place) or "", scope.function
        if isinstance(function, _Function) and path in argument_names(function):
            return self._all_give(scope, function, path, hops)
        kept = values_by_path(scope.owner).get(path, []) if path.startswith("self.") and scope.owner else []
        methods = [each for each in getattr(scope.owner, "body", ()) if isinstance(each, _Function)]
        init = next((each for each in methods if each.name == "__init__"), None)
        if init is None or not kept:
            return False
        made = Scope(scope.file, scope.project, init, scope.owner)
        names = [each.id if isinstance(each, ast.Name) else "" for each in kept]
        return all(name in argument_names(init) and self._all_give(made, init, name, hops) for name in names)

    def _all_give(self, scope: Scope, function: _Function, name: str, hops: int) -> bool:
        is_init = function.name == "__init__" and scope.owner is not None
        called = scope.owner.name if is_init and scope.owner is not None else function.name
        sites = self._by_name.get(called, [])
        return bool(sites) and all(self._gives(scope, function, name, site, hops - 1) for site in sites)

    def _gives(self, scope: Scope, function: _Function, name: str, site: tuple[Scope, ast.Call], hops: int) -> bool:
        caller, call = site
        if has_stars(call):
            return False
        given = argument_of(call, function, name, is_bound=positional_names(function)[:1] == ["self"])
        if given is not None:
            return self.is_so(caller, given, hops)
        default = dict(given_by_default(function.args)).get(name)
        return default is not None and self._names(Scope(scope.file, scope.project), default)


def is_built_on_cuda(tree: ast.Module, project: Project | None, line: int) -> bool:
    """Whether a line is in a class whose objects are all sent to CUDA by name where they are made."""
    init = _init_around(tree, line)
    sites = [] if init is None or project is None else call_sites(tree, init, project)
    return bool(sites) and are_sent_to_cuda(sites)


def is_built_on_cpu(own: ModuleFile, project: Project, line: int, path: str) -> bool:
    """Whether a line is in a class that keeps the CPU under a `path` for all who make its objects."""
    owner, init = first_holding(own.tree.body, line), _init_around(own.tree, line)
    if not isinstance(owner, ast.ClassDef) or init is None or not path.startswith("self."):
        return False
    kept = values_by_path(owner).get(path, [])
    name = dotted_path(_named(kept[0]) or init) if len(kept) == 1 else None
    if name not in argument_names(init):
        return False
    default = dict(given_by_default(init.args)).get(name)
    sites = [call for _, call in ProjectCalls(own, project).of(own.path, owner.name) or ()]
    given = [_named(argument_of(each, init, name, is_bound=True) or default) for each in sites]
    on_cpu = all(isinstance(each, ast.Constant) and each.value == "cpu" for each in given)
    return bool(sites) and on_cpu and not any(map(has_stars, sites))


def _named(place: ast.expr | None) -> ast.expr | None:
    """What names a device: that of which ``torch.device(..)`` is made."""
    return None if place is None else device_spec(place)


def _init_around(tree: ast.Module, line: int) -> ast.FunctionDef | None:
    """The constructor of the class that holds a line."""
    owner = first_holding(tree.body, line)
    methods = owner.body if isinstance(owner, ast.ClassDef) else []
    return next((each for each in methods if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
