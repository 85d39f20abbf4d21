"""The parts of what is saved whose places decide where it is, and what is put into it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.source.nodes import nodes_in

_CONTAINERS = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
_MAKES_CONTAINERS = frozenset("dict list set OrderedDict defaultdict".split())
PLAIN_CALLS = frozenset("len int float str bool round range repr abs isinstance time strftime now".split())
OF_ARGUMENTS = frozenset("dict list tuple set sorted zip enumerate reversed min max sum vars OrderedDict".split())
_READS = PLAIN_CALLS | OF_ARGUMENTS | frozenset("print save dump dumps isinstance type any all iter next".split())
MADE_OF = (
    ast.Tuple, ast.List, ast.Set, ast.Dict, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript,
    ast.Starred, ast.NamedExpr,
)  # fmt: skip


def made_of(node: ast.expr) -> Iterator[ast.expr]:
    """The parts of an expression whose places decide where it is."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        yield from node.elts
    elif isinstance(node, (ast.Dict, ast.BoolOp)):
        yield from node.values
    elif isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Compare):
        yield from (node.left, *node.comparators)
    elif isinstance(node, (ast.Subscript, ast.Starred, ast.NamedExpr)):
        yield node.value


def is_container(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call):
        return last_name(value.func) in _MAKES_CONTAINERS
    return isinstance(value, _CONTAINERS)


def put_by(call: ast.Call) -> list[ast.expr]:
    """What a call such as ``found.append(x)`` puts into a container; keys and places are no part of it."""
    after = 1 if last_name(call.func) in ("setdefault", "insert") else 0
    return [*call.args[after:], *(each.value for each in call.keywords)]


def only_reads(call: ast.Call) -> bool:
    return last_name(call.func) in _READS or isinstance(call.func, ast.Attribute)


def root_of_path(node: ast.expr, name: str) -> str | None:
    """What an element or attribute is taken of, and an element of it, as far as to the `name`."""
    while (path := dotted_path(node)) != name and isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return path


def is_set_otherwise(tree: ast.Module, owner: ast.ClassDef, attribute: str) -> bool:
    """Whether a file sets an attribute of this name outside of a class, or along with others."""
    all_stored = (each for each in nodes_in(tree, ast.Attribute) if not isinstance(each.ctx, ast.Load))
    stored = [each for each in all_stored if each.attr == attribute]
    assigned = sum(len(values_by_path(each).get(f"self.{attribute}", ())) for each in owner.body)
    return len(stored) != assigned + sum(each.target in stored for each in nodes_in(owner, ast.AugAssign))
