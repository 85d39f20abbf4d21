"""Devices that are handed down: whether all calls of a function give a parameter CUDA by name, or the CPU."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import cached_property

from torchdevlint.flow.programs.texts.places import first_holding
from torchdevlint.flow.programs.texts.project_calls import ProjectCalls
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.call_sites import are_sent_to_cuda, argument_of, call_sites
from torchdevlint.flow.scope.cuda_literals import Scope, is_cuda
from torchdevlint.flow.scope.names import (
    device_spec,
    dotted_path,
    given_by_default,
    has_stars,
    last_name,
    parameter_names,
    positional_names,
)
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import FunctionNode

_MOST_GIVEN = 40
"""Where a device goes through more parameters, nobody knows where it comes from."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_Given = tuple[FunctionNode, str]


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

    def is_so(self, scope: Scope, place: ast.expr) -> bool:
        """Whether a place is such a one by name, here or for all who give the parameter that it is, or was kept of."""
        left, seen, is_named = [(scope, place)], set[_Given](), False
        while left and len(seen) <= _MOST_GIVEN:
            where, each = left.pop()
            if self._names(where, each):
                is_named = True
                continue
            given = _parameters_of(where, each)
            if not given:
                return False
            for made, function, name in given:
                if (function, name) in seen:
                    continue
                seen.add((function, name))
                more = self._given_to(made, function, name)
                if not more:
                    return False
                left += more
        return is_named and not left

    def _given_to(self, scope: Scope, function: FunctionNode, name: str) -> list[tuple[Scope, ast.expr]] | None:
        """What all calls of a function give a parameter, or its default; None where that is not known."""
        is_init = function.name == "__init__" and scope.owner is not None
        called = scope.owner.name if is_init and scope.owner is not None else function.name
        is_bound, default = positional_names(function)[:1] == ["self"], dict(given_by_default(function.args)).get(name)
        found: list[tuple[Scope, ast.expr]] = []
        for caller, call in self._by_name.get(called, ()):
            given = None if has_stars(call) else argument_of(call, function, name, is_bound=is_bound)
            if given is None and (default is None or has_stars(call)):
                return None
            top = Scope(scope.file, scope.project)
            found.append((caller, given) if given is not None else (top, default))  # type: ignore[arg-type]
        return found


def _parameters_of(scope: Scope, place: ast.expr) -> list[tuple[Scope, FunctionNode, str]]:
    """The parameters that a place is, or that a constructor has kept under it."""
    path, function = dotted_path(place) or "", scope.function
    if isinstance(function, _FUNCTIONS) and path in parameter_names(function):
        return [(scope, function, path)]
    kept = values_by_path(scope.owner).get(path, []) if path.startswith("self.") and scope.owner else []
    methods = [each for each in getattr(scope.owner, "body", ()) if isinstance(each, _FUNCTIONS)]
    init = next((each for each in methods if each.name == "__init__"), None)
    names = [each.id if isinstance(each, ast.Name) else "" for each in kept]
    if init is None or not all(name in parameter_names(init) for name in names):
        return []
    made = Scope(scope.file, scope.project, init, scope.owner)
    return [(made, init, name) for name in names]


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
    if name not in parameter_names(init):
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
