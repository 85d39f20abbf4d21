"""Tensors that a Module keeps on a device that its ``__init__`` is told, where buffers are put as well (TDL101).

``self.register_buffer("lat", torch.as_tensor(lat, device=device))`` beside ``self.lon = torch.as_tensor(lon,
device=device)``: the device is where the Module begins, and the buffer says that it may be moved. The attribute stays.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.registration.kept_together import leaves
from torchdevlint.flow.checks.registration.registering import may_move_along
from torchdevlint.flow.events import FunctionEnded, Mixed
from torchdevlint.flow.facts.tensors import KEPT
from torchdevlint.flow.kinds.construction import is_part_of_init
from torchdevlint.flow.kinds.told_buffers import put_with_buffers
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import assignments_by_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import MODEL, UNREGISTERED
from torchdevlint.flow.state.tensors import tensors_in
from torchdevlint.flow.state.values import AT_LEAST_1, Site, Step, Tensor
from torchdevlint.source.nodes import nodes_in, once_a_node

_ASKED = torch_api.SHAPE_ATTRIBUTES | {"device", "dtype", "size", "dim", "numel"}


def _note_end(event: FunctionEnded) -> None:
    """A method of the Module that reads such an attribute."""
    frame, owner, method = event.frame, event.frame.owner, event.frame.function
    if owner is None or not owner.is_module or frame.depth or not isinstance(method, ast.FunctionDef):
        return
    init = owner.methods.get("__init__")
    if init is None or method is init or frame.entry.kind == "init":
        return
    for target, buffer in put_with_buffers(init):
        read = next((each for each in reads_of_own(method) if each.attr == target.attr), None)
        sites = tuple(site for site in _sites(owner, target.attr) if site.node is target)
        if read is None or not sites or not _stays(owner, target.attr):
            continue
        if is_part_of_init(frame.machine, owner, method.name):
            return
        stayed = Tensor(UNREGISTERED, AT_LEAST_1, sites, (Step(f"kept as `self.{target.attr}`", target),))
        there = Tensor(MODEL, AT_LEAST_1, (), (Step("registered here, on the same device", buffer),))
        frame.machine.emit(Mixed(frame, event.state, read, KEPT, (read, stayed), (buffer, there)))


@once_a_node
def reads_of_own(method: ast.FunctionDef) -> list[ast.Attribute]:
    """The attributes of `self` that a method reads for more than their shape and place."""
    asked = {id(each.value) for each in nodes_in(method, ast.Attribute) if each.attr in _ASKED}
    own = (each for each in nodes_in(method, ast.Attribute) if isinstance(each.ctx, ast.Load) and id(each) not in asked)
    return [each for each in own if isinstance(each.value, ast.Name) and each.value.id == "self"]


def _stays(owner: ClassInfo, name: str) -> bool:
    """Whether it is written once, and is neither moved nor read on the host."""
    if any(len(assignments_by_path(each.node).get(f"self.{name}", ())) > 1 for each in owner.mro):
        return False
    return not (_is_spelled(owner, name) or may_move_along(owner, name) or leaves(owner, name))


def _is_spelled(owner: ClassInfo, name: str) -> bool:
    """Whether the class has the name as a text, under which it may register something."""
    texts = (each.value for one in owner.mro for each in nodes_in(one.node, ast.Constant))
    return any(each == name for each in texts)


def _sites(owner: ClassInfo, name: str) -> list[Site]:
    value = owner.attributes.get(name)
    return [] if value is None else [site for each in tensors_in(value) for site in each.creations]


SAYING = ("register_buffer",)
EVENTS = {FunctionEnded: _note_end}
