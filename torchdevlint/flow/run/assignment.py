"""What an assignment does to the state: names, attributes, items, unpacking."""

from __future__ import annotations

import ast
from typing import Any

from msgspec.structs import replace

from torchdevlint.flow.events import AttributeAssigned, AttributeRefused, ItemAssigned
from torchdevlint.flow.kinds import loaders
from torchdevlint.flow.kinds.held_modules import held_in
from torchdevlint.flow.kinds.helped_batches import parts_of_helped
from torchdevlint.flow.kinds.parts_by_attribute import is_written_apart
from torchdevlint.flow.kinds.tensor_uses import is_taken_by_torch
from torchdevlint.flow.run import appended, gradients
from torchdevlint.flow.run.attribute_stores import assign_data, held_by
from torchdevlint.flow.run.operations import assign_index
from torchdevlint.flow.scope.assigned import values_by_path, values_by_target
from torchdevlint.flow.scope.names import dotted_path, public_path
from torchdevlint.flow.scope.overwritten_items import (
    read_by_numbers,
    stores_that_replace_all,
    stores_under_each,
    stores_where_asked,
)
from torchdevlint.flow.scope.uses import uses_in
from torchdevlint.flow.state.devices import LOADER
from torchdevlint.flow.state.joins import alternatives, blurred, choose, element_of, is_module, join, settle, unpacked
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State, depth_of, under_each
from torchdevlint.flow.state.records import with_field
from torchdevlint.flow.state.tensors import child_of, given_tensor, same_root
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    MAX_MEMBERS,
    NONE,
    UNKNOWN,
    Choice,
    Cls,
    Const,
    Library,
    Map,
    Obj,
    Record,
    Seq,
    Step,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import nodes_in


def assign(frame: Frame, target: ast.expr, value: Value, state: State, value_node: ast.expr | None = None) -> None:
    """Bind `value` to an assignment target of any form."""
    if isinstance(target, ast.Name):
        _assign_name(frame, target, value, state)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(frame, target, value, state, value_node)
    elif isinstance(target, ast.Attribute):
        _assign_attribute(frame, target, value, state, value_node)
    elif isinstance(target, ast.Subscript):
        _assign_item(frame, target, value, state, value_node)
    elif isinstance(target, ast.Starred):
        assign(frame, target.value, value if isinstance(value, Seq) else UNKNOWN, state)


def as_used(frame: Frame, function: AnyFunction, name: str, value: Unknown, node: ast.AST) -> Value:
    """What a name holds that was taken out of an input or made of one: a tensor where it is used as one."""
    uses = uses_in(function).get(name)
    if uses is None or value.given is None or not (uses.is_tensor or is_taken_by_torch(frame, function, name)):
        return value
    if _begins_as_number(function, name, node):
        return value
    ndim = AT_LEAST_1 if uses.has_dimensions else None
    return given_tensor(value.given, node, ndim, f"`{name}`")


def _begins_as_number(function: AnyFunction, name: str, node: ast.AST) -> bool:
    """``step = math.log(10000) / (half - 1)`` of a name that is bound anew: what it holds later is used as a tensor."""
    made = values_by_target(function).get(node)
    if not isinstance(made, ast.BinOp) or len(values_by_path(function).get(name, ())) < 2:
        return False
    return any(public_path(each.func).startswith("math.") for each in nodes_in(made, ast.Call))


def _as_indexed(function: AnyFunction, name: str, value: Tensor) -> Tensor:
    """What a name holds that was made of something unknown, and is bound once: it has dimensions if it is indexed."""
    uses = uses_in(function).get(name)
    indexed = uses is not None and uses.has_dimensions and len(values_by_path(function).get(name, ())) == 1
    return replace(value, ndim=AT_LEAST_1) if indexed else value


def _assign_name(frame: Frame, node: ast.Name, value: Value, state: State) -> None:
    name = node.id
    if name in frame.globals:
        frame.machine.globals[name] = value
    if type(value) is Unknown and value.given is not None and frame.function is not None:
        value = as_used(frame, frame.function, name, value, node)
    elif type(value) is Tensor and value.device == LOADER and value.opaque:
        value = replace(value, steps=(*value.steps[:1], Step(f"`{name}` is taken out of the batch here", node)))
    elif type(value) is Tensor and value.ndim is None and value.creations and frame.function is not None:
        value = _as_indexed(frame.function, name, value)
    state.env[name] = UNKNOWN if name in frame.shared else value
    forget_paths(state, name)


def forget_paths(state: State, root: str) -> None:
    """Drop what is known of attributes and items of a name or path that is bound anew."""
    if not state.paths or depth_of(root) >= state.deepest:
        return
    below = (f"{root}.", f"{root}[")
    for path in [path for path in state.paths if path.startswith(below)]:
        del state.paths[path]


def _unpack(
    frame: Frame, target: ast.Tuple | ast.List, value: Value, state: State, value_node: ast.expr | None
) -> None:
    count, value = len(target.elts), parts_of_helped(frame, target, value, state, value_node)
    whole = value_node if isinstance(value_node, ast.Call) else None
    ends = _around_star(frame, target, value_node, state)
    for place, each in enumerate(target.elts):
        assign(frame, each, ends[place] if place in ends else part_of(value, place, count), state, whole)


def _around_star(
    frame: Frame, target: ast.Tuple | ast.List, value_node: ast.expr | None, state: State
) -> dict[int, Value]:
    """What the targets before and behind a star get of a tuple with one: ``n, *dims, d = *x.shape, x.device``."""
    written = value_node.elts if isinstance(value_node, (ast.Tuple, ast.List)) else []
    stars = [[at for at, each in enumerate(held) if isinstance(each, ast.Starred)] for held in (written, target.elts)]
    if len(stars[0]) != 1 or len(stars[1]) > 1:
        return {}
    star, count = stars[0][0], len(target.elts)
    first, last = (stars[1][0], count - stars[1][0] - 1) if stars[1] else (count, count)
    found = {place: written[place] for place in range(min(first, star))}
    for back in range(1, min(last, len(written) - star - 1) + 1):
        found[count - back] = written[-back]
    return {place: frame.evaluate(each, state) for place, each in found.items()}


def part_of(value: Value, place: int, count: int) -> Value:
    """The value at `place` when `value` is unpacked into `count` targets."""
    value = unpacked(value)
    if isinstance(value, Seq) and value.items is not None:
        return value.items[place] if len(value.items) == count else value.element
    if isinstance(value, Library) and value.name == "torch.nn.ModuleList":
        return child_of(value, value.children[place]) if len(value.children) == count else element_of(value)
    if isinstance(value, (Seq, Tensor)):
        return element_of(value)
    if isinstance(value, Choice):
        left = [each for each in value.alternatives if each[1] != NONE]  # which has no parts: such a run ends here
        meant = [each for each in left if isinstance(each[1], Seq) and len(each[1].items or ()) == count]
        left = meant if meant and all(each in meant or isinstance(each[1], Tensor) for each in left) else left
        left = [each for each in left if not _is_of_another_count(each[1], count)] or left
        return choose([(conditions, part_of(each, place, count)) for conditions, each in left])
    return value if isinstance(value, Unknown) else UNKNOWN


def _is_of_another_count(value: Value, count: int) -> bool:
    """Whether unpacking it raises, so that another alternative is meant."""
    return isinstance(value, Seq) and value.items is not None and len(value.items) != count


def _assign_attribute(
    frame: Frame, target: ast.Attribute, value: Value, state: State, value_node: ast.expr | None
) -> None:
    receiver = frame.evaluate(target.value, state)
    frame.machine.emit(AttributeAssigned(frame, state, target, receiver, value))
    if target.attr == "grad" and gradients.is_gradient(receiver, value):
        gradients.assign(frame, state, target, receiver, value, value_node)
        loaders.forget_if_written(target.value, value, state)
        return
    if isinstance(receiver, Cls):
        receiver.info.attributes[target.attr] = value
        return
    if isinstance(receiver, Tensor) and target.attr == "data":
        assign_data(frame, target, receiver, value, state)
        return
    if isinstance(receiver, Tensor) and not is_written_apart(frame, target, receiver):
        loaders.forget_if_written(target.value, value, state)
    held = value
    if isinstance(receiver, Record):
        root = dotted_path(target.value)
        if root is not None:
            state.bind(root, with_field(receiver, target.attr, value))
        return
    if isinstance(receiver, Obj):
        if _is_refused(frame, target, receiver, value, state):
            frame.machine.emit(AttributeRefused(frame, state, target, receiver, value))
            state.alive = False
            return
        held = held_by(frame, target, receiver, value, state)
    path = dotted_path(target)
    if path is not None:
        forget_paths(state, path)
        state.bind(path, held)


def _is_refused(frame: Frame, target: ast.Attribute, receiver: Obj, value: Value, state: State) -> bool:
    """Whether what is assigned is a list or dict of modules, where the attribute holds a module: that raises."""
    info, path = receiver.info, dotted_path(target)
    before = state.paths.get(path) if path is not None else None
    if before is None or target.attr not in info.assigned_at or not is_module(before):
        return False
    registers = info.is_module and "__setattr__" not in info.all_methods
    return registers and isinstance(value, (Seq, Map)) and held_in(value, 1, frame.machine.others) == "modules"


def _forget_globals(frame: Frame, state: State) -> None:
    """``globals()[name] = value``: any name of the top level may hold something else, but for what is defined there."""
    tables = [frame.machine.globals] if frame.function is not None else [frame.machine.globals, state.env]
    for table in tables:
        table.update({name: UNKNOWN for name, held in table.items() if isinstance(held, _REPLACED)})


_REPLACED = (Tensor, Choice, Seq, Map)


def _assign_item(frame: Frame, target: ast.Subscript, value: Value, state: State, value_node: ast.expr | None) -> None:
    base = frame.evaluate(target.value, state)
    position = frame.evaluate(target.slice, state)
    if isinstance(target.value, ast.Call) and public_path(target.value.func) == "globals":
        _forget_globals(frame, state)
    frame.machine.emit(ItemAssigned(frame, state, target, base, value, value_node))
    root = dotted_path(target.value)
    if isinstance(base, Tensor) and base.opaque:
        _assign_part(frame, target, base, position, value, state)
        return
    if value_node is not None:
        for _, each in alternatives(base, state.conditions):
            if isinstance(each, Tensor):
                assign_index(frame, state, target, each, position, value_node, value)
    appended.note_item(frame, state, target, base, position, value)
    if isinstance(base, Map) and root is not None:
        _forget_item(state, root, dotted_path(target))
        if keys := _keys(frame, target, base.element, position):
            state.bind(root, Map(tuple({**dict(base.items), **dict.fromkeys(keys, value)}.items()), base.element))
        else:
            state.bind(root, _with_any_item(base, value))
        return
    if isinstance(base, Choice) and root is not None and not isinstance(position, Const):
        _forget_item(state, root, dotted_path(target))
        state.bind(root, under_each(state, base, lambda each: _with_any_item(each, settle(value, state.conditions))))
        return
    if isinstance(base, Seq) and root is not None and target in stores_that_replace_all(_around(frame)):
        state.bind(root, Seq(None, value, (value,)))
        return
    if isinstance(base, Seq) and root is not None and target in stores_where_asked(_around(frame)):
        state.bind(root, UNKNOWN)
        return
    if isinstance(base, Seq) and root is not None:
        held = base.items if base.items is not None else base.members or (base.element,)
        kept = (each for each in held if not _is_replaced(each, value))
        members = tuple(dict.fromkeys((*kept, value)))[:MAX_MEMBERS]
        state.bind(root, Seq(None, blurred(join(base.element, value)), members))
        return
    path = dotted_path(target)
    if path is not None and not isinstance(base, Tensor):
        forget_paths(state, path)
        state.bind(path, value)


def _assign_part(
    frame: Frame, target: ast.Subscript, batch: Tensor, position: Value, value: Value, state: State
) -> None:
    """``batch["x"] = ..``: the other parts of a batch stay where they were, if it is known which are written."""
    kind = type(position.value) if isinstance(position, Const) else str
    known = kind is str or (kind is int and dotted_path(target.value) in read_by_numbers(_around(frame)))
    keys = _keys(frame, target, batch, position) if known else ()
    if isinstance(target.value, ast.Name) and keys:
        state.bind(target.value.id, Map(tuple((key, value) for key in keys), batch))
        return
    root = dotted_path(target.value)
    if root is not None:
        state.bind(root, UNKNOWN)
    loaders.forget_if_written(target.value, value, state)


def _keys(frame: Frame, target: ast.Subscript, others: Value, position: Value) -> tuple[Any, ...]:
    """The keys that are written, of a batch by a loop over them as well."""
    if isinstance(position, Const):
        return (position.value,)
    is_batch = isinstance(others, Tensor) and others.opaque
    return stores_under_each(_around(frame)).get(target, ()) if is_batch else ()


def _with_any_item(base: Value, value: Value) -> Value:
    """A dict after something was put into it under a key that is not known; anything else as it was."""
    if not isinstance(base, Map):
        return base
    items = tuple((key, blurred(join(each, value))) for key, each in base.items)
    first = base.closed and not base.items and not isinstance(value, Choice)
    return Map(items, value if first else blurred(join(base.element, value)))


def _forget_item(state: State, root: str, item: str | None) -> None:
    """What ``d["k"].append(x)`` has put into an item of a dict is gone with it; of any item, if a key is unknown."""
    forget_paths(state, item or root)
    if item is not None:
        state.paths.pop(item, None)


def _around(frame: Frame) -> ast.AST:
    return frame.function or frame.machine.reading.tree_here


def _is_replaced(held: Value, value: Value) -> bool:
    """``x[i] = x[i].to(d)``: what a list held is there no more, if something was made of it that takes its place."""
    return isinstance(held, Tensor) and isinstance(value, Tensor) and same_root(held, value)
