"""What another file makes and keeps in an object: whether it is reported where this file brings it to an operand."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.kinds.tensor_uses import is_tensor_by_use
from torchdevlint.flow.scope.annotations import annotated_tensor
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.kept_whole import leaves_alone
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Site
from torchdevlint.source.nodes import inside, nodes_in


def stands(frame: Frame, site: Site) -> bool:
    """Whether a tensor is where it was made, and it is told here that it meets another one.

    An object that ``__init__`` of another file puts tensors into may have them moved by name, or as a whole. Where a
    method of that class has them meet an argument, TDL014 reports it at the factory, once for all who read them.
    """
    others = frame.machine.others
    module = others.holding(site.node) if others is not None and site.scope.endswith(".__init__") else None
    if module is None:
        return True
    if not leaves_alone(frame.machine.tree, site.scope.split(".")[-2]):
        return False
    for owner in nodes_in(module.tree, ast.ClassDef):
        methods = [each for each in owner.body if isinstance(each, ast.FunctionDef)]
        makers = [each for each in methods if each.name == "__init__" and site.node in nodes_in(each, type(site.node))]
        if makers:
            kept = _kept_of(makers[0], site.node)
            return not any(_mixes(frame, each, kept) for each in methods if each not in makers)
    return True


def _kept_of(init: ast.FunctionDef, made: ast.AST) -> set[str]:
    """The names and attributes that are assigned what a factory made, or something of it."""
    values = values_by_path(init)
    found: set[str] = set()
    for _ in values:
        more = {path for path, bound in values.items() if any(_is_of(each, made, found) for each in bound)}
        if more <= found:
            break
        found |= more
    return found


def _is_of(value: ast.expr, made: ast.AST, found: set[str]) -> bool:
    return any(each is made or dotted_path(each) in found for each in inside(value))


def _mixes(frame: Frame, method: ast.FunctionDef, kept: set[str]) -> bool:
    """Whether a method has one of these attributes meet a parameter that is a tensor, in an operator or an index."""
    names = parameter_names(method)
    met = {each.id for side in _beside(method, kept) for each in inside(side) if isinstance(each, ast.Name)} & names
    annotated = {each.arg for each in nodes_in(method, ast.arg) if annotated_tensor(each.annotation)}
    return any(each in annotated or is_tensor_by_use(frame, method, each, None) for each in met)


def _beside(method: ast.FunctionDef, kept: set[str]) -> Iterator[ast.expr]:
    for node in nodes_in(method, ast.BinOp):
        yield from (other for one, other in ((node.left, node.right), (node.right, node.left)) if _reads(one, kept))
    yield from (each.slice for each in nodes_in(method, ast.Subscript) if _reads(each.value, kept))


def _reads(node: ast.expr, kept: set[str]) -> bool:
    return any(isinstance(each, ast.Attribute) and dotted_path(each) in kept for each in inside(node))
