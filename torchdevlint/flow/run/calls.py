"""Transfer function of calls: what is called decides."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.events import (
    Called,
    Constructed,
    Drawn,
    Escaped,
    FunctionCalled,
    FunctionReturned,
    LayerCalled,
    LibraryReturned,
    MethodCalled,
    ModuleCalled,
    UnknownCalled,
)
from torchdevlint.flow.kinds import loaders, ranks
from torchdevlint.flow.kinds.drawing import is_drawn_by
from torchdevlint.flow.kinds.encoded import encoding_of, token_ids_of
from torchdevlint.flow.kinds.known_devices import ACCELERATOR
from torchdevlint.flow.kinds.outputs_on_cpu import gives_buffer
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run import checkpoint_values, distributions, host_made, prepared
from torchdevlint.flow.run.arguments import does_not_fit, evaluate_arguments
from torchdevlint.flow.run.attributes import attribute
from torchdevlint.flow.run.batch_beside import compare_with_batch
from torchdevlint.flow.run.container_calls import container_method, make_record, record_method
from torchdevlint.flow.run.functions import run_function, spread
from torchdevlint.flow.run.getters import is_getter, looked_up
from torchdevlint.flow.run.instances import given_to, read_by_class, where_it_goes
from torchdevlint.flow.run.library_calls import call_library, note_pipeline
from torchdevlint.flow.run.module_methods import call_module_method
from torchdevlint.flow.run.modules import call_module, given_by, opaque_result, run_as_module, unseen_result
from torchdevlint.flow.run.moves import is_moved_away
from torchdevlint.flow.run.outputs import of_forward, takes_lengths
from torchdevlint.flow.run.tensor_methods import call_tensor_method, names_dimension, tensor_operands
from torchdevlint.flow.run.unknown_calls import (
    LEAVES_TENSORS,
    RUNS_IT,
    as_tensor,
    call_unknown,
    is_known,
    note_layer,
    of_inputs,
    of_method,
    of_model,
    of_unknown_callee,
    unknown_method,
)
from torchdevlint.flow.scope.annotations import annotated_tensor
from torchdevlint.flow.scope.model_names import is_named_like_a_loss
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT, MODEL, TOP, Origin, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.members import is_built_by_init, is_kept, is_made_elsewhere
from torchdevlint.flow.state.others import is_elsewhere
from torchdevlint.flow.state.point import State, one_of_few, under_each
from torchdevlint.flow.state.tensors import given_tensor
from torchdevlint.flow.state.values import (
    TEXT,
    UNKNOWN,
    Choice,
    Cls,
    Const,
    Dev,
    Func,
    Guard,
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
    Super,
    Tensor,
    Text,
    Unknown,
    Value,
)

_PLACED = frozenset({Origin.EXPRESSION, Origin.LITERAL})
"""Where something unknown was moved: if it is called, it is a module."""


def call(frame: Frame, node: ast.Call, state: State) -> Value:
    callee = node.func
    if isinstance(callee, ast.Name) and callee.id == "super":
        return _super(frame)
    if not isinstance(callee, ast.Attribute):
        function, arguments = frame.evaluate(callee, state), evaluate_arguments(frame, node, state)
        _tell(frame, state, node, function, arguments)
        return _or_encoding(frame, node, call_value(frame, state, node, function, arguments))
    receiver = frame.evaluate(callee.value, state)
    arguments = evaluate_arguments(frame, node, state)
    _tell(frame, state, node, receiver, arguments)
    return _or_encoding(frame, node, call_attribute(frame, state, node, callee, receiver, arguments))


def _tell(frame: Frame, state: State, node: ast.Call, callee: Value, arguments: Arguments) -> None:
    if frame.machine.has_observers(Called):
        frame.machine.emit(Called(frame, state, node, callee, arguments))
    if is_drawn_by(node, callee):
        frame.machine.emit(Drawn(frame, state, node, callee, arguments))


def _or_encoding(frame: Frame, node: ast.Call, given: Value) -> Value:
    """What a call gives; what a tokenizer does where nothing else is known, but that it might be a layer."""
    known = type(given) is not Unknown and not (type(given) is Tensor and given.opaque)
    if known:
        return given
    return encoding_of(frame, node) or token_ids_of(frame, node) or given


def call_attribute(
    frame: Frame, state: State, node: ast.Call, callee: ast.Attribute, receiver: Value, arguments: Arguments
) -> Value:
    """``receiver.name(..)``."""
    if type(receiver) is Choice:
        receiver = one_of_few(receiver)
        if type(receiver) is not Choice:
            return call_attribute(frame, state, node, callee, receiver, arguments) if receiver != UNKNOWN else UNKNOWN
        path = dotted_path(callee.value)
        if path is not None and path not in state.env:
            state.paths.setdefault(path, receiver)
        return under_each(state, receiver, lambda each: call_attribute(frame, state, node, callee, each, arguments))
    if loaders.is_from_loader(receiver) and callee.attr in ("update", "setdefault"):
        loaders.forget(callee.value, state)
        return UNKNOWN
    if type(receiver) is not Unknown and isinstance(receiver, Ref):
        return call_value(frame, state, node, attribute(frame, callee, state, receiver), arguments)
    frame.machine.emit(MethodCalled(frame, state, node, receiver, arguments))
    if type(receiver) is Tensor:
        return _run_or_method(frame, state, node, callee, receiver, arguments)
    if state.paths:
        path = dotted_path(callee)
        if path is not None and path in state.paths:
            return call_value(frame, state, node, state.paths[path], arguments)
    if callee.attr == "forward" and isinstance(receiver, Unknown) and isinstance(callee.value, ast.Attribute):
        holder = frame.evaluate(callee.value.value, state)
        if isinstance(holder, Obj) and _is_held(holder, callee.value.attr):
            return _brought_by_kind(frame, state, node, callee.value, holder, arguments)
    found = attribute(frame, callee, state, receiver)
    if type(found) is Dev and type(receiver) is Unknown:
        return unknown_method(frame, state, node, callee, arguments)
    if type(found) is not Unknown:
        return call_value(frame, state, node, found, arguments)
    _note_run(frame, state, node, callee, receiver, arguments)
    return _brought_by_kind(frame, state, node, callee, receiver, arguments)


def _note_run(
    frame: Frame, state: State, node: ast.Call, callee: ast.Attribute, receiver: Value, arguments: Arguments
) -> None:
    """``model.forward(..)``, ``model.generate(..)`` of a model of unknown class."""
    if callee.attr in RUNS_IT and (isinstance(receiver, Unknown) or _is_of_another_library(receiver)):
        note_layer(frame, state, node, callee.value, arguments, known=not isinstance(receiver, Unknown))


def _brought_by_kind(
    frame: Frame, state: State, node: ast.Call, callee: ast.Attribute, receiver: Value, arguments: Arguments
) -> Value:
    """A method that no class of this file defines: what the kind of the receiver brings."""
    if type(receiver) is Unknown:
        return _method_of_unknown(frame, state, node, callee, receiver, arguments)
    if type(receiver) is Obj:
        operands = [each for given in arguments.pairs for each in tensor_operands(*given)]
        held = _is_held(receiver, callee.attr)
        frame.machine.emit(LayerCalled(frame, state, node, callee, operands, receiver if held else None))
        if held and not is_named_like_a_loss(callee):
            return opaque_result(operands, receiver.device, given_by(receiver, receiver.device, node))
        compare_with_batch(frame, state, node, operands)
        if (shown := of_model(frame, callee, operands)) is not None:
            return shown
        if is_kept(receiver.info, callee.attr):
            return of_unknown_callee(frame, state, node, arguments)
    if type(receiver) is Library and distributions.is_distribution(receiver.name):
        return distributions.call_method(frame, state, node, callee.value, receiver, arguments)
    if isinstance(receiver, (Obj, Library, Super)):
        found = call_module_method(frame, state, node, callee, receiver, arguments)
        own = isinstance(receiver, (Obj, Super)) and is_made_elsewhere(receiver.info, callee.attr)
        return of_unknown_callee(frame, state, node, arguments) if found == UNKNOWN and own else found
    if isinstance(receiver, (Seq, Map)):
        return container_method(frame, state, callee, receiver, arguments)
    if isinstance(receiver, Record):
        return record_method(callee.attr, receiver, arguments)
    if isinstance(receiver, (Const, Text)):
        if callee.attr == "format" and isinstance(receiver, Const):
            return ranks.spelled(str(receiver.value), *arguments.values)
        return TEXT if callee.attr in ("format", "join", "strip", "lower", "upper", "replace") else UNKNOWN
    if isinstance(receiver, (StateDict, Loaded)):
        return checkpoint_values.call_method(callee, receiver)
    frame.machine.emit(Escaped(frame, arguments.all_values))
    return read_by_class(node, callee, receiver)


def _method_of_unknown(
    frame: Frame, state: State, node: ast.Call, callee: ast.Attribute, receiver: Unknown, arguments: Arguments
) -> Value:
    given = receiver.given
    if given is not None and (callee.attr in torch_api.TENSOR_ONLY_METHODS or names_dimension(callee.attr, arguments)):
        tensor = given_tensor(given, callee.value)
        return call_tensor_method(frame, state, node, callee.value, tensor, callee.attr, arguments)
    frame.machine.emit(Escaped(frame, arguments.all_values))
    if receiver.made_by == ACCELERATOR and (of_accelerate := prepared.METHODS.get(callee.attr)) is not None:
        return of_accelerate(frame, node, arguments)
    found = unknown_method(frame, state, node, callee, arguments, given)
    if found != UNKNOWN or callee.attr in LEAVES_TENSORS or is_moved_away(frame, callee, arguments):
        return found if given is None else looked_up(given, callee, arguments) or found
    if given is None or callee.attr in RUNS_IT:
        return of_method(frame, node, callee, arguments)
    held = callee.attr.rstrip("_") in _OF_TENSORS or is_getter(callee, arguments)
    return receiver if held or given.origin is not Origin.ARGUMENT else UNKNOWN


_OF_TENSORS = frozenset({"items", "values", "copy"}).union(
    torch_api.METHOD_TENSOR, torch_api.METHOD_TUPLE, torch_api.METHOD_LIST, torch_api.METHOD_PLAIN
)
"""Methods of tensors, and of dicts of them; of what has another one, nothing says that it holds tensors."""


def _run_or_method(
    frame: Frame, state: State, node: ast.Call, callee: ast.Attribute, receiver: Tensor, arguments: Arguments
) -> Value:
    """A method of a tensor; or ``moved.generate(..)``, by which something moved turns out to be a model."""
    if callee.attr in RUNS_IT and receiver.opaque and receiver.device.origin in _PLACED:
        return call_module(frame, state, node, run_as_module(receiver), arguments)
    return call_tensor_method(frame, state, node, callee.value, receiver, callee.attr, arguments)


def _is_of_another_library(value: Value) -> bool:
    """Whether it is a Module whose class is not torch's own."""
    return isinstance(value, Library) and value.module and not value.name.startswith("torch.")


def _is_held(receiver: Obj, name: str) -> bool:
    """Whether a Module assigns the attribute that is called: a layer of a class that is not known here."""
    info = receiver.info
    return info.is_module and is_kept(info, name)


def call_value(frame: Frame, state: State, node: ast.Call, callee: Value, arguments: Arguments) -> Value:
    """Calling a value."""
    if type(callee) is Func:
        return _call_function(frame, state, node, callee, arguments)
    if type(callee) is Unknown:
        frame.machine.emit(UnknownCalled(frame, state, node, arguments))
        frame.machine.emit(Escaped(frame, arguments.all_values))
        return call_unknown(frame, state, node, arguments)
    if isinstance(callee, Ref):
        found = call_library(frame, state, node, callee.name, arguments)
        frame.machine.emit(LibraryReturned(frame, state, node, callee.name, arguments, found))
        if found != UNKNOWN or is_known(callee.name):
            return found
        frame.machine.emit(Escaped(frame, arguments.all_values))
        return of_inputs(frame, node, arguments)
    if type(callee) is RecordType:
        return make_record(callee, arguments)
    if type(callee) is Partial:
        return call_value(frame, state, node, callee.function, arguments.after(callee.positional, callee.keywords))
    if type(callee) is Cls:
        return _construct(frame, state, node, callee, arguments)
    if type(callee) is Obj:
        return _call_object(frame, state, node, callee, arguments)
    if type(callee) is Library and callee.module:
        if _is_of_another_library(callee):
            note_layer(frame, state, node, node.func, arguments, known=True)
        return call_module(frame, state, node, callee, arguments)
    if type(callee) is Library:
        return host_made.convert(frame, state, node, callee, arguments)
    if type(callee) is Tensor and callee.opaque and callee.device.origin in _PLACED:
        return call_module(frame, state, node, run_as_module(callee), arguments)
    there = one_of_few(callee) if type(callee) is Choice else UNKNOWN
    if type(there) is Choice:
        return under_each(state, there, lambda each: call_value(frame, state, node, each, arguments))
    return call_value(frame, state, node, there, arguments) if there != UNKNOWN else UNKNOWN


def _call_function(frame: Frame, state: State, node: ast.Call, callee: Func, arguments: Arguments) -> Value:
    if callee.qualname in torch_api.OTHER_RUNTIMES:
        return Guard(False)
    frame.machine.emit(FunctionCalled(frame, state, node, callee, arguments))
    given = spread(callee, arguments)
    if given is not None and callee.receiver is None and does_not_fit(state, callee, *given):
        return UNKNOWN
    found = UNKNOWN if given is None else run_function(frame, state, node, callee, *given)
    frame.machine.emit(FunctionReturned(frame, state, node, callee, arguments))
    if found == UNKNOWN and is_elsewhere(callee):
        return of_inputs(frame, node, arguments)
    declared = found == UNKNOWN and annotated_tensor(getattr(callee.node, "returns", None))
    return as_tensor(of_inputs(frame, node, arguments, declared), node) if declared else found


def _super(frame: Frame) -> Value:
    if frame.owner is None or frame.receiver is None:
        return UNKNOWN
    return Super(frame.owner, frame.receiver)


def _construct(frame: Frame, state: State, node: ast.Call, callee: Cls, arguments: Arguments) -> Value:
    info = callee.info
    if info.record is not None:
        return make_record(info.record, arguments)
    info.in_pipeline = info.in_pipeline or frame.function in frame.machine.pipeline
    note_pipeline(info.name, arguments)
    made = Obj(info, DEFAULT if info.is_module else TOP, made_at=node, given=())
    init = info.method("__init__", made)
    given = spread(init, arguments) if init is not None else None
    if init is not None and given is not None and is_built_by_init(info) and does_not_fit(state, init, *given):
        return made
    if init is not None:
        frame.machine.emit(Constructed(frame, state, node, init, arguments))
    if init is not None and given is not None:
        made = replace(made, made_of=(tuple(given[0]), tuple(given[1].items())), given=given_to(init, *given))
        # as where `__init__` is looked at alone: what it makes of its own is where the Module was built
        init = replace(init, receiver=replace(made, device=MODEL) if info.is_module else made)
    if init is not None and given is not None and not is_elsewhere(init):
        run_function(frame, state, node, init, *given)
    else:
        frame.machine.emit(Escaped(frame, arguments.all_values))
    if info.resolved or info.is_module or init is not None:
        return where_it_goes(made, init, node)
    return UNKNOWN


def _call_object(frame: Frame, state: State, node: ast.Call, callee: Obj, arguments: Arguments) -> Value:
    frame.machine.emit(ModuleCalled(frame, state, node, callee, arguments))
    name = "forward" if callee.info.is_module and "__call__" not in callee.info.all_methods else "__call__"
    method = callee.info.method(name, callee)
    operands = [each for pair in arguments.pairs for each in tensor_operands(*pair)] if callee.info.is_module else []
    stayed = any(isinstance(value, Tensor) and on_cpu(value.device) for _, value in operands)
    passed_by = method is not None and is_elsewhere(method) and not stayed and not takes_lengths(method)
    if callee.info.is_module and (method is None or passed_by):
        if method is None:
            compare_with_batch(frame, state, node, operands)
        return UNKNOWN if gives_buffer(callee.info) else unseen_result(callee, operands, node)
    given = spread(method, arguments) if method is not None else None
    found = UNKNOWN if method is None or given is None else run_function(frame, state, node, method, *given)
    return of_forward(callee, operands) if found == UNKNOWN and method is not None else found
