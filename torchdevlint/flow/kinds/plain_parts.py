"""Parts of what `forward` returns that are surely no tensors: numbers, texts, and lists of keys or numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import last_name
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import assignments_in, is_name, nodes_in, once_a_node, own_nodes_in

_FUNCTIONS = frozenset({"len", "int", "float", "bool", "str"})
_METHODS = frozenset("item tolist size dim numel format keys".split())
"""What gives numbers, texts or keys; ``x.float()`` does not."""
_FILLS = frozenset({"append", "insert", "add"})
_MOST_HOPS = 4


def plain_parts(info: ClassInfo) -> tuple[bool, ...]:
    """For each part of the tuple that all returns of `forward` give, whether it is no tensor and holds none.

    Empty where `forward` gives anything else.
    """
    method = info.all_methods.get("forward", (None, None))[1]
    return () if method is None or method.decorator_list else _plain_parts(method)


@once_a_node
def _plain_parts(method: FunctionNode) -> tuple[bool, ...]:
    given = [each.value for each in own_nodes_in(method, ast.Return)]
    tuples = [each.elts for each in given if isinstance(each, ast.Tuple)]
    if not tuples or len(tuples) < len(given) or len({len(each) for each in tuples}) > 1:
        return ()
    return tuple(all(_is_plain(method, each, _MOST_HOPS) for each in parts) for parts in zip(*tuples, strict=True))


def _is_plain(method: FunctionNode, node: ast.expr, hops: int) -> bool:
    if isinstance(node, (ast.Constant, ast.JoinedStr)):
        return True
    if isinstance(node, ast.Call):
        return last_name(node.func) in (_METHODS if isinstance(node.func, ast.Attribute) else _FUNCTIONS)
    if isinstance(node, ast.BinOp):
        return all(_is_plain(method, each, hops) for each in (node.left, node.right))
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(_is_plain(method, each, hops) for each in node.elts)
    if isinstance(node, ast.Dict):
        return all(_is_plain(method, each, hops) for each in node.values)
    if not isinstance(node, ast.Name) or hops == 0:
        return False
    values = list(_values(method, node.id))
    bound = sum(is_name(each, node.id) and isinstance(each.ctx, ast.Store) for each in nodes_in(method, ast.Name))
    known = len(values) + _counted(method, node.id) == bound > 0
    return known and all(_is_plain(method, each, hops - 1) for each in (*values, *_filled(method, node.id)))


def _values(method: FunctionNode, name: str) -> Iterator[ast.expr]:
    """What a name is assigned, be it by its place in a tuple: ``names, found = [], []``."""
    for each in assignments_in(method):
        for target in each.targets:
            if is_name(target, name):
                yield each.value
            elif isinstance(target, ast.Tuple) and isinstance(each.value, ast.Tuple):
                pairs = zip(target.elts, each.value.elts, strict=False)
                yield from (value for one, value in pairs if is_name(one, name))


def _counted(method: FunctionNode, name: str) -> int:
    """In how many loops a name is the key or the number of a round: ``for key, x in nodes.items()``."""
    found = 0
    for loop in nodes_in(method, ast.For):
        called = last_name(loop.iter.func) if isinstance(loop.iter, ast.Call) else ""
        first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) and loop.target.elts else loop.target
        is_pair = isinstance(loop.target, ast.Tuple) and called in ("items", "enumerate")
        found += is_name(first, name) and (is_pair or called in ("range", "keys"))
    return found


def _filled(method: FunctionNode, name: str) -> Iterator[ast.expr]:
    """What is put into a list or dict of a name."""
    for call in nodes_in(method, ast.Call):
        if isinstance(call.func, ast.Attribute) and is_name(call.func.value, name):
            yield from call.args[-1:] if call.func.attr in _FILLS else call.args
    for each in assignments_in(method):
        for target in each.targets:
            if isinstance(target, ast.Subscript) and is_name(target.value, name):
                yield each.value
