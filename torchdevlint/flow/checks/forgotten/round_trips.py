"""Round trips by the host that end there: ``return torch.from_numpy(solve(b.cpu().numpy())).to(b.dtype)`` (TDL310).

Who gives a result the dtype of what was brought to the host means it to stand in its place; what a `Function` of
autograd gives is used where its inputs were; and so is what stands for a result of torch: ``return x.cumsum(0)`` in the
other case. Indices and figures for a reader ask for none of this.
"""

from __future__ import annotations

import ast
from functools import partial

from torchdevlint.flow.checks.forgotten.left_in_one_case import is_of_places
from torchdevlint.flow.checks.operands.made_here import is_made_here
from torchdevlint.flow.events import FunctionEnded, Returned
from torchdevlint.flow.facts.devices import DeviceNotForwarded
from torchdevlint.flow.kinds.autograd_functions import is_function
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, first_name, parameter_names
from torchdevlint.flow.state.devices import Device, Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.tensors import tensors_in
from torchdevlint.flow.state.values import Tensor
from torchdevlint.source.nodes import arguments_of, inside, is_inside, nodes_in, once_a_node

_FROM_DATA = torch_api.DATA_FACTORIES | torch_api.CPU_FACTORIES


def _note_returned(event: Returned) -> None:
    frame, node = event.frame, event.node
    if frame.depth or not isinstance(frame.function, ast.FunctionDef):
        return
    made = [each for each in tensors_in(event.value) if is_made_here(frame, each) and _is_of_data(each)]
    given = parameter_names(frame.function)
    for path, call in brought_in(frame.function) if made else ():
        if first_name(path) not in given:
            continue
        if _is_of_autograd(frame) or any(_takes_type(each, node, path) for each in made):
            frame.machine.record(("round trip", frame.function), partial(_fact, frame, node, path, call), event.state)
            return


def _note_end(event: FunctionEnded) -> None:
    """What a function calculates of an argument on the host in one case, and by torch in another."""
    frame, function = event.frame, event.frame.function
    if frame.depth or not isinstance(function, ast.FunctionDef) or len(frame.returned) < _CASES:
        return
    if any(is_of_places([each.test]) for each in nodes_in(function, ast.If)):
        return
    for node, _, value in frame.returned:
        made = [each for each in tensors_in(value) if is_made_here(frame, each) and _is_of_data(each)]
        for path, call in brought_in(function) if made else ():
            there = Device(Origin.ARGUMENT, path)
            others = (each for at, _, one in frame.returned if at is not node for each in tensors_in(one))
            if any(each.device == there and not each.moved for each in others) and _is_made_of(function, made[0], call):
                frame.machine.record(("round trip", function), partial(_fact, frame, node, path, call), event.state)
                return


def _is_made_of(function: ast.AST, value: Tensor, brought: ast.Call) -> bool:
    """Whether a tensor was made of what a call brought to the host, there or by names."""
    level: list[ast.AST] = [site.node for site in value.creations]
    for _ in range(_MOST_NAMES):
        if any(is_inside(brought, each) for each in level):
            return True
        names = {one.id for each in level for one in inside(each) if isinstance(one, ast.Name)}
        level = [each for name in names for each in values_by_path(function).get(name, ())]
    return False


_MOST_NAMES = 4
"""How many names are followed from one to the next."""
_CASES = 2


def _fact(frame: Frame, node: ast.AST, path: str, call: ast.Call) -> DeviceNotForwarded:
    machine = frame.machine
    return DeviceNotForwarded(
        machine.span_of(node),
        frame.scope,
        "",
        "brought",
        path,
        f".to({path}.device)",
        machine.span_of(call),
        "",
        True,
        False,
    )


def _is_of_data(value: Tensor) -> bool:
    """Whether it was made of an array, and is no single number."""
    makers = {site.function.rpartition(".")[2] for site in value.creations}
    return makers <= _FROM_DATA and (bool(value.ndim) or makers == {"from_numpy"})


def _is_of_autograd(frame: Frame) -> bool:
    return is_function(frame.owner)


def _takes_type(value: Tensor, node: ast.AST, path: str) -> bool:
    """Whether a tensor is given the dtype of what a path names, where it is made or returned."""
    places = (node, *(site.node for site in value.creations))
    asked = (each for place in places for each in inside(place) if isinstance(each, ast.Attribute))
    return any(each.attr == "dtype" and dotted_path(each.value) == path for each in asked)


def brought_in(function: ast.AST | None) -> list[tuple[str, ast.Call]]:
    """What a function brings to the CPU, by its path: ``x.cpu()``, ``x.detach().to(cpu)``."""
    return [] if function is None else _brought_in(function)


@once_a_node
def _brought_in(function: ast.AST) -> list[tuple[str, ast.Call]]:
    found = []
    for call in nodes_in(function, ast.Call):
        if isinstance(call.func, ast.Attribute) and (call.func.attr == "cpu" or _says_cpu(call)):
            held: ast.expr = call.func.value
            while isinstance(held, (ast.Call, ast.Attribute)) and dotted_path(held) is None:
                held = held.func if isinstance(held, ast.Call) else held.value
            if isinstance(held, ast.Attribute) and isinstance(call.func.value, ast.Call):
                held = held.value
            path = dotted_path(held)
            if path is not None:
                found.append((path.removesuffix(".data"), call))
    return found


def _says_cpu(call: ast.Call) -> bool:
    """``x.to("cpu")``, ``x.to(device=cpu)``."""
    given = arguments_of(call)
    named = (each.value if isinstance(each, ast.Constant) else dotted_path(each) for each in given)
    return call.func.attr == "to" and "cpu" in named  # type: ignore[attr-defined]


EVENTS = {Returned: _note_returned, FunctionEnded: _note_end}
