"""Modules that keep a tensor which they are given: whether all who build them made it where they move the Module, or
give a Parameter, which a Module registers as its own.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.programs.texts.places import first_holding
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.call_sites import CallSite, call_sites, own_call_sites
from torchdevlint.flow.scope.names import dotted_path, first_name, parameter_names, public_path
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import arguments_of, is_below, nodes_in

_PARAMETER = "torch.nn.Parameter"
_OF_LAYERS = ("weight", "bias")
_SAME_PLACE = frozenset[str]().union(torch_api.METHOD_TENSOR, torch_api.DTYPE_METHODS)
_MOST_HOPS = 3
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_given_in_place(tree: ast.Module, fact: MixedDevices, project: Project) -> bool:
    """Whether what a Module keeps of an argument of ``__init__`` was made on the device that it is moved to.

    That is so where each of those who build one says the same device twice: ``Net(torch.ones(3, device=d)).to(d)``. A
    part of the argument (``bank.vectors``) is where that was told to be: ``bank = Bank(rows, d)``, ``Net(bank).to(d)``.
    """
    kept = fact.creations[0] if len(fact.creations) == 1 else None
    if kept is None or kept.function or kept.attribute is None or kept.span.file:
        return False
    owner = first_holding(tree.body, kept.span.row)
    methods = owner.body if isinstance(owner, ast.ClassDef) else []
    init = next((each for each in methods if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
    values = values_by_path(init).get(f"self.{kept.attribute}", []) if init is not None else []
    given = [each for each in values if not _is_none(each)]
    path = dotted_path(_beginning(given[0])) if len(given) == 1 else None
    if init is None or path is None or first_name(path) not in parameter_names(init) - {"self"}:
        return False
    sites = call_sites(tree, init, project)
    if sites and path == first_name(path) and all(_gives_parameter(each, init, path) for each in sites):
        return True
    return bool(sites) and all(_gives_in_place(each, init, first_name(path)) for each in sites)


def _beginning(kept: ast.expr) -> ast.expr:
    """What a chain of methods begins with that give tensors where it is: ``mean.detach().view(-1, 1)``."""
    while isinstance(kept, ast.Call) and isinstance(kept.func, ast.Attribute) and kept.func.attr in _SAME_PLACE:
        kept = kept.func.value
    return kept


def _gives_parameter(site: CallSite, init: ast.FunctionDef, name: str) -> bool:
    """Whether a call gives a Parameter, such as the weight of a layer that is tied, or nothing at all."""
    given = site.argument(init, name)
    if given is None or _is_none(given):
        return given is not None
    around = [each for kind in (*_FUNCTIONS, ast.ClassDef) for each in nodes_in(site.tree, kind)]
    scopes = [*(each for each in around if is_below(site.call, each)), site.tree]
    return any(_is_parameter(each, given) for each in scopes)


def _is_parameter(scope: ast.AST, given: ast.expr) -> bool:
    """Whether code makes what is given as a Parameter, or the layer of torch that has it."""
    path, made = dotted_path(given) or "", values_by_path(scope)
    if any(_makes_parameter(each) for each in (given, *made.get(path, ()))):
        return True
    owner, _, name = path.rpartition(".")
    layers = [each for each in made.get(owner, ()) if not _is_none(each)]
    return name in _OF_LAYERS and bool(layers) and all(map(_is_layer, layers))


def _makes_parameter(made: ast.expr) -> bool:
    return isinstance(made, ast.Call) and public_path(made.func) == _PARAMETER


def _is_layer(made: ast.expr) -> bool:
    """``nn.Embedding(..)``, whose weight is a Parameter."""
    name = public_path(made.func) if isinstance(made, ast.Call) else ""
    return name.startswith("torch.nn.") and name.removeprefix("torch.nn.") in torch_api.PARAMETER_MODULES


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _gives_in_place(site: CallSite, init: ast.FunctionDef, name: str) -> bool:
    given = site.argument(init, name)
    place = _moved_to(_scope_of(site), site.call)
    return given is not None and place is not None and _is_there(site, given, place)


def _scope_of(site: CallSite) -> ast.AST:
    around = [each for kind in _FUNCTIONS for each in nodes_in(site.tree, kind) if is_below(site.call, each)]
    return max(around, key=lambda each: each.lineno, default=site.tree)


def _is_there(site: CallSite, given: ast.expr, place: str, hops: int = _MOST_HOPS) -> bool:
    """Whether what a call gives was made at a place, be it by those in the file who give it to the function around."""
    scope = _scope_of(site)
    if isinstance(given, ast.Name) and isinstance(scope, ast.FunctionDef) and given.id in parameter_names(scope):
        sites = own_call_sites(site.tree, scope) if hops and given.id not in values_by_path(scope) else []
        handed = [(each, each.argument(scope, given.id)) for each in sites]
        return bool(handed) and all(
            each is not None and _is_there(other, each, place, hops - 1) for other, each in handed
        )
    made = values_by_path(scope).get(given.id, []) if isinstance(given, ast.Name) else [given]
    return bool(made) and all(_says(each, place) for each in made)


def _moved_to(scope: ast.AST, built: ast.Call) -> str | None:
    """The device to which what is built is moved, there or by its name in the same function."""
    names = {path for path, values in values_by_path(scope).items() if built in values}
    for call in nodes_in(scope, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "to" and len(call.args) == 1:
            held = call.func.value
            if held is built or dotted_path(held) in names:
                return ast.dump(call.args[0])
    return None


def _says(made: ast.expr, place: str) -> bool:
    """Whether a call is given the device, be it by another name: ``torch.ones(3, device=d)``, ``scaled(3, d)``."""
    given = arguments_of(made) if isinstance(made, ast.Call) else []
    return any(ast.dump(each) == place for each in given)
