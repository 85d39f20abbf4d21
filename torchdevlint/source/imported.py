"""What the names of a file stand for by its imports: ``th`` of ``import torch as th`` is ``torch`` wherever it is read.

It is worked out once for a file and kept with its names, so that whoever meets one can tell. What is imported on top
holds in all functions that do not bind the name themselves, what a function imports in it and in those inside it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import chain

from torchdevlint.source.functions import AnyFunction, functions_in
from torchdevlint.source.nodes import levels_of_body, nodes_in, own_nodes_in

CUSTOMARY = {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "np": "numpy"}
"""What nobody calls otherwise: a file that binds none of them gets it by ``from .common import *``."""
_IMPORTED = f"{__name__}.imported"


def imported_name(node: ast.Name) -> str | None:
    """The dotted name that is imported under a name; "" for what only its function binds, None for what nobody does."""
    found: str | None = node.__dict__.get(_IMPORTED)
    return found


def keep_imports(tree: ast.Module) -> None:
    """Leave with the names of a file what they are imported as."""
    on_top = _bound([*own_nodes_in(tree, ast.Import), *own_nodes_in(tree, ast.ImportFrom)])
    names = nodes_in(tree, ast.Name)
    stores = [each for each in names if type(each.ctx) is not ast.Load]
    if any(alias.name == "*" for node in nodes_in(tree, ast.ImportFrom) for alias in node.names):
        stored = {each.id for each in stores}
        on_top = {name: public for name, public in CUSTOMARY.items() if name not in stored} | on_top
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            on_top.pop(statement.name, None)
    for each in names:
        if each.id in on_top:
            each.__dict__[_IMPORTED] = on_top[each.id]
    _keep_in_functions(tree, on_top, stores)


def _keep_in_functions(tree: ast.Module, on_top: dict[str, str], stores: list[ast.Name]) -> None:
    """The same where a function binds names that are imported here or there."""
    inner = [each for kind in (ast.Import, ast.ImportFrom) for each in _without(tree, kind)]
    wanted = {*on_top, *_bound(inner), "torch"}
    arguments = (each for each in nodes_in(tree, ast.arg) if each.arg in wanted)
    rebound = (each for each in stores if each.id in wanted)
    rows = sorted({each.lineno for each in chain(inner, arguments, rebound)})
    for function in _functions(tree) if rows else ():
        if any(function.lineno <= row <= (function.end_lineno or 0) for row in rows):
            _keep_in(function, wanted)


def _without(tree: ast.Module, kind: type[ast.Import] | type[ast.ImportFrom]) -> list[ast.Import | ast.ImportFrom]:
    """The imports that functions and classes make."""
    everywhere, on_top = nodes_in(tree, kind), own_nodes_in(tree, kind)
    if len(everywhere) == len(on_top):
        return []
    ids = set(map(id, on_top))
    return [each for each in everywhere if id(each) not in ids]


def _functions(tree: ast.Module) -> list[AnyFunction]:
    """The functions of a file, outer ones first."""
    found: list[AnyFunction] = [
        *functions_in(tree),
        *nodes_in(tree, ast.Lambda),
    ]
    return sorted(found, key=lambda each: (each.lineno, each.col_offset))


def _keep_in(function: AnyFunction, wanted: set[str]) -> None:
    spec = function.args
    arguments = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *filter(None, (spec.vararg, spec.kwarg))]
    bound = dict.fromkeys((each.arg for each in arguments), "")
    bound |= {each.id: "" for each in own_nodes_in(function, ast.Name) if not isinstance(each.ctx, ast.Load)}
    bound |= _bound([*own_nodes_in(function, ast.Import), *own_nodes_in(function, ast.ImportFrom)])
    for each in own_nodes_in(function, ast.Global):
        for name in each.names:
            bound.pop(name, None)
    bound = {name: public for name, public in bound.items() if name in wanted}
    for node in chain.from_iterable(levels_of_body(function)) if bound else ():
        if type(node) is ast.Name and node.id in bound:
            node.__dict__[_IMPORTED] = bound[node.id]


def _bound(imports: Iterable[ast.Import | ast.ImportFrom]) -> dict[str, str]:
    """What imports bind, by the names in the file; of several the first, which the others stand in for."""
    found: dict[str, str] = {}
    for node in imports:
        for alias in node.names:
            if isinstance(node, ast.Import):
                name, public = alias.asname or alias.name, alias.name
                if alias.asname is None:
                    name = public = alias.name.partition(".")[0]
            elif alias.name == "*":
                continue
            else:
                name, module = alias.asname or alias.name, "." * node.level + (node.module or "")
                public = "torch" if node.level and alias.name == "torch" else f"{module}.{alias.name}"
            found.setdefault(name, public)
    return found
