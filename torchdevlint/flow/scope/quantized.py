"""Code that calculates with quantized tensors, for which torch has kernels of the CPU alone."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import public_path
from torchdevlint.source.nodes import nodes_in, once_a_node

_OPERATORS = ("torch.ops.quantized", "torch.nn.quantized", "torch.ao.nn.quantized")
"""https://docs.pytorch.org/docs/stable/quantization.html: quantized operators run on x86 and ARM processors."""


@once_a_node
def calculates_quantized(owner: ast.ClassDef) -> bool:
    """Whether a method calls an operator for quantized tensors: ``torch.ops.quantized.mul(a, b, scale, 0)``."""
    named = (each for each in nodes_in(owner, ast.Attribute) if each.attr == "quantized")
    return any(public_path(each) in _OPERATORS for each in named)
