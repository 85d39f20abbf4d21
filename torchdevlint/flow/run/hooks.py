"""Hooks: functions that a layer or a tensor calls with what it gives, and what they leave in the containers around.

A hook is run where it is registered, with tensors that are where the layer is: what it keeps in a list, a dict or an
attribute is on the accelerator from then on.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.followed_devices import root_of
from torchdevlint.flow.scope.knowing_devices import knows_devices
from torchdevlint.flow.scope.names import parameter_names
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT, MODEL, TOP, Device, Origin
from torchdevlint.flow.state.joins import is_module
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.others import is_elsewhere
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import AT_LEAST_1, Func, Library, Obj, Seq, Step, Tensor, Value

_LAYER, _TENSOR, _TENSORS = "the layer", "one tensor", "a tuple of tensors"
HOOKS = {
    "register_forward_hook": (_LAYER, _TENSORS, _TENSOR),
    "register_forward_pre_hook": (_LAYER, _TENSORS),
    "register_full_backward_hook": (_LAYER, _TENSORS, _TENSORS),
    "register_full_backward_pre_hook": (_LAYER, _TENSORS),
    "register_backward_hook": (_LAYER, _TENSORS, _TENSORS),
    "register_hook": (_TENSOR,),
    "register_post_accumulate_grad_hook": (_TENSOR,),
}
"""What PyTorch calls each kind of hook with (torch/nn/modules/module.py, torch/_tensor.py)."""


def note_hook(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``layer.register_forward_hook(f)``, ``t.register_hook(f)``: run `f`, if that is a function of this file."""
    callee = node.func
    kinds = HOOKS.get(callee.attr) if isinstance(callee, ast.Attribute) else None
    hook = arguments.value(0, "hook")
    if kinds is None or not isinstance(callee, ast.Attribute) or not isinstance(hook, Func) or is_elsewhere(hook):
        return
    if "with_kwargs" in arguments.keywords or arguments.starred or arguments.double_starred:
        return
    device = _place(frame, callee.value, receiver)
    what = "gradient" if "backward" in callee.attr or kinds == (_TENSOR,) else "tensor"
    step = (Step(f"a {what} that `{callee.attr}` hands to its hook", node, of_module=True),)
    tensor = Tensor(device, AT_LEAST_1, (), step, opaque=len(kinds) > 1)
    layer = receiver if is_module(receiver) else Library("", module=True)
    given: dict[str, Value] = {_LAYER: layer, _TENSOR: tensor, _TENSORS: Seq(None, tensor)}
    called = Arguments([(node, given[each]) for each in kinds], {})
    frame.machine.looked_at.add(hook.node)  # nobody else calls it with anything else
    if hook.owner is not None:
        hook.owner.evaluated.add(hook.node)
    frame.machine.call_value(frame, state, node, hook, called)


def _place(frame: Frame, node: ast.expr, receiver: Value) -> Device:
    """Where the layer is: as far as it is known; where its argument is, if the code around never speaks of devices."""
    known = receiver.device if isinstance(receiver, (Library, Obj, Tensor)) else None
    if known is not None and known not in (TOP, DEFAULT):
        return known
    scopes = [each for each in (frame.function, frame.owner.node if frame.owner is not None else None) if each]
    if any(map(knows_devices, scopes)):
        return MODEL
    name = root_of(node)
    given = parameter_names(frame.function) if frame.function is not None else ()
    return Device(Origin.ARGUMENT, name) if name is not None and name in given else TOP
