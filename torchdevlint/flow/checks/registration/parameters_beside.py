"""Parameters that a Module makes on the default device, though it is told one and makes the rest there (TDL014).

``def __init__(self, size, device=None)`` gives the device to its layers, ``nn.Linear(size, size, device=device)``, and
forgets it for ``nn.Parameter(torch.ones(size))``. Who gives a device expects all of the Module there. So does who wraps
a layer, and takes ``device = layer.weight.device`` for the other Parameters. A Module that moves itself forgets none.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.events import AttributeAssigned, Mixed
from torchdevlint.flow.facts.tensors import KEPT
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, last_name, parameter_names
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.devices import DEFAULT, Device, Origin
from torchdevlint.flow.state.values import AT_LEAST_1, Step, Tensor
from torchdevlint.source.nodes import nodes_in, once_a_node

_NAME = "device"


def _note_assigned(event: AttributeAssigned) -> None:
    frame, value, function = event.frame, event.value, event.frame.function
    if not isinstance(value, Tensor) or not value.parameter or value.device != DEFAULT or event.state.guarded:
        return
    if frame.owner is None or not frame.owner.is_module or not isinstance(function, ast.FunctionDef):
        return
    if function.name != "__init__" or frame.depth or not _is_made_here(frame.scope, value):
        return
    if _moves(function, event.node.attr):
        return
    made = value.creations[0].node
    told = _told_in(function)
    beside = next((each for each in told if made not in nodes_in(each, type(made))), None)
    if beside is not None and isinstance(made, ast.expr):
        step = Step(f"is told `{_NAME}` here", beside)
        there = Tensor(Device(Origin.EXPRESSION, _NAME), AT_LEAST_1, (), (step,))
        frame.machine.emit(Mixed(frame, event.state, made, KEPT, (made, value), (beside, there)))


def _is_made_here(scope: str, value: Tensor) -> bool:
    """Whether factories of this very function made it, and draw from no generator, whose device decides."""
    return bool(value.creations) and all(site.scope == scope and not site.drawn for site in value.creations)


@once_a_node
def _told_in(init: ast.FunctionDef) -> tuple[ast.Call, ...]:
    """The layers and Parameters that a constructor makes on `device`, which it was given, or took of a tensor."""
    bound = values_by_path(init).get(_NAME, [])
    times = sum(binds for _, binds, _ in bindings_in(init).get(_NAME, ()))
    given = _NAME in parameter_names(init) and not times
    taken = len(bound) == times == 1 and isinstance(bound[0], ast.Attribute) and bound[0].attr == "device"
    if not (given or taken):
        return ()
    return tuple(each for each in nodes_in(init, ast.Call) if _makes_part(each) and _is_told(init, each))


def _moves(init: ast.FunctionDef, name: str) -> bool:
    """Whether the constructor moves the Module, or this part of it."""
    placing = (each for each in nodes_in(init, ast.Attribute) if each.attr in torch_api.PLACING_METHODS)
    moved = {_moved_part(each.value) for each in placing}
    return not moved.isdisjoint(("self", f"self.{name}"))


def _moved_part(node: ast.expr) -> str:
    """``self`` or ``self.part``, if a chain begins with it; nothing for what is of others."""
    path = ""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call, ast.Name)):
        if isinstance(node, ast.Name):
            return path or node.id if node.id == "self" else ""
        path = f"self.{node.attr}" if isinstance(node, ast.Attribute) else path
        node = node.func if isinstance(node, ast.Call) else node.value
    return ""


def _makes_part(call: ast.Call) -> bool:
    """``nn.Linear(..)``, ``nn.Parameter(..)``: it is called like a class; a device itself is no part."""
    name = last_name(call.func)
    return name[:1].isupper() and not name.isupper()


def _is_told(init: ast.FunctionDef, call: ast.Call) -> bool:
    """Whether it is given the device, by name or among others, or what it is given is made there."""
    made = nodes_in(call, ast.Call) if last_name(call.func) == "Parameter" else []
    return any(_names_device(init, keyword) for each in (call, *made) for keyword in each.keywords)


def _names_device(init: ast.FunctionDef, keyword: ast.keyword) -> bool:
    """``device=device``, and ``**options`` with it."""
    path = dotted_path(keyword.value)
    if keyword.arg is not None:
        return keyword.arg == _NAME and path == _NAME
    bound = values_by_path(init).get(path, []) if path is not None else []
    return len(bound) == 1 and isinstance(bound[0], (ast.Dict, ast.Call)) and _holds_device(bound[0])


def _holds_device(node: ast.Dict | ast.Call) -> bool:
    """``{"device": device}`` and ``dict(device=device)``."""
    if isinstance(node, ast.Call):
        return any(each.arg == _NAME and dotted_path(each.value) == _NAME for each in node.keywords)
    named = zip(node.keys, node.values, strict=True)
    return any(
        isinstance(key, ast.Constant) and key.value == _NAME and dotted_path(each) == _NAME for key, each in named
    )


EVENTS = {AttributeAssigned: _note_assigned}
