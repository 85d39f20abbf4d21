"""What goes to CUDA where a machine has it, and meets what goes to a device that is told from outside (TDL012).

``if torch.cuda.is_available(): model.cuda()`` asks the machine. Who is told a device, by an argument, a setting of
another file or an attribute that ``__init__`` was given, may be told the CPU of that machine, or its second GPU.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.literals.given_devices import Given
from torchdevlint.flow.checks.literals.placement import asks_only_the_machine, literal_place, record
from torchdevlint.flow.events import Met
from torchdevlint.flow.run.arguments import names_a_device
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.scope.naming_cuda import cuda_in_words, device_arguments
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.devices import Origin, Relation
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Ref, Tensor
from torchdevlint.source.functions import FunctionNode


def _note_meeting(event: Met) -> None:
    if event.relation is not Relation.UNKNOWN:
        return
    for (_, placed), (_, given) in ((event.one, event.other), (event.other, event.one)):
        if placed.device.origin is not Origin.LITERAL or given.device.origin is not Origin.EXPRESSION:
            continue
        place = literal_place(event.frame, placed)
        if place is not None and asks_only_the_machine(event.frame, place):
            _look(event.frame, event.state, place, given)


def _look(frame: Frame, state: State, place: ast.expr, given: Tensor) -> None:
    told = given.steps[-1].node if given.steps else None
    named = next(iter(device_arguments(told)), None) if isinstance(told, ast.Call) else None
    path = dotted_path(named) if named is not None else None
    if named is None or path is None or path != given.device.name or not _is_from_outside(frame, state, named, path):
        return
    found = Given(path, f"`{path}` is where it goes that is used with it", named)
    record(frame, state, place, cuda_in_words(place), found)


def _is_from_outside(frame: Frame, state: State, named: ast.expr, path: str) -> bool:
    """Whether an expression for a device is an argument, a name of another file, or what the object was given."""
    if isinstance(named, ast.Name) and frame.function is not None and path in parameter_names(frame.function):
        return not any(bound for _, bound, _ in bindings_in(frame.function)[path])
    if path.startswith("self."):
        classes = () if frame.owner is None else frame.owner.mro
        return any(_is_given_to(each.methods.get("__init__"), path) for each in classes)
    value = frame.evaluate(named, state)
    return isinstance(value, Ref) and names_a_device(value)


def _is_given_to(init: FunctionNode | None, path: str) -> bool:
    """Whether ``__init__`` keeps one of its arguments under a path, as it came."""
    values = [] if init is None else values_by_path(init).get(path, ())
    names = () if init is None else parameter_names(init)
    return bool(values) and all(isinstance(each, ast.Name) and each.id in names for each in values)


EVENTS = {Met: _note_meeting}
