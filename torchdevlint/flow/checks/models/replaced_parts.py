"""Parts of a layer that are replaced by new tensors of their size: ``bn.weight = torch.ones(bn.weight.shape)``.

Whoever takes the size of what a layer holds means one more of the same, and that is where the layer is. While layers
are made and initialised they are on the CPU, so what does that is left alone.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.events import AttributeAssigned, Mixed
from torchdevlint.flow.kinds.sizes import sizes_asked
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.host_sources import comes_from_host
from torchdevlint.flow.scope.names import dotted_path, first_name, last_name, parameter_names, public_path
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
    if not isinstance(value, Tensor) or value.device != DEFAULT or not value.creations or value.ndim == 0:
        return
    is_gradient = target.attr == "grad"
    path = _path_of(target) if is_gradient else dotted_path(target)
    if path is None or not _is_part(target, event.receiver) or (is_gradient and _is_known(event.receiver)):
        return
    owner = path.removesuffix(".data").removesuffix(".grad")
    model = _made_like(frame, owner, target.lineno) if is_gradient else ""
    if not all(_is_sized_after(site, (owner, model)) for site in value.creations) or _is_early(frame, path, model):
        return
    if model or "[" in path:
        assert frame.function is not None
        if comes_from_host(frame.function, target):
            return
    root = first_name(model or path)
    given = frame.function is not None and root in parameter_names(frame.function) and not frame.depth
    device = Device(Origin.ARGUMENT, root) if given else MODEL
    held = target.value if target.attr in _OF_TENSORS else target
    other = Tensor(device, AT_LEAST_1, (), (Step(f"`{owner}` is where its layer is", held),))
    frame.machine.emit(Mixed(frame, event.state, target, "the layer that holds it", (target, value), (held, other)))


def _is_known(tensor: Value) -> bool:
    """Whether a tensor is surely on the CPU; or surely elsewhere, which the assignment itself says."""
    return isinstance(tensor, Tensor) and relation(tensor.device, DEFAULT) is not Relation.UNKNOWN


def _is_part(target: ast.Attribute, receiver: Value) -> bool:
    """Whether it is a parameter or buffer by its name, or ``.data`` and ``.grad``, or anything of a Module."""
    return target.attr in _OF_LAYERS or target.attr in _OF_TENSORS or is_module(receiver)


def _is_early(frame: Frame, path: str, model: str) -> bool:
    """Whether it may run before anything moves, by the names of what runs; and so what an object does with itself.

    What is made like the `model` is where that is, early and late.
    """
    if frame.function is None or path.startswith("self.") or frame.context == "init":
        return True
    around: Frame | None = None if model else frame
    while around is not None:
        if _EARLY.search(around.scope.lower()):
            return True
        around = around.called_at[1] if around.called_at is not None else None
    return False


def _path_of(node: ast.expr) -> str | None:
    """The text of ``a.b``, and of ``a[key].b`` where names and constants are all that stands for the key."""
    around = node
    while isinstance(around, (ast.Attribute, ast.Subscript)):
        if isinstance(around, ast.Subscript) and not isinstance(around.slice, (ast.Name, ast.Constant)):
            return None
        around = around.value
    return ast.unparse(node) if isinstance(around, ast.Name) else None


def _made_like(frame: Frame, name: str, before: int) -> str:
    """`p` where a name has had one value, ``torch.zeros_like(p)``: what is made like it is where it is."""
    values = values_by_path(frame.function).get(name, ()) if frame.function is not None else ()
    earlier = [each for each in values if each.lineno < before]
    made = earlier[0] if len(earlier) == 1 else None
    if not isinstance(made, ast.Call) or not public_path(made.func).startswith("torch.") or len(made.args) != 1:
        return ""
    is_like = last_name(made.func).endswith("_like") and all(each.arg != "device" for each in made.keywords)
    return (_path_of(made.args[0]) or "").removesuffix(".data") if is_like else ""


def _is_sized_after(site: Site, paths: tuple[str, str]) -> bool:
    """``torch.zeros(bn.running_mean.shape)``, ``torch.randn(p.data.size())``, without a device."""
    if not isinstance(site.node, ast.Call) or is_told_device(site):
        return False
    asked = [(_path_of(each.value) or "").removesuffix(".data") for each in sizes_asked(site.node.args)]
    return any(each and each in paths for each in asked)


EVENTS = {AttributeAssigned: _note_assigned}
