"""An instance as the code that made it sees it: what ``__init__`` was given takes the place of its parameters.

The summary of a class says of an attribute that it is where the argument `a` is. That holds for `self` in its methods,
whoever made it; of an instance that was made here the argument is known, or nothing is.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import defaults, dotted_path, parameter_names, positional_names, public_path
from torchdevlint.flow.scope.none_tests import none_test
from torchdevlint.flow.state.devices import TOP, Device, Origin, literal, on_cpu
from torchdevlint.flow.state.joins import alternatives, distribute
from torchdevlint.flow.state.values import (
    NONE,
    UNKNOWN,
    Choice,
    Cls,
    Const,
    Dev,
    Func,
    Library,
    Map,
    Obj,
    Partial,
    Record,
    Seq,
    Step,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import once_a_node

Given = tuple[tuple[str, Value], ...]


_READS_MODEL = frozenset({"from_pretrained", "load_from_checkpoint"})
"""Methods that a class of Modules has of its library, and that give an object of the class."""


def read_by_class(node: ast.Call, callee: ast.Attribute, receiver: Value) -> Value:
    """``Net.from_pretrained(name)`` and ``Net.load_from_checkpoint(path)``: a model, wherever that leaves it."""
    if type(receiver) is not Cls or not receiver.info.is_module or callee.attr not in _READS_MODEL:
        return UNKNOWN
    return Obj(receiver.info, TOP, made_at=node, given=())


def given_to(init: Func, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Given:
    """The arguments of a call of ``__init__`` that are in a place, name or bring one, or None, by parameter."""
    names = positional_names(init.node)[init.receiver is not None :]
    known = ((name, _written(default)) for name, default in defaults(init.node))
    bound: dict[str, Value] = {name: value for name, value in known if value is not None}
    bound |= {**dict(zip(names, arguments, strict=False)), **keywords}
    return tuple((name, value) for name, value in sorted(bound.items()) if _says_where(value))


def _written(default: ast.expr | None) -> Value | None:
    """A default that is written down: a constant, or ``torch.device("cpu")``."""
    if isinstance(default, ast.Constant):
        return Const(default.value)
    if not isinstance(default, ast.Call) or len(default.args) != 1 or default.keywords:
        return None
    named = default.args[0]
    is_device = (
        isinstance(named, ast.Constant) and isinstance(named.value, str) and public_path(default.func) == "torch.device"
    )
    return Dev(literal(named.value)) if is_device else None  # type: ignore[attr-defined]


def where_it_goes(made: Obj, init: Func | None, node: ast.AST) -> Obj:
    """A Module whose ``__init__`` brings all of it to a device that it is given: ``self.to(device)``."""
    name = _own_place(init.node) if init is not None and made.info.is_module else None
    told = dict(made.given or ()).get(name) if name is not None else None
    if not isinstance(told, Dev) or told.device.origin is not Origin.EXPRESSION:
        return made
    return replace(made, device=told.device, placed=Step(f"built on {told.device.describe()}", node, of_module=True))


@once_a_node
def _own_place(init: FunctionNode | ast.Lambda) -> str | None:
    """The parameter that a constructor moves `self` to, whatever happens, if nothing binds it anew."""
    if isinstance(init, ast.Lambda):
        return None
    values = values_by_path(init)
    for statement in init.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and dotted_path(call.func) == "self.to" and len(call.args) == 1:
            path = dotted_path(call.args[0]) or ""
            kept = values.get(path, []) if path.startswith("self.") else []
            name = _told(kept[0]) if len(kept) == 1 else path
            return name if name in parameter_names(init) and name not in values else None
    return None


def _told(value: ast.expr) -> str:
    """`device` in ``device or "cpu"``, ``device if device is not None else "cpu"`` and ``torch.device(device)``."""
    if isinstance(value, ast.BoolOp) and isinstance(value.op, ast.Or):
        value = value.values[0]
    elif isinstance(value, ast.IfExp) and none_test(value.test) is False:
        value = value.body
    elif isinstance(value, ast.Call) and public_path(value.func) == "torch.device" and value.args:
        value = value.args[0]
    return dotted_path(value) or ""


def _says_where(value: Value) -> bool:
    if type(value) is Const:
        return value == NONE or (isinstance(value.value, str) and literal(value.value) != TOP)
    placed = isinstance(value, (Tensor, Dev)) or (type(value) is Unknown and value.given is not None)
    return placed or _brings(value)


def _brings(value: Value) -> bool:
    """Whether it is a Module that was put on an accelerator, or an object, which may hold one.

    A Module that nothing has moved yet may be moved while the instance holds it: nobody knows where it is later.
    """
    if isinstance(value, Obj) and not value.info.is_module:
        return value.made_at is not None
    return isinstance(value, (Obj, Library)) and value.placed is not None and not on_cpu(value.device or TOP)


def as_made(value: Value, made: Obj) -> Value:
    """What an attribute of the instance holds, of which the summary of its class says `value`."""
    return value if made.given is None else _with(value, dict(made.given))


def _with(value: Value, given: Mapping[str, Value]) -> Value:
    if type(value) is Tensor:
        return _tensor_with(value, given)
    if type(value) is Dev:
        return replace(value, device=_place(value.device, given))
    if isinstance(value, Unknown) and value.given is not None:
        argument = given.get(value.given.name) if value.given.origin is Origin.ARGUMENT else None
        if argument is not None and _brings(argument):
            return argument
        place = _place(value.given, given)
        return replace(value, given=None if place == TOP else place)
    if isinstance(value, Obj):
        held = value.given and tuple((name, _with(each, given)) for name, each in value.given)
        return replace(value, device=_place(value.device, given), given=held)
    if isinstance(value, Library) and value.device is not None:
        parts = tuple(_with(each, given) for each in value.children)
        return replace(value, device=_place(value.device, given), children=parts)
    if type(value) is Partial or (type(value) is Func and len(value.closure.scopes) > 1):
        return UNKNOWN  # it sees the names of the method that made it, which hold what the summary says
    return _held_with(value, given)


def _held_with(value: Value, given: Mapping[str, Value]) -> Value:
    """The same for what holds values."""
    if isinstance(value, Choice):
        return _one_place(distribute(value, lambda each: _with(each, given)))
    if isinstance(value, Seq):
        items = None if value.items is None else tuple(_with(each, given) for each in value.items)
        return Seq(items, _with(value.element, given), tuple(_with(each, given) for each in value.members))
    if isinstance(value, Map):
        pairs = tuple((key, _with(each, given)) for key, each in value.items)
        return Map(pairs, _with(value.element, given), value.closed)
    if isinstance(value, Record):
        return Record(value.kind, tuple((name, _with(each, given)) for name, each in value.items))
    return value


def _one_place(value: Value) -> Value:
    """A device that is named in several ways, as the default ``"cpu"`` of a parameter and by what it stands for."""
    places = {_named(each) for _, each in alternatives(value)}
    place = places.pop() if len(places) == 1 and isinstance(value, Choice) else TOP
    return value if place == TOP else Dev(place)


def _named(value: Value) -> Device:
    if isinstance(value, Const) and isinstance(value.value, str):
        return literal(value.value)
    return value.device if isinstance(value, Dev) else TOP


def _tensor_with(value: Tensor, given: Mapping[str, Value]) -> Tensor:
    """A tensor that came from an argument; what a Module keeps that was given on the CPU stays what it keeps."""
    place = _place(value.device, given)
    argument = given.get(value.device.name)
    if place == value.device or (value.device.origin is Origin.KEPT and on_cpu(place)):
        return value
    if isinstance(argument, Tensor):
        return replace(value, device=place, creations=argument.creations, steps=(*argument.steps, *value.steps))
    return replace(value, device=place, creations=())


def _place(device: Device, given: Mapping[str, Value]) -> Device:
    """Where something is that the summary says is where a parameter is, or at the device that a parameter names."""
    argument = given.get(device.name)
    if device.origin in (Origin.ARGUMENT, Origin.KEPT):
        if isinstance(argument, Tensor):
            return argument.device
        return argument.given or TOP if isinstance(argument, Unknown) else TOP
    if device.origin is Origin.EXPRESSION and isinstance(argument, Dev):
        return argument.device
    if device.origin is Origin.EXPRESSION and isinstance(argument, Const):
        return literal(argument.value) if argument != NONE else TOP
    return device
