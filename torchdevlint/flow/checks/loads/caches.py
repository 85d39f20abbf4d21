"""Loads of what the same code makes and saves where the file is not there: a cache, which is read where it was written.

``if path.exists(): x = torch.load(path)`` beside ``else: x = features(model); torch.save(x, path)``. A model that is
trained where its file is not there is none: people hand the file on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from torchdevlint.flow.checks.loads.kept_modules import is_bare_module
from torchdevlint.flow.checks.loads.saved_names import blocks_around, values_in
from torchdevlint.flow.checks.loads.telling_names import path_key
from torchdevlint.flow.scope.names import last_name, public_path
from torchdevlint.source.nodes import assignments_in, inside, is_below, nodes_in, once_a_node

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def is_cache(tree: ast.Module, scope: ast.AST, load: ast.Call) -> bool:
    """Whether the statements that run in a function or module where a load does not save under the very path."""
    saves = _saves_to(scope).get(path_key(load.args[0]), ()) if load.args else ()
    if not saves:
        return False
    instead = tuple(_instead(scope, load))
    kept = (each for each in saves if any(is_below(each, one) for one in instead) and _keeps_values(tree, scope, each))
    return any(kept) and not _feeds_a_module(scope, load)


@once_a_node
def _saves_to(scope: ast.AST) -> dict[str, list[ast.Call]]:
    """The calls of `torch.save`, by what is written for the path."""
    found: dict[str, list[ast.Call]] = {}
    for call in nodes_in(scope, ast.Call):
        if public_path(call.func) == "torch.save" and len(call.args) > 1:
            found.setdefault(path_key(call.args[1]), []).append(call)
    return found


def _feeds_a_module(scope: ast.AST, load: ast.Call) -> bool:
    """Whether a `load_state_dict` gets what is loaded, be it by a name."""
    names = {
        target.id
        for each in assignments_in(scope)
        if each.value is load
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    fed = (each for each in nodes_in(scope, ast.Call) if last_name(each.func) == "load_state_dict")
    parts = (part for call in fed for given in call.args for part in inside(given))
    return any(part is load or (isinstance(part, ast.Name) and part.id in names) for part in parts)


def _instead(scope: ast.AST, node: ast.AST) -> Iterator[ast.stmt]:
    """The statements of other arms, and those behind an ``if`` or ``try`` whose arm leaves with the node."""
    for (outer, place, _), (block, _, around) in pairwise(blocks_around(scope, node)):
        if isinstance(around, ast.If):
            yield from around.orelse if block is around.body else around.body
        elif isinstance(around, ast.Try) and block is around.body:
            yield from (each for handler in around.handlers for each in handler.body)
        else:
            continue
        if isinstance(block[-1], _LEAVES):
            yield from outer[place + 1 :]


def _keeps_values(tree: ast.Module, scope: ast.AST, save: ast.Call) -> bool:
    """Whether what is saved is neither a Module, be it of an unknown class, nor holds the state of one."""
    saved = save.args[0]
    made = [each.value for each in values_in(scope).get(saved.id, ())] if isinstance(saved, ast.Name) else []
    given = [each for each in (saved, *made) if each is not None]
    if is_bare_module(tree, saved) or any(map(_is_built, given)):
        return False
    calls = (each for one in given for each in inside(one) if isinstance(each, ast.Call))
    return all(last_name(each.func) != "state_dict" for each in calls)


def _is_built(node: ast.expr) -> bool:
    """``Net()``, ``Net().to(device)``"""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        node = node.func.value
    name = last_name(node.func) if isinstance(node, ast.Call) else ""
    return name[:1].isupper() and not name.endswith("Tensor")
