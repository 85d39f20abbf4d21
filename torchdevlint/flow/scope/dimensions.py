"""What the text of a function says of dimensions: by an index, a size that is asked for, or a check.

``if x.ndim != 2: raise ..``, ``assert x.shape == (n, m)`` and ``n, m = x.shape``: a tensor without dimensions does not
come past that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import last_name, public_path
from torchdevlint.flow.scope.none_tests import none_test

_COUNTS = frozenset({"ndim", "dim", "ndimension"})
_DISPLAYS = frozenset({"tuple", "list", "torch.Size"})
_SIZES = frozenset({"shape", "size"})
_OPPOSITE: dict[type, type] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.NotIn: ast.In,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
}


def takes_along(index: ast.expr) -> bool:
    """Whether an index takes a part along one of several dimensions: ``t[:, 0]``, ``t[3, :, :]``, ``t[..., 2:]``."""
    return isinstance(index, ast.Tuple) and any(isinstance(each, ast.Slice) for each in index.elts)


def grows(index: ast.expr) -> bool:
    """Whether an index adds a dimension and takes none away: ``t[:, None]``, ``t[None, :]``, ``t[..., None]``."""
    parts = index.elts if isinstance(index, ast.Tuple) else []
    constants = [each.value for each in parts if isinstance(each, ast.Constant)]
    whole = all(isinstance(each, (ast.Slice, ast.Constant)) for each in parts)
    return whole and None in constants and all(each is None or each is Ellipsis for each in constants)


def asked_for_size(node: ast.Call) -> ast.expr | None:
    """``x`` in ``len(x)`` and ``x.size(0)``."""
    if isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
        return node.args[0]
    if isinstance(node.func, ast.Attribute) and node.func.attr == "size" and len(node.args) == 1:
        return node.func.value
    return None


def sized_behind(node: ast.stmt) -> Iterator[ast.expr]:
    """What surely has dimensions behind a statement: a test that raises, an assertion, or an assignment."""
    if isinstance(node, ast.If):
        if isinstance(node.body[-1], ast.Raise):
            yield from _if_not(node.test)
    elif isinstance(node, ast.Assert):
        yield from _if(node.test)
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Tuple, ast.List)):
        sized = _of_sizes(node.value)
        if sized is not None and not all(isinstance(each, ast.Starred) for each in node.targets[0].elts):
            yield sized


def _if(test: ast.expr) -> Iterator[ast.expr]:
    """What has dimensions where a test holds."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for each in test.values:
            yield from _if(each)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _if_not(test.operand)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        yield from _compared(test, type(test.ops[0]))


def _if_not(test: ast.expr) -> Iterator[ast.expr]:
    """What has dimensions where a test does not hold, if it is not None: ``x is not None and x.ndim != 2``."""
    if isinstance(test, ast.BoolOp):
        asked = [each for each in test.values if none_test(each) is None]
        if isinstance(test.op, ast.Or) or len(asked) == 1:
            for each in asked:
                yield from _if_not(each)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _if(test.operand)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        yield from _compared(test, _OPPOSITE.get(type(test.ops[0])))


def _compared(test: ast.Compare, how: type | None) -> Iterator[ast.expr]:
    """`x` where a comparison of its sizes, or of their number, leaves out what has none."""
    sized, counted, other = _of_sizes(test.left), _of_count(test.left), test.comparators[0]
    if sized is not None and how is ast.Eq:
        made = isinstance(other, ast.Call) and public_path(other.func) in _DISPLAYS and bool(other.args)
        display = other.args[0] if made else other  # type: ignore[attr-defined]
        if isinstance(display, (ast.Tuple, ast.List)) and display.elts:
            yield sized
    elif counted is not None and _is_more_than_none(how, other):
        yield counted


def _is_more_than_none(how: type | None, other: ast.expr) -> bool:
    """Whether a number that compares so is 1 or more."""
    held = other.elts if isinstance(other, (ast.Tuple, ast.List, ast.Set)) else [other]
    numbers = [each.value for each in held if isinstance(each, ast.Constant) and type(each.value) is int]
    if not numbers or len(numbers) < len(held):
        return False
    if how is ast.Gt:
        return numbers[0] >= 0
    if how is ast.NotEq:
        return numbers[0] == 0
    return how in (ast.Eq, ast.In, ast.GtE) and min(numbers) > 0


def _of_sizes(node: ast.expr) -> ast.expr | None:
    """`x` of ``x.shape``, ``x.size()``, ``tuple(x.shape)``."""
    if isinstance(node, ast.Call) and public_path(node.func) in _DISPLAYS and node.args:
        node = node.args[0]
    if isinstance(node, ast.Call):
        return None if node.args or node.keywords or not _is_attribute(node.func, _SIZES) else node.func.value  # type: ignore[attr-defined]
    return node.value if isinstance(node, ast.Attribute) and node.attr == "shape" else None


def _of_count(node: ast.expr) -> ast.expr | None:
    """`x` of ``x.ndim``, ``x.dim()``, ``len(x.shape)``."""
    if isinstance(node, ast.Call):
        if last_name(node.func) == "len" and len(node.args) == 1:
            return _of_sizes(node.args[0])
        return node.func.value if _is_attribute(node.func, _COUNTS) and not node.args else None  # type: ignore[attr-defined]
    return node.value if isinstance(node, ast.Attribute) and node.attr == "ndim" else None


def _is_attribute(node: ast.expr, names: frozenset[str]) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in names
