"""Parameters that a Module makes on the default device, though it is told one and makes the rest there (TDL014).

``def __init__(self, size, device=None)`` gives the device to its layers, ``nn.Linear(size, size, device=device)``, and
forgets it for ``nn.Parameter(torch.ones(size))``. Who gives a device expects all of the Module there. So does who wraps
a layer, and takes ``device = layer.weight.device`` for the other Parameters. A Module that moves itself forgets none.
Parameters may be registered by name, and so are buffers, of which one is made on the device and one is not.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchdevlint.flow.events import AttributeAssigned, Mixed, ModuleMethodCalled
from torchdevlint.flow.facts.tensors import KEPT
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, last_name, parameter_names, public_path
from torchdevlint.flow.scope.none_tests import none_test
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.devices import DEFAULT, Device, Origin
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import is_of_sizes
from torchdevlint.flow.state.values import AT_LEAST_1, Const, Step, Tensor
from torchdevlint.source.nodes import is_inside, nodes_in, once_a_node

_NAME = "device"


def _note_assigned(event: AttributeAssigned) -> None:
    """``self.scale = nn.Parameter(torch.ones(size))``."""
    if isinstance(event.value, Tensor) and event.value.parameter:
        _look(event.frame, event.state, event.node.attr, event.value, _told_in)


def _note_registered(event: ModuleMethodCalled) -> None:
    """``self.register_parameter("scale", nn.Parameter(torch.ones(size)))``, and buffers, beside others."""
    is_buffer = event.name == "register_buffer"
    if not (is_buffer or event.name == "register_parameter") or dotted_path(event.receiver) != "self":
        return
    name, given = event.arguments.get(0, "name"), event.arguments.get(1, "tensor" if is_buffer else "param")
    if name is None or given is None or not isinstance(name[1], Const):
        return
    for _, each in alternatives(given[1], event.state.conditions):
        if not isinstance(each, Tensor) or each.parameter is is_buffer or each.ndim == 0:
            continue
        if not is_buffer or all(map(is_of_sizes, each.creations)):
            _look(event.frame, event.state, str(name[1].value), each, _buffers_in if is_buffer else _told_in)


def _look(
    frame: Frame, state: State, name: str, value: Tensor, find: Callable[[ast.FunctionDef], tuple[ast.Call, ...]]
) -> None:
    function = frame.function
    if value.device != DEFAULT or state.guarded or frame.owner is None or not frame.owner.is_module:
        return
    if not isinstance(function, ast.FunctionDef) or function.name != "__init__" or frame.depth:
        return
    if not _is_made_here(frame.scope, value) or _moves(function, name):
        return
    made = value.creations[0].node
    beside = next((each for each in find(function) if made not in nodes_in(each, type(made))), None)
    if beside is not None and isinstance(made, ast.expr):
        step = Step(f"is told `{_NAME}` here", beside)
        there = Tensor(Device(Origin.EXPRESSION, _NAME), AT_LEAST_1, (), (step,))
        frame.machine.emit(Mixed(frame, state, made, KEPT, (made, value), (beside, there)))


def _is_made_here(scope: str, value: Tensor) -> bool:
    """Whether factories of this very function made it, and draw from no generator, whose device decides."""
    return bool(value.creations) and all(site.scope == scope and not site.drawn for site in value.creations)


@once_a_node
def _told_in(init: ast.FunctionDef) -> tuple[ast.Call, ...]:
    """The layers and Parameters that a constructor makes on `device`, which it was given, or took of a tensor."""
    if not _is_known(init):
        return ()
    return tuple(each for each in nodes_in(init, ast.Call) if _makes_part(each) and _is_told(init, each))


@once_a_node
def _buffers_in(init: ast.FunctionDef) -> tuple[ast.Call, ...]:
    """The buffers that a constructor registers, and makes on `device`."""
    if not _is_known(init):
        return ()
    registered = (each for each in nodes_in(init, ast.Call) if last_name(each.func) == "register_buffer")
    return tuple(each for each in registered if _is_told(init, each))


def _is_known(init: ast.FunctionDef) -> bool:
    """Whether `device` is what the constructor is given, or what it has instead of None, or is taken of a tensor."""
    bound = values_by_path(init).get(_NAME, [])
    times = sum(binds for _, binds, _ in bindings_in(init).get(_NAME, ()))
    if _NAME in parameter_names(init):
        return not times or (len(bound) == times and all(_is_instead_of_none(init, each) for each in bound))
    return len(bound) == times == 1 and isinstance(bound[0], ast.Attribute) and bound[0].attr == "device"


def _is_instead_of_none(init: ast.FunctionDef, value: ast.expr) -> bool:
    """``device or default``, ``default if device is None else device``, and what stands under that test."""
    if isinstance(value, ast.Call) and public_path(value.func) == "torch.device" and len(value.args) == 1:
        value = value.args[0]
    if isinstance(value, ast.BoolOp):
        return isinstance(value.op, ast.Or) and dotted_path(value.values[0]) == _NAME
    if isinstance(value, ast.IfExp):
        return none_test(value.test) is not None and _NAME in (dotted_path(value.body), dotted_path(value.orelse))
    asked = [each for each in nodes_in(init, ast.If) if none_test(each.test) is True]
    under = any(is_inside(value, statement) for each in asked for statement in each.body)
    return dotted_path(value) == _NAME or under


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
    made = nodes_in(call, ast.Call) if last_name(call.func) in ("Parameter", "register_buffer") else []
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


EVENTS = {AttributeAssigned: _note_assigned, ModuleMethodCalled: _note_registered}
