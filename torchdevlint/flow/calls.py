"""Transfer function of calls: what is called decides."""

from __future__ import annotations

import ast
import re
import sys
from typing import Any

from torchdevlint.flow import (
    checkpoints,
    distributions,
    environment,
    host_reads,
    loaders,
    placement,
    records,
    torch_api,
)
from torchdevlint.flow.annotations import annotated_tensor
from torchdevlint.flow.arguments import Arguments, evaluate_arguments
from torchdevlint.flow.attributes import attribute
from torchdevlint.flow.devices import DEFAULT, TOP, Device, Origin
from torchdevlint.flow.evidence import Uses, uses_in
from torchdevlint.flow.functions import run_function, spread
from torchdevlint.flow.joins import element_of, given_tensor, join, sequence
from torchdevlint.flow.library_calls import call_library
from torchdevlint.flow.machine import Frame, State, under_each
from torchdevlint.flow.module_methods import call_module_method
from torchdevlint.flow.modules import call_module, follows_input, given_by, opaque_result
from torchdevlint.flow.names import canonical, dotted_path
from torchdevlint.flow.objects import write_attribute
from torchdevlint.flow.operations import combine
from torchdevlint.flow.tensor_methods import call_tensor_method, method_device, tensor_operands, to_device
from torchdevlint.flow.values import (
    MAX_MEMBERS,
    NUMBER,
    TEXT,
    UNKNOWN,
    Choice,
    Cls,
    Const,
    Func,
    Library,
    Loaded,
    Map,
    Obj,
    Partial,
    Record,
    RecordType,
    Ref,
    Seq,
    StateDict,
    Step,
    Super,
    Tensor,
    Text,
    Unknown,
    Value,
)
from torchdevlint.source.nodes import nodes_in

_MAX_DISTRIBUTED = 3
_PLACED = frozenset({Origin.EXPRESSION, Origin.LITERAL})
"""Where something unknown was moved: if it is called, it is a module."""


def call(frame: Frame, node: ast.Call, state: State) -> Value:
    callee = node.func
    if isinstance(callee, ast.Name) and callee.id == "super":
        return _super(frame)
    if not isinstance(callee, ast.Attribute):
        function = frame.evaluate(callee, state)
        return call_value(frame, state, node, function, evaluate_arguments(frame, node, state))
    receiver = frame.evaluate(callee.value, state)
    arguments = evaluate_arguments(frame, node, state)
    return call_attribute(frame, state, node, callee, receiver, arguments)


def call_attribute(
    frame: Frame, state: State, node: ast.Call, callee: ast.Attribute, receiver: Value, arguments: Arguments
) -> Value:
    """``receiver.name(..)``."""
    if isinstance(receiver, Choice):
        if len(receiver.alternatives) > _MAX_DISTRIBUTED:
            return UNKNOWN
        path = dotted_path(callee.value)
        if path is not None and path not in state.env:
            state.paths.setdefault(path, receiver)
        return under_each(state, receiver, lambda each: call_attribute(frame, state, node, callee, each, arguments))
    if isinstance(receiver, Tensor):
        return call_tensor_method(frame, state, node, callee.value, receiver, callee.attr, arguments)
    if isinstance(receiver, Ref):
        full = canonical(f"{receiver.name}.{callee.attr}")
        return call_value(frame, state, node, Ref(full), arguments)
    if state.paths:
        path = dotted_path(callee)
        if path is not None and path in state.paths:
            return call_value(frame, state, node, state.paths[path], arguments)
    found = attribute(frame, callee, state, receiver)
    if not isinstance(found, Unknown):
        return call_value(frame, state, node, found, arguments)
    return _brought_by_kind(frame, state, node, callee, receiver, arguments)


def _brought_by_kind(
    frame: Frame, state: State, node: ast.Call, callee: ast.Attribute, receiver: Value, arguments: Arguments
) -> Value:
    """A method that no class of this file defines: what the kind of the receiver brings."""
    if isinstance(receiver, Obj):
        operands = [each for given in arguments.pairs for each in tensor_operands(*given)]
        placement.note_layer_input(frame, state, node, operands)
        if _is_held(receiver, callee.attr):
            return opaque_result(operands, receiver.device, given_by(receiver, receiver.device, node))
        if _is_module_by_use(frame, callee):
            return follows_input(operands)
    if isinstance(receiver, Library) and distributions.is_distribution(receiver.name):
        return distributions.call_method(frame, state, node, callee.value, receiver, arguments)
    if isinstance(receiver, (Obj, Library, Super)):
        found = call_module_method(frame, state, node, callee, receiver, arguments)
        own = isinstance(receiver, (Obj, Super)) and not receiver.info.resolved
        return _of_inputs(frame, node, arguments) if found == UNKNOWN and own else found
    if isinstance(receiver, (Seq, Map)):
        return _container_method(frame, state, callee, receiver, arguments)
    if isinstance(receiver, Record):
        return _record_method(callee.attr, receiver, arguments)
    if isinstance(receiver, (Const, Text)):
        return TEXT if callee.attr in ("format", "join", "strip", "lower", "upper", "replace") else UNKNOWN
    if isinstance(receiver, (StateDict, Loaded)):
        return checkpoints.method(frame, state, node, callee, receiver, arguments)
    given = receiver.given if isinstance(receiver, Unknown) else None
    if given is not None and callee.attr in torch_api.TENSOR_ONLY_METHODS:
        tensor = given_tensor(given, callee.value)
        return call_tensor_method(frame, state, node, callee.value, tensor, callee.attr, arguments)
    if not isinstance(receiver, Unknown):
        return UNKNOWN
    found = _unknown_method(frame, state, node, callee, arguments)
    if found != UNKNOWN or callee.attr in _LEAVES_TENSORS:
        return found
    return receiver if given is not None else _of_inputs(frame, node, arguments)


def _is_held(receiver: Obj, name: str) -> bool:
    """Whether a Module assigns the attribute that is called: a layer of a class that is not known here."""
    info = receiver.info
    return info.is_module and any(name in each.writers for each in info.mro)


def call_value(frame: Frame, state: State, node: ast.Call, callee: Value, arguments: Arguments) -> Value:
    """Calling a value."""
    if isinstance(callee, Ref):
        found = call_library(frame, state, node, callee.name, arguments)
        return _of_inputs(frame, node, arguments) if found == UNKNOWN and not _is_known(callee.name) else found
    if isinstance(callee, Func):
        placement.note_default(frame, state, node, callee, arguments)
        given = spread(callee, arguments)
        found = UNKNOWN if given is None else run_function(frame, state, node, callee, *given)
        declared = found == UNKNOWN and annotated_tensor(getattr(callee.node, "returns", None))
        return _as_tensor(_of_inputs(frame, node, arguments, declared), node) if declared else found
    if isinstance(callee, RecordType):
        return _make_record(callee, arguments)
    if isinstance(callee, Partial):
        return call_value(frame, state, node, callee.function, arguments.after(callee.positional, callee.keywords))
    if isinstance(callee, Cls):
        return _construct(frame, state, node, callee, arguments)
    if isinstance(callee, Obj):
        return _call_object(frame, state, node, callee, arguments)
    if isinstance(callee, Library) and callee.module:
        return call_module(frame, state, node, callee, arguments)
    if isinstance(callee, Tensor) and callee.opaque and callee.device.origin in _PLACED:
        module = Library("", True, callee.device, placed=callee.steps[-1] if callee.steps else None)
        return call_module(frame, state, node, module, arguments)
    if isinstance(callee, Unknown):
        return _call_unknown(frame, state, node, arguments)
    if isinstance(callee, Choice) and len(callee.alternatives) <= _MAX_DISTRIBUTED:
        return under_each(state, callee, lambda each: call_value(frame, state, node, each, arguments))
    return UNKNOWN


def _call_unknown(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    operands = [each for given in arguments.pairs for each in tensor_operands(*given)]
    placement.note_layer_input(frame, state, node, operands)
    if _is_module_by_use(frame, node.func):
        return follows_input(operands)
    made = _of_inputs(frame, node, arguments)
    if not _is_criterion(node.func):
        return made
    if any(loaders.is_from_loader(value) for _, value in operands):
        combine(frame, state, node, f"`{frame.machine.text_of(node.func)}()`", operands, True)
    return made if made.given is None else Tensor(made.given, None, opaque=True)


def _is_own_method(node: ast.expr) -> bool:
    """``self.f``, which the class inherits from elsewhere: it may as well bring its arguments to the CPU."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _as_tensor(value: Unknown, node: ast.Call) -> Value:
    """What a function gives that is declared to give a tensor."""
    return value if value.given is None else given_tensor(value.given, node)


def _is_known(name: str) -> bool:
    """Whether a library function is torch's or Python's: what it gives is known, or unknown on purpose."""
    root = name.partition(".")[0]
    return root in ("torch", "builtins", "numpy") or root in sys.stdlib_module_names


def _of_inputs(frame: Frame, node: ast.Call, arguments: Arguments, declared: bool = False) -> Unknown:
    """What an unknown function makes of tensors that are all in one place, unless its name speaks of the CPU.

    `declared` says that it is annotated to give a tensor.
    """
    if _LEAVES_DEVICE.search(dotted_path(node.func) or "cpu"):
        return UNKNOWN
    places = [each.device for pair in arguments.pairs for _, each in tensor_operands(*pair) if isinstance(each, Tensor)]
    device = places[0] if places else TOP
    if device.origin is Origin.MODEL:
        follows = frame.context == "forward" and all(each == device for each in places)
    elif device.origin is Origin.EXPRESSION:
        follows = all(each == device for each in places)
    else:
        follows = all(each.origin is Origin.ARGUMENT for each in places) and (declared or not _is_own_method(node.func))
    return Unknown(given=device) if places and follows else UNKNOWN


_LEAVES_TENSORS = frozenset("cpu numpy tolist item keys split join format index count get pop".split())
"""Methods that give no tensor of the same place."""
_LEAVES_DEVICE = re.compile(
    r"cpu|numpy|(?:^|[._])np(?:$|[._])|list|ind(?:ex|ices)|idx|match|assign|len|mask|pos|sampl|nms|item|host",
    re.IGNORECASE,
)
"""Names of functions that may bring a tensor to the CPU, or make one there."""


def _is_criterion(node: ast.expr) -> bool:
    """Whether a callable of unknown kind is by its name a loss."""
    name = (dotted_path(node) or "").rpartition(".")[2].lower()
    return "criterion" in name or "loss" in name


def _super(frame: Frame) -> Value:
    if frame.owner is None or frame.receiver is None:
        return UNKNOWN
    return Super(frame.owner, frame.receiver)


def _construct(frame: Frame, state: State, node: ast.Call, callee: Cls, arguments: Arguments) -> Value:
    info = callee.info
    if info.record is not None:
        return _make_record(info.record, arguments)
    info.in_pipeline = info.in_pipeline or frame.function in frame.machine.pipeline
    made = Obj(info, DEFAULT if info.is_module else TOP)
    init = info.method("__init__", made)
    given = spread(init, arguments) if init is not None else None
    if init is not None and given is not None:
        run_function(frame, state, node, init, *given)
    if info.resolved or info.is_module or init is not None:
        return made
    return UNKNOWN


def _make_record(kind: RecordType, arguments: Arguments) -> Value:
    if arguments.starred or arguments.double_starred:
        given = [value for _, value in arguments.positional]
        spread = given[0] if len(given) == 1 and not arguments.keywords and arguments.starred else UNKNOWN
        return records.make(kind, [spread] * len(kind.fields), {})
    return records.make(kind, arguments.values, arguments.keyword_values)


def _call_object(frame: Frame, state: State, node: ast.Call, callee: Obj, arguments: Arguments) -> Value:
    name = "forward" if callee.info.is_module and "__call__" not in callee.info.all_methods else "__call__"
    method = callee.info.method(name, callee)
    given = spread(method, arguments) if method is not None else None
    return UNKNOWN if method is None or given is None else run_function(frame, state, node, method, *given)


def _record_method(name: str, receiver: Record, arguments: Arguments) -> Value:
    if name == "_replace" and not arguments.double_starred:
        return Record(receiver.kind, tuple({**dict(receiver.items), **arguments.keyword_values}.items()))
    return Map(receiver.items, UNKNOWN, closed=True) if name == "_asdict" else UNKNOWN


def _container_method(
    frame: Frame, state: State, callee: ast.Attribute, receiver: Seq | Map, arguments: Arguments
) -> Value:
    name = callee.attr
    if isinstance(receiver, Map):
        values = [value for _, value in receiver.items]
        element = receiver.element
        for value in values:
            element = value if isinstance(element, Unknown) else join(element, value)
        if name == "items":
            return Seq(None, sequence([TEXT, element]))
        if name == "values":
            return Seq(None, element)
        if name in ("get", "pop") and arguments.positional:
            key, default = arguments.positional[0][1], arguments.value(1, "default")
            known: dict[Any, Value] = dict(receiver.items)
            if isinstance(key, Const) and key.value in known:
                return known[key.value]
            found = receiver.element if isinstance(key, Const) else element
            return Choice((((), found), ((), default))) if isinstance(default, Tensor) and found != default else found
        if name in ("update", "setdefault", "clear", "popitem"):
            return _grow_map(state, callee, receiver, arguments)
        return UNKNOWN
    if name in ("append", "extend", "insert", "add", "appendleft") and arguments.positional:
        added = arguments.positional[-1][1]
        value = element_of(added) if name == "extend" else added
        grown = (
            _append(receiver, value)
            if name == "append"
            else Seq(None, value if receiver.items == () else join(receiver.element, value))
        )
        path = dotted_path(callee.value)
        if path is not None:
            (state.env if path in state.env else state.paths)[path] = grown
        return UNKNOWN
    if name in ("pop", "popleft"):
        return receiver.element
    if name in ("index", "count"):
        return NUMBER
    return receiver if name in ("copy", "__reversed__") else UNKNOWN


def _grow_map(state: State, callee: ast.Attribute, receiver: Map, arguments: Arguments) -> Value:
    """``d.update(..)`` and ``d.setdefault(key, value)``; what other methods leave behind is unknown."""
    held, path = dict(receiver.items), dotted_path(callee.value)
    grown = Map((), UNKNOWN)
    found: Value = UNKNOWN
    other = arguments.value(0, "other")
    if callee.attr == "setdefault" and isinstance(other, Const) and len(arguments.positional) == 2:
        added = arguments.positional[1][1]
        found = held.get(other.value, added if receiver.closed else UNKNOWN)
        grown = Map(tuple({**held, other.value: found}.items()), receiver.element, receiver.closed)
    elif callee.attr == "update" and not (arguments.starred or arguments.double_starred):
        more = dict(other.items) if isinstance(other, Map) else {}
        whole = not arguments.positional or (isinstance(other, Map) and other.closed)
        items = tuple({**(held if whole else {}), **more, **arguments.keyword_values}.items())
        grown = Map(items, receiver.element if whole else UNKNOWN, receiver.closed and whole)
    if path is not None:
        (state.env if path in state.env else state.paths)[path] = grown
    return found


def _append(receiver: Seq, value: Value) -> Seq:
    if receiver.items is not None and len(receiver.items) < MAX_MEMBERS:
        return sequence([*receiver.items, value])
    members = receiver.members if receiver.items is None else tuple(dict.fromkeys(receiver.items))
    return Seq(None, join(receiver.element, value), tuple(dict.fromkeys((*members, value)))[:MAX_MEMBERS])


def _moved_unknown(frame: Frame, state: State, node: ast.Call, receiver: ast.expr, device: Device) -> Value:
    """What ``x.to(d)`` gives for something unknown: what is called is a module, and moves in place; else tensors."""
    path = dotted_path(receiver)
    if device == TOP or "pipe" in (path or "").lower():
        return UNKNOWN
    step = Step(f"moved to {device.describe()}", node)
    if path is None:
        return Library("", True, device, placed=step) if _constructs(frame, state, receiver) else UNKNOWN
    if not _is_called(frame, receiver, path):
        return Tensor(device, None, (), (step,), moved=True, opaque=True)
    moved = Library("", True, device, placed=step)
    (state.env if path in state.env else state.paths)[path] = moved
    if isinstance(receiver, ast.Attribute):
        holder = frame.evaluate(receiver.value, state)
        if isinstance(holder, Obj) and isinstance(holder.info.attributes.get(receiver.attr), Unknown):
            del holder.info.attributes[receiver.attr]
        write_attribute(holder, receiver.attr, moved)
    return moved


def _is_module_by_use(frame: Frame, callee: ast.expr) -> bool:
    """Whether what is called is a name or attribute of `self` that is asked for parameters, trained or evaluated."""
    path = dotted_path(callee)
    scope = frame.owner.node if frame.owner is not None and (path or "").startswith("self.") else frame.function
    return (
        path is not None
        and scope is not None
        and any(
            node.attr in torch_api.MODULE_ONLY_ATTRIBUTES and dotted_path(node.value) == path
            for node in nodes_in(scope, ast.Attribute)
        )
    )


def _constructs(frame: Frame, state: State, node: ast.expr) -> bool:
    """Whether it makes an object of a class of another file, as ``Encoder(..)`` and ``Model.from_pretrained(..)`` do.

    A pipeline is no module: what it gives is for the host.
    """
    callee = frame.evaluate(node.func, state) if isinstance(node, ast.Call) else UNKNOWN
    if not isinstance(callee, Ref):
        return False
    name = callee.name.removesuffix(".from_pretrained").rpartition(".")[2].lstrip("_")
    return name[:1].isupper() and not name.isupper() and "Pipeline" not in name


def _is_called(frame: Frame, receiver: ast.expr, path: str) -> bool:
    """Whether a name, or an attribute of `self` anywhere in its class, is called or asked for parameters."""
    scope = frame.function or frame.machine.tree
    if isinstance(receiver, ast.Name):
        uses = uses_in(scope).get(receiver.id) if scope is not None else None
        return uses is not None and (uses.is_module or uses.called or _is_called_elsewhere(frame, uses))
    if frame.owner is None or not path.startswith("self."):
        return False
    return any(
        dotted_path(node.func) == path
        or (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in torch_api.MODULE_ONLY_ATTRIBUTES
            and dotted_path(node.func.value) == path
        )
        for node in nodes_in(frame.owner.node, ast.Call)
    )


def _is_called_elsewhere(frame: Frame, uses: Uses) -> bool:
    """Whether it is given to a function of this file that calls it, or asks it for parameters."""
    for given, place in uses.arguments:
        callee = frame.evaluate(given.func, State({})) if isinstance(given.func, ast.Name) else UNKNOWN
        before = given.args[:place] if isinstance(place, int) else []
        if isinstance(callee, Func) and not any(isinstance(each, ast.Starred) for each in before):
            names = [each.arg for each in (*callee.node.args.posonlyargs, *callee.node.args.args)]
            name = place if isinstance(place, str) else names[place] if place < len(names) else ""
            there = uses_in(callee.node).get(name)
            if there is not None and (there.is_module or there.called):
                return True
    return False


def _unknown_method(frame: Frame, state: State, node: ast.Call, callee: ast.Attribute, arguments: Arguments) -> Value:
    """A method of something unknown: a move or a state dict tells what the result is."""
    name = callee.attr
    if name in ("item", "numel", "dim", "nelement"):
        return NUMBER
    if name == "state_dict":
        return UNKNOWN
    if name == "to" or name in torch_api.DEVICE_METHODS:
        device = to_device(frame, arguments) if name == "to" else method_device(frame, name, arguments)
        if device is None:
            return UNKNOWN
        environment.note_device(frame, state, node, device)
        return _moved_unknown(frame, state, node, callee.value, device)
    if name == "numpy" and isinstance(callee.value, ast.Name) and frame.function is not None:
        if callee.value.id not in host_reads.followed_in(frame.function):
            return UNKNOWN
        given = Tensor(Device(Origin.ARGUMENT, callee.value.id), None, (), (Step("read as a tensor", callee.value),))
        host_reads.note_host_read(frame, state, node, callee.value, given)
        return UNKNOWN
    if name.startswith("new_") and name in torch_api.NEW_METHODS:
        text = dotted_path(callee.value) or "it"
        device = Device(Origin.ARGUMENT, text) if dotted_path(callee.value) else TOP
        return Tensor(device, None, (), (Step(f"made where `{text}` is", node),))
    return UNKNOWN
