"""What is stored for a while: lists whose items a loop all replaces, and attributes that a later statement replaces.

What ``kept = [zero] * n`` was made with is a placeholder, which nothing reads once ``for i in range(n): kept[i] = ..``
has ended; and after ``self.net = DataParallel(net)`` and ``self.net = self.net.module`` nobody finds the wrapper.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.source.nodes import (
    arguments_of,
    assignment_of,
    assignments_in,
    inside,
    nodes_in,
    once_a_node,
    parts_of_tuple,
)

_LEAVING = (ast.Break, ast.Continue, ast.Return)
_PLACES = frozenset("is_cuda is_cpu is_mps is_xpu device".split())


@once_a_node
def stores_that_replace_all(scope: ast.AST) -> frozenset[ast.Subscript]:
    """The targets ``kept[i]`` of a function or module that each round of a counting loop comes by.

    A loop that does not begin at 0 leaves items out, unless another statement stores some beforehand.
    """
    stores = [target for node in assignments_in(scope) for target in node.targets if isinstance(target, ast.Subscript)]
    found = set()
    for loop in nodes_in(scope, ast.For):
        counter, from_zero = _counted(loop)
        if counter is None or any(isinstance(each, _LEAVING) for each in inside(loop)):
            continue
        for target in _stored_each_round(loop, counter):
            path = dotted_path(target.value)
            others = (each for each in stores if each is not target and dotted_path(each.value) == path)
            if path is not None and (from_zero or any(True for _ in others)):
                found.add(target)
    return frozenset(found)


@once_a_node
def stores_where_asked(scope: ast.AST) -> frozenset[ast.Subscript]:
    """The targets ``kept[i]`` that a loop over `kept` comes by for the items that are in the wrong place.

    ``for i, x in enumerate(kept): if x.is_mps: kept[i] = x.cpu()`` brings all to one place, wherever they were.
    """
    found = set()
    for loop in nodes_in(scope, ast.For):
        counter, _ = _counted(loop)
        for each in loop.body if counter is not None else ():
            if isinstance(each, ast.If) and _asks_for_place(each.test, loop):
                found.update(_stored_each_round(each, counter))  # type: ignore[arg-type]
    return frozenset(found)


@once_a_node
def stores_under_each(scope: ast.AST) -> dict[ast.Subscript, tuple[str, ...]]:
    """The targets ``batch[k]`` that each round of ``for k in ("x", "mask")`` comes by, with the keys."""
    found: dict[ast.Subscript, tuple[str, ...]] = {}
    for loop in nodes_in(scope, ast.For):
        parts = loop.iter.elts if isinstance(loop.iter, (ast.Tuple, ast.List)) else []
        keys = [each.value for each in parts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        left = any(isinstance(each, _LEAVING) for each in inside(loop)) or len(keys) < len(parts)
        if keys and not left and isinstance(loop.target, ast.Name):
            found.update(dict.fromkeys(_stored_each_round(loop, loop.target.id), tuple(keys)))
    return found


def _asks_for_place(test: ast.expr, loop: ast.For) -> bool:
    """``x.is_mps``, ``x.device.type == "mps"``, ``kept[i].device != device`` of what a loop goes through."""
    bound = {each.id for each in inside(loop.target) if isinstance(each, ast.Name)}
    asked = (each.value for each in inside(test) if isinstance(each, ast.Attribute) and each.attr in _PLACES)
    return any(isinstance(part, ast.Name) and part.id in bound for each in asked for part in inside(each))


def _counted(loop: ast.For) -> tuple[str | None, bool]:
    """`i` of ``for i in range(..)`` and ``for i, x in enumerate(..)``, and whether it counts from 0."""
    call, target = loop.iter, loop.target
    if not isinstance(call, ast.Call) or not call.args or call.keywords:
        return None, False
    name, from_zero = dotted_path(call.func), len(call.args) == 1
    if name == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[0]
    elif name != "range":
        return None, False
    start = call.args[0]
    from_zero = from_zero or (name == "range" and isinstance(start, ast.Constant) and start.value == 0)
    return (target.id if isinstance(target, ast.Name) else None), from_zero


def _stored_each_round(block: ast.For | ast.If, counter: str) -> list[ast.Subscript]:
    statements = (each for each in block.body if isinstance(each, ast.Assign))
    targets = (target for each in statements for target in each.targets)
    found = (each for target in targets for each in parts_of_tuple(target))
    return [
        each
        for each in found
        if isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Name) and each.slice.id == counter
    ]


@once_a_node
def stores_replaced(scope: ast.AST) -> frozenset[ast.Attribute]:
    """The targets ``self.x`` of a function that a later statement of the same block assigns again, whatever happens.

    Nobody finds there what was stored first, unless a method of the object is called in between.
    """
    stored = [path for each in assignments_in(scope) if (path := dotted_path(each.targets[0])) and "." in path]
    if len(set(stored)) == len(stored):
        return frozenset()
    found: set[ast.Attribute] = set()
    for block in _blocks(scope):
        for index, after in enumerate(block):
            again = _attribute_of(after)
            path = dotted_path(again) if again is not None else None
            if path is not None and stored.count(path) > 1:
                found |= _stored_before(block[:index], path)
    return frozenset(found)


def _stored_before(block: list[ast.stmt], path: str) -> set[ast.Attribute]:
    """The targets of a path in statements, from the last one back to the first that shows the object to anybody."""
    found: set[ast.Attribute] = set()
    for statement in reversed(block):
        parts = [statement, *inside(statement)]
        leads_elsewhere = any(map(_leads_elsewhere, parts))
        if assignment_of(statement) is not None or not leads_elsewhere:
            found.update(target for each in parts for target in _targets(each) if dotted_path(target) == path)
        if leads_elsewhere:
            break
    return found


def _leads_elsewhere(node: ast.AST) -> bool:
    """Whether it leaves the block, calls a method of the object or hands the object over."""
    if isinstance(node, ast.Call):
        given = arguments_of(node)
        return _is_of_self(node.func) or any(isinstance(each, ast.Name) and each.id == "self" for each in given)
    return isinstance(node, (*_LEAVING, ast.Yield, ast.YieldFrom, ast.Await))


def _is_of_self(function: ast.expr) -> bool:
    """``self.method``, or ``super().method``."""
    if not isinstance(function, ast.Attribute):
        return False
    root = function.value.func if isinstance(function.value, ast.Call) else function.value
    return isinstance(root, ast.Name) and root.id in {"self", "super"}


def _targets(node: ast.AST) -> list[ast.Attribute]:
    """The attributes that a statement stores."""
    found = assignment_of(node) if isinstance(node, ast.stmt) else None
    targets = [node.target] if isinstance(node, ast.AugAssign) else found.targets if found is not None else []
    return [each for each in targets if isinstance(each, ast.Attribute)]


_WITH_BLOCKS = (
    *(ast.If, ast.For, ast.While, ast.With, ast.Try, ast.ExceptHandler, ast.match_case),
    *(ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith),
)


def _blocks(scope: ast.AST) -> Iterator[list[ast.stmt]]:
    held = (each for kind in _WITH_BLOCKS for each in nodes_in(scope, kind))
    for node in (scope, *held):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and len(block) > 1:
                yield block


def _attribute_of(node: ast.stmt) -> ast.Attribute | None:
    """The one attribute that an assignment is for."""
    found = assignment_of(node)
    target = found.targets[0] if found is not None and len(found.targets) == 1 else None
    return target if isinstance(target, ast.Attribute) else None


@once_a_node
def read_by_numbers(scope: ast.AST) -> frozenset[str]:
    """The names of which a scope reads and writes nothing but parts by number: ``batch[0]``, but not ``batch[-1]``."""
    parts = (each for each in nodes_in(scope, ast.Subscript) if _is_number(each.slice))
    numbered = {each.value for each in parts if isinstance(each.value, ast.Name)}
    others = {each.id for each in nodes_in(scope, ast.Name) if isinstance(each.ctx, ast.Load) and each not in numbered}
    return frozenset({each.id for each in numbered} - others)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int
