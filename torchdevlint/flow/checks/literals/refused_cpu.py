"""Functions that go on with a tensor of CUDA alone: ``assert x.is_cuda``, ``if not x.is_cuda: raise`` (TDL012).

What stands behind that is as if it stood under ``if x.is_cuda:``. In `backward`, the engine has chosen the GPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.literals.same_device import is_of_literal
from torchdevlint.flow.run.branches import asked_tensor
from torchdevlint.flow.scope.names import dotted_path, first_name, parameter_names
from torchdevlint.flow.scope.naming_cuda import chooses_gpu
from torchdevlint.flow.scope.unconditional import straight
from torchdevlint.flow.state.machine import Frame
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import is_inside, nodes_in, once_a_node

_LEAVES = (ast.Return, ast.Raise)


def refused_before(frame: Frame, node: ast.Call) -> ast.expr | None:
    """The argument without which, on CUDA, the function does not come to a place, if it is still where it was."""
    function = frame.function
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or function.name == "backward":
        return None
    if any(is_inside(node, each) for each in _with_chosen_gpu(function)):
        return None
    for line, test in _refusing(function):
        asked = asked_tensor(frame, test) if line < node.lineno else None
        path = None if asked is None else dotted_path(asked)
        if asked is None or path is None or first_name(path) not in parameter_names(function):
            continue
        if not is_of_literal(function, frame.owner, f"{path}.device"):
            return asked
    return None


@once_a_node
def _refusing(function: FunctionNode) -> tuple[tuple[int, ast.expr], ...]:
    """What holds behind a statement of the function's body, with the line where it ends."""
    return tuple(_holding(function.body))


def _holding(body: list[ast.stmt]) -> Iterator[tuple[int, ast.expr]]:
    for each in straight(body):
        line = each.end_lineno or each.lineno
        if isinstance(each, ast.Assert):
            yield line, each.test
        elif isinstance(each, ast.If) and not each.orelse and isinstance(each.body[-1], _LEAVES):
            either = isinstance(each.test, ast.BoolOp) and isinstance(each.test.op, ast.Or)
            for one in each.test.values if either else [each.test]:  # type: ignore[attr-defined]
                if isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.Not):
                    yield line, one.operand


@once_a_node
def _with_chosen_gpu(function: ast.AST) -> tuple[ast.With, ...]:
    """``with torch.cuda.device_of(x):``, ``with torch.cuda.device(x.device):``."""
    found = nodes_in(function, ast.With)
    return tuple(each for each in found if chooses_gpu(each))
