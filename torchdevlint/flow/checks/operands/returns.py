"""What functions return: a tensor that is on the CPU, though it was made of, or stands for, one that is not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec.structs import replace

from torchdevlint.flow.events import Filled, FunctionEnded, Marked, Mixed, Returned
from torchdevlint.flow.facts.tensors import ANOTHER_RETURN, RETURN
from torchdevlint.flow.kinds.bound_once import bound_once
from torchdevlint.flow.kinds.sizes import is_zero, shaped_after
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run import distributions
from torchdevlint.flow.scope.names import dotted_path, parameter_names, variable_of
from torchdevlint.flow.state.devices import DEFAULT, Origin, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import elements, tensors_in
from torchdevlint.flow.state.values import (
    UNKNOWN,
    Cls,
    Conditions,
    Library,
    Map,
    RecordType,
    Ref,
    Seq,
    Site,
    Step,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import arguments_of, inside, once_a_node


class _Memory:
    """What was written into the slices of tensors of the CPU, in the functions that were entered."""

    def __init__(self) -> None:
        self.filled: dict[tuple[ast.AST | None, Site], tuple[ast.expr, Tensor]] = {}


def _note_filled(event: Filled) -> None:
    """``out[i] = x``, where `x` is where the model or an argument is."""
    machine, value = event.frame.machine, event.value
    step = Step(f"filled from {value.device.describe()} here", event.node)
    source = replace(value, steps=(*value.steps[:1], step))
    for site in event.base.creations:
        machine.memory(_Memory).filled[machine.entry_node, site] = (event.value_node, source)


def _note_marked(event: Marked) -> None:
    """``out = zeros(x.shape); out[x == 3] = 1``: as large as `x`, or what is beside it, and filled where that says.

    So is what has one place for each of its items, ``zeros(len(x))``.
    """
    frame, names = event.frame, set(filter(None, map(variable_of, inside(event.value_node))))
    for held in (event.state.env, event.state.paths):
        names |= {name for name, each in held.items() if _is_beside(each, event.value)}
    for site in event.base.creations:
        if any(_is_sized_by(frame, site.node, name) for name in names):
            step = Step(f"filled where {event.value.device.describe()} says", event.node)
            source = replace(event.value, steps=(*event.value.steps[:1], step))
            frame.machine.memory(_Memory).filled[frame.machine.entry_node, site] = (event.value_node, source)


def _is_beside(value: Value, mask: Tensor) -> bool:
    place = value.given if isinstance(value, Unknown) else value.device if isinstance(value, Tensor) else None
    return place == mask.device


def _is_sized_by(frame: Frame, node: ast.AST, name: str) -> bool:
    """Whether a factory is given the shape of something, or its length: ``x.shape``, ``x.size()``, ``x.shape[0]``."""
    for each in node.args[:1] if isinstance(node, ast.Call) else []:
        given = bound_once(frame, each) if isinstance(each, ast.Name) else each
        if isinstance(given, (ast.Tuple, ast.List)) and given.elts:
            given = given.elts[0]
        if isinstance(given, ast.Subscript) and is_zero(given.slice):
            given = given.value
        if isinstance(given, ast.Call) and dotted_path(given.func) == "len" and given.args:
            return dotted_path(given.args[0]) == name
        first = isinstance(given, ast.Call) and len(given.args) == 1 and is_zero(given.args[0])
        sized = given.func if isinstance(given, ast.Call) and (first or not given.args) else given
        if isinstance(sized, ast.Attribute) and sized.attr in ("shape", "size") and dotted_path(sized.value) == name:
            return True
    return False


def _note_returned(event: Returned) -> None:
    """``out = zeros(..); out[i] = x; return out``: on the CPU, but filled from elsewhere."""
    _note(event.frame, event.state, event.node, event.value)
    for name, held in _wrapped(event.frame, event.state, event.node):
        _note(event.frame, event.state, name, held)
    for at, each in _parts(event.node, event.value):
        if isinstance(each, Library):
            distributions.compare(event.frame, event.state, at, each)


def _wrapped(frame: Frame, state: State, node: ast.expr) -> Iterator[tuple[ast.expr, Value]]:
    """``return Output(out, mask)``: what goes into an object that says nothing of devices when it is made."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not _is_of_class(node.func.id):
        return
    maker = frame.evaluate(node.func, state)
    if isinstance(maker, (Library, Ref)):
        keeps = maker.name.partition(".")[0] not in _OF_THE_HOST
    else:
        keeps = isinstance(maker, (RecordType, Unknown)) or (isinstance(maker, Cls) and not _places(maker.info.node))
    given = arguments_of(node) if keeps else ()
    for at in given:
        name = variable_of(at) or ""
        held = state.env.get(name) or state.paths.get(name)
        if held is not None:
            yield at, held


def _is_of_class(name: str) -> bool:
    """Whether it is written as classes are: ``Output``."""
    return name[:1].isupper() and not name.isupper()


@once_a_node
def _places(node: ast.ClassDef) -> bool:
    """Whether a class moves anything, or asks where it is."""
    return any(isinstance(each, ast.Attribute) and each.attr in _OF_PLACES for each in inside(node))


def _parts(node: ast.expr, value: Value) -> Iterator[tuple[ast.expr, Value]]:
    """A returned value, or the parts of a tuple that is written out."""
    written = isinstance(node, ast.Tuple) and isinstance(value, Seq) and value.items is not None
    pairs = zip(node.elts, value.items, strict=False) if written else [(node, value)]  # type: ignore[attr-defined]
    yield from ((at, each) for at, whole in pairs for _, each in alternatives(whole))


def _note(frame: Frame, state: State, node: ast.expr, value: Value) -> None:
    """Look at a returned tensor, or at those in a returned list, tuple or dict, of each alternative."""
    for at, each in alternatives(value, state.conditions):
        if frame.machine.is_without_accelerator(at):
            continue
        if isinstance(each, (Seq, Map)):
            for part in each.members if isinstance(each, Seq) and each.items is None else elements(each):
                _note(frame, state, node, part)
        elif isinstance(each, Tensor) and on_cpu(each.device):
            _compare(frame, state, node, each)


def _compare(frame: Frame, state: State, node: ast.expr, returned: Tensor) -> None:
    for site in returned.creations:
        source = frame.machine.memory(_Memory).filled.get((frame.machine.entry_node, site))
        if source is not None:
            stayed = replace(returned, creations=(site,))
            frame.machine.emit(Mixed(frame, state, node, RETURN, (node, stayed), source))


def _note_end(event: FunctionEnded) -> None:
    """``if not len(x): return torch.zeros(0, 4)`` beside ``return x[keep]``: the input decides where the result is.

    A list that holds both is returned by one statement. What is as large as something that is there is meant to be
    there as well, whatever decides between the two: ``torch.zeros(x.shape) if small else x * 2``.
    """
    frame, state, returns = event.frame, event.state, event.frame.returned
    made = [(node, at, each) for node, path, value in returns for at, each in _tensors_of(value, path)]
    elsewhere = [
        (node, each) for node, _, each in made if each.device.origin in _ANYWHERE and each.steps and not each.moved
    ]
    listed = {each: node for node, _, value in returns if isinstance(value, Seq) for each in tensors_in(value)}
    for node, conditions, each in made:
        if each.device != DEFAULT or not each.ndim or frame.entry.kind == "init":
            continue
        others = (one for one in elsewhere if one[0] is not node or not _combines(node))
        other = None
        if _is_by_content(conditions) or node is listed.get(each):
            other = next((one for one in others if _is_at_hand(frame, *one, conditions)), None)
        elif elsewhere and _is_as_large_as_elsewhere(event, each) and not _is_by_kind(conditions):
            other = next(others, None)
        if other is not None and each.creations and not any(_holds_data(site) for site in each.creations):
            frame.machine.emit(Mixed(frame, state, node, ANOTHER_RETURN, (node, each), other))


def _combines(node: ast.expr) -> bool:
    """``a - b``: what is returned was made of both, which have met here or do not differ."""
    return isinstance(node, ast.BinOp) and len(set(map(variable_of, inside(node))) - {"self", None}) > 1


def _tensors_of(value: Value, path: Conditions) -> list[tuple[Conditions, Tensor]]:
    """The tensors that a returned value may be, or that a returned list holds, with the conditions that lead there."""
    held = value.members if isinstance(value, Seq) and value.items is None else (value,)
    return [(path + at, each) for part in held for at, each in alternatives(part, path) if isinstance(each, Tensor)]


def _holds_data(site: Site) -> bool:
    """Whether the tensor was made of data, as functions do that take arrays and numbers as well as tensors."""
    maker = site.function.rpartition(".")[2]
    made_of = site.node.args[:1] if isinstance(site.node, ast.Call) else []
    empty = any(isinstance(each, ast.List) and not each.elts for each in made_of)
    return not empty and maker in torch_api.DATA_FACTORIES | torch_api.CPU_FACTORIES | torch_api.LEGACY_CONSTRUCTORS


def _is_at_hand(frame: Frame, node: ast.expr, tensor: Tensor, conditions: Conditions) -> bool:
    """Whether the arguments that another path returns something of are given on the path with these conditions."""
    names = {each.id for each in inside(node) if isinstance(each, ast.Name)}
    names = {each for each in names if frame.function is None or each in parameter_names(frame.function)}
    names.add(tensor.device.name)
    tested = (key.partition(":")[2] for key, arm in conditions if arm)
    return names.isdisjoint(test.removesuffix(" is None") for test in tested if test.endswith(" is None"))


def _is_as_large_as_elsewhere(event: FunctionEnded, value: Tensor) -> bool:
    """Whether the factories of a tensor are given the whole shape of what is where the model or an argument is."""
    sizes = [shaped_after(site.node) for site in value.creations]
    names = [dotted_path(each) for each in sizes if each is not None]
    if len(names) < len(sizes):
        return False
    ends = [*event.frame.exits, *([event.end] if event.end.alive else [])]
    return all(name is not None and any(_is_elsewhere(end, name) for end in ends) for name in names)


def _is_elsewhere(state: State, name: str) -> bool:
    held = alternatives(state.env.get(name) or state.paths.get(name) or UNKNOWN, state.conditions)
    return any(isinstance(each, Tensor) and each.device.origin in _ANYWHERE for _, each in held)


def _is_by_content(conditions: Conditions) -> bool:
    """Whether what was found decides, such as an empty result: not a type, a device, a mode or what a machine has."""
    return any(_OF_CONTENT.search(key) for key, _ in conditions) and not _is_by_kind(conditions)


def _is_by_kind(conditions: Conditions) -> bool:
    return any(_OF_ANOTHER_KIND.search(key) for key, _ in conditions)


_ANYWHERE = (Origin.MODEL, Origin.ARGUMENT)


_OF_CONTENT = regex(r"\blen\(|\b(?:numel|nelement|size|any|all|sum|max|min|nonzero)\(|\.shape\b")
_OF_ANOTHER_KIND = regex(r"isinstance|is_tensor|\btype\(|dtype|device|cuda|script|trac|export|hasattr|callable")


_OF_THE_HOST = frozenset({"torch", "numpy", "pandas", "polars", "scipy", "PIL", "sklearn", "xarray", "datasets"})
"""Packages whose classes are of the host, or say themselves where they are."""
_OF_PLACES = frozenset({"to", "cuda", "device", "register_buffer", "Parameter"})


EVENTS = {Filled: _note_filled, Marked: _note_marked, Returned: _note_returned, FunctionEnded: _note_end}
