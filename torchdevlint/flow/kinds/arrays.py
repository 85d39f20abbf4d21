"""Arrays of NumPy that have the memory of a tensor."""

from __future__ import annotations

import ast

from torchdevlint.flow.state.devices import CPU
from torchdevlint.flow.state.values import UNKNOWN, Library, Tensor, Value

ARRAY = "numpy.ndarray"


def array_of(tensor: Tensor) -> Value:
    """What ``.numpy()`` gives: the same memory, which counts where a copy that does not block may still write it."""
    made = tensor.steps[-1].node if tensor.device == CPU and tensor.steps else None
    return Library(ARRAY, children=(tensor,)) if made is not None and _does_not_block(made) else UNKNOWN


def _does_not_block(node: ast.AST) -> bool:
    """``t.to("cpu", non_blocking=True)``."""
    return isinstance(node, ast.Call) and any(each.arg == "non_blocking" for each in node.keywords)
