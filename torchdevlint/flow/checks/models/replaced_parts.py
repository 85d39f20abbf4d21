"""Parts of a layer that are replaced by new tensors of their size: ``bn.weight = torch.ones(bn.weight.shape)``.

Whoever takes the size of what a layer holds means one more of the same, and that is where the layer is. While layers
are made and initialised they are on the CPU, so what does that is left alone.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.events import AttributeAssigned, Mixed
from torchdevlint.flow.kinds.sizes import sizes_asked
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.state.devices import DEFAULT, MODEL, Device, Origin, Relation, relation
from torchdevlint.flow.state.joins import is_module
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.tensors import is_told_device
from torchdevlint.flow.state.values import AT_LEAST_1, Site, Step, Tensor, Value
from torchdevlint.patterns import regex

_OF_LAYERS = frozenset({"weight", "bias", "running_mean", "running_var", "in_proj_weight", "in_proj_bias"})
"""What layers of torch hold their parameters and buffers under."""
_OF_TENSORS = frozenset({"data", "grad"})
_EARLY = regex(r"(?:^|[._])_?init|reset_parameters|build|create|make|construct|load|new|convert|from_|^test")


def _note_assigned(event: AttributeAssigned) -> None:
    frame, target, value = event.frame, event.node, event.value
    path = dotted_path(target)
    if path is None or not isinstance(value, Tensor) or value.device != DEFAULT or not value.creations:
        return
    if value.ndim == 0 or not _is_part(target, event.receiver) or _is_early(frame, path):
        return
    if target.attr == "grad" and _is_elsewhere(event.receiver):  # which the assignment itself says
        return
    owner = path.removesuffix(".data").removesuffix(".grad")
    if not all(_is_sized_after(site, owner) for site in value.creations):
        return
    root = path.partition(".")[0]
    given = frame.function is not None and root in parameter_names(frame.function) and not frame.depth
    device = Device(Origin.ARGUMENT, root) if given else MODEL
    held = target.value if target.attr in _OF_TENSORS else target
    other = Tensor(device, AT_LEAST_1, (), (Step(f"`{owner}` is where its layer is", held),))
    frame.machine.emit(Mixed(frame, event.state, target, "the layer that holds it", (target, value), (held, other)))


def _is_elsewhere(tensor: Value) -> bool:
    return isinstance(tensor, Tensor) and relation(tensor.device, DEFAULT) is Relation.DIFFER


def _is_part(target: ast.Attribute, receiver: Value) -> bool:
    """Whether it is a parameter or buffer by its name, or ``.data`` and ``.grad``, or anything of a Module."""
    return target.attr in _OF_LAYERS or target.attr in _OF_TENSORS or is_module(receiver)


def _is_early(frame: Frame, path: str) -> bool:
    """Whether it may run before anything moves, by the names of what runs; and so what an object does with itself."""
    if frame.function is None or path.startswith("self.") or frame.context == "init":
        return True
    around: Frame | None = frame
    while around is not None:
        if _EARLY.search(around.scope.lower()):
            return True
        around = around.called_at[1] if around.called_at is not None else None
    return False


def _is_sized_after(site: Site, path: str) -> bool:
    """``torch.zeros(bn.running_mean.shape)``, ``torch.randn(p.data.size())``, without a device."""
    if not isinstance(site.node, ast.Call) or is_told_device(site):
        return False
    return any(dotted_path(each.value) in (path, f"{path}.data") for each in sizes_asked(site.node.args))


EVENTS = {AttributeAssigned: _note_assigned}
