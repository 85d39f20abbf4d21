"""Calls of library functions and classes by their public names: torch's own, and what Python brings."""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchdevlint.flow import checkpoints, environment, torch_api
from torchdevlint.flow.arguments import Arguments, as_device, is_tagged_choice
from torchdevlint.flow.classes import is_module_class
from torchdevlint.flow.devices import CPU, DEFAULT, TOP, Device, Origin
from torchdevlint.flow.machine import Frame, State
from torchdevlint.flow.objects import MODEL, elements
from torchdevlint.flow.operations import combine, created
from torchdevlint.flow.tensor_methods import call_tensor_method, method_ndim, operands_of, tensor_operands
from torchdevlint.flow.values import (
    AT_LEAST_1,
    NONE,
    NUMBER,
    NUMBERS,
    TEXT,
    UNKNOWN,
    Choice,
    Const,
    Dev,
    Dtype,
    Guard,
    Library,
    Map,
    Obj,
    Ref,
    Seq,
    Step,
    Tensor,
    Unknown,
    Value,
    distribute,
    element_of,
    is_module,
    is_number,
    join,
    join_all,
    only,
    sequence,
)

_OTHER_RUNTIMES = frozenset(
    "is_scripting is_tracing is_in_onnx_export is_exporting is_torch_fx_proxy is_fx_tracing is_torch_xla_available".split()
)
"""Tests for a program that is traced, scripted or exported: a path of its own."""
_OPERATIONS: dict[str, tuple[frozenset[str], frozenset[str], frozenset[str]]] = {
    "torch": (torch_api.TORCH_TENSOR, torch_api.TORCH_TUPLE, torch_api.TORCH_LIST),
    "torch.nn.functional": (torch_api.FUNCTIONAL_TENSOR, torch_api.FUNCTIONAL_TUPLE, frozenset()),
    "torch.linalg": (torch_api.LINALG_TENSOR, torch_api.LINALG_TUPLE, frozenset()),
    "torch.fft": (torch_api.FFT_TENSOR, frozenset(), frozenset()),
}


def call_library(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments) -> Value:
    """What calling the library object with the public name `name` gives."""
    environment.note_call(frame, state, node, name, arguments)
    note_pipeline(name, arguments)
    if name.rpartition(".")[2] in _OTHER_RUNTIMES:
        return Guard(False)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(frame, state, node, arguments)
    if name in torch_api.LOADERS:
        return checkpoints.load(frame, state, node, name, arguments)
    head, _, tail = name.rpartition(".")
    if head == "torch":
        if tail in torch_api.FACTORIES:
            return _factory(frame, state, node, name, tail, arguments)
        if tail in torch_api.LIKE_FACTORIES:
            return _like(frame, arguments)
        if tail in torch_api.LEGACY_CONSTRUCTORS:
            return _legacy(frame, state, node, name, arguments)
    elif head == "torch.cuda" and tail in torch_api.LEGACY_CONSTRUCTORS:
        return created(frame, state, node, name, AT_LEAST_1, Device(Origin.LITERAL, "cuda"))
    elif name in torch_api.NAMESPACED_FACTORIES:
        return created(frame, state, node, name, AT_LEAST_1, factory_device(frame, state, arguments))
    elif head == "torch.Tensor" and arguments.positional:
        return _unbound(frame, state, node, tail, arguments)
    elif head == "builtins":
        return _builtin(frame, state, node, tail, arguments)
    if name in torch_api.WRAPPER_MODULES:
        return _wrapper(node, name, arguments)
    table = _OPERATIONS.get(head)
    if table is not None:
        return _operation(frame, state, node, name, tail, table, arguments)
    if is_module_class(name):
        return _layer(frame, node, name, tail, arguments)
    return UNKNOWN


def note_pipeline(name: str, arguments: Arguments) -> None:
    """What is given to ``transforms.Compose`` or as ``transform=`` belongs to the input pipeline, which is on the CPU."""
    for key, (_, value) in arguments.keywords.items():
        if key in ("transform", "transforms", "target_transform") and isinstance(value, Obj):
            value.info.in_pipeline = True
    if name.rpartition(".")[2] == "Compose":
        for value in arguments.values:
            for each in elements(value):
                if isinstance(each, Obj):
                    each.info.in_pipeline = True


def factory_device(frame: Frame, state: State, arguments: Arguments, follows_default: bool = True) -> Device:
    """Where a factory puts its result: ``device=``, an enclosing ``with torch.device(..)``, or the default."""
    given = arguments.keywords.get("device")
    if given is not None:
        return as_device(frame, *given)
    if arguments.double_starred or "out" in arguments.keywords:
        return TOP
    if not follows_default:
        return DEFAULT
    if frame.machine.default_changed:
        return TOP
    return state.default_device or DEFAULT


def _factory(frame: Frame, state: State, node: ast.Call, name: str, tail: str, arguments: Arguments) -> Value:
    given = arguments.keywords.get("device")
    if given is not None and is_tagged_choice(given[1]):
        return distribute(given[1], lambda each: _factory(frame, state, node, name, tail, arguments.but("device", each)))
    device = factory_device(frame, state, arguments, tail not in torch_api.CPU_FACTORIES)
    if given is not None and isinstance(given[1], Dev) and given[1].creations:
        return Tensor(device, _factory_ndim(tail, arguments), given[1].creations, (Step(f"created by `{name}`", node, True),))
    if tail in torch_api.DATA_FACTORIES:
        return _from_data(frame, state, node, name, arguments, device)
    if tail == "normal" and "size" not in arguments.keywords and len(arguments.positional) < 3:
        return next((value for value in arguments.values if isinstance(value, Tensor)), UNKNOWN)
    return created(frame, state, node, name, _factory_ndim(tail, arguments), device)


def _factory_ndim(tail: str, arguments: Arguments) -> int | None:
    if tail in torch_api.VECTOR_FACTORIES:
        return 1
    if tail in torch_api.MATRIX_FACTORIES:
        return 2
    if tail == "scalar_tensor":
        return 0
    size = arguments.keywords.get("size")
    if tail in torch_api.SIZE_FACTORIES and size is None:
        given = [value for node, value in arguments.positional]
        if arguments.starred:
            return AT_LEAST_1
        if len(given) == 1 and not is_number(given[0]):
            return _size_ndim(given[0])
        return len(given)
    position = torch_api.SIZED_FACTORIES.get(tail)
    if size is None and position is not None and position < len(arguments.positional):
        size = arguments.positional[position]
    if size is None and tail == "randint":
        size = arguments.positional[-1] if arguments.positional else None
    return AT_LEAST_1 if size is None else _size_ndim(size[1])


def _size_ndim(size: Value) -> int:
    if isinstance(size, Seq) and size.items is not None:
        return len(size.items)
    return 1 if is_number(size) else AT_LEAST_1


def _from_data(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, device: Device) -> Value:
    """``torch.tensor(data)``: a tensor keeps its device, numbers and lists go to the default one (S10)."""
    data = arguments.value(0, "data")
    if isinstance(data, Tensor):
        return data if device == DEFAULT else created(frame, state, node, name, data.ndim, device)
    if isinstance(data, Choice) or (isinstance(data, Unknown) and device == DEFAULT):
        holds_tensor = isinstance(data, Choice) and only(data, Tensor) is not None
        if holds_tensor or _maybe_tensor(arguments):
            return Tensor(TOP) if device == DEFAULT else created(frame, state, node, name, None, device)
    return created(frame, state, node, name, _data_ndim(data), device)


def _maybe_tensor(arguments: Arguments) -> bool:
    """Whether unknown data could be a tensor, which would keep its device."""
    return bool(arguments.positional) and isinstance(arguments.positional[0][1], (Unknown, Choice))


def _data_ndim(data: Value) -> int | None:
    if is_number(data):
        return 0
    if isinstance(data, Seq):
        inner = _data_ndim(data.element)
        return AT_LEAST_1 if inner is None or inner < 0 else inner + 1
    return None


def _like(frame: Frame, arguments: Arguments) -> Value:
    source = arguments.value(0, "input")
    given = arguments.keywords.get("device")
    if isinstance(source, Tensor):
        if given is not None:
            return Tensor(as_device(frame, *given), source.ndim, (), source.steps, True)
        return source
    return Tensor(TOP if given is None else as_device(frame, *given))


def _legacy(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments) -> Value:
    """``torch.FloatTensor(..)``: always on the CPU; `Tensor(tensor)` is an alias of a CPU tensor."""
    if frame.machine.default_changed:
        return Tensor(TOP)
    values = arguments.values
    if len(values) == 1 and isinstance(values[0], (Tensor, Choice)):
        return values[0] if isinstance(values[0], Tensor) else UNKNOWN
    if len(values) == 1 and isinstance(values[0], Unknown):
        return created(frame, state, node, name, AT_LEAST_1, DEFAULT)
    ndim = len(values) if values and all(is_number(value) for value in values) else AT_LEAST_1
    return created(frame, state, node, name, ndim, DEFAULT)


def _unbound(frame: Frame, state: State, node: ast.Call, tail: str, arguments: Arguments) -> Value:
    (receiver_node, receiver), *rest = arguments.positional
    if not isinstance(receiver, Tensor):
        return UNKNOWN
    bound = Arguments(rest, arguments.keywords, arguments.starred, arguments.double_starred)
    return call_tensor_method(frame, state, node, receiver_node, receiver, tail, bound)


def _operation(
    frame: Frame,
    state: State,
    node: ast.Call,
    name: str,
    tail: str,
    table: tuple[frozenset[str], frozenset[str], frozenset[str]],
    arguments: Arguments,
) -> Value:
    in_place = tail.endswith("_") and not tail.endswith("__")
    plain = tail.rstrip("_") if in_place else tail
    one, pair, many = table
    if plain not in one and plain not in pair and plain not in many:
        return UNKNOWN
    if plain in torch_api.CROSSING:
        return UNKNOWN
    if "out" in arguments.keywords:
        return UNKNOWN
    operands = operands_of(plain, arguments, 0)
    result = combine(frame, state, node, f"`{_short(name)}()`", operands, plain in torch_api.STRICT, in_place)
    if not isinstance(result, Tensor):
        return UNKNOWN if is_number(result) else result
    first = operands[0][1] if operands else UNKNOWN
    if isinstance(first, Tensor) and not isinstance(arguments.value(0, "input"), Seq):
        rest = Arguments(arguments.positional[1:], arguments.keywords)
        ndim = method_ndim(plain, first, rest, result)
        result = Tensor(result.device, ndim, result.creations, result.steps)
        if plain in torch_api.PAIR_WITH_DIM and ("dim" in arguments.keywords or _numeric(rest)):
            return sequence([result, result])
    elif plain in ("stack", "cat"):
        result = Tensor(result.device, AT_LEAST_1, result.creations, result.steps)
    if plain in pair or plain in many:
        return Seq(None, result)
    return result


def _numeric(arguments: Arguments) -> bool:
    return bool(arguments.positional) and is_number(arguments.positional[0][1])


def _short(name: str) -> str:
    return name.replace("torch.nn.functional.", "F.")


def _wrapper(node: ast.Call, name: str, arguments: Arguments) -> Value:
    inner = arguments.value(0, "module")
    if name == "torch.compile" and not arguments.positional:
        return UNKNOWN
    device = inner.device if isinstance(inner, (Library, Obj)) else TOP
    return Library(name, True, device, torch_api.WRAPPER_MODULES[name], inner, made_at=node)


def _layer(frame: Frame, node: ast.Call, name: str, tail: str, arguments: Arguments) -> Value:
    """A module of torch.nn; without parameters and buffers it has no device of its own."""
    if tail in torch_api.PARAMETER_FREE_MODULES:
        return Library(name, True, None, made_at=node)
    given = arguments.keywords.get("device")
    device = DEFAULT if given is None else as_device(frame, *given)
    if tail not in torch_api.CONTAINER_MODULES:
        return Library(name, True, device, made_at=node)
    children: list[Value] = []
    for _, value in arguments.positional:
        children += list(value.items) if isinstance(value, Seq) and value.items is not None else []
        if isinstance(value, Seq) and value.items is None:
            children.append(value.element)
        elif isinstance(value, Map):
            children += [each for _, each in value.items]
        elif not isinstance(value, Seq):
            children.append(value)
    free = bool(children) and all(isinstance(child, Library) and child.module and child.device is None for child in children)
    return Library(name, True, None if free else device, children=tuple(children), made_at=node)


def _variable(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``Variable(t)`` of old code gives the tensor itself."""
    data = arguments.value(0, "data")
    return Tensor(TOP, None, (), (Step("wrapped by `Variable`", node),)) if isinstance(data, Unknown) else data


def _parameter(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    data = arguments.value(0, "data")
    if isinstance(data, Tensor):
        return Tensor(data.device, data.ndim, data.creations, data.steps, data.moved, True)
    return Tensor(TOP, None, parameter=True)


def _device(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    if not arguments.positional:
        return Dev(TOP)
    device = as_device(frame, *arguments.positional[0])
    if len(arguments.positional) > 1 and device.origin is Origin.LITERAL:
        number = arguments.positional[1][1]
        index = number.value if isinstance(number, Const) and isinstance(number.value, int) else None
        return Dev(Device(Origin.LITERAL, device.name, index))
    return Dev(device)


def _checkpointed(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    if not arguments.positional or arguments.starred:
        return UNKNOWN
    inner = Arguments(arguments.positional[1:], {})
    return frame.machine.call_value(frame, state, node, arguments.positional[0][1], inner)


def _packed(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return arguments.value(0, "input")


def _unpacked(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return sequence([arguments.value(0, "sequence"), UNKNOWN])


def _padded(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    operands = [each for given in arguments.positional[:1] for each in tensor_operands(*given)]
    return combine(frame, state, node, "`pad_sequence()`", operands, True)


def _environment_get(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return TEXT


def _available(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return Guard(True)


def _number(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return NUMBER


def _first_argument(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return arguments.positional[0][1] if arguments.positional else UNKNOWN


def _current_device(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return Dev(Device(Origin.LITERAL, "cuda"))


def _save(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return checkpoints.save(frame, state, node, arguments)


_SPECIAL: dict[str, Callable[[Frame, State, ast.Call, Arguments], Value]] = {
    "torch.autograd.Variable": _variable,
    "torch.nn.Parameter": _parameter,
    "torch.nn.Buffer": _parameter,
    "torch.device": _device,
    "torch.cuda.is_available": _available,
    "torch.accelerator.is_available": _available,
    "torch.cuda.device_count": _number,
    "torch.cuda.current_device": _current_device,
    "torch.accelerator.current_accelerator": _current_device,
    "torch.utils.checkpoint.checkpoint": _checkpointed,
    "torch.nn.utils.rnn.pack_padded_sequence": _packed,
    "torch.nn.utils.rnn.pad_packed_sequence": _unpacked,
    "torch.nn.utils.rnn.pad_sequence": _padded,
    "torch.save": _save,
    "torch.is_tensor": lambda frame, state, node, arguments: UNKNOWN,
    "os.environ.get": _environment_get,
    "os.getenv": _environment_get,
    "copy.deepcopy": _first_argument,
    "copy.copy": _first_argument,
}


def _builtin(frame: Frame, state: State, node: ast.Call, tail: str, arguments: Arguments) -> Value:
    if tail in ("int", "float", "bool", "len", "round", "abs", "id", "hash", "ord", "isinstance", "hasattr", "issubclass"):
        if tail == "abs" and arguments.positional and isinstance(arguments.positional[0][1], Tensor):
            return arguments.positional[0][1]
        return UNKNOWN if tail in ("isinstance", "hasattr", "issubclass") else NUMBER
    if tail == "range":
        return NUMBERS
    first = arguments.positional[0][1] if arguments.positional else None
    if tail in ("str", "repr", "format", "input"):
        return first if isinstance(first, Dev) and tail == "str" else TEXT
    if tail in ("list", "tuple", "set", "sorted", "reversed", "iter", "frozenset"):
        if first is None:
            return Seq((), UNKNOWN)
        return first if isinstance(first, Seq) and tail in ("list", "tuple") else Seq(None, element_of(first))
    if tail == "enumerate":
        return Seq(None, sequence([NUMBER, element_of(first) if first is not None else UNKNOWN]))
    if tail == "zip":
        return Seq(None, sequence([element_of(value) for value in arguments.values]))
    if tail == "next":
        return element_of(first) if first is not None else UNKNOWN
    if tail == "dict":
        return Map(tuple(arguments.keyword_values.items()), UNKNOWN)
    if tail == "sum" and first is not None:
        return _sum(frame, state, node, arguments)
    if tail in ("max", "min"):
        return NUMBER if arguments.values and all(is_number(value) for value in arguments.values) else UNKNOWN
    if tail == "getattr" and len(arguments.positional) > 1:
        return _getattr(arguments)
    if tail == "map" and len(arguments.positional) > 1:
        inner = Arguments([(at, element_of(value)) for at, value in arguments.positional[1:]], {})
        return Seq(None, frame.machine.call_value(frame, state, node, arguments.positional[0][1], inner))
    return NONE if tail == "print" else UNKNOWN


def _getattr(arguments: Arguments) -> Value:
    """``getattr(model, "module", model)``: what a wrapper wraps, or the model itself."""
    value, name = arguments.values[0], arguments.values[1]
    if name != Const("module") and name != Const("_orig_mod"):
        return UNKNOWN
    default = arguments.value(2, "default")

    def unwrap(each: Value) -> Value:
        return each.inner if isinstance(each, Library) and each.inner is not None else default

    return distribute(value, unwrap) if isinstance(value, Choice) else unwrap(value)


def _sum(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    element = element_of(arguments.positional[0][1])
    if not isinstance(element, Tensor) or len(arguments.positional) < 2:
        return element
    start_node, start = arguments.positional[1]
    return combine(frame, state, node, "`sum()`", [(start_node, start), (arguments.positional[0][0], element)])


def call_module(frame: Frame, state: State, node: ast.Call, module: Library, arguments: Arguments) -> Value:
    """Calling a library module: its parameters and every tensor argument must be on one device."""
    tail = module.name.rpartition(".")[2]
    compared = arguments.positional[:1] if tail == "CTCLoss" else arguments.pairs
    operands = [each for given in compared for each in tensor_operands(*given)]
    callee = frame.machine.text_of(node.func) if any(isinstance(value, (Tensor, Choice)) for _, value in operands) else ""
    if module.device is None:
        if tail == "Sequential" or not module.name:
            return combine(frame, state, node, f"`{callee}()`", operands, True) if tail == "Sequential" else UNKNOWN
        strict = tail.endswith("Loss")
        result = combine(frame, state, node, f"`{callee}()`", operands, strict)
        if isinstance(result, Tensor) and strict:
            return Tensor(result.device, 0, result.creations, result.steps)
        return UNKNOWN if is_number(result) else result
    device = TOP if module.device == DEFAULT else module.device
    if not module.name or tail in torch_api.CONTAINER_MODULES - {"Sequential"}:
        return opaque_result(operands, device)
    parameters = Tensor(device, AT_LEAST_1)
    result = combine(frame, state, node, f"`{callee}()`", [(node.func, parameters), *operands], True)
    if module.inner is not None or not isinstance(result, Tensor):
        return UNKNOWN
    output = Tensor(device, AT_LEAST_1, (), result.steps)
    if tail == "LSTM":
        return sequence([output, sequence([output, output])])
    if tail in torch_api.PAIR_MODULES:
        return sequence([output, output])
    known = tail in torch_api.PARAMETER_MODULES or (tail == "Sequential" and _plain_children(module))
    return output if known else opaque_result(operands, device)


def opaque_result(operands: list[tuple[ast.expr, Value]], device: Device) -> Value:
    """What a module of unknown class gives for tensors where the model is: something on the model's device."""
    if device == MODEL and any(isinstance(value, Tensor) and value.device == MODEL for _, value in operands):
        return Tensor(MODEL, None, opaque=True)
    return UNKNOWN


def _plain_children(module: Library) -> bool:
    """Whether a Sequential ends in a layer whose output is one tensor."""
    last = module.children[-1] if module.children else None
    return isinstance(last, Library) and last.name.rpartition(".")[2] not in torch_api.PAIR_MODULES


