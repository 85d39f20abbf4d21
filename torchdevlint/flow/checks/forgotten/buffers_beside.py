"""Buffers that a method registers anew on the CPU, though it is told a device and makes others there (TDL310).

``def extend(self, size, device)``: ``self.register_buffer("steps", torch.arange(size) / self.dim)`` beside
``torch.arange(size, device=device)``. What `__init__` registers may still be moved, and so may what it alone calls.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.operands.made_here import is_made_here
from torchdevlint.flow.kinds.construction import is_part_of_init
from torchdevlint.flow.kinds.sizes import is_one_element
from torchdevlint.flow.scope.names import dotted_path, mentions_device, parameter_names, places_in
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Tensor, Value
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import nodes_in, once_a_node


def _registered(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    owner, function = frame.owner, frame.function
    if owner is None or not owner.is_module or frame.depth or not isinstance(function, ast.FunctionDef):
        return
    if function.name.startswith("__") or dotted_path(node.func) != "self.register_buffer":
        return
    given = arguments.get(1, "tensor")
    placed = _placed(function) if given is not None else None
    if given is None or placed is None or is_part_of_init(frame.machine, owner, function.name):
        return
    for _, each in alternatives(given[1], state.conditions):
        if isinstance(each, Tensor) and is_made_here(frame, each) and not is_one_element(each):
            made = each.creations[0].node
            assert isinstance(made, ast.expr)
            record(frame.machine, function, "beside", made, placed, at=made, state=state)
            return


@once_a_node
def _placed(function: FunctionNode) -> ast.Call | None:
    """A call that puts something on the device that the function is told."""
    told = {each for each in parameter_names(function) if mentions_device(each)}
    for call in nodes_in(function, ast.Call) if told else ():
        if any(dotted_path(each) in told for each in places_in(call)):
            return call
    return None


METHODS = {"register_buffer": _registered}
