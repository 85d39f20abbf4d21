"""Models that all callers of a function wrap in what scatters its inputs: a batch may stay where it was made."""

from __future__ import annotations

import ast

from torchdevlint.flow.programs.reached.ways import Ways
from torchdevlint.flow.programs.texts.asked_tests import is_bound_before
from torchdevlint.flow.programs.texts.places import expression_at
from torchdevlint.flow.programs.texts.project_calls import ProjectCalls, around, called_by
from torchdevlint.flow.scope.call_sites import argument_of
from torchdevlint.flow.scope.chains import module_in
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.imported_names import defined
from torchdevlint.flow.scope.names import dotted_path, names_one_of, parameter_names, public_path
from torchdevlint.model import Span
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import keyword_of, own_assignments_in

_TO_ALL = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DataParallel"})
_TO_OWN = "torch.nn.parallel.DistributedDataParallel"


def is_scattered(own: ModuleFile, project: Project, at: Span) -> bool:
    """Whether a call at a place is one of a parameter, a model that every call of the function gives wrapped so."""
    call, held = expression_at(own.tree, at), around(own, at.row)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or not held:
        return False
    _, function, owner = held[0]
    name, called = call.func.id, called_by(function, owner)
    is_given = name in parameter_names(function) and not is_bound_before(function, name, call)
    if owner is not None or called is None or not is_given:
        return False
    sites = ProjectCalls(own, project).of(own.path, called)
    return bool(sites) and all(
        _is_wrapped(file, project, site, argument_of(site, function, name, is_bound=False))
        for file, site in sites or ()
    )


def _is_wrapped(file: ModuleFile, project: Project, site: ast.Call, model: ast.expr | None) -> bool:
    """Whether a statement of the same function that is always run binds a model to a wrapper of it, be it one that a
    function of the project makes.
    """
    path, held = dotted_path(model) if model is not None else None, around(file, site.lineno)
    scope = held[0][1] if held else file.tree
    above = (each for each in own_assignments_in(scope) if each.lineno < site.lineno)
    found = [] if path is None else [each for each in above if names_one_of(path, each.targets)]
    bound = sorted(found, key=lambda each: each.lineno)
    if not bound or bound[-1].node not in scope.body:
        return False
    value = module_in(bound[-1].value)
    if not isinstance(value, ast.Call):
        return False
    if _scatters(value):
        return True
    led = defined(project, file.path, file.tree, dotted_path(value.func) or "")
    made = None if led is None else next(iter(led[0].bindings.get(led[1], ())), None)
    if led is None or not isinstance(made, ast.FunctionDef):
        return False
    ways = Ways(project, lambda _, each: _scatters(each), switched=True)
    return ways.are_so_in(Scope(led[0], project, made), made.body)


def _scatters(call: ast.Call) -> bool:
    """Whether it makes a wrapper that brings inputs to its GPUs: each process gives its own one to `device_ids`."""
    name = public_path(call.func)
    return name in _TO_ALL or (name == _TO_OWN and keyword_of(call, "device_ids") is not None)
