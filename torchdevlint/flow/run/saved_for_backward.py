"""What the ``backward`` of a `torch.autograd.Function` finds in its context: what ``forward`` made is where that is."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, first_name, parameter_names, positional_names
from torchdevlint.flow.state.joins import sequence
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import UNKNOWN, Ref, Unknown, Value
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import inside, nodes_in


def saved_by_forward(frame: Frame, node: ast.Attribute, receiver: Unknown) -> Value | None:
    """``ctx.saved_tensors`` and ``ctx.name``, where ``forward`` puts there what a factory of its own makes; else None.

    The arguments of ``forward``, and what it makes of them, are where the gradients are.
    """
    owner, context = frame.entry.owner, node.value
    if getattr(frame.function, "name", "") != "backward" or owner is None or not isinstance(context, ast.Name):
        return None
    forward = owner.methods.get("forward")
    if forward is None or context.id not in positional_names(forward)[:1]:
        return None
    if node.attr != "saved_tensors":
        kept = values_by_path(forward).get(f"{context.id}.{node.attr}", ())
        return UNKNOWN if any(_is_made_here(frame, forward, each) for each in kept) else None
    calls = [each.args for each in nodes_in(forward, ast.Call) if _saves(each)]
    if len(calls) != 1 or any(isinstance(each, ast.Starred) for each in calls[0]):
        return None
    made = [_is_made_here(frame, forward, each) for each in calls[0]]
    return sequence([UNKNOWN if each else receiver for each in made]) if any(made) else None


def _saves(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "save_for_backward"


def _is_made_here(frame: Frame, function: AnyFunction, node: ast.expr) -> bool:
    """Whether it is what a factory makes there that is told no device, or a name for such."""
    bound = isinstance(node, ast.Name) and node.id not in parameter_names(function)
    values = values_by_path(function).get(node.id, ()) if bound else (node,)  # type: ignore[attr-defined]
    calls = (part for each in values for part in inside(each) if isinstance(part, ast.Call))
    return any(_is_of_the_host(frame, function, each) for each in calls)


def _is_of_the_host(frame: Frame, function: AnyFunction, call: ast.Call) -> bool:
    path = dotted_path(call.func)
    if path is None or first_name(path) in parameter_names(function):  # what the context has may be made of itself
        return False
    if any(each.arg in ("device", None) for each in call.keywords):
        return False
    callee = frame.evaluate(call.func, State({}))
    return isinstance(callee, Ref) and callee.name.removeprefix("torch.") in torch_api.FACTORIES
