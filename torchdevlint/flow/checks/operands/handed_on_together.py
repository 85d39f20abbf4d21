"""Tensors that a function makes and hands on together, of which one alone is not on the device of the others.

They leave in one tuple, list, dict or object, or go to one call that is not known. The device that the function names
for the others is meant for all: nobody else can know that they are in two places. One other is enough where both are
written side by side, are in one list, or are returned where one factory makes both of sizes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType

from torchdevlint.flow.checks.models.own_tensors import speaks_of_places
from torchdevlint.flow.checks.operands.sized_alike import is_for_the_cpu
from torchdevlint.flow.events import Constructed, ForeignCalled, Mixed, Returned, UnknownCalled
from torchdevlint.flow.facts.tensors import SAME_RETURN
from torchdevlint.flow.kinds.sizes import is_one_element
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT, Origin, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.records import is_held_together
from torchdevlint.flow.state.tensors import is_created, is_told_device
from torchdevlint.flow.state.values import Choice, Dev, Map, Record, Seq, Tensor, Value
from torchdevlint.source.nodes import nodes_in

_MOST_PARTS = 12
_LEAST_PLACED = 2
_MATRIX = 2
"""What has so many dimensions is no list of lengths or steps, whatever it is as large as."""
_OF_FLOATS = frozenset({"rand", "randn"})
_WAYS = (
    torch_api.SIZE_FACTORIES | torch_api.MATRIX_FACTORIES | frozenset({"full"}),
    torch_api.DATA_FACTORIES,
    torch_api.VECTOR_FACTORIES,
)
"""Factories that make tensors in one way: of sizes, of data, and ranges."""

Part = tuple[ast.expr, Tensor]
_NO_NAMES: Mapping[ast.expr, str] = MappingProxyType({})


def _note_returned(event: Returned) -> None:
    """``return torch.tensor(a).to(device), torch.tensor(b).to(device), torch.tensor(c)``."""
    frame = event.frame
    if is_held_together(event.value) and frame.entry.kind != "init":
        parts, names = list(parts_of(event.node, event.value)), _names(event.node)
        _look(frame, event.state, event.node, SAME_RETURN, parts, names, isinstance(event.value, Seq))


def _note_constructed(event: Constructed) -> None:
    """``Dual(torch.ones(3, device=device), torch.zeros(3))``, of a class that keeps what it is given."""
    if not event.frame.depth and keeps_as_given(event):
        _note_arguments(event.frame, event.state, event.node, event.arguments)


def keeps_as_given(event: Constructed) -> bool:
    """Whether a class that is built neither moves anything nor asks for a place."""
    owner = event.init.owner
    return owner is not None and not any(speaks_of_places(each.node) for each in owner.mro)


def _note_call(event: UnknownCalled | ForeignCalled) -> None:
    """``kernel(x, torch.empty(3, device=device), torch.empty(3))``."""
    if not event.frame.depth and not is_for_the_cpu(event.node):
        _note_arguments(event.frame, event.state, event.node, event.arguments)


def _note_arguments(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> None:
    if frame.depth or frame.entry.kind == "init" or not 1 < len(arguments.pairs) <= _MOST_PARTS:
        return
    parts = [(at, value) for at, value in arguments.pairs if type(value) is Tensor]
    if len(parts) > 1 and not is_told_device_too(arguments):
        names = {at: name for name, (at, _) in arguments.keywords.items()}
        _look(frame, state, node, f"`{frame.machine.text_of(node.func)}()`", parts, names)


def is_told_device_too(arguments: Arguments) -> bool:
    """Whether a call is told a device beside tensors: it may bring there what is not."""
    return any(isinstance(value, Dev) for _, value in arguments.pairs)


def _look(
    frame: Frame,
    state: State,
    node: ast.AST,
    operation: str,
    parts: list[Part],
    names: Mapping[ast.expr, str] = _NO_NAMES,
    together: bool = False,
) -> None:
    placed = list({each[1].steps[0].node: each for each in parts if _is_placed(each[1])}.values())
    if not placed or len({each[1].device for each in placed}) > 1 or state.guarded:
        return
    ways = set(chain.from_iterable(_way(each.steps[0].made_by) for _, each in placed))
    for at, value in parts:
        if not _stayed(frame, value) or not (_is_made_so(value, ways) or _is_calculated_with(value)):
            continue
        beside = next((each for each in placed if together or _stands_beside(operation, (at, value), each)), None)
        if beside is None and len(placed) < _LEAST_PLACED:
            continue
        if _is_counted(value) or is_bookkeeping(dotted_path(at)) or is_bookkeeping(names.get(at)):
            continue
        frame.machine.emit(Mixed(frame, state, node, operation, (at, value), beside or placed[0]))


def _way(function: str) -> frozenset[str]:
    name = function.rpartition(".")[2]
    return next((each for each in _WAYS if name in each), frozenset({name}))


def _is_made_so(value: Tensor, ways: set[str]) -> bool:
    return all(site.function.rpartition(".")[2] in ways for site in value.creations)


def _stands_beside(operation: str, one: Part, other: Part) -> bool:
    """Whether both are written in the one expression, side by side, or are returned, and one factory makes both."""
    makers = {site.function for site in one[1].creations} | {other[1].steps[0].made_by}
    alike = operation == SAME_RETURN and len(makers) == 1 and makers.pop().rpartition(".")[2] in _WAYS[0]
    return alike or (isinstance(one[0], ast.Call) and isinstance(other[0], ast.Call))


def _is_calculated_with(value: Tensor) -> bool:
    """Whether it has rows, and factories of floats made it: no index, and no list of lengths."""
    makers = {site.function.rpartition(".")[2] for site in value.creations}
    return (value.ndim or 0) >= _MATRIX and makers <= _OF_FLOATS


def _names(node: ast.expr) -> dict[ast.expr, str]:
    """What the parts of a dict or of an object are called where they are written out."""
    if isinstance(node, ast.Dict):
        named = zip(node.keys, node.values, strict=True)
        return {each: str(key.value) for key, each in named if isinstance(key, ast.Constant)}
    return {each.value: each.arg or "" for each in node.keywords} if isinstance(node, ast.Call) else {}


def _is_counted(value: Tensor) -> bool:
    """Whether it has one dimension, and is made of whole numbers that are lengths or the like."""
    made = [site.node for site in value.creations]
    divided = any(isinstance(each.op, ast.Div) for node in made for each in nodes_in(node, ast.BinOp))
    return (value.ndim or 0) < _MATRIX and not divided and any(map(_reads_bookkeeping, made))


def _reads_bookkeeping(made: ast.AST) -> bool:
    """Whether a factory is given a length or the like, as in ``torch.zeros(num_steps)``."""
    names = map(dotted_path, chain(nodes_in(made, ast.Name), nodes_in(made, ast.Attribute)))
    return any(map(is_bookkeeping, names))


def parts_of(node: ast.expr, value: Value) -> Iterator[Part]:
    """The tensors of a tuple, list, dict or object that is returned, each with its expression, or where it was made."""
    pairs: Iterable[tuple[ast.expr | None, Value]] = ()
    if isinstance(value, Seq):
        held = (value.items or value.members)[: _MOST_PARTS + 1]
        written = isinstance(node, (ast.Tuple, ast.List)) and value.items is not None
        places: list[ast.expr | None] = [*node.elts] if written else [None] * len(held)  # type: ignore[attr-defined]
        pairs = zip(places, held, strict=False) if len(held) <= _MOST_PARTS else ()
    elif isinstance(value, Map) and isinstance(node, ast.Dict):
        items = {key: each for key, each in value.items if isinstance(key, str)}
        named = ((_text(key), each) for key, each in zip(node.keys, node.values, strict=True))
        pairs = [(each, items[key]) for key, each in named if key in items]
    elif isinstance(value, Record) and isinstance(node, ast.Call):
        given = {each.arg: each.value for each in node.keywords}
        pairs = [(given.get(name), each) for name, each in value.items]
    for at, part in pairs:
        each = _made_once(part)
        made = each.steps[0].node if isinstance(each, Tensor) and each.steps else None
        place = at if at is not None else made
        if isinstance(each, Tensor) and isinstance(place, ast.expr):
            yield place, each


def _made_once(value: Value) -> Value:
    """What one factory makes on a device that a test decides: ``device = w.device if device is None else device``."""
    held = [each for _, each in alternatives(value)] if isinstance(value, Choice) else []
    made = {each.steps[0].node for each in held if isinstance(each, Tensor) and each.steps and _is_placed(each)}
    alike = len(made) == 1 and all(isinstance(each, Tensor) and _is_placed(each) for each in held)
    return held[0] if alike else value


def _text(key: ast.expr | None) -> str:
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


def _is_placed(value: Tensor) -> bool:
    """Whether it was made by a factory, and the code says where it is."""
    given = value.device.origin in (Origin.EXPRESSION, Origin.LITERAL, Origin.ARGUMENT, Origin.MODEL)
    return given and not on_cpu(value.device) and is_created(value)


def _stayed(frame: Frame, value: Tensor) -> bool:
    """Whether it was made by factories of this function alone, without a device, and as more than one number."""
    here = all(site.scope == frame.scope and not site.drawn and not is_told_device(site) for site in value.creations)
    return value.device == DEFAULT and bool(value.ndim) and bool(value.creations) and here and not is_one_element(value)


EVENTS = {
    Returned: _note_returned,
    Constructed: _note_constructed,
    UnknownCalled: _note_call,
    ForeignCalled: _note_call,
}
