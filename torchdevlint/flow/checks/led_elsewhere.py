"""What happens in another file to what this file gives it: by which call, and whether that file knows where it is."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import argument_names
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Tensor
from torchdevlint.source.nodes import inside


def led_by(frame: Frame, node: ast.AST) -> tuple[ast.Call, Frame] | None:
    """The call in this file that led to a place in another file, and the activation of what it calls."""
    span_of = frame.machine.span_of
    if not span_of(node).file:
        return None
    while frame.called_at is not None:
        call, outer = frame.called_at
        if not span_of(call).file:
            return (call, frame) if isinstance(call, ast.Call) else None
        frame = outer
    return None


def is_placed_elsewhere(frame: Frame, tensor: Tensor) -> bool:
    """Whether another file makes or moves it, and not only the layers that it comes from."""
    return any(not step.of_module and frame.machine.span_of(step.node).file for step in tensor.steps)


def puts_several_together(frame: Frame, node: ast.expr, tensor: Tensor) -> bool:
    """Whether a function of another file makes a tensor of several arguments, none of which it places itself.

    What becomes of one argument is asked of all its callers, where the function is.
    """
    if frame.function is None or is_placed_elsewhere(frame, tensor):
        return False
    found, left = set[str](), [node]
    values = values_by_path(frame.function)
    while left:
        more = {each.id for each in inside(left.pop()) if isinstance(each, ast.Name)} - found
        found |= more
        left.extend(each for name in more for each in values.get(name, ()))
    return len(found & set(argument_names(frame.function))) > 1
