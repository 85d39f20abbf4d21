"""What an operation does with the devices of its operands: the check, and where the result lives."""

from __future__ import annotations

import ast
from itertools import combinations, islice, product

from msgspec.structs import replace

from torchdevlint.flow.events import Asked, Filled, Marked, Met, Mixed, Operated, Placed
from torchdevlint.flow.kinds import loaders
from torchdevlint.flow.kinds.arrays import picks_several
from torchdevlint.flow.kinds.converted import asks_type
from torchdevlint.flow.kinds.drawn import is_drawn
from torchdevlint.flow.kinds.output_keys import is_key_of_no_model
from torchdevlint.flow.kinds.sizes import is_made_empty, is_mask, is_one_element
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.indices import has_slices, is_moved_to_index, is_read_as_vector, keeps_dimensions
from torchdevlint.flow.state.conditions import compatible, extended, leave_device_open
from torchdevlint.flow.state.devices import (
    CPU,
    DEFAULT,
    MODEL,
    TOP,
    Device,
    Origin,
    Relation,
    on_cpu,
    relation,
    stays_behind,
)
from torchdevlint.flow.state.joins import alternatives, choose, is_number
from torchdevlint.flow.state.limits import MAX_CREATIONS
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.parted import is_parted, was_left
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import beside_data, given_tensor, is_of_elsewhere, of_unknown
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    NUMBER,
    UNKNOWN,
    Choice,
    Conditions,
    Const,
    Ref,
    Seq,
    Site,
    Step,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.flow.vouch.devices import near
from torchdevlint.source.nodes import parts_of_tuple

Operands = list[tuple[ast.expr, Value]]

SYMBOLS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_OPERATORS = frozenset(f"`{symbol}{assigns}`" for symbol in SYMBOLS.values() for assigns in ("", "="))
MAX_COMBINATIONS = 16
MAX_OPERANDS = 50
"""So many tensors of one operation are held against each other; what more there are is not looked at."""


def combine(
    frame: Frame,
    state: State,
    node: ast.AST,
    operation: str,
    operands: Operands,
    strict: bool = False,
    in_place: bool = False,
) -> Value:
    """Check an elementwise (or `strict`) operation and give its result; `in_place` writes to the first operand."""
    frame.machine.emit(Operated(frame, state, node, operation, operands))
    kinds = {type(value) for _, value in operands}
    if Choice not in kinds:
        if Tensor in kinds:
            return _combine(frame, state, node, operation, operands, strict, in_place)
        for at, value in operands if Ref in kinds else ():
            if isinstance(value, Ref):
                frame.machine.emit(Asked(frame, state, at, value))
        values = [value for _, value in operands]
        return NUMBER if all(map(is_number, values)) else of_unknown(values)
    choices = [alternatives(value, state.conditions) for _, value in operands]
    results: list[tuple[Conditions, Value]] = []
    for count, picked in enumerate(product(*choices)):
        if count == MAX_COMBINATIONS:
            return UNKNOWN
        conditions = _together([each for each, _ in picked])
        if conditions is None:
            continue
        concrete = [(at, value) for (at, _), (_, value) in zip(operands, picked, strict=True)]
        if any(type(value) is Const and value.value is None for _, value in concrete):
            continue
        silent = frame.machine.is_without_accelerator(conditions) or leave_device_open(conditions)
        frame.machine.muted += silent
        results.append((conditions, _combine(frame, state, node, operation, concrete, strict, in_place)))
        frame.machine.muted -= silent
    return choose(results)


def _together(conditions: list[Conditions]) -> Conditions | None:
    """All branch conditions in one, or None if they exclude each other."""
    merged: Conditions = ()
    for each in conditions:
        if not compatible(each, merged):
            return None
        merged = extended(merged, each)
    return merged


def _combine(
    frame: Frame, state: State, node: ast.AST, operation: str, operands: Operands, strict: bool, in_place: bool
) -> Value:
    tensors = [(at, value) for at, value in operands if type(value) is Tensor]
    if not tensors:
        values = [value for _, value in operands]
        return NUMBER if all(map(is_number, values)) else of_unknown(values)
    if len(tensors) > 1:
        frame.machine.arrivals.note_operands(frame.function, (value for _, value in tensors))
    pairs = combinations(tensors[:MAX_OPERANDS], 2)
    ends = [
        check(frame, state, node, operation, one, other, strict, in_place and one[1] is operands[0][1])
        for one, other in pairs
    ]
    if any(ends):
        return Tensor(TOP, _result_ndim([value for _, value in tensors], with_unknown=False))
    if in_place and isinstance(operands[0][1], Tensor):
        return operands[0][1]
    with_unknown = Unknown in {type(value) for _, value in operands}
    held = [value for _, value in tensors]
    return _result(held if frame.machine.wanted else beside_data(held), with_unknown, strict)


def _result(tensors: list[Tensor], with_unknown: bool, strict: bool) -> Tensor:
    """Where the result is; a 0-dim tensor beside one with dimensions may stay on the CPU, and is no cause later.

    Beside what was brought to the CPU, what is on a device that was chosen gives a result only where that is the CPU.
    """
    ndim = _result_ndim(tensors, with_unknown)
    elsewhere = [tensor for tensor in tensors if not on_cpu(tensor.device)]
    brought = next((tensor for tensor in tensors if tensor.device == CPU and tensor.ndim != 0), None)
    if brought is not None and any(tensor.device.origin is Origin.EXPRESSION for tensor in elsewhere):
        sure = strict or brought.ndim is not None
        return Tensor(CPU if sure else TOP, ndim, (), brought.steps if sure else ())
    if not elsewhere:
        if with_unknown and not any(tensor.ndim for tensor in tensors):
            return Tensor(TOP, ndim)
        free = not strict and any(tensor.ndim for tensor in tensors)
        counted = [tensor for tensor in tensors if tensor.ndim != 0] if free else tensors
        creations = dict.fromkeys(site for tensor in counted for site in tensor.creations)
        return Tensor(tensors[0].device, ndim, tuple(islice(creations, MAX_CREATIONS)), counted[0].steps)
    known = [tensor for tensor in elsewhere if tensor.device.origin is not Origin.TOP]
    if not known:
        device = TOP if with_unknown or any(each.device != tensors[0].device for each in tensors) else tensors[0].device
        return Tensor(device, ndim, (), elsewhere[0].steps if len(tensors) == 1 else ())
    moved = [tensor for tensor in known if tensor.device.origin is not Origin.KEPT] or known
    sized = [tensor for tensor in moved if tensor.ndim != 0] or moved
    best = next((tensor for tensor in sized if tensor.device == MODEL), sized[0])
    return Tensor(best.device, ndim, best.creations if moved is known else (), best.steps)


def _result_ndim(tensors: list[Tensor], with_unknown: bool) -> int | None:
    sizes = [tensor.ndim for tensor in tensors]
    if not with_unknown and all(size is not None and size >= 0 for size in sizes):
        return max(size for size in sizes if size is not None)
    return AT_LEAST_1 if any(sizes) else None


def check(
    frame: Frame,
    state: State,
    node: ast.AST,
    operation: str,
    one: tuple[ast.expr, Tensor],
    other: tuple[ast.expr, Tensor],
    strict: bool = False,
    writes_one: bool = False,
) -> bool:
    """Record the operation if its two operands surely sit on different devices and torch refuses that.

    The answer is whether every run ends here: one of them is on an accelerator that is named, and so is never moved.

    A 0-dim CPU tensor may be an input of an elementwise operation, not its output; where the number of
    dimensions is unknown, nothing is said. Two accelerators that differ never go together. What was made empty stands
    for something that comes later: no operator gets anything out of it.
    """
    known = relation(one[1].device, other[1].device)
    if known is Relation.UNKNOWN and is_parted(frame, one[1], other[1]):
        known = Relation.DIFFER
    frame.machine.emit(Met(frame, state, node, one, other, known))
    if known is not Relation.DIFFER:
        return False
    stayed, moved = (one, other) if stays_behind(one[1].device) or was_left(frame, one[1], other[1]) else (other, one)
    written = writes_one and stayed[1] is one[1]
    if stays_behind(stayed[1].device) and not strict and not written and not stayed[1].ndim:
        return False
    if operation in _OPERATORS and is_made_empty(stayed[1]):
        return False
    if stayed[1].device.origin is Origin.KEPT and frame.entry.kind == "init":
        return False
    by_loader = frame.machine.entry_node in frame.machine.pipeline  # whose model is where its inputs are
    if stayed[1].device == CPU and moved[1].device == MODEL and (by_loader or frame.context != "forward"):
        return False
    frame.machine.emit(Mixed(frame, state, node, operation, stayed, moved, written))
    return moved[1].device.origin is Origin.LITERAL


def index(frame: Frame, state: State, node: ast.Subscript, value: Tensor, position: Value) -> Value:
    """``value[position]``: a CPU index into an accelerator tensor is right, the other way round raises."""
    scope = frame.function or frame.machine.tree
    brought = is_moved_to_index(scope, node)
    vector = brought or (value.ndim == 1 and is_read_as_vector(scope, node)) or _is_unit_matrix(value)
    masked = False
    for at, part in _index_parts(node.slice, position):
        each = given_tensor(part.given, at) if brought and isinstance(part, Unknown) and part.given else part
        if not isinstance(each, Tensor):
            continue
        mask = each.ndim is None and is_mask(scope, at)
        masked = masked or mask
        if not (each.ndim or mask or (vector and each.ndim is None)):
            continue
        frame.machine.emit(Met(frame, state, node, (node.value, value), (at, each), Relation.UNKNOWN))
        if stays_behind(value.device) and not stays_behind(each.device):
            check(frame, state, node, "indexing", (node.value, value), (at, each), strict=True)
    if value.ndim == 0 and is_number(position):  # which PyTorch 0.3 allowed
        return NUMBER
    if value.opaque:
        if isinstance(position, Const) and is_key_of_no_model(frame, node.value, position.value):
            return UNKNOWN
        parts = [each for _, each in _index_parts(node.slice, position)]
        return loaders.item_of_batch(frame, state, node, value, parts)
    ndim = AT_LEAST_1 if masked else _indexed_ndim(frame, value.ndim, node.slice, position)
    return Tensor(value.device, ndim, value.creations, value.steps)


def _is_unit_matrix(value: Tensor) -> bool:
    """Whether it is what ``torch.eye`` made, which labels pick their rows of: ``torch.eye(classes)[labels]``."""
    return bool(value.creations) and all(each.function == "torch.eye" for each in value.creations)


def _index_parts(node: ast.expr, position: Value) -> Operands:
    if isinstance(node, ast.Tuple) and isinstance(position, Seq) and position.items is not None:
        return list(zip(node.elts, position.items, strict=False))
    return [(node, position)]


def _indexed_ndim(frame: Frame, ndim: int | None, node: ast.expr, position: Value) -> int | None:
    parts = [value for _, value in _index_parts(node, position)]
    nodes = parts_of_tuple(node)
    slices = sum(isinstance(each, ast.Slice) for each in nodes)
    added = sum(isinstance(each, ast.Constant) and each.value is None for each in nodes)
    if slices == len(nodes):
        return AT_LEAST_1 if ndim is None else ndim
    if ndim is None or ndim < 0 or len(parts) != len(nodes):
        return AT_LEAST_1 if slices or added else None
    taken = [each for at, each in zip(nodes, parts, strict=True) if not keeps_dimensions(at)]
    if all(is_number(each) for each in taken):
        return max(ndim - len(taken), 0) + added
    if slices or added or any(isinstance(each, Tensor) and each.ndim and each.ndim > 0 for each in taken):
        return AT_LEAST_1
    one_each = isinstance(node, ast.Tuple) or isinstance(taken[0], Tensor) or _is_given_to_forward(frame, taken[0])
    return AT_LEAST_1 if one_each and ndim > len(taken) else None


def _is_given_to_forward(frame: Frame, value: Value) -> bool:
    """Whether it is an argument of ``forward``, which is a tensor or a number: any other index may be a tuple."""
    return frame.context == "forward" and isinstance(value, Unknown) and value.given is not None


def assign_index(
    frame: Frame, state: State, target: ast.Subscript, base: Tensor, position: Value, value_node: ast.expr, value: Value
) -> None:
    """``base[position] = value``: an index is moved and slices copy, but values under a tensor index are not.

    Unless they are one element: Python strips leading ones from their shape, and a 0-dim value is moved.
    """
    scope, value = frame.function or frame.machine.tree, _in_one_place(value)
    tensors = [(at, each) for at, each in _index_parts(target.slice, position) if isinstance(each, Tensor)]
    indexed = any(each.ndim or (each.ndim is None and is_mask(scope, at)) for at, each in tensors)
    parted = isinstance(value, Tensor) and bool(value.ndim) and value.device != base.device
    several = indexed or (parted and picks_several(frame, state, target.slice))
    if several and isinstance(value, Tensor) and value.ndim and not is_one_element(value):
        check(frame, state, target, "indexed assignment", (value_node, value), (target.value, base), strict=True)
    for at, each in tensors:
        if each.device.origin is Origin.LITERAL:
            known = relation(base.device, each.device)
            frame.machine.emit(Met(frame, state, target, (target.value, base), (at, each), known))
    if indexed and base.creations and base.device == DEFAULT and (is_number(value) or isinstance(value, Unknown)):
        for at, each in tensors:
            if each.device.origin in (Origin.MODEL, Origin.ARGUMENT):
                frame.machine.emit(Marked(frame, state, target, base, at, each))
    named = on_cpu(base.device) or base.device.origin is Origin.LITERAL
    if isinstance(value, Unknown) and value.given is not None and (indexed or has_slices(target.slice)):
        value = given_tensor(value.given, value_node)  # what fills several places of a tensor is no number
    if named and isinstance(value, Tensor) and is_of_elsewhere(value):
        frame.machine.emit(Filled(frame, state, target, base, value_node, value))


def _in_one_place(value: Value) -> Value:
    """One of several tensors that a test chooses from, if all are on one device and have as many dimensions."""
    held = [each for _, each in alternatives(value) if isinstance(each, Tensor)] if type(value) is Choice else []
    alone = bool(held) and len(held) == len(alternatives(value)) and len({each.device for each in held}) == 1
    return replace(held[0], ndim=held[0].ndim if len({each.ndim for each in held}) == 1 else None) if alone else value


def created(frame: Frame, state: State, node: ast.AST, function: str, ndim: int | None, device: Device) -> Tensor:
    """A tensor that a factory made on `device`; the default device gives it a creation site."""
    text = f"created by `{function}` on {device.describe()}"
    if device.origin is not Origin.DEFAULT:
        frame.machine.emit(Placed(frame, state, node, device))
        return Tensor(device, ndim, (), (Step(text, node, made_by=function),), moved=True)
    random = function.rpartition(".")[2] in torch_api.RANDOM_FACTORIES
    drawn, converted = is_drawn(frame, node if random else None), asks_type(node, state.conditions)
    site = Site(node, function, frame.context, frame.scope, random, near(frame, state), drawn, converted)
    return Tensor(device, ndim, (site,), (Step(text, node, made_by=function),))
