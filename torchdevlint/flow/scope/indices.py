"""What the text around an index says of it: which dimensions it takes and adds, and whether it is a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.uses import Scope
from torchdevlint.source.nodes import inside, is_name, nodes_in, once_a_node, parts_of_tuple


def has_slices(node: ast.expr) -> bool:
    """Whether an index takes a part of a dimension: ``x[:, 0]``."""
    return any(isinstance(each, ast.Slice) for each in parts_of_tuple(node))


def keeps_dimensions(index: ast.expr) -> bool:
    """Whether one part of an index takes no dimension away."""
    return isinstance(index, ast.Slice) or (isinstance(index, ast.Constant) and index.value in (None, Ellipsis))


def is_moved_to_index(function: Scope | None, node: ast.Subscript) -> bool:
    """Whether what is read goes to where its index is, which is a tensor then: ``table[i - 1].to(i.device)``."""
    return function is not None and node in _moved_to_index(function)


@once_a_node
def _moved_to_index(function: Scope) -> frozenset[ast.Subscript]:
    found = set()
    for call in nodes_in(function, ast.Call):
        table = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "to" else None
        given = [*call.args, *(each.value for each in call.keywords if each.arg == "device")]
        if not isinstance(table, ast.Subscript) or len(given) != 1:
            continue
        asked = given[0].value if isinstance(given[0], ast.Attribute) and given[0].attr == "device" else None
        if isinstance(asked, ast.Name) and any(is_name(each, asked.id) for each in inside(table.slice)):
            found.add(table)
    return frozenset(found)


def is_read_as_vector(function: Scope | None, node: ast.Subscript) -> bool:
    """Whether the result gets dimensions behind its first: ``table[t][:, None]``, ``sqrt(table[t])[:, None]``.

    What is read from a vector has a first dimension only if its index has one. So it has where it is what `forward`
    gives: a layer looks up rows for a batch.
    """
    return function is not None and node in _read_as_vectors(function)


@once_a_node
def _read_as_vectors(function: Scope) -> frozenset[ast.Subscript]:
    grown = (each.value for each in nodes_in(function, ast.Subscript) if _adds_behind_first(each.slice))
    read = (_read_first(each) for each in grown)
    return frozenset((*(each for each in read if each is not None), *_given_by_forward(function)))


def _given_by_forward(function: Scope) -> Iterator[ast.Subscript]:
    """``return self.table[index]``, alone or as one of the results."""
    if getattr(function, "name", "") != "forward":
        return
    for each in nodes_in(function, ast.Return):
        if each.value is None:
            continue
        results = parts_of_tuple(each.value)
        results = results[0].args if isinstance(results[0], ast.Call) and len(results[0].args) > 1 else results
        yield from (result for result in results if isinstance(result, ast.Subscript))


def _adds_behind_first(index: ast.expr) -> bool:
    if not isinstance(index, ast.Tuple) or len(index.elts) < 2 or not isinstance(index.elts[0], ast.Slice):
        return False
    return all(isinstance(each, ast.Constant) and each.value is None for each in index.elts[1:])


def _read_first(node: ast.expr) -> ast.Subscript | None:
    """The subscript at the beginning of a chain of methods, or inside of one function."""
    while isinstance(node, ast.Call):
        inside = node.args[0] if node.args and isinstance(node.args[0], ast.Subscript) else None
        node = inside or (node.func.value if isinstance(node.func, ast.Attribute) else node.func)
    return node if isinstance(node, ast.Subscript) else None
