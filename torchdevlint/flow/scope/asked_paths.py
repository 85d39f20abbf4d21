"""What tests ask: the names and attributes in them, and whether these are what they were at an earlier test."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, parameter_names, public_path
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import nodes_in, once_a_node


def paths_asked(test: ast.expr) -> frozenset[str] | None:
    """The names and attributes that a test asks, or for their length; None if it asks for anything else.

    A question for the machine, such as ``torch.cuda.device_count()``, asks for none: its answer stays the same.
    """
    found = list(_asked([test]))
    return None if None in found or not found else frozenset(each for each in found if each)


def _asked(nodes: Iterable[ast.expr]) -> Iterator[str | None]:
    """The paths in expressions, an empty one for the machine, and None for what may differ from one time to another."""
    for node in nodes:
        if isinstance(node, (ast.Name, ast.Attribute)):
            yield dotted_path(node)
        elif isinstance(node, ast.Compare):
            yield from _asked([node.left, *node.comparators])
        elif isinstance(node, ast.BoolOp):
            yield from _asked(node.values)
        elif isinstance(node, ast.UnaryOp):
            yield from _asked([node.operand])
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            yield from _asked(node.elts)
        elif asks_machine(node):
            yield ""
        elif not isinstance(node, ast.Constant):
            sized = sized_by(node)
            yield None if sized is None else dotted_path(sized)


def asks_machine(node: ast.expr) -> bool:
    """``torch.cuda.device_count()`` and its kin."""
    return isinstance(node, ast.Call) and not (node.args or node.keywords) and public_path(node.func) in _OF_MACHINE


_OF_MACHINE = frozenset({"torch.cuda.device_count", "torch.cuda.is_available", "torch.backends.mps.is_available"})


def named_question(node: ast.expr, scope: AnyFunction | ast.Module, tree: ast.Module) -> ast.expr | None:
    """``torch.cuda.device_count()`` for `n`, which one ``n = torch.cuda.device_count()`` binds, here or on the top."""
    if not isinstance(node, ast.Name):
        return None
    home: AnyFunction | ast.Module = scope
    if not isinstance(scope, ast.Module) and node.id not in {*parameter_names(scope), *times_bound(scope)}:
        home = tree
    values = () if is_bound_anew(node.id, home) else values_by_path(home).get(node.id, ())
    return values[0] if len(values) == 1 and asks_machine(values[0]) else None


def asks_for_more_than_one(test: ast.expr) -> bool:
    """``len(gpus) > 1``, ``n >= 2``, or such a test among others."""
    if isinstance(test, ast.BoolOp):
        return any(map(asks_for_more_than_one, test.values))
    if not isinstance(test, ast.Compare) or len(test.ops) > 1:
        return False
    least = getattr(test.comparators[0], "value", None)
    return (isinstance(test.ops[0], ast.Gt) and least == 1) or (isinstance(test.ops[0], ast.GtE) and least == 2)


def sized_by(node: ast.expr) -> ast.expr | None:
    """What ``len(..)`` is asked of."""
    asks = isinstance(node, ast.Call) and len(node.args) == 1 and public_path(node.func) == "len"
    return node.args[0] if asks else None  # type: ignore[attr-defined]


def is_resized(path: str, scope: AnyFunction | ast.Module) -> bool:
    """Whether a method is called that may change the length of what has a name, or an item is put in or deleted."""
    return path in _resized(scope)


@once_a_node
def _resized(scope: AnyFunction | ast.Module) -> frozenset[str | None]:
    by_method = {dotted_path(each.value) for each in nodes_in(scope, ast.Attribute) if each.attr in _RESIZES}
    items = (each for each in nodes_in(scope, ast.Subscript) if not isinstance(each.ctx, ast.Load))
    return frozenset(by_method.union(dotted_path(each.value) for each in items))


_RESIZES = frozenset("add append clear discard extend insert pop popitem remove setdefault update".split())


def is_bound_anew(path: str, scope: AnyFunction | ast.Module) -> bool:
    """Whether a function binds a name or attribute, one that it has from elsewhere, or more than once.

    What ``__init__`` puts on its own object is there but from then on.
    """
    root, dot, _ = path.partition(".")
    given = isinstance(scope, ast.Module) or root not in parameter_names(scope)
    if times_bound(scope).get(root, 0) > given:
        return True
    makes = root == "self" and getattr(scope, "name", "") == "__init__"
    return bool(dot) and _attributes_stored(scope).get(path, 0) > makes


@once_a_node
def times_bound(scope: AnyFunction | ast.Module) -> Counter[str]:
    """How often each name is bound in a function or module."""
    return Counter(each.id for each in nodes_in(scope, ast.Name) if type(each.ctx) is ast.Store)


@once_a_node
def _attributes_stored(scope: AnyFunction | ast.Module) -> Counter[str | None]:
    return Counter(dotted_path(each) for each in nodes_in(scope, ast.Attribute) if isinstance(each.ctx, ast.Store))
