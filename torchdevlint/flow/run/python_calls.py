"""Calls of what Python itself brings."""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchdevlint.flow.kinds import ranks
from torchdevlint.flow.kinds.instance_tests import is_instance_of
from torchdevlint.flow.kinds.loaders import forget_if_written, next_of
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.operations import combine
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.scope.uses import bindings_in, stored_into, uses_in
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import Origin
from torchdevlint.flow.state.joins import distribute, element_of, is_module, is_number, sequence
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.members import is_set_at_once
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.records import emptied, with_field
from torchdevlint.flow.state.values import (
    NONE,
    NUMBER,
    NUMBERS,
    UNKNOWN,
    Choice,
    Cls,
    Const,
    Dev,
    Library,
    Map,
    Number,
    Obj,
    Record,
    Ref,
    Seq,
    Tensor,
    Text,
    Value,
)
from torchdevlint.source.functions import AnyFunction


def call_builtin(frame: Frame, state: State, node: ast.Call, tail: str, arguments: Arguments) -> Value:
    """What calling a builtin gives; an unknown one, or one of no interest, gives UNKNOWN."""
    transfer = _BUILTINS.get(tail)
    if transfer is not None:
        return transfer(frame, state, node, arguments)
    if tail == "int":
        return Number(ranks.asked_at(_first(arguments)))
    if tail in _NUMBERS:
        return NUMBER
    return NONE if tail == "print" else UNKNOWN


_NUMBERS = frozenset("int float bool len round id hash ord any all".split())


def _first(arguments: Arguments) -> Value:
    return arguments.positional[0][1] if arguments.positional else UNKNOWN


def _abs(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return _first(arguments) if isinstance(_first(arguments), Tensor) else NUMBER


def _len(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """A number that is known of a list that this function was given with its items, and does not change."""
    value, function = _first(arguments), frame.function
    if isinstance(value, Seq) and value.items and frame.depth and function is not None:
        name = dotted_path(node.args[0]) if node.args else None
        if name in parameter_names(function) and not _is_changed(function, name):
            return Const(len(value.items))
    return NUMBER


def _is_changed(function: AnyFunction, name: str) -> bool:
    """Whether a function binds a parameter again, or may make what it was given longer or shorter."""
    bound_again = any(bound for _, bound, _ in bindings_in(function).get(name, ()))
    return bound_again or name in stored_into(function) or bool(uses_in(function)[name].attributes)


def _range(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return NUMBERS


def _text(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``str(device)`` still says which device it is."""
    first = _first(arguments)
    return first if isinstance(first, Dev) else Text(ranks.asked_at(first))


def _sequence(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    if not arguments.positional:
        return Seq((), UNKNOWN)
    first = _first(arguments)
    if isinstance(first, Choice):
        return distribute(first, _as_sequence)
    return _as_sequence(first)


def _as_sequence(value: Value) -> Value:
    return value if isinstance(value, Seq) else Seq(None, element_of(value))


def _reordered(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return Seq(None, element_of(_first(arguments)))


def iterate(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``iter(x)``, ``itertools.cycle(x)``."""
    return Seq(None, _gone_through(frame, node, *arguments.positional[0]) if arguments.positional else UNKNOWN)


def _enumerate(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    inner = _gone_through(frame, node, *arguments.positional[0]) if arguments.positional else UNKNOWN
    return Seq(None, sequence([NUMBER, inner]))


def _zip(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return Seq(None, sequence([_gone_through(frame, node, *each) for each in arguments.positional]))


def _gone_through(frame: Frame, taken: ast.Call, node: ast.expr, value: Value) -> Value:
    """What each round through `value` gives: a batch, where `node` is a loader."""
    batch = next_of(frame, taken, node, value)
    return element_of(value) if batch is None else batch


def _next(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return element_of(_first(arguments))


def _dict(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    given, named = _first(arguments), arguments.keyword_values
    if isinstance(given, Map) and not arguments.double_starred:
        return Map(tuple({**dict(given.items), **named}.items()), given.element, given.closed)
    if arguments.positional or arguments.double_starred:
        pair = element_of(given)
        items = pair.items if isinstance(pair, Seq) and pair.items is not None else ()
        return Map(tuple(named.items()), items[1] if len(items) == 2 else UNKNOWN)
    return Map(tuple(arguments.keyword_values.items()), UNKNOWN, closed=True)


def _extreme(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``max(torch.zeros(1), x)`` compares its arguments as ``>`` does, and gives one of them."""
    compared = len(arguments.positional) > 1 and not arguments.starred and not arguments.keywords
    if compared and any(isinstance(value, Tensor) for value in arguments.values):
        combine(frame, state, node, f"`{frame.machine.text_of(node.func)}()`", arguments.positional)
        return UNKNOWN
    return NUMBER if arguments.values and all(is_number(value) for value in arguments.values) else UNKNOWN


def _map(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    if len(arguments.positional) < 2:
        return UNKNOWN
    inner = Arguments([(at, element_of(value)) for at, value in arguments.positional[1:]], {})
    return Seq(None, frame.machine.call_value(frame, state, node, _first(arguments), inner))


def _isinstance(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """Decided where both the value and the classes are known."""
    answer = is_instance_of(*arguments.values) if len(arguments.values) == 2 else None
    return UNKNOWN if answer is None else Const(answer)


def _type(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``type(x)``, which may be called to make another one of its kind."""
    value = _first(arguments)
    if isinstance(value, Obj):
        return Cls(value.info)
    if isinstance(value, Record):
        return value.kind
    return Ref("builtins.list") if isinstance(value, Seq) else UNKNOWN


_OF_TENSORS = torch_api.TENSOR_ONLY_METHODS | torch_api.TENSOR_ONLY_ATTRIBUTES | {"cpu", "device", "numpy", "to"}


def _hasattr(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``hasattr(model, "module")``: whether it is wrapped; ``hasattr(x, "detach")``: whether it is a tensor.

    What ``__init__`` sets on `self` in any case is there.
    """
    first, name = _first(arguments), arguments.value(1, "name")
    if isinstance(first, Tensor) and not first.opaque and isinstance(name, Const) and name.value in _OF_TENSORS:
        return Const(True)
    is_self = bool(node.args) and isinstance(node.args[0], ast.Name) and node.args[0].id == "self"
    if is_self and isinstance(first, Obj) and isinstance(name, Const) and frame.entry.kind != "init":
        return Const(True) if is_set_at_once(first.info, str(name.value)) else UNKNOWN
    if name != Const("module") or not is_module(first):
        return UNKNOWN
    if isinstance(first, Library) and first.prefix:
        return Const(True)
    return Const(False) if isinstance(first, Library) and first.name else UNKNOWN


def _getattr(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``getattr(model, "module", model)``: what a wrapper wraps, or the model itself.

    Of ``getattr(nn.init, name)`` a function of which nothing but the place is known.
    """
    if len(arguments.values) < 2:
        return UNKNOWN
    value, name = arguments.values[:2]
    if isinstance(value, Record) and isinstance(name, Const):
        return dict(value.items).get(name.value, UNKNOWN)
    if value == Ref("torch.nn.init") and not isinstance(name, Const):
        return Ref("torch.nn.init.any_")  # whichever it is, it gives the tensor that it fills
    if name != Const("module") and name != Const("_orig_mod"):
        return UNKNOWN
    default = arguments.value(2, "default")
    itself = len(node.args) == 3 and dotted_path(node.args[0]) == dotted_path(node.args[2]) is not None

    def unwrap(each: Value) -> Value:
        if isinstance(each, Library) and each.inner is not None:
            return each.inner
        return each if itself else default

    return distribute(value, unwrap) if isinstance(value, Choice) else unwrap(value)


def _setattr(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """A field of a record is written, or, under a computed name, any of them."""
    if len(arguments.values) == 3 and isinstance(arguments.values[0], Record):
        record, name, value = arguments.values
        path = dotted_path(arguments.positional[0][0])
        if path is not None and isinstance(record, Record):
            written = with_field(record, name.value, value) if isinstance(name, Const) else emptied(record)
            state.bind(path, written)
    elif len(arguments.values) == 3 and isinstance(arguments.values[0], Tensor):
        forget_if_written(arguments.positional[0][0], arguments.values[2], state)
    elif len(arguments.values) == 3 and isinstance(arguments.values[0], Obj):
        _forget_set(arguments.values[0], dotted_path(arguments.positional[0][0]), state)
    return NONE


def _forget_set(receiver: Obj, path: str | None, state: State) -> None:
    """Attributes that ``setattr(self, name, value)`` may have written hold what nobody knows."""
    for held in [each for each in state.paths if each.rpartition(".")[0] == path]:
        if any(each.assigns_by_name(held.rpartition(".")[2]) for each in receiver.info.mro):
            state.paths[held] = UNKNOWN


def _sum(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """The sum of what Python goes through: of a part of a batch that may be a list, these are as well numbers."""
    summed = _first(arguments)
    if isinstance(summed, Tensor) and summed.opaque and summed.device.origin is Origin.LOADER:
        return UNKNOWN
    element = element_of(summed)
    if not isinstance(element, Tensor) or len(arguments.positional) < 2:
        return element
    start_node, start = arguments.positional[1]
    return combine(frame, state, node, "`sum()`", [(start_node, start), (arguments.positional[0][0], element)])


_BUILTINS: dict[str, Callable[[Frame, State, ast.Call, Arguments], Value]] = {
    "abs": _abs,
    "len": _len,
    "range": _range,
    "str": _text,
    "repr": _text,
    "format": _text,
    "input": _text,
    "list": _sequence,
    "tuple": _sequence,
    "set": _reordered,
    "frozenset": _reordered,
    "sorted": _reordered,
    "reversed": _reordered,
    "iter": iterate,
    "enumerate": _enumerate,
    "zip": _zip,
    "next": _next,
    "dict": _dict,
    "sum": _sum,
    "max": _extreme,
    "min": _extreme,
    "map": _map,
    "isinstance": _isinstance,
    "type": _type,
    "hasattr": _hasattr,
    "getattr": _getattr,
    "setattr": _setattr,
}
