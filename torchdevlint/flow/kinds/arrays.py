"""Arrays of NumPy: those that have the memory of a tensor, and what is surely one, so that a copy is on the CPU."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import argument_names, dotted_path
from torchdevlint.flow.state.devices import CPU
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import AT_LEAST_1, UNKNOWN, Library, Ref, Tensor, Value
from torchdevlint.source.nodes import nodes_in

ARRAY = "numpy.ndarray"
_ONLY_OF_ARRAYS = frozenset({"astype", "to_numpy"})
_WITH_DIMENSIONS = frozenset(
    """
    array arange linspace logspace zeros ones empty full eye identity indices load loadtxt genfromtxt stack hstack
    vstack dstack concatenate tile repeat outer tril triu diag
    """.split()
)
_MAX_HOPS = 3
"""How many names are followed to what they are bound to."""


def array_of(tensor: Tensor) -> Value:
    """What ``.numpy()`` gives: the same memory, which counts where a copy that does not block may still write it."""
    made = tensor.steps[-1].node if tensor.device == CPU and tensor.steps else None
    return Library(ARRAY, children=(tensor,)) if made is not None and _does_not_block(made) else UNKNOWN


def _does_not_block(node: ast.AST) -> bool:
    """``t.to("cpu", non_blocking=True)``."""
    return isinstance(node, ast.Call) and any(each.arg == "non_blocking" for each in node.keywords)


def array_dimensions(frame: Frame, state: State, node: ast.expr) -> tuple[bool, int | None]:
    """Whether an expression is surely an array or a number of NumPy, by what makes it, and how many dimensions it has.

    A method that only arrays have makes one, as any function of NumPy does; a name stands for what it is bound to.
    """
    return _array_dimensions(frame, state, node, _MAX_HOPS)


def _array_dimensions(frame: Frame, state: State, node: ast.expr, hops: int) -> tuple[bool, int | None]:
    if isinstance(node, ast.Name) and hops:
        scope = frame.function or frame.machine.tree
        if frame.function is not None and node.id in argument_names(frame.function):
            return False, None
        values = values_by_path(scope).get(node.id, [])
        stores = (each for each in nodes_in(scope, ast.Name) if isinstance(each.ctx, ast.Store))
        if not values or sum(each.id == node.id for each in stores) != len(values):
            return False, None
        bound = [_array_dimensions(frame, state, each, hops - 1) for each in values]
        return all(known for known, _ in bound), bound[0][1] if len(bound) == 1 else None
    if not isinstance(node, ast.Call):
        return False, None
    if isinstance(node.func, ast.Attribute) and node.func.attr in _ONLY_OF_ARRAYS:
        return True, None
    maker = frame.evaluate(node.func, state) if dotted_path(node.func) is not None else UNKNOWN
    if not isinstance(maker, Ref) or not maker.name.startswith("numpy."):
        return False, None
    return True, AT_LEAST_1 if maker.name[len("numpy.") :] in _WITH_DIMENSIONS else None
