"""Which list of `self` a loop goes through whose items it calls: ``for flow in reversed(self.flows): x = flow(x)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, public_path
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import is_name, nodes_in

_GO_ALONG = frozenset({"reversed", "list", "tuple", "iter"})
_MAX_NAMES = 3


def lists_gone_through(function: FunctionNode, item: str) -> set[str]:
    """`self.flows`, if nothing but loops bind the item, and all go through that list, or parts of such put together."""
    sources = [source for loop in nodes_in(function, ast.For) for source in _sources(loop, item)]
    if not sources or sum(is_bound for _, is_bound, _ in bindings_in(function).get(item, ())) != len(sources):
        return set()
    return _all_in(function, sources, _MAX_NAMES) or set()


def _sources(loop: ast.For, item: str) -> Iterator[ast.expr]:
    """What a loop goes through whose target is a name, or that name and the number of the round."""
    target, source = loop.target, loop.iter
    if isinstance(target, ast.Tuple) and len(target.elts) == 2 and isinstance(source, ast.Call) and source.args:
        if public_path(source.func) == "enumerate" and is_name(target.elts[1], item):
            yield source.args[0]
    elif is_name(target, item):
        yield source


def _lists_in(function: FunctionNode, node: ast.expr, names: int) -> set[str] | None:
    """The attributes of `self` of whose items a list consists; None if there may be others in it."""
    path = dotted_path(node)
    if path is not None and path.startswith("self.") and path.count(".") == 1:
        return {path}
    if isinstance(node, ast.Name):
        values = values_by_path(function).get(node.id, ()) if names else ()
        bound = sum(is_bound for _, is_bound, _ in bindings_in(function).get(node.id, ()))
        own = [each for each in values if not _is_of(each, node.id)]
        return _all_in(function, own, names - 1) if own and bound == len(values) else None
    if isinstance(node, ast.Subscript):
        return _lists_in(function, node.value, names)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _all_in(function, [node.left, node.right], names)
    if isinstance(node, (ast.List, ast.Tuple)):
        return _all_in(function, node.elts, names)
    if isinstance(node, ast.Call) and public_path(node.func) in _GO_ALONG and len(node.args) == 1:
        return _lists_in(function, node.args[0], names)
    return None


def _is_of(node: ast.expr, name: str) -> bool:
    """``flows[:-2] + [flows[-1]]``: a list that is made of the items of the name itself."""
    if isinstance(node, ast.BinOp):
        return _is_of(node.left, name) and _is_of(node.right, name)
    if isinstance(node, (ast.List, ast.Tuple)):
        return bool(node.elts) and all(_is_of(each, name) for each in node.elts)
    if isinstance(node, ast.Call) and public_path(node.func) in _GO_ALONG and len(node.args) == 1:
        return _is_of(node.args[0], name)
    return _is_of(node.value, name) if isinstance(node, ast.Subscript) else is_name(node, name)


def _all_in(function: FunctionNode, nodes: list[ast.expr], names: int) -> set[str] | None:
    found: set[str] = set()
    for each in nodes:
        held = _lists_in(function, each, names)
        if held is None:
            return None
        found |= held
    return found
