"""Objects that a function makes of tensors of the default device, though it is told a device (TDL310).

``return cls(torch.empty(size))`` with a `device` that nothing reads: the object keeps what it is made of where that is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from torchdevlint.flow.checks.forgotten.unread_devices import unread_parameter
from torchdevlint.flow.checks.operands.made_here import is_made_here
from torchdevlint.flow.events import Returned
from torchdevlint.flow.facts.devices import DeviceNotForwarded
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import tensors_in
from torchdevlint.flow.state.values import Cls, Site, Tensor
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, nodes_in

_WITHOUT_DEVICE = torch_api.CPU_FACTORIES | torch_api.LEGACY_CONSTRUCTORS


def _note_returned(event: Returned) -> None:
    frame, state, node = event.frame, event.state, event.node
    function = frame.function
    if frame.depth or not isinstance(node, ast.Call) or not isinstance(function, FunctionNode):
        return
    if function in frame.machine.pipeline or unread_parameter(frame) != "device":
        return
    init = _init(frame, state, node)
    if init is None or any(each.attr in torch_api.PLACING_METHODS for each in nodes_in(init, ast.Attribute)):
        return
    for tensor in _kept(frame, state, node):
        site = tensor.creations[0]
        frame.machine.record(("not forwarded", function, "device"), partial(_fact, frame, function, site), state)
        return


def _init(frame: Frame, state: State, node: ast.Call) -> ast.AST | None:
    """The constructor of a class of the project that is called, also as `cls`, if it is no Module's."""
    made = frame.evaluate(node.func, state)
    info: ClassInfo | None = made.info if isinstance(made, Cls) else None
    if dotted_path(node.func) == "cls":
        info = frame.owner
    methods = {} if info is None or info.is_module else info.methods
    return methods.get("__init__") or methods.get("__new__")


def _kept(frame: Frame, state: State, node: ast.Call) -> Iterator[Tensor]:
    """The tensors of the default device among the names that a constructor is given, and their parts."""
    for each in arguments_of(node):
        if isinstance(each, (ast.Name, ast.Subscript)):
            yield from (one for one in tensors_in(frame.evaluate(each, state)) if is_made_here(frame, one))


def _fact(frame: Frame, function: FunctionNode, site: Site) -> DeviceNotForwarded:
    machine, spec = frame.machine, function.args
    given = next(each for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs) if each.arg == "device")
    takes = site.function.rpartition(".")[2] not in _WITHOUT_DEVICE
    return DeviceNotForwarded(
        machine.span_of(site.node),
        function.name,
        "device",
        "factory",
        site.function,
        "device=device" if takes else ".to(device)",
        machine.span_of(given),
        machine.text_of(site.node),
        False,
        False,
    )


EVENTS = {Returned: _note_returned}
