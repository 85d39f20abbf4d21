"""Launches of kernels that are written in Python, ``kernel[grid](x, out)``: they take tensors of the accelerator.

Triton refuses a pointer to memory of the CPU, unless that is pinned: what was put on the CPU by name may be. And what
is put on CUDA by name is where such kernels run.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.run.operand_kinds import told_by_other
from torchdevlint.flow.run.operations import combine
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.scope.names import public_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import Origin
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import UNKNOWN, Func, Tensor, Value

_COMPILES = frozenset({"triton.jit", "triton.runtime.jit.jit", "triton.experimental.gluon.jit"})
"""Decorators by which a function becomes a kernel."""
_GIVEN = 3
"""Where ``cuda.tile.launch(stream, grid, kernel, arguments)`` has the arguments of the kernel."""


def is_launch(frame: Frame, state: State, callee: ast.expr) -> bool:
    """Whether ``kernel[grid]`` is called, of a function that Triton compiles."""
    if type(callee) is not ast.Subscript:
        return False
    held = [each for _, each in alternatives(frame.evaluate(callee.value, state))]
    return any(type(each) is Func and _is_kernel(each.node) for each in held)


def _is_kernel(node: ast.AST) -> bool:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return any(public_path(each.func if isinstance(each, ast.Call) else each) in _COMPILES for each in decorators)


def launch(frame: Frame, state: State, node: ast.Call, kernel: ast.expr, arguments: Arguments) -> Value:
    """The tensors of a launch are where the kernel runs; it gives nothing."""
    given = [each for pair in arguments.pairs for each in tensor_operands(*pair)]
    operands = [each for each in given if not (type(each[1]) is Tensor and each[1].device.origin is Origin.LITERAL)]
    operands = told_by_other(frame, operands)
    combine(frame, state, node, f"a launch of `{frame.machine.text_of(kernel)}`", operands, strict=True)
    return UNKNOWN


def launch_tiles(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``cuda.tile.launch(stream, grid, kernel, (x, out))``."""
    if len(arguments.positional) <= _GIVEN:
        return UNKNOWN
    kernel = arguments.positional[_GIVEN - 1][0]
    return launch(frame, state, node, kernel, Arguments([arguments.positional[_GIVEN]], {}))
