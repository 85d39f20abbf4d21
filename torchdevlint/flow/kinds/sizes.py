"""Tensors of known size: those that were made empty, those of one element, and masks, which have a dimension."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.scope.uses import Uses
from torchdevlint.flow.state.joins import alternatives, choose, distribute
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import AT_LEAST_1, MAX_ITEMS, Choice, Conditions, Ref, Site, Tensor, Value
from torchdevlint.source.nodes import inside, parts_of_tuple

Shape = tuple[int | None, ...]
"""The sizes of a tensor, as they are written."""


def is_one_element(value: Tensor) -> bool:
    """Whether a vector comes from a call such as ``torch.zeros(1)``, ``torch.ones((1,))``, ``torch.tensor([0.5])``."""
    return value.ndim == 1 and any(_makes_one_element(site) for site in value.creations)


def _makes_one_element(site: Site) -> bool:
    first = site.node.args[0] if isinstance(site.node, ast.Call) and site.node.args else None
    if isinstance(first, (ast.List, ast.Tuple)) and len(first.elts) == 1:
        if site.function.rpartition(".")[2] not in _BY_SIZE:
            return True
        first = first.elts[0]
    return isinstance(first, ast.Constant) and first.value == 1


_BY_SIZE = torch_api.SIZE_FACTORIES | {"full"}
"""Are told how long a vector is, and not what is in it, where their first argument is a tuple of one."""


def what_is_filled(value: Value, conditions: Conditions = (), shape: Shape | None = None) -> Value | None:
    """`value` without what was made empty, in that shape if one is given; None if nothing is left."""
    held = alternatives(value, conditions)
    left = [each for each in held if not is_made_empty(each[1], shape)]
    return value if len(left) == len(held) else choose(left) if left else None


def is_made_empty(value: Value, shape: Shape | None = None) -> bool:
    """Whether it is ``torch.tensor([])``, ``torch.empty(0, 4)`` or ``torch.Tensor()``, as it was made.

    With a `shape`, whether it has that one: a size that is no number may be any.
    """
    made = _made_shape(value)
    if made is None or 0 not in made:
        return False
    if shape is None:
        return True
    return len(shape) == len(made) and all(here in (None, there) for here, there in zip(made, shape, strict=True))


def _made_shape(value: Value) -> Shape | None:
    """The sizes that the factory of a tensor is given, as far as they are numbers; None where it is none of sizes."""
    if not isinstance(value, Tensor) or len(value.creations) != 1 or len(value.steps) != 1:
        return None
    site = value.creations[0]
    maker, args = site.function.rpartition(".")[2], site.node.args if isinstance(site.node, ast.Call) else []
    listed = args[0].elts if args and isinstance(args[0], (ast.List, ast.Tuple)) else None
    if maker in torch_api.LEGACY_CONSTRUCTORS | torch_api.DATA_FACTORIES and (listed is not None or not args):
        return None if listed else (0,)
    takes_sizes = maker in torch_api.SIZE_FACTORIES | torch_api.LEGACY_CONSTRUCTORS
    return shape_of(args if listed is None else listed) if takes_sizes else None


def shape_of(sizes: Iterable[ast.expr]) -> Shape:
    """``(0, 4)`` for the two numbers; None stands for what is none."""
    numbers = (each.value if isinstance(each, ast.Constant) else None for each in sizes)
    return tuple(each if isinstance(each, int) else None for each in numbers)


def shaped_after(node: ast.AST) -> ast.expr | None:
    """`x` in ``torch.zeros(x.shape)`` and ``torch.full(x.size(), 1.0)``: what gives a factory all of its sizes."""
    first = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(first, ast.Call):
        first = first.func if not first.args and last_name(first.func) == "size" else None
    return first.value if isinstance(first, ast.Attribute) and first.attr in ("shape", "size") else None


def is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


_MOST_NAMES = 3


def is_mask(scope: ast.AST | None, node: ast.expr, names: int = 0) -> bool:
    """Whether an index is by its text a comparison, or made of some: what it selects has a dimension, as it has itself.

    ``x > 0``, ``~(a == b)``, ``(x > 0) & (x < 1)``, ``torch.isclose(a, b)[..., 0]``, and a name that is bound to such
    alone.
    """
    if isinstance(node, ast.Subscript):
        return _keeps_dimensions(node.slice) and is_mask(scope, node.value, names)
    if isinstance(node, ast.Call):
        return last_name(node.func) in _COMPARISONS
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE))
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert) and is_mask(scope, node.operand, names)
    if isinstance(node, ast.BinOp):
        joins = isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor))
        return joins and (is_mask(scope, node.left, names) or is_mask(scope, node.right, names))
    if not isinstance(node, ast.Name) or scope is None or names == _MOST_NAMES:
        return False
    values = values_by_path(scope).get(node.id, [])
    return bool(values) and all(is_mask(scope, each, names + 1) for each in values)


_COMPARISONS = frozenset(
    "isclose isnan isinf isfinite isin eq ne lt le gt ge logical_and logical_or logical_not".split()
)


def _keeps_dimensions(index: ast.expr) -> bool:
    """Whether a part that an index takes has dimensions, as in ``[..., 0]`` and ``[:, 0]``."""
    parts = parts_of_tuple(index)
    whole = (isinstance(each, ast.Slice) or getattr(each, "value", None) is Ellipsis for each in parts)
    return any(whole)


def rows_of(node: ast.expr, value: Value) -> int | None:
    """How many rows a tensor has that a factory makes there, if that is a number: 3 for ``torch.zeros((3, 0))``."""
    if not isinstance(value, Tensor) or not isinstance(node, ast.Call) or not node.args:
        return None
    if last_name(node.func) not in _BY_SIZE:
        return None
    size = node.args[0]
    first = size.elts[0] if isinstance(size, (ast.Tuple, ast.List)) and size.elts else size
    rows = first.value if isinstance(first, ast.Constant) else None
    return rows if isinstance(rows, int) and 0 < rows <= MAX_ITEMS else None


def sizes_asked(nodes: Iterable[ast.expr]) -> Iterator[ast.Attribute]:
    """``x.shape`` and ``x.size`` in ``f(x.shape[0], n=x.size(1))``, of the arguments of the call."""
    for each in (part for node in nodes for part in inside(node)):
        if isinstance(each, ast.Attribute) and each.attr in ("shape", "size"):
            yield each


def is_number_by_use(frame: Frame, uses: Uses) -> bool:
    """Whether a name is given to what takes a number: ``range(n)``, ``torch.arange(0.5, n)``, ``torch.zeros(n, 2)``.

    A bound may be a 0-dim tensor, but hardly anybody has one.
    """
    for call, place in uses.arguments:
        name = dotted_path(call.func)
        if name == "range" or (last_name(call.func) in _TAKE_NUMBERS and place not in _TAKE_OTHERS):
            callee = frame.evaluate(call.func, State({}))
            if isinstance(callee, Ref) and callee.name in _NUMBER_TAKERS:
                return True
    return False


_TAKE_NUMBERS = torch_api.SIZE_FACTORIES | {"arange", "randint", "randperm", "eye"}
_NUMBER_TAKERS = {"builtins.range"} | {f"torch.{each}" for each in _TAKE_NUMBERS}
_TAKE_OTHERS = ("device", "dtype", "out", "generator", "requires_grad", "size")


def is_one_of_array(frame: Frame, target: ast.Subscript) -> bool:
    """Whether one element is meant: of an array whose shape is written down with one length, at a number."""
    scope = frame.function or frame.machine.tree
    if not isinstance(target.slice, (ast.Name, ast.Constant, ast.BinOp)) or not isinstance(target.value, ast.Name):
        return False
    values = values_by_path(scope).get(target.value.id, [])
    return bool(values) and all(_has_one_length(each) for each in values)


def _has_one_length(made: ast.expr) -> bool:
    """``np.zeros(8)``, ``np.empty((n,))``, ``np.zeros(len(x))``."""
    if not isinstance(made, ast.Call) or last_name(made.func) not in _WITH_SHAPE:
        return False
    shape = next((each.value for each in made.keywords if each.arg == "shape"), made.args[0] if made.args else None)
    if isinstance(shape, (ast.Tuple, ast.List)):
        return len(shape.elts) == 1 and not isinstance(shape.elts[0], ast.Starred)
    counted = isinstance(shape, ast.Call) and dotted_path(shape.func) in ("len", "int")
    return counted or isinstance(shape, (ast.Constant, ast.BinOp))


_WITH_SHAPE = frozenset("zeros ones empty full".split())


def product_ndim(one: int | None, other: int | None) -> int | None:
    """The number of dimensions of a matrix product: that of two vectors is 0-dim."""
    if one is None or other is None or one < 1 or other < 1:
        return AT_LEAST_1 if (one or 0) > 1 or (other or 0) > 1 else None
    if 1 in (one, other):
        return one + other - 2
    return max(one, other)


def matrix_product(result: Value, one: Value, other: Value) -> Value:
    """The `result` of ``one @ other`` with its own number of dimensions."""
    if isinstance(result, Choice):
        return distribute(result, lambda each: matrix_product(each, one, other))
    if not isinstance(result, Tensor):
        return result
    sizes = (each.ndim if isinstance(each, Tensor) else None for each in (one, other))
    return replace(result, ndim=product_ndim(*sizes))
