"""Tensors made on the CPU and given away beside inputs: returned with them by `forward`, or to one layer or model.

As large as an input, they are meant to be where that is. Lengths, steps and counters are often kept on the CPU, and so
are tables of data; what has one dimension and is given to a layer may be such.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from torchdevlint.flow.events import LayerCalled, Mixed, Returned
from torchdevlint.flow.facts.tensors import SAME_RETURN
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.model_names import TAKEN_BY_NAME, is_named_like_a_model
from torchdevlint.flow.scope.names import dotted_path, is_dtype_name, parameter_names
from torchdevlint.flow.state.devices import DEFAULT, Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import device_if_tensor
from torchdevlint.flow.state.values import UNKNOWN, Choice, Map, Seq, Tensor, Value
from torchdevlint.patterns import regex
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import Assignment, assignments_in, inside

_FILLED = frozenset({"zeros", "ones", "empty", "full", "rand", "randn", "eye"})
"""Factories of what is calculated with; ranges and drawn numbers are as often indices."""
_WHOLE_NUMBERS = regex(r"long|int|short|uint")
_NOISE = frozenset({"rand", "randn"})
"""What is drawn for a model to work on, however large it is: no length, and no index."""
_OF_SIZES = frozenset({"shape", "size"})
_MATRIX = 2
_ANYWHERE = (Origin.MODEL, Origin.ARGUMENT)

Part = tuple[ast.expr, Tensor]


def _note_returned(event: Returned) -> None:
    """``return x, torch.ones(x.shape[0], 4)``, ``return {"x": x, "mask": mask}``."""
    frame, node = event.frame, event.node
    if frame.context == "forward" and frame.entry.kind == "forward":
        parts = [*_parts(node, event.value), *_listed(frame, event.state, node)]
        _look(frame, event.state, node, SAME_RETURN, parts, 1)


def _note_layer(event: LayerCalled) -> None:
    """``self.proj(x, torch.rand(x.shape[0], 3))``, for a layer of unknown class, or for what is called a model."""
    frame, node = event.frame, event.node
    layer = frame.context == "forward" and event.owner is not None
    if frame.depth or not (layer or is_named_like_a_model(event.layer)):
        return
    tensors = [part for at, value in event.operands for part in _of_operand(frame.function, at, value)]
    names = {id(each.value): each.arg or "" for each in node.keywords}
    _look(frame, event.state, node, f"`{frame.machine.text_of(node.func)}()`", tensors, _MATRIX, names)


def _of_operand(function: AnyFunction | None, at: ast.expr, value: Value) -> Iterator[Part]:
    """A tensor, or what an argument is made where the caller gave none: ``if mask is None: mask = torch.ones(..)``."""
    if isinstance(value, Tensor):
        yield at, value
    elif isinstance(value, Choice):
        held = [each for _, each in value.alternatives]
        made = [each for each in held if isinstance(each, Tensor) and each.creations]
        is_argument = function is not None and dotted_path(at) in parameter_names(function)
        if len(made) == 1 and all(each is made[0] or _is_given(each, is_argument) for each in held):
            yield at, made[0]


def _is_given(value: Value, is_argument: bool) -> bool:
    """Whether it is, or was made of, what came with an argument; of a plain argument nothing may be known."""
    if value == UNKNOWN:
        return is_argument
    place = device_if_tensor(value)
    return place is not None and place.origin in _ANYWHERE


def _look(
    frame: Frame,
    state: State,
    node: ast.AST,
    operation: str,
    parts: list[Part],
    least: int,
    names: Mapping[int, str] = MappingProxyType({}),
) -> None:
    """Report what was made beside inputs that are `there`; `names` are those of parameters that parts are given to."""
    function = frame.function
    there = [each for each in parts if each[1].device.origin in _ANYWHERE and each[1].ndim != 0]
    if not there or function is None:
        return
    for at, value in parts:
        if value.device != DEFAULT or not value.creations:
            continue
        enough = value.ndim is not None and (value.ndim >= least or value.ndim < 0)
        given_noise = least == _MATRIX and value.ndim != 0 and _is_noise(value)
        if given_noise or (enough and _is_meant_there(function, at, value, names.get(id(at), ""))):
            frame.machine.emit(Mixed(frame, state, node, operation, (at, value), there[0]))


def _is_noise(value: Tensor) -> bool:
    return all(site.function.rpartition(".")[2] in _NOISE for site in value.creations)


def _parts(node: ast.expr, value: Value) -> Iterator[Part]:
    """The tensors of a tuple, list or dict that is written out, each with its expression, also in front of others."""
    pairs: list[tuple[ast.expr, Value]] = []
    if isinstance(node, (ast.Tuple, ast.List)) and isinstance(value, Seq) and value.items is not None:
        pairs = list(zip(node.elts, value.items, strict=False)) if len(node.elts) == len(value.items) else []
    elif isinstance(node, ast.Dict) and isinstance(value, Map):
        held = dict(value.items)
        named = zip(node.keys, node.values, strict=True)
        pairs = [(each, held[key.value]) for key, each in named if isinstance(key, ast.Constant) and key.value in held]
    yield from ((at, each) for at, each in pairs if isinstance(each, Tensor))


def _listed(frame: Frame, state: State, node: ast.expr) -> Iterator[Part]:
    """The names in ``[x, mask] + others`` and ``[x, mask, *others]``, a list of which the rest is not known."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        node = node.left
    if not isinstance(node, (ast.List, ast.Tuple)):
        return
    for at in node.elts:
        value = state.env.get(at.id) if isinstance(at, ast.Name) else None
        if isinstance(value, Tensor):
            yield at, value


def _is_meant_there(function: AnyFunction, at: ast.expr, value: Tensor, parameter: str) -> bool:
    """Whether all that it was made by is as large as something of the function, and is no length or index.

    What goes to a parameter such as `attention_mask` is no index either, though it holds whole numbers.
    """
    known = parameter in TAKEN_BY_NAME
    if not known and (is_bookkeeping(dotted_path(at)) or is_bookkeeping(parameter)):
        return False
    return all(_is_sized(function, site.node, known) for site in value.creations)


def _is_sized(function: AnyFunction, node: ast.AST, whole_numbers: bool) -> bool:
    if not isinstance(node, ast.Call) or (dotted_path(node.func) or "").rpartition(".")[2] not in _FILLED:
        return False
    dtypes = [] if whole_numbers else [dotted_path(each.value) or "" for each in node.keywords if each.arg == "dtype"]
    if any(is_dtype_name(f"torch.{each.rpartition('.')[2]}") and _WHOLE_NUMBERS.search(each) for each in dtypes):
        return False
    sizes = {each.id for argument in node.args for each in inside(argument) if isinstance(each, ast.Name)}
    if any(_asks_for_size(argument) for argument in node.args):
        return True
    names = _names_bound(each for each in assignments_in(function) if _asks_for_size(each.value))
    shapes = _names_bound(
        each for each in assignments_in(function) if not names.isdisjoint(_names_in_tuple(each.value))
    )
    return not sizes.isdisjoint(names | shapes)


def _names_bound(assignments: Iterable[Assignment]) -> set[str]:
    targets = (target for each in assignments for target in each.targets)
    return {one.id for target in targets for one in inside(target) if isinstance(one, ast.Name)}


def _names_in_tuple(node: ast.expr) -> set[str]:
    """``(batch_size, length)``, of names for sizes."""
    return {each.id for each in node.elts if isinstance(each, ast.Name)} if isinstance(node, ast.Tuple) else set()


def _asks_for_size(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr in _OF_SIZES for each in inside(node))


EVENTS = {Returned: _note_returned, LayerCalled: _note_layer}
