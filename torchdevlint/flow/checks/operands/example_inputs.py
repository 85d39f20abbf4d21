"""Example inputs of what runs a model once: tracing, export, graphs for TensorBoard, counts of operations.

``torch.jit.trace(model, x)`` calls ``model(x)``, so what is said of that call is said of this one.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.joins import is_module
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Seq, Value
from torchdevlint.source.nodes import once_a_node

_OF_GRAPH = ("model", "input_to_model")


def _note_function(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    _note(frame, state, node, torch_api.RUN_MODELS[name], arguments)


def _note_graph(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``writer.add_graph(model, x)``; what else has a method of that name is given no model."""
    _note(frame, state, node, _OF_GRAPH, arguments)


def _note(frame: Frame, state: State, node: ast.Call, names: tuple[str, str], arguments: Arguments) -> None:
    model, inputs = arguments.get(0, names[0]), arguments.get(1, names[1])
    if model is None or inputs is None or not is_module(model[1]):
        return
    call = _call(node, model[0], inputs[0])
    if call is not None:
        frame.machine.call_value(frame, state, call, model[1], Arguments(_spread(*inputs), {}))


def _spread(node: ast.expr, value: Value) -> list[tuple[ast.expr, Value]]:
    """A tuple holds one input after the other, be it by its name; a list that is written down is one input, but for
    tracing, and that is rare.
    """
    if not isinstance(value, Seq) or isinstance(node, ast.List):
        return [(node, value)]
    if isinstance(node, ast.Tuple):
        return list(zip(node.elts, value.items or (), strict=False)) if len(node.elts) == len(value.items or ()) else []
    return [(node, each) for each in value.items or ()]


def _call(node: ast.Call, model: ast.expr, inputs: ast.expr) -> ast.Call | None:
    """The call of the model that is made in the end, always the same one for one place."""
    made = _calls_at(node)
    if not made:
        made.append(ast.copy_location(ast.Call(model, [inputs], []), node))
    return made[0]


@once_a_node
def _calls_at(node: ast.Call) -> list[ast.Call]:
    return []


FUNCTIONS = dict.fromkeys(torch_api.RUN_MODELS, _note_function)
METHODS = {"add_graph": _note_graph}
