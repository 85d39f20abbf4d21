"""What ``__init__``, ``train`` or ``eval`` of a Module makes of its own buffers and parameters, and keeps unregistered.

It is where these were at that time. Moving the Module moves them later, and not what was made of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.run.hooks import HOOKS
from torchdevlint.flow.scope.names import last_name
from torchdevlint.flow.scope.own_devices import moves_itself
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import BUILT, MODEL, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Site, Step, Tensor, Value
from torchdevlint.source.nodes import nodes_in, once_a_node

_REGISTERS = frozenset({"register_buffer", "register_parameter", "add_module", "register_module"})


REGISTERED = "registered here, and moves with the Module"
"""The step of a buffer or parameter that a Module registers by a call."""


def refills(value: Value, before: Value | None) -> bool:
    """``self.scale = torch.ones(3)`` behind ``self.register_buffer("scale", None)``: it is the buffer from then on."""
    filled = isinstance(value, Tensor) and isinstance(before, Tensor)
    return filled and any(each.text == REGISTERED for each in before.steps)  # type: ignore[union-attr]


def built_of_own(frame: Frame, info: ClassInfo, target: ast.Attribute, value: Tensor) -> Tensor:
    """``self.start = self.layer.weight.clone()``: on the CPU, where the layer was made."""
    if value.device != MODEL or value.parameter or not value.steps or not _is_of_the_cpu(value.steps[0]):
        return value
    if registers_by_name(info, target.attr) or any(moves_itself(one.node) for one in info.mro):
        return value
    site = Site(target, "", "init", frame.scope, False, None)
    step = Step(f"kept as `self.{target.attr}`", target)
    return Tensor(BUILT, value.ndim, (site,), (*value.steps[:1], step))


def switches_mode(frame: Frame) -> bool:
    """Whether it is the method of a Module that ``model.eval()`` runs, which is done before it is moved as well."""
    return frame.depth == 0 and frame.owner is not None and getattr(frame.function, "name", "") in ("train", "eval")


def _is_of_the_cpu(own: Step) -> bool:
    """Whether it was made or registered on the CPU, or belongs to a layer that was told no device.

    What a layer hands to a hook is where the layer is at that time.
    """
    if own.left is not None:
        return on_cpu(own.left)
    made = own.node if own.of_module else None
    if not isinstance(made, ast.Call) or last_name(made.func) in HOOKS:
        return False
    return all(each.arg not in (None, "device") for each in made.keywords)


def registers_by_name(info: ClassInfo, attribute: str) -> bool:
    """Whether the class registers something under the name, or under names that are not written there."""
    names = [each for one in info.mro for each in _registered_names(one.node)]
    return attribute in names or None in names


@once_a_node
def _registered_names(owner: ast.ClassDef) -> tuple[str | None, ...]:
    return tuple(_names(owner))


def _names(owner: ast.ClassDef) -> Iterator[str | None]:
    for call in nodes_in(owner, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _REGISTERS:
            given = [*call.args[:1], *(each.value for each in call.keywords if each.arg == "name")]
            named = given[0] if given else None
            yield named.value if isinstance(named, ast.Constant) and isinstance(named.value, str) else None
