"""What ``__init__`` of a Module keeps on a device that it may be told, and that nobody has to tell.

``def __init__(self, dim, device=None)`` and ``self.table = torch.ones(dim, dim, device=device)``: who
tells nothing, and moves the Module, leaves the tensor where it was made. A class that chooses a device where it is told
none, that remembers it, be it in a base, or moves itself there, sees to its tensors.
"""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.scope.assigned import assignments_by_path
from torchdevlint.flow.scope.names import defaults, last_name, mentions_device
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import UNREGISTERED, Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Site, Step, Tensor, Value
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import inside, nodes_in, once_a_node


def told_by_default(frame: Frame, info: ClassInfo, target: ast.Attribute, value: Value) -> Value:
    """A tensor on such a device as one that no Module moves; anything else as it is."""
    if not isinstance(value, Tensor) or value.parameter or value.ndim == 0:
        return value
    if value.device.origin is not Origin.EXPRESSION or not value.device.name.isidentifier():
        return value
    init = info.methods.get("__init__")
    if init is None or value.device.name not in _untold(init):
        return value
    written = (path for one in info.mro for path in assignments_by_path(one.node))
    if any(path.startswith("self.") and mentions_device(path.removeprefix("self.")) for path in written):
        return value
    site = Site(target, "", "init", frame.scope, False, None)
    step = Step(f"kept as `self.{target.attr}`", target)
    return replace(value, device=UNREGISTERED, creations=(site,), steps=(*value.steps[:1], step), moved=False)


@once_a_node
def _untold(init: FunctionNode) -> frozenset[str]:
    """The parameters that are None by default, and are nothing but handed to calls."""
    optional = {name for name, default in defaults(init) if isinstance(default, ast.Constant) and default.value is None}
    if not optional:
        return frozenset()
    moves = [call for call in nodes_in(init, ast.Call) if _is_move_of_self(call)]
    handed = {id(part) for call in nodes_in(init, ast.Call) if call not in moves for part in _given(call)}
    read = [each for each in nodes_in(init, ast.Name) if each.id in optional]
    return frozenset(optional - {each.id for each in read if id(each) not in handed})


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(each.value for each in call.keywords)]


def _is_move_of_self(call: ast.Call) -> bool:
    """``self.to(device)``, ``self.encoder.to(device)``."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if owner is None or last_name(call.func) != "to":
        return False
    return any(isinstance(each, ast.Name) and each.id == "self" for each in inside(owner))
