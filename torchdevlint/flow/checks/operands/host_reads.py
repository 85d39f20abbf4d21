"""Reads by the host: NumPy, and what works through it, gets a tensor that is on an accelerator (TDL006)."""

from __future__ import annotations

import ast
import re

from msgspec.structs import replace

from torchdevlint.flow.checks.operands.maybe_numbers import may_be_number
from torchdevlint.flow.checks.operands.met_elsewhere import led_by, puts_several_together
from torchdevlint.flow.checks.operands.moved_in_one_case import place_as_tested, place_in_one_case
from torchdevlint.flow.checks.operands.reached_by_place import is_reached_by_place
from torchdevlint.flow.checks.operands.users_reads import is_detached_for_users, is_for_users
from torchdevlint.flow.events import ItemAssigned, LibraryCalled, ReadByHost
from torchdevlint.flow.facts.common import Operand
from torchdevlint.flow.facts.tensors import ReadOnHost
from torchdevlint.flow.kinds.parameters import came_as_argument, is_input
from torchdevlint.flow.kinds.sizes import is_one_of_array
from torchdevlint.flow.knowledge import libraries
from torchdevlint.flow.knowledge.array_readers import reads_on_host
from torchdevlint.flow.run.numpy_reads import brought_as_detached, brought_by_class
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.brought_reads import (
    brings_any,
    brought_by_another,
    read_name,
    stem_text,
    takes_tensor,
)
from torchdevlint.flow.scope.brought_twins import brought_besides
from torchdevlint.flow.scope.followed_devices import followed_in, is_detached_in, root_of
from torchdevlint.flow.scope.handed_functions import is_handed_with_device
from torchdevlint.flow.scope.handled_errors import is_after_error
from torchdevlint.flow.scope.names import parameter_names
from torchdevlint.flow.scope.own_devices import has_device, makes_there
from torchdevlint.flow.state.devices import MODEL, TOP, Device, Origin
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import is_of_module
from torchdevlint.flow.state.values import Ref, Seq, Tensor, Unknown, Value
from torchdevlint.flow.vouch.arrays import gives_tensor_to_others
from torchdevlint.flow.vouch.devices import is_only_tensor
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import assignments_in

_ARRAY_MAKERS = frozenset("zeros ones empty full array zeros_like ones_like empty_like full_like".split())
_JOINING = frozenset("stack vstack hstack dstack column_stack concatenate".split())
_ITERATING = _JOINING | {"sum", "fromiter"}
"""Functions of NumPy that go through a generator, or have done so in older releases."""
_OTHER_KIND = regex(r"""['"](?:np|numpy|tf|jax|flax|mlx)['"]|ndarray|is_(?:np|numpy|tf)\b|\btf\.""")
_OTHER_FRAMEWORK = regex(r"""['"](?:tf|jax|flax|mlx)['"]|is_tf\b|\btf\.""")
_TENSOR = regex(r"is_tensor|isinstance\(.*Tensor|type\(.*\) (?:is|==) .*Tensor|is_torch|\.dtype (?:is|==) torch\.")
_OF_A_NAME = regex(r"(?!self|args|opt|cfg|config)\w+\.device")
_KIND_OF_RESULT = regex(r"output|return|convert", re.IGNORECASE)
_BEFORE_THE_MOVE = regex(r"load|save|dump|export|init|reset|weight|import", re.IGNORECASE)


def _note(
    frame: Frame,
    state: State,
    node: ast.AST,
    value_node: ast.expr,
    value: Tensor,
    of_list: bool = False,
    by_callers: bool = False,
) -> None:
    """``t.numpy()``, ``np.f(t)`` or ``array[i] = t`` where `t` is on an accelerator, or a list of such tensors.

    Where an argument is that a function reads as it came, only its callers know.
    """
    if (
        not frame.machine.imports_torch
        or _is_another_kind(state, _OTHER_FRAMEWORK if _is_method(node) else _OTHER_KIND)
        or getattr(frame.function, "name", "") in ("numpy", "__array__")
    ):
        return
    place = None
    if _is_method(node):
        place = place_as_tested(frame, value_node, value) or place_in_one_case(frame, node, value)
    value = value if place is None else replace(value, device=place)
    for_users, argument = False, None
    if by_callers or not (is_off_host(frame, value) or _is_followed(frame, state, node, value_node, value)):
        if frame.function is None or not is_after_error(frame.function, node):
            _note_on_host(frame, state, node, value)
        name = _given_by_callers(frame, node, value)
        if name is None and not is_detached_for_users(frame, state, node, value):
            return
        value = value if name is None else replace(value, device=Device(Origin.ARGUMENT, name))
        by_callers, for_users = True, name is None or is_for_users(frame, state, node, name)
        argument = name or ""
    if is_reached_by_place(frame, node):
        return
    machine = frame.machine
    if value.device == TOP and not is_of_module(value) and isinstance(node, ast.Call):
        value = replace(value, device=Device(Origin.ARGUMENT, stem_text(node)))
    machine.record(
        ("host of callers" if by_callers else "host", node),
        lambda: ReadOnHost(
            machine.span_of(node),
            machine.text_of(node),
            Operand(
                machine.text_of(value_node),
                "the module's device" if is_of_module(value) else value.device.describe(),
                machine.span_of(value_node),
                machine.evidence(value.steps),
            ),
            value.parameter,
            of_list,
            value.opaque,
            is_only_tensor(frame, state, node, value_node) and not _is_presumed(value),
            frame.scope,
            by_callers,
            for_users,
            as_given=_is_as_given(state, value),
            of_argument=came_as_argument(frame, value),
            led_by=_led_by(frame, node, value_node, value),
            meets_others=gives_tensor_to_others(frame.function or machine.tree, node),
        ),
        state,
        value.device.name if argument is None and value.device.origin is Origin.ARGUMENT else argument,
    )


def _led_by(frame: Frame, node: ast.AST, value_node: ast.expr, value: Tensor) -> Operand | None:
    """The call in this file that leads to a read in another file, which only this file knows where it is."""
    led = led_by(frame, node)
    if led is None or not puts_several_together(frame, value_node, value):
        return None
    return Operand(frame.machine.text_of(led[0]), value.device.describe(), frame.machine.span_of(led[0]), ())


def _is_presumed(value: Tensor) -> bool:
    """Whether it came as an argument of a helper, of which nobody says that it is a tensor and not an array."""
    begun = value.steps[0].node if value.steps else None
    return isinstance(begun, ast.arg) and begun.annotation is None and value.device == MODEL


def _is_as_given(state: State, value: Tensor) -> bool:
    """Whether it is an argument of `forward`, or a part of one, that nothing moves or decides about."""
    return is_input(value) and value.device == MODEL and not (value.moved or state.conditions)


def _may_be_array(frame: Frame, value: Tensor) -> bool:
    """Whether it came as an argument of a helper that does with it what arrays allow as well: NumPy is for those.

    What `forward` takes is a tensor, as everywhere.
    """
    return _is_presumed(value) and getattr(frame.machine.entry_node, "name", "") != "forward"


def _note_on_host(frame: Frame, state: State, node: ast.AST, value: Tensor) -> None:
    """An argument of the function that was entered, as it came, was on the CPU if NumPy reads it on every path."""
    machine = frame.machine
    as_it_came = value.device.origin is Origin.ARGUMENT and not (value.moved or state.conditions)
    if as_it_came and machine.entry_node is not None:
        machine.arrivals.read_on_host.setdefault((machine.entry_node, value.device.name), set()).add(node)


def _given_by_callers(frame: Frame, node: ast.AST, value: Tensor) -> str | None:
    """The parameter of a function that other files may call, if that is what it reads, as it came."""
    function = frame.function
    if frame.depth or frame.machine.others is None or value.moved or not isinstance(node, ast.Call):
        return None
    if not isinstance(function, ast.FunctionDef) or function.name.startswith("_"):
        return None
    begun = value.steps[0].node if value.device == TOP and value.steps else None
    name = begun.arg if isinstance(begun, ast.arg) else value.device.name
    return name if name in parameter_names(function) else None


def _note_numpy(event: ReadByHost) -> None:
    """``t.numpy()``."""
    if not event.forced:
        _note(event.frame, event.state, event.node, *event.tensor, by_callers=event.given)


def _note_library(event: LibraryCalled) -> None:
    """A call of NumPy, matplotlib and their kin with a tensor of an accelerator among its arguments, or in a list.

    Parts of what a module of unknown class gave may be numbers, where a list is made of them or they are calculated
    with; one that is joined by itself may be a list of arrays.
    """
    if not reads_on_host(event.name) or _asks_for_number(event):
        return
    frame, state, given = event.frame, event.state, event.arguments.pairs
    joins = event.name.startswith("numpy.") and event.name.rpartition(".")[2] in _JOINING
    sequences = {at for at, value in given if any(isinstance(each, Seq) for _, each in alternatives(value))}
    read = [each for each in given if each[0] not in sequences or event.name not in libraries.DRAWING]
    if event.name.startswith("numpy.") and event.name.rpartition(".")[2] not in _ITERATING:
        read = [each for each in read if not _is_generator(frame, each[0])]
    for value_node, value in (each for one in read for each in tensor_operands(*one)):
        found = _one_tensor(frame, value, state)
        if found is None or (found.opaque and (joins or value_node in sequences)) or _may_be_array(frame, found):
            continue
        if value_node not in sequences and may_be_number(frame, state, value_node):
            continue
        _note(frame, state, event.node, value_node, found, of_list=value_node in sequences)


def _is_generator(frame: Frame, node: ast.expr) -> bool:
    """Whether it is a generator expression, be it by a name: NumPy keeps the object, and asks it for nothing."""
    scope = frame.function or frame.machine.tree
    made = values_by_path(scope).get(node.id, ()) if isinstance(node, ast.Name) else (node,)
    return bool(made) and all(isinstance(each, ast.GeneratorExp) for each in made)


def _asks_for_number(event: LibraryCalled) -> bool:
    """``np.arange(n, dtype=int)`` makes numbers of what it is given one by one, which any 0-dim tensor allows."""
    return event.name == "numpy.arange" and "dtype" in event.arguments.keywords


def _note_item(event: ItemAssigned) -> None:
    """``array[i] = t``: NumPy turns what is assigned into an array, as far as it is not 0-dim.

    For one element it asks the tensor for a number (executed with NumPy 2), which one with a single element gives.
    """
    if event.value_node is None or not isinstance(event.base, Unknown):
        return
    frame, state, target, value_node = event.frame, event.state, event.node, event.value_node
    found = _one_tensor(frame, event.value, state)
    if found is None or not (found.ndim or found.opaque) or not _is_array(frame, target.value, state):
        return
    if not is_one_of_array(frame, target):
        _note(frame, state, target, value_node, found)


def _one_tensor(frame: Frame, value: Value, state: State) -> Tensor | None:
    """The tensor that a value is; also where an attribute holds what it was given, and later a moved model."""
    if isinstance(value, Tensor):
        return value
    found = alternatives(value, state.conditions)
    # what it is without an accelerator does not count: ``if args.cuda: x = x.cuda()``
    used = [each for each in found if not frame.machine.is_without_accelerator(each[0])]
    if len(used) == 1 and len(found) > 1 and isinstance(used[0][1], Tensor):
        return used[0][1]
    tensors = [(conditions, each) for conditions, each in found if isinstance(each, Tensor)]
    if len(tensors) != 1 or tensors[0][0] or any(not isinstance(each, (Tensor, Unknown)) for _, each in found):
        return None
    return tensors[0][1]


def _is_array(frame: Frame, node: ast.expr, state: State) -> bool:
    """Whether a name is bound to new arrays of NumPy, wherever its function binds it."""
    scope = frame.function or frame.machine.tree
    if not isinstance(node, ast.Name) or scope is None:
        return False
    values = [
        each.value
        for each in assignments_in(scope)
        if any(isinstance(target, ast.Name) and target.id == node.id for target in each.targets)
    ]
    return bool(values) and all(_makes_array(frame, each, state) for each in values)


def _makes_array(frame: Frame, node: ast.expr, state: State) -> bool:
    maker = frame.evaluate(node.func, state) if isinstance(node, ast.Call) else None
    return isinstance(maker, Ref) and maker.name.startswith("numpy.") and maker.name[6:] in _ARRAY_MAKERS


def is_off_host(frame: Frame, value: Tensor) -> bool:
    """Whether a tensor is surely not on the CPU.

    In a script ``x.device`` of an unknown `x` says nothing: what is `x` there is known to who runs it.
    """
    device = value.device
    if device.origin is Origin.LITERAL:
        return device.name not in ("cpu", "meta")
    early = frame.context == "init" or _BEFORE_THE_MOVE.search(frame.scope.rpartition(".")[2])
    if device == MODEL and frame.context != "forward" and early:
        return False
    if frame.entry.kind == "module" and _OF_A_NAME.fullmatch(device.name):
        return False
    return device.origin in (Origin.MODEL, Origin.EXPRESSION)


def _is_another_kind(state: State, other: re.Pattern[str]) -> bool:
    """Whether a test says that these are arrays, or tensors of another framework, or no tensors.

    Arrays have no method `numpy`: who asks for that where something is an array means what is returned.
    """
    return any(
        other.search(key) and not _KIND_OF_RESULT.search(key) if holds else _TENSOR.search(key)
        for key, holds in state.conditions
    )


def _is_followed(frame: Frame, state: State, read: ast.AST, node: ast.expr, value: Tensor) -> bool:
    """Whether the function takes the device of the tensor that it reads, so that it expects any device.

    The tensor is an argument, or a parameter of a module that is one, or of `self`. An argument beside it that is read
    by ``.numpy()`` is where it is, but lengths and sizes are often kept on the CPU.
    """
    function = frame.function
    if function is None or frame.depth > 0 or not isinstance(function, ast.FunctionDef):
        return False
    followed, root = followed_in(function), root_of(node)
    if _is_method(read) and value.device == MODEL:
        return frame.context != "init" and brings_any(function)
    if _is_method(read) and _is_brought_elsewhere(frame, function, read):  # type: ignore[arg-type]
        return value.device.origin is Origin.ARGUMENT or value.device == TOP
    if _is_method(read) and value.device == TOP and not _is_made(value):
        return brought_as_detached(frame, state, read) is not None  # type: ignore[arg-type]
    if isinstance(read, ast.Call) and is_detached_in(function, read):
        return value.device.origin is Origin.ARGUMENT and not is_bookkeeping(value.device.name)
    taken = value.device.origin is Origin.ARGUMENT and _is_method(read) and _takes_tensor(function, value)
    if taken and (_is_of_owner(frame, function) or is_handed_with_device(frame.machine.tree, function.name)):
        return True
    if value.device.origin is Origin.ARGUMENT:
        beside = _is_method(read) and not is_bookkeeping(value.device.name)
        return value.device.name in followed or (bool(followed) and beside)
    if is_of_module(value) and _is_method(read) and brings_any(function):
        return True
    return is_of_module(value) and root is not None and root in followed


def _is_made(value: Tensor) -> bool:
    """Whether all that is known of a tensor is which factory has made it."""
    return bool(value.steps) and bool(value.steps[-1].made_by)


def _is_brought_elsewhere(frame: Frame, function: ast.FunctionDef, read: ast.Call) -> bool:
    """Whether this code brings what it reads to the CPU where it reads it, or what comes with it, another time."""
    if brought_besides(function, read) is not None or brought_by_class(frame, function, read) is not None:
        return True
    return bool(name := read_name(read)) and brought_by_another(frame.machine.tree, function, name) is not None


def _takes_tensor(function: ast.FunctionDef, value: Tensor) -> bool:
    """Whether it is an argument that is a tensor, as its annotation says, and no length."""
    return takes_tensor(function, value.device.name) and not is_bookkeeping(value.device.name)


def _is_of_owner(frame: Frame, function: ast.FunctionDef) -> bool:
    """Whether it is a method of an object that makes tensors on its own device."""
    owner = frame.owner
    if owner is None:
        return False
    own = [each for info in owner.mro for each in info.methods.values() if each is not function]
    return any(has_device(info.node) for info in owner.mro) and any(map(makes_there, own))


def _is_method(read: ast.AST) -> bool:
    return isinstance(read, ast.Call) and isinstance(read.func, ast.Attribute) and read.func.attr == "numpy"


EVENTS = {ReadByHost: _note_numpy, LibraryCalled: _note_library, ItemAssigned: _note_item}
