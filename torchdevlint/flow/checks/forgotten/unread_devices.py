"""Devices that a function is told, or asks for, and that nothing in it reads (TDL310).

``def to(self, device)`` that never reads `device` moves nothing. ``device = x.device`` is written for what the function
makes: where nothing reads it, a factory without ``device=`` has forgotten it, if what it makes leaves the function,
meets something, or is given to a model.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from torchdevlint.flow.checks.forgotten.round_trips import brought_in
from torchdevlint.flow.checks.operands.made_here import is_made_here
from torchdevlint.flow.events import Called, FileEnded, FileStarted, LayerCalled, Operated, Returned, UnknownCalled
from torchdevlint.flow.facts.devices import DeviceNotForwarded
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.decorators import decorator_names, is_plain
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.names import (
    dotted_path,
    first_name,
    last_name,
    mentions_device,
    parameter_names,
    public_path,
)
from torchdevlint.flow.scope.parameters import names_given_as_values, reads, reads_all
from torchdevlint.flow.state.devices import CPU
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import tensors_in
from torchdevlint.flow.state.values import Func, Obj, Tensor, Unknown, Value
from torchdevlint.patterns import regex
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import Assignment, arguments_of, assignments_in, nodes_in, once_a_node

_NAMES = ("map_location", "device")
_DISMISSED = regex(r"unused|not used|ignore|compatib|deprecat|no effect|noqa: ?ARG|placeholder|legacy", re.IGNORECASE)
_STATIC = frozenset({"staticmethod", "classmethod"})
_MOVES = regex(
    r"^_*(?:(?:to|cuda|gpu)$|(?:move|transfer|send)(?:_|$)"
    r"|(?:\w+_)?(?:to|change)_(?:device|cuda|gpu)(?:_(?:dict|list|tuple|batch|nested|recursive(?:ly)?|tensors?|model))?$)"
)
"""Names of functions that move what they are given, with the kind of it or not: `to_device_dict`."""

Functions = (ast.FunctionDef, ast.AsyncFunctionDef)


class _Memory:
    """What was found in one analysis, since it depends on the classes and the text of its files."""

    def __init__(self) -> None:
        self.unread: dict[ast.AST, str | None] = {}
        self.dismissed: dict[tuple[ast.AST, str], bool] = {}


def unread_parameter(frame: Frame) -> str | None:
    """The parameter for a device that the function takes of its own accord and never reads; None if there is none."""
    function = frame.function
    if not isinstance(function, Functions):
        return None
    known = frame.machine.memory(_Memory).unread
    if function not in known:
        known[function] = _find_unread(frame, function)
    return known[function]


def _find_unread(frame: Frame, function: FunctionNode) -> str | None:
    names = parameter_names(function)
    found = next((name for name in _NAMES if name in names and not reads(function, name)), None)
    if found is None or any(name in names and reads(function, name) for name in _NAMES):
        return None
    if reads_all(function) or is_dismissed(frame.machine, function, found) or _is_imposed(frame, function):
        return None
    return found


def is_dismissed(machine: Machine, function: FunctionNode, name: str) -> bool:
    """Whether a comment or the docstring says, on a line beside the name, that it is not used."""
    known = machine.memory(_Memory).dismissed
    if (function, name) not in known:
        lines = machine.text_of(function).splitlines()
        named = [place for place, line in enumerate(lines) if re.search(rf"\b{name}\b", line)]
        known[function, name] = any(_DISMISSED.search(line) for place in named for line in lines[place : place + 3])
    return known[function, name]


def _is_imposed(frame: Frame, function: FunctionNode) -> bool:
    """Whether others say what the function takes: a base, a decorator, a table, a command line, a test runner."""
    machine = frame.machine
    if not is_plain(function) or decorator_names(function) - _STATIC - {"no_grad", "inference_mode"}:
        return True
    if function.name == "main" or function.name.startswith("test"):
        return True
    if function.name in names_given_as_values(machine.tree):
        return True
    owner = frame.owner
    if owner is None or function.name == "__init__":
        return False
    if not owner.resolved or function.name == "forward" or function.name.startswith("__"):
        return True
    return any(info is not owner and function.name in info.methods for info in machine.classes.values())


def is_called_mover(name: str) -> bool:
    """Whether a function is called after a move: `to_device`, `move_batch`."""
    return bool(_MOVES.search(name))


class Told(NamedTuple):
    """The name of a device that nothing reads, and where it is told; `asked` if the function asks a tensor for it."""

    name: str
    node: ast.AST
    asked: bool


def _begin(event: FileStarted) -> None:
    machine = event.machine
    if any(map(told_in, functions_in(machine.tree))):
        machine.observe(Operated, _note_operation)
        machine.observe(LayerCalled, _note_layer)
        machine.observe(UnknownCalled, _note_call)
        machine.observe(Called, _note_function)
        machine.observe(Returned, _note_returned)


@once_a_node
def told_in(function: FunctionNode) -> Told | None:
    """The device that a function takes as an argument, or binds to a name of its own, and never reads."""
    spec = function.args
    bound = _devices_bound_in(function)
    if (not bound and "device" not in parameter_names(function)) or reads_all(function):
        return None
    for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
        if each.arg == "device" and not reads(function, each.arg):
            return Told(each.arg, each, asked=False)
    read = {each.id for each in nodes_in(function, ast.Name) if not isinstance(each.ctx, ast.Store)}
    times = Counter(name for name, _ in bound)
    for name, value in bound:
        if times[name] == 1 and name not in read and _asks_tensor(value):
            return Told(name, value, asked=True)
    return None


def _devices_bound_in(function: FunctionNode) -> list[tuple[str, ast.expr]]:
    """Names of devices and what they are assigned, also in ``n, d, device = *x.shape, x.device``."""
    found = []
    for assigned in assignments_in(function):
        value = assigned.value
        for target in assigned.targets:
            if type(target) is ast.Name:
                pairs: Iterable[tuple[ast.expr, ast.expr]] = [(target, value)]
            elif type(target) is ast.Tuple and type(value) is ast.Tuple:
                pairs = _unpacked(target.elts, value.elts)
            else:
                continue
            found += [(each.id, given) for each, given in pairs if type(each) is ast.Name and mentions_device(each.id)]
    return found


def _unpacked(targets: list[ast.expr], values: list[ast.expr]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of a tuple, each with its value: in front of a star from the left, behind it from the right."""
    starred = [place for place, each in enumerate(values) if isinstance(each, ast.Starred)]
    if not starred:
        yield from zip(targets, values, strict=False)
        return
    yield from zip(targets, values[: starred[0]], strict=False)
    yield from zip(reversed(targets), reversed(values[starred[-1] + 1 :]), strict=False)


def _asks_tensor(value: ast.expr) -> bool:
    """``x.device``, ``self.device``, ``next(model.parameters()).device``; also what a function makes of one of them."""
    if isinstance(value, ast.Call) and not public_path(value.func).startswith("torch."):
        return any(_asks_tensor(each) for each in arguments_of(value) if isinstance(each, ast.Attribute))
    named = first_name(public_path(value))
    return isinstance(value, ast.Attribute) and value.attr == "device" and named not in ("torch", "jax", "tensorflow")


def _told(frame: Frame) -> Told | None:
    """What the function that was entered is told in vain, and nobody has decided for it."""
    function = frame.function
    told = told_in(function) if isinstance(function, Functions) and not frame.depth else None
    if told is None or not isinstance(function, Functions) or is_dismissed(frame.machine, function, told.name):
        return None
    return told if told.asked or unread_parameter(frame) == told.name else None


def _note_operation(event: Operated) -> None:
    """``result | flags``, where `result` was made here, and nothing says where `flags` are."""
    told = _told(event.frame)
    values = [value for _, value in event.operands]
    if told is not None and told.asked and any(map(_is_somewhere, values)):
        made = [each for each in values if isinstance(each, Tensor) and each.ndim]
        _note_made(event.frame, event.state, told, made)


def _is_somewhere(value: Value) -> bool:
    """Whether it comes from an argument, wherever that is."""
    return isinstance(value, Unknown) and value.given is not None


def _note_layer(event: LayerCalled) -> None:
    """``model(torch.from_numpy(image))``."""
    _note_given(event.frame, event.state, event.operands)


def _note_call(event: UnknownCalled) -> None:
    """``kernel[grid](x, out)``."""
    _note_given(event.frame, event.state, event.arguments.pairs)


def _note_given(frame: Frame, state: State, given: Iterable[tuple[ast.expr, Value]]) -> None:
    told = _told(frame)
    if told is not None and not state.guarded:
        named = (value for at, value in given if not is_bookkeeping(dotted_path(at)))
        held = (each for value in named for _, each in alternatives(value, state.conditions))
        _note_made(frame, state, told, [each for each in held if isinstance(each, Tensor)])


def _note_function(event: Called) -> None:
    """``pad(mask)``, a function of the project: what it is given has left the one that was to place it."""
    called, callee = event.function, event.node.func
    is_method = type(called) is Obj and isinstance(callee, ast.Attribute) and callee.attr in called.info.all_methods
    if (is_method or type(called) is Func) and not event.frame.depth:
        told = _told(event.frame)
        if told is not None and told.asked:
            _note_given(event.frame, event.state, event.arguments.pairs)


def _note_returned(event: Returned) -> None:
    """``return torch.cat(parts)``, for a tensor that is asked for its place."""
    told = _told(event.frame)
    if told is not None and told.asked:
        held = list(tensors_in(event.value))
        _note_made(event.frame, event.state, told, held)
        _note_brought(event.frame, event.state, told, event.node, held)


def _note_brought(frame: Frame, state: State, told: Told, node: ast.AST, values: Iterable[Tensor]) -> None:
    """``device = x.device; x = x.cpu(); ..; return weights``: the result was to go back to where `x` was."""
    asked = dotted_path(told.node.value) if isinstance(told.node, ast.Attribute) else None
    there = any(value.device == CPU and value.ndim != 0 for value in values)
    if there and any(path == asked for path, _ in brought_in(frame.function)):
        key = ("unread device", frame.function, told.name)
        frame.machine.record(key, partial(fact_of, frame.machine, frame.scope, told, "brought", node, ""), state)


def _note_made(frame: Frame, state: State, told: Told, values: Iterable[Tensor]) -> None:
    for value in values:
        if is_made_here(frame, value) and frame.function not in frame.machine.pipeline:
            for site in value.creations:
                key = ("unread device", frame.function, told.name)
                make = partial(fact_of, frame.machine, frame.scope, told, "unread", site.node, site.function)
                frame.machine.record(key, make, state)
                return


def _note_movers(event: FileEnded) -> None:
    """A function that is called after a move takes a device, and does something else with what it is given."""
    machine = event.machine
    if not imports_torch(machine.tree):
        return
    owners = {function: owner.name for owner in nodes_in(machine.tree, ast.ClassDef) for function in owner.body}
    for function in functions_in(machine.tree):
        told = told_in(function) if is_plain(function) else None
        if told is None or told.asked or is_dismissed(machine, function, told.name):
            continue
        name = f"{owners[function]}.{function.name}" if function in owners else function.name
        key = ("unread device", function, told.name)
        chosen = _chosen_in(function) if function.name == "__init__" or function not in owners else None
        if is_called_mover(function.name) and _does_something(function) and not _places(function):
            machine.record_anyway(key, partial(fact_of, machine, name, told, "mover", told.node, name))
        elif chosen is not None and function.name not in names_given_as_values(machine.tree):
            made = partial(fact_of, machine, name, told, "chosen", chosen.value, ast.unparse(chosen.targets[0]))
            machine.record_anyway(key, made)


def _chosen_in(function: FunctionNode) -> Assignment | None:
    """``self.device = "cuda" if torch.cuda.is_available() else "cpu"``: it chooses what it was told."""
    for each in assignments_in(function):
        calls = nodes_in(each.value, ast.Call)
        asks = any(public_path(call.func) == "torch.cuda.is_available" for call in calls)
        if asks and isinstance(each.value, (ast.Call, ast.IfExp)) and mentions_device(last_name(each.targets[0])):
            return each
    return None


def _does_something(function: FunctionNode) -> bool:
    """Whether it gives back what it was given, or writes to what it keeps; ``return self`` has nothing to move."""
    written = any(isinstance(each.ctx, ast.Store) for each in nodes_in(function, ast.Attribute))
    return written or any(_is_of(function, each) for each in nodes_in(function, ast.Return) if each.value is not None)


def _places(function: FunctionNode) -> bool:
    """Whether it moves something all the same, to a place that it chooses itself."""
    methods = (each.func.attr for each in nodes_in(function, ast.Call) if isinstance(each.func, ast.Attribute))
    return not torch_api.PLACING_METHODS.isdisjoint(methods)


def _is_of(function: FunctionNode, returned: ast.Return) -> bool:
    given = {each.arg for each in nodes_in(function, ast.arg)} - {"self", "cls"}  # also what a wrapper in it gets
    names = {each.id for each in nodes_in(returned, ast.Name)}
    makes = isinstance(returned.value, ast.Call) and last_name(returned.value.func)[:1].isupper()
    if makes and "self" in names:  # ``Batch(self.x)``
        return True
    return bool(names & given) or any(names.intersection(values_by_path(function)))


def fact_of(machine: Machine, scope: str, told: Told, kind: str, at: ast.AST, target: str) -> DeviceNotForwarded:
    """The fact of a device that a function is told and does not read, at what was to be there."""
    return DeviceNotForwarded(
        machine.span_of(at),
        scope,
        told.name,
        kind,
        target,
        f"device={told.name}",
        machine.span_of(told.node),
        machine.text_of(told.node),
        True,
        False,
    )


SAYING = ("dev", "Dev", "DEV")
EVENTS = {FileStarted: _begin, FileEnded: _note_movers}
