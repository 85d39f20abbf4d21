"""Methods of tensors: moves, ``new_*``, and operations with the receiver as first operand."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.events import ReadByHost
from torchdevlint.flow.kinds.arrays import array_of
from torchdevlint.flow.kinds.sizes import product_ndim
from torchdevlint.flow.knowledge import libraries, torch_api
from torchdevlint.flow.run import legacy_types
from torchdevlint.flow.run.arguments import as_device, is_tagged_choice
from torchdevlint.flow.run.factories import data_ndim
from torchdevlint.flow.run.hooks import HOOKS, note_hook
from torchdevlint.flow.run.moves import method_device, move, move_to, number_of_device, type_device
from torchdevlint.flow.run.operand_kinds import told_by_other
from torchdevlint.flow.run.operations import Operands, combine
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import CPU, LOADER, on_cpu
from torchdevlint.flow.state.joins import alternatives, choose, distribute, element_of, is_number, sequence, unpacked
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State, under_each
from torchdevlint.flow.state.tensors import at, given_tensor
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    NONE,
    NUMBER,
    NUMBERS,
    TEXT,
    UNKNOWN,
    Choice,
    Const,
    Dtype,
    Record,
    Seq,
    Tensor,
    Unknown,
    Value,
)


def names_dimension(name: str, arguments: Arguments) -> bool:
    """``y.argmax(dim=1)``: arrays have the method too, and call that ``axis``; labelled ones give a name to `dim`."""
    dim = arguments.keywords.get("dim")
    return dim is not None and name in _OF_DIMENSIONS and is_number(dim[1])


_OF_DIMENSIONS = torch_api.METHOD_TENSOR | torch_api.METHOD_TUPLE | torch_api.METHOD_LIST


def call_tensor_method(
    frame: Frame,
    state: State,
    node: ast.Call,
    receiver_node: ast.expr,
    receiver: Tensor,
    name: str,
    arguments: Arguments,
) -> Value:
    """What ``receiver.name(..)`` gives."""
    if name in torch_api.DEVICE_METHODS:
        return move(frame, state, node, receiver, method_device(frame, name, arguments))
    if name == "to":
        given = arguments.keywords.get("device") or next(iter(arguments.positional), None)
        if given is not None and is_tagged_choice(given[1]):
            return under_each(
                state, given[1], lambda each: move(frame, state, node, receiver, as_device(frame, given[0], each))
            )
        return move_to(frame, state, node, receiver, arguments)
    if name == "pin_memory":
        return at(receiver, CPU)
    if name == "type" and arguments.positional:
        device = type_device(arguments.positional[0][1])
        brought_down = legacy_types.brought_down(frame, node, receiver, device)
        return brought_down or move(frame, state, node, receiver, device)
    if name == "type_as" and arguments.positional:
        return move_to(frame, state, node, receiver, arguments)
    if name in torch_api.NEW_METHODS:
        return _new(frame, name, receiver, arguments)
    if name == "size":
        return NUMBER if arguments.positional else NUMBERS
    if name in _PLAIN:
        return _PLAIN[name]
    if name in HOOKS:
        note_hook(frame, state, node, receiver, arguments)
        return UNKNOWN
    if name == "numpy":
        forced = arguments.value(0, "force") == Const(True)
        frame.machine.emit(ReadByHost(frame, state, node, (receiver_node, receiver), forced))
        return array_of(receiver)
    in_place = name.endswith("_") and not name.endswith("__")
    plain = name.rstrip("_") if in_place else name
    of_tensors = plain in torch_api.METHOD_TENSOR or name in torch_api.METHOD_TENSOR
    if not of_tensors or _is_of_arrays(name, arguments):
        return _other(frame, state, node, receiver_node, receiver, plain, arguments)
    if name in torch_api.CROSSING or (receiver.parameter and name in torch_api.GIVE_THEMSELVES):
        return receiver
    return _operation(frame, state, node, receiver_node, receiver, plain, arguments, in_place)


_PLAIN: dict[str, Value] = {
    **dict.fromkeys(("item", "dim", "numel", "nelement", "ndimension", "element_size"), NUMBER),
    **dict.fromkeys(("type", "__repr__"), TEXT),
}
"""Methods that give numbers and texts, whatever they are asked."""


def _is_of_arrays(name: str, arguments: Arguments) -> bool:
    """Whether ``x.transpose(..)`` is that of NumPy, which takes all axes, or none: a tensor wants two dimensions."""
    known = name == "transpose" and not (arguments.starred or arguments.double_starred or arguments.keywords)
    return known and len(arguments.positional) != 2


def _other(
    frame: Frame,
    state: State,
    node: ast.Call,
    receiver_node: ast.expr,
    receiver: Tensor,
    name: str,
    arguments: Arguments,
) -> Value:
    if name in torch_api.METHOD_TUPLE:
        result = _operation(frame, state, node, receiver_node, receiver, name, arguments, False)
        return Seq(None, result)
    if name == "unique":
        result = _operation(frame, state, node, receiver_node, receiver, name, arguments, False)
        several = any(key.startswith("return_") for key in arguments.keywords)
        return Seq(None, result) if several else result
    if name in torch_api.METHOD_LIST:
        return Seq(None, element_of(receiver) if name == "unbind" else receiver)
    if name == "tolist" and not receiver.opaque:
        return NUMBER if receiver.ndim == 0 else NUMBERS if receiver.ndim == 1 else Seq(None, UNKNOWN)
    if name == "get_device":
        return number_of_device(state, node, receiver)
    if name in torch_api.METHOD_PLAIN:
        if name in torch_api.COMPARING:
            _operation(frame, state, node, receiver_node, receiver, name, arguments, False)
        return NUMBER
    if name == "backward":
        gradient = arguments.get(0, "gradient")
        combine(frame, state, node, "`.backward()`", [(receiver_node, receiver), *([gradient] if gradient else [])])
        return NONE
    return _of_no_tensor(receiver, name)


def _of_no_tensor(receiver: Tensor, name: str) -> Value:
    """What a method gives that no tensor has: of a batch or an output, whose tensors are where that is."""
    if receiver.opaque and name in ("get", "pop", "values", "items", "copy"):
        return receiver
    counted = name.startswith(("num_", "n_", "number", "in_deg", "out_deg", "has_", "is_", "get_num"))
    plain = counted or name in ("tolist", "numpy", "keys", "transpose") or name in libraries.GRAPHS_ON_CPU
    return UNKNOWN if plain or not receiver.opaque or receiver.device == LOADER else Unknown(given=receiver.device)


def _operation(
    frame: Frame,
    state: State,
    node: ast.Call,
    receiver_node: ast.expr,
    receiver: Tensor,
    name: str,
    arguments: Arguments,
    in_place: bool,
) -> Value:
    operands = told_by_other(frame, [(receiver_node, receiver), *operands_of(name, arguments, 1)])
    strict = refuses_scalars(name, operands)
    result = combine(frame, state, node, f"`.{name}{'_' if in_place else ''}()`", operands, strict, in_place)
    if not isinstance(result, Tensor):
        return without_ndim(name, result)
    ndim = method_ndim(name, receiver, arguments, result)
    itself = receiver.parameter and in_place
    shaped = Tensor(result.device, ndim, result.creations, result.steps, result.moved and in_place, itself)
    numbered = bool(arguments.positional) and is_number(arguments.positional[0][1])
    if name in torch_api.PAIR_WITH_DIM and (arguments.keywords or numbered):
        return sequence([shaped, shaped])
    return shaped


_GIVE_VECTORS = frozenset({"flatten", "ravel", "unique"})
"""Methods that give all elements in one dimension, unless they are told of others."""
_GIVE_DIMENSIONS = _GIVE_VECTORS | {"nonzero", "repeat_interleave", "unsqueeze_", "masked_select", "bincount"}


def method_ndim(name: str, receiver: Tensor, arguments: Arguments, result: Tensor) -> int | None:
    """The number of dimensions after an operation that changes it."""
    ndim = receiver.ndim
    if name in torch_api.REDUCTIONS:
        return _reduced_ndim(name, ndim, arguments)
    if name == "matmul":
        other = next((value for value in arguments.values if isinstance(value, Tensor)), None)
        return product_ndim(ndim, other.ndim if other is not None else None)
    if name in torch_api.MAYBE_SCALAR:
        return None
    if name == "unsqueeze":
        return ndim + 1 if ndim is not None and ndim >= 0 else AT_LEAST_1
    if name in ("view", "reshape", "expand", "repeat", "permute"):
        given = arguments.positional
        if len(given) == 1 and not is_number(given[0][1]):
            size = given[0][1]
            if isinstance(size, Dtype):
                return ndim
            return len(size.items) if isinstance(size, Seq) and size.items is not None else AT_LEAST_1
        return AT_LEAST_1 if arguments.starred else len(given) or None
    if name in _GIVE_VECTORS and not arguments.pairs:
        return 1
    if name in _GIVE_DIMENSIONS or name in torch_api.SORTING:
        return AT_LEAST_1
    if name in torch_api.SAME_NUMBER_OF_DIMS:
        return result.ndim
    if any(isinstance(each, Tensor) for each in arguments.values):
        return result.ndim
    return AT_LEAST_1 if ndim else None


def _reduced_ndim(name: str, ndim: int | None, arguments: Arguments) -> int | None:
    """What a reduction leaves; `norm` takes its order first, and the flag in ``std(False)`` is no dimension."""
    place = 1 if name == "norm" else 0
    given = arguments.get(place, "dim") or arguments.keywords.get("axis")
    if given is None or (isinstance(given[1], Const) and isinstance(given[1].value, bool)):
        return None if arguments.starred else 0
    keeps = arguments.keywords.get("keepdim")
    if keeps is not None and keeps[1] != Const(False):
        return ndim if keeps[1] == Const(True) else None
    if len(arguments.positional) > place + 1:
        return None
    if ndim is None or ndim < 1:
        return AT_LEAST_1 if _is_inner(given[1]) else None
    return ndim - 1 if is_number(given[1]) else None


def _is_inner(dimension: Value) -> bool:
    """Whether a tensor with this dimension has at least two, one of which is left after reducing it."""
    return isinstance(dimension, Const) and isinstance(dimension.value, int) and dimension.value > 0


def without_ndim(name: str, result: Value) -> Value:
    """What an operation gives for alternatives, where it may give numbers for tensors that have dimensions."""
    if not isinstance(result, Choice) or name not in torch_api.MAYBE_SCALAR | torch_api.REDUCTIONS:
        return result
    return distribute(result, lambda each: replace(each, ndim=None) if isinstance(each, Tensor) else each)


def refuses_scalars(name: str, operands: Operands) -> bool:
    """Whether these operands of an operation have to be in one place, the 0-dim ones too."""
    if name in torch_api.STRICT:
        return True
    scalars = [
        place
        for place, (_, value) in enumerate(operands)
        if isinstance(value, Tensor) and value.ndim == 0 and on_cpu(value.device)
    ]
    if name in torch_api.STRICT_OR_NUMBERS:
        held = (each for _, value in operands for _, each in alternatives(value))
        return bool(scalars) or any(isinstance(each, Tensor) and each.ndim is None and each.creations for each in held)
    return name in torch_api.SCALAR_LAST and any(place < 2 for place in scalars)


def operands_of(name: str, arguments: Arguments, first: int) -> Operands:
    """The operands among the arguments of an operation; `first` is the position of the first argument."""
    if name in torch_api.BOUNDED and _has_bound_that_is_number(arguments, first):
        return [surely_tensor(*each) for each in arguments.positional[: 1 - first]]
    positions = torch_api.OPERANDS.get(name, _ONLY_FIRST)
    found: Operands = []
    for place, (node, value) in enumerate(arguments.positional, first):
        if place not in positions and name not in torch_api.ANY_NUMBER:
            continue
        operands = tensor_operands(node, value)
        surely = place in torch_api.NEVER_NUMBERS.get(name, ()) if place else name not in torch_api.MAYBE_NUMBER_FIRST
        found += [surely_tensor(*each) for each in operands] if surely else operands
    for keyword, (node, value) in arguments.keywords.items():
        if keyword in torch_api.TENSOR_KEYWORDS:
            found += tensor_operands(node, value)
    return found


def _has_bound_that_is_number(arguments: Arguments, first: int) -> bool:
    return any(map(is_number, [*arguments.values[1 - first :], *arguments.keyword_values.values()]))


def surely_tensor(node: ast.expr, value: Value) -> tuple[ast.expr, Value]:
    """The first operand of an operation of torch is a tensor, whatever it came from.

    A sum that a loop makes is no number there, though it started as one.
    """
    if isinstance(value, Choice):
        held = [each for each in value.alternatives if not is_number(each[1])]
        if len(held) == len(value.alternatives):
            return node, value
        return node, choose([(conditions, surely_tensor(node, each)[1]) for conditions, each in held])
    given = value.given if isinstance(value, Unknown) else None
    return (node, value) if given is None else (node, given_tensor(given, node))


_ONLY_FIRST = frozenset({0})


def tensor_operands(node: ast.expr, value: Value) -> Operands:
    """The tensors that an argument brings in, those in a list or tuple too."""
    value = distribute(value, _named_parts) if type(value) is Choice else _named_parts(value)
    if type(value) is Choice and any(type(each) is Seq for _, each in value.alternatives):
        return [(node, each) for each in _by_position(value)]
    if type(value) is Seq:
        items = value.items if value.items is not None else value.members or (value.element,)
        nodes = (
            node.elts
            if isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) == len(items)
            else [node] * len(items)
        )
        found: Operands = []
        for each_node, each in zip(nodes, items, strict=True):
            found += tensor_operands(each_node, each)
        return found
    return [(node, value)]


def _named_parts(value: Value) -> Value:
    """A named tuple as the tuple that it is."""
    return unpacked(value) if type(value) is Record else value


def _by_position(value: Choice) -> list[Value]:
    """A choice of sequences as one choice for each position."""
    count = max(len(each.items or ()) for _, each in value.alternatives if isinstance(each, Seq))

    def item(each: Value, place: int) -> Value:
        if not isinstance(each, Seq):
            return UNKNOWN if place or each != NONE else NONE
        if each.items is None:
            return each.element
        return each.items[place] if place < len(each.items) else NONE

    return [
        Choice(tuple((conditions, item(each, place)) for conditions, each in value.alternatives))
        for place in range(count or 1)
    ]


def _new(frame: Frame, name: str, receiver: Tensor, arguments: Arguments) -> Tensor:
    given = arguments.keywords.get("device")
    device = receiver.device if given is None else as_device(frame, *given)
    creations = receiver.creations if given is None else ()
    if name == "new_tensor":
        ndim = data_ndim(arguments.value(0, "data"))
    else:
        size = arguments.value(0, "size")
        ndim = 0 if isinstance(size, Seq) and size.items == () else AT_LEAST_1
    return Tensor(device, ndim, creations, receiver.steps, receiver.moved)
