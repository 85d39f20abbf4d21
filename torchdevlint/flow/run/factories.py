"""Factories: what makes a tensor out of numbers, and where it puts it."""

from __future__ import annotations

import ast
from typing import TypeGuard

from msgspec.structs import replace

from torchdevlint.flow.events import Collected, Placed
from torchdevlint.flow.kinds.arrays import array_dimensions
from torchdevlint.flow.kinds.converted import is_flag, is_listed, is_made_where_taken, is_of_constant
from torchdevlint.flow.kinds.converted_beside import is_converted_beside, is_rebound
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.arguments import as_device, is_tagged_choice
from torchdevlint.flow.run.instance_arms import is_shown_no_tensor
from torchdevlint.flow.run.operations import combine, created
from torchdevlint.flow.scope.assigned import assignments_by_path
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.scope.uses import uses_in
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import CPU, DEFAULT, TOP, Device, Origin, on_cpu
from torchdevlint.flow.state.joins import distribute, is_number, settle
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State, only, under_each
from torchdevlint.flow.state.tensors import tensors_in
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    NONE,
    NUMBER,
    UNKNOWN,
    Choice,
    Const,
    Dev,
    Seq,
    Step,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.source.nodes import nodes_in, parts_of_tuple


def is_factory(name: str) -> bool:
    """Whether the library function makes a tensor out of numbers, data, or the shape of another tensor."""
    head, _, tail = name.rpartition(".")
    if head == "torch":
        return tail in torch_api.FACTORIES or tail in torch_api.LIKE_FACTORIES or tail in torch_api.LEGACY_CONSTRUCTORS
    return name in torch_api.NAMESPACED_FACTORIES or (head == "torch.cuda" and tail in torch_api.LEGACY_CONSTRUCTORS)


def call_factory(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments) -> Value:
    """What the factory with the public name `name` gives, and where."""
    head, _, tail = name.rpartition(".")
    if head == "torch.cuda":
        return created(frame, state, node, name, AT_LEAST_1, Device(Origin.LITERAL, "cuda"))
    if tail in torch_api.LIKE_FACTORIES:
        return _make_like(frame, state, node, name, arguments)
    if tail in torch_api.LEGACY_CONSTRUCTORS:
        return _make_legacy(frame, state, node, name, arguments)
    if head != "torch":
        return created(frame, state, node, name, AT_LEAST_1, factory_device(frame, state, arguments))
    return _make(frame, state, node, name, tail, arguments)


def factory_device(frame: Frame, state: State, arguments: Arguments, follows_default: bool = True) -> Device:
    """Where a factory puts its result: ``device=``, an enclosing ``with torch.device(..)``, or the default.

    Pinned memory is that of the host: https://docs.pytorch.org/docs/stable/generated/torch.empty.html.
    """
    given = arguments.keywords.get("device")
    if given is not None:
        return as_device(frame, *given)
    pinned = arguments.keywords.get("pin_memory")
    if pinned is not None and pinned[1] != Const(False):
        return CPU
    if arguments.double_starred or "out" in arguments.keywords:
        return TOP
    if not follows_default:
        return DEFAULT
    if frame.machine.default_changed:
        return TOP
    return state.default_device or DEFAULT


def _make(frame: Frame, state: State, node: ast.Call, name: str, tail: str, arguments: Arguments) -> Value:
    """What a factory of `torch` gives; a device that branches chose is followed branch by branch."""
    given = arguments.keywords.get("device")
    if given is not None and is_tagged_choice(given[1]):
        return distribute(given[1], lambda each: _make(frame, state, node, name, tail, arguments.but("device", each)))
    device = factory_device(frame, state, arguments, tail not in torch_api.CPU_FACTORIES)
    if given is None and arguments.starred and "fill_value" in arguments.keywords:
        device = TOP  # what is starred beside it is no size: nobody knows what it says
    if given is not None and isinstance(given[1], Dev) and given[1].creations:
        return Tensor(
            device, _factory_ndim(tail, arguments), given[1].creations, (Step(f"created by `{name}`", node, name),)
        )
    parts = torch_api.SPARSE_FACTORIES.get(tail)
    if parts is not None and given is None:
        return _sparse(frame, state, node, name, [arguments.get(*each) for each in enumerate(parts)], device)
    if tail in torch_api.DATA_FACTORIES:
        return _from_data(frame, state, node, name, arguments, device)
    if tail == "normal" and "size" not in arguments.keywords and len(arguments.positional) < 3:
        return next((value for value in arguments.values if isinstance(value, Tensor)), UNKNOWN)
    ndim = _factory_ndim(tail, arguments)
    if tail == "from_numpy" and arguments.positional:
        data = arguments.positional[0][0]
        ndim = 0 if array_dimensions(frame, state, data)[1] == 0 else ndim
    return created(frame, state, node, name, ndim, device)


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
            return size_ndim(given[0])
        return len(given)
    position = torch_api.SIZED_FACTORIES.get(tail)
    if size is None and position is not None and position < len(arguments.positional):
        size = arguments.positional[position]
    if size is None and tail == "randint":
        size = arguments.positional[-1] if arguments.positional else None
    return AT_LEAST_1 if size is None else size_ndim(size[1])


def size_ndim(size: Value) -> int:
    """How many dimensions a tensor of this size has."""
    if isinstance(size, Seq) and size.items is not None:
        return len(size.items)
    return 1 if is_number(size) else AT_LEAST_1


def _sparse(
    frame: Frame, state: State, node: ast.Call, name: str, parts: list[tuple[ast.expr, Value] | None], device: Device
) -> Value:
    """A sparse tensor without ``device=`` is where its values are, and so have its indices to be."""
    tensors = [each for each in parts if each is not None and not isinstance(each[1], Seq)]
    combine(frame, state, node, f"`{name}()`", tensors, strict=True)
    values = UNKNOWN if parts[-1] is None else parts[-1][1]
    if isinstance(values, Tensor):
        return Tensor(values.device, AT_LEAST_1, values.creations, values.steps, values.moved)
    if isinstance(values, (Unknown, Choice)):
        return Tensor(TOP, AT_LEAST_1)
    return created(frame, state, node, name, AT_LEAST_1, device)


def _from_data(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, device: Device) -> Value:
    """``torch.tensor(data)``: a tensor keeps its device, numbers and lists go to the default one."""
    data = arguments.value(0, "data")
    if isinstance(data, Unknown) and device == DEFAULT and arguments.positional:
        known, ndim = array_dimensions(frame, state, arguments.positional[0][0])
        if known:
            return created(frame, state, node, name, ndim, device)
        copies = name == "torch.tensor"
        given = copies and (_came_to_init(frame, arguments) or _is_converted_only(frame, node, arguments))
        given = given or (copies and _is_kept_by_module(frame, data))
        told = arguments.positional[0][0]
        given = given or (copies and (is_converted_beside(frame, told) or is_rebound(frame, node, told)))
        listed = is_listed(frame, told)
        given = given or (copies and is_shown_no_tensor(state.conditions, told))
        given = given or (copies and (is_made_where_taken(frame, node) or is_of_constant(frame, told)))
        if given or listed or _is_option(told):
            return created(frame, state, node, name, AT_LEAST_1 if listed or _is_sliced(told) else None, device)
        if data.given is not None and frame.context == "init" and data.given.origin is Origin.ARGUMENT:
            return Tensor(data.given, None, (), (Step(f"made of argument `{data.given.name}`", node),))
    if isinstance(data, Choice):
        data = NUMBER if name == "torch.tensor" and is_flag(data) else _without_none(data)
    if isinstance(data, Tensor):
        return data if device == DEFAULT else created(frame, state, node, name, data.ndim, device)
    if isinstance(data, Choice) or (isinstance(data, Unknown) and device == DEFAULT):
        holds_tensor = isinstance(data, Choice) and only(data, Tensor) is not None
        if holds_tensor or _maybe_tensor(arguments):
            if device == DEFAULT:
                return Tensor(TOP, None, (), (Step(f"created by `{name}`", node, made_by=name),))
            return created(frame, state, node, name, None, device)
    if isinstance(data, Seq) and any(
        each.device.origin is not Origin.TOP and not on_cpu(each.device) for each in tensors_in(data)
    ):
        frame.machine.emit(Collected(frame, state, node))
    return created(frame, state, node, name, data_ndim(data), device)


def _is_kept_by_module(frame: Frame, data: Unknown) -> bool:
    """Whether ``__init__`` of a Module makes it of what it looks up: what is a tensor there was made on the CPU too."""
    return frame.context == "init" and frame.owner is not None and frame.owner.is_module and data.given is None


def _came_to_init(frame: Frame, arguments: Arguments) -> bool:
    """Whether it is an argument of ``__init__``: a tensor is not made of a tensor, and what is one may be elsewhere.

    So is ``anchors.sizes`` or ``head["anchors"]``, what such an argument holds.
    """
    node, function = arguments.positional[0][0], frame.function
    while isinstance(node, (ast.Attribute, ast.Subscript)) and _is_named(node):
        node = node.value
    named = frame.context == "init" and function is not None and isinstance(node, ast.Name)
    return named and node.id in parameter_names(function)  # type: ignore[attr-defined,arg-type]


def _is_converted_only(frame: Frame, node: ast.Call, arguments: Arguments) -> bool:
    """Whether it is an argument that the function uses for nothing else than to make a tensor of a given type of it.

    Or a slice of one. A tensor is converted by a method of its own, and PyTorch warns of whoever copies one so.
    """
    data, function = arguments.positional[0][0], frame.function
    if _is_sliced(data):
        data = data.value
    if function is None or not isinstance(data, ast.Name) or not any(each.arg == "dtype" for each in node.keywords):
        return False
    if data.id not in parameter_names(function):
        return False
    names = [each for each in nodes_in(function, ast.Name) if each.id == data.id]
    reads = [each for each in names if isinstance(each.ctx, ast.Load)]
    first = min(reads, key=lambda each: (each.lineno, each.col_offset))
    return first is data and (len(reads) == 1 or len(reads) < len(names))


def _is_sliced(node: ast.expr) -> TypeGuard[ast.Subscript]:
    """``y[i : i + size]``, which has a dimension."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)


_OPTIONS = frozenset("config cfg conf args opt opts options hparams hps hyp settings".split())
"""What programs call the numbers and texts that they are told."""


def _is_option(node: ast.expr) -> bool:
    """``self.config["anchors"]``, ``args.betas``: whoever wraps it in a tensor was not given one."""
    if not isinstance(node, (ast.Attribute, ast.Subscript)) or not _is_named(node):
        return False
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name.lstrip("_") in _OPTIONS:
            return True
    return False


def _is_named(node: ast.Attribute | ast.Subscript) -> bool:
    """Whether it is looked up by a name: ``args[0]`` is an argument."""
    if isinstance(node, ast.Attribute):
        return True
    return isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)


def _without_none(data: Choice) -> Value:
    """What is given where it is not None, if that is one thing: numbers, as in ``q: list[float] | None = None``."""
    held = [each for _, each in data.alternatives if each != NONE]
    return held[0] if len(held) == 1 and (is_number(held[0]) or isinstance(held[0], Seq)) else data


def _maybe_tensor(arguments: Arguments) -> bool:
    """Whether unknown data could be a tensor, which would keep its device."""
    return bool(arguments.positional) and isinstance(arguments.positional[0][1], (Unknown, Choice))


def data_ndim(data: Value) -> int | None:
    """The number of dimensions of a tensor made from `data`."""
    if isinstance(data, Tensor):
        return data.ndim
    if is_number(data):
        return 0
    if isinstance(data, Seq):
        inner = data_ndim(data.element)
        return AT_LEAST_1 if inner is None or inner < 0 else inner + 1
    return None


def _make_like(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments) -> Value:
    """``zeros_like(x)``: where `x` is, unless ``device=`` says otherwise; and no Parameter, whatever `x` is."""
    given = arguments.keywords.get("device")

    def made(source: Value) -> Value:
        device = None if given is None else as_device(frame, given[0], settle(given[1], state.conditions))
        if not isinstance(source, Tensor):
            return Tensor(TOP) if device is None else _placed_like(frame, state, node, name, Tensor(device))
        if device is None or device == source.device:
            return replace(source, parameter=False) if source.parameter else source
        return _placed_like(frame, state, node, name, Tensor(device, source.ndim, (), source.steps, True))

    source = arguments.value(0, "input")
    return under_each(state, source, made) if isinstance(source, Choice) else made(source)


def _placed_like(frame: Frame, state: State, node: ast.Call, name: str, made: Tensor) -> Tensor:
    """What is made like another tensor, but on a device that is named."""
    frame.machine.emit(Placed(frame, state, node, made.device))
    step = Step(f"created by `{name}` on {made.device.describe()}", node, made_by=name)
    return replace(made, steps=(*made.steps, step))


def _is_used_as_tensor(frame: Frame, node: ast.expr) -> bool:
    """Whether the function around does with a name what only tensors can."""
    uses = uses_in(frame.function or frame.machine.tree).get(node.id) if isinstance(node, ast.Name) else None
    return uses is not None and uses.is_tensor


def _may_be_tensor(frame: Frame, state: State, node: ast.expr) -> bool:
    """Whether an argument is used as a tensor, or was taken out by a tensor of an accelerator, as no array can be."""
    scope = frame.function or frame.machine.tree
    path = dotted_path(node)
    bound = assignments_by_path(scope).get(path, ()) if path is not None else ()
    taken = [each for each in (node, *(each.value for each in bound)) if isinstance(each, ast.Subscript)]
    places = [parts_of_tuple(each.slice) for each in taken]
    held = (frame.evaluate(each, state) for parts in places for each in parts if isinstance(each, ast.Name))
    picked = any(isinstance(each, Tensor) and each.device != DEFAULT and not on_cpu(each.device) for each in held)
    return picked or _is_used_as_tensor(frame, node)


def _make_legacy(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments) -> Value:
    """``torch.FloatTensor(..)``: always on the CPU; `Tensor(tensor)` is an alias of a CPU tensor.

    What is told another device raises, and is taken to be there. Of a tensor that may be anywhere none is left but one
    of the CPU, since any other raises.
    """
    if frame.machine.default_changed:
        return Tensor(TOP)
    told = factory_device(frame, state, arguments) if "device" in arguments.keywords else DEFAULT
    if told != DEFAULT:
        return created(frame, state, node, name, AT_LEAST_1, told)
    values = arguments.values
    if not values and "size" not in arguments.keywords:
        return Tensor(TOP, 1)
    if len(values) == 1 and isinstance(values[0], Choice):
        held = [each for _, each in values[0].alternatives]
        if any(each != held[0] for each in held) or isinstance(held[0], Tensor):
            return UNKNOWN
    if len(values) == 1 and isinstance(values[0], Tensor):
        came = values[0].device.origin in (Origin.ARGUMENT, Origin.MODEL) and not values[0].creations
        return Tensor(TOP, values[0].ndim) if came else values[0]
    if len(values) == 1 and isinstance(values[0], Unknown):
        given = arguments.positional[0][0] if arguments.positional else None
        may_be = name == "torch.Tensor" and given is not None and _may_be_tensor(frame, state, given)
        if may_be and not is_rebound(frame, node, given):  # type: ignore[arg-type]
            return Tensor(TOP)
        made = created(frame, state, node, name, AT_LEAST_1, DEFAULT)
        if given is None or array_dimensions(frame, state, given)[0]:
            return made
        return replace(made, creations=tuple([replace(site, of_tensor=True) for site in made.creations]))
    ndim = len(values) if values and all(is_number(value) for value in values) else AT_LEAST_1
    return created(frame, state, node, name, ndim, DEFAULT)
