"""Batches from a loader: on the CPU until something moves them (TDL005)."""

from __future__ import annotations

import ast
from itertools import takewhile

from msgspec.structs import replace

from torchdevlint.flow.kinds.graphs import graph_of, is_data_set
from torchdevlint.flow.kinds.managed_batches import LOADER_CLASSES, moves_batches, moves_those_of
from torchdevlint.flow.kinds.placed_batches import collates_in_place, has_placing_collate, is_told_device, places
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.annotations import without_none
from torchdevlint.flow.scope.attribute_parts import moves_some
from torchdevlint.flow.scope.bookkeeping import is_called_text
from torchdevlint.flow.scope.call_sites import gets_batches, is_given_by_generator
from torchdevlint.flow.scope.gone_through import GO_THROUGH, gone_through
from torchdevlint.flow.scope.names import (
    dotted_path,
    is_called_loader,
    last_name,
    mentions_device,
    parameter_names,
    whole_of,
)
from torchdevlint.flow.scope.uses import asked_in, uses_in
from torchdevlint.flow.state.devices import LOADER, on_cpu, stays_behind
from torchdevlint.flow.state.joins import alternatives, is_number, sequence
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State, only
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    NONE,
    NUMBER,
    UNKNOWN,
    Const,
    Library,
    Ref,
    Step,
    Tensor,
    Text,
    Unknown,
    Value,
)
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import arguments_of, assignments_in, dropped_by, inside, is_inside, nodes_in, once_a_node

_MOVES = frozenset({"to", "cuda"})
"""Methods that move or convert without being told where to."""
FROM_DATA = "comes from the data set here"
FROM_LOADER = "comes from the loader here"
_GRAPHS = ("dgl", "torch_geometric", "torch_sparse", "torch_cluster")
"""Libraries whose batches hold graphs, which are no tensors and have not always been on a device."""


def batch_of(frame: Frame, loop: ast.For | ast.AsyncFor, state: State) -> Value | None:
    """What a loop over a loader gives: something on the CPU; None for other loops."""
    return _given_by(frame, loop.iter, loop, state)


def batch_in(frame: Frame, part: ast.comprehension, state: State) -> Value | None:
    """The same for ``[model(x) for x, y in loader]``; None for other comprehensions."""
    return _given_by(frame, part.iter, part, state, beside_others=True)


def next_of(frame: Frame, taken: ast.Call, node: ast.expr, source: Value) -> Value | None:
    """What ``next(iter(loader))`` gives, where `source` is what `node` stands for; None if that is no loader."""
    stays = _is_loader(frame, node, source) and not moves_those_of(frame, source)
    return _from_loader(frame, taken, source) if stays else None


def by_annotation(frame: Frame, annotation: ast.expr | None) -> Library | None:
    """A loader, where an annotation says one: ``DataLoader``, ``DataLoader[Sample]``, ``Optional[DataLoader]``."""
    plain = without_none(annotation)
    plain = plain.value if isinstance(plain, ast.Subscript) else plain
    named = frame.evaluate(plain, State({})) if isinstance(plain, (ast.Name, ast.Attribute)) else UNKNOWN
    return Library(named.name) if isinstance(named, Ref) and named.name in LOADER_CLASSES else None


def item_of_data(frame: Frame, taken: ast.AST, data: Library, sliced: bool = False) -> Value:
    """``data[i]`` of a `TensorDataset`, or of a part of one, with tensors of the CPU; what others give is open."""
    if data.name == "torch.utils.data.Subset" and len(data.children) == 1 and isinstance(data.children[0], Library):
        return item_of_data(frame, taken, data.children[0], sliced)
    if is_data_set(data.name) and not sliced and not moves_batches(frame):
        return graph_of(frame, taken, FROM_DATA) or UNKNOWN
    if data.name != "torch.utils.data.TensorDataset" or moves_batches(frame):
        return UNKNOWN
    return sequence([_item_of_tensor(taken, each, sliced) for each in data.children])


def _item_of_tensor(taken: ast.AST, whole: Value, sliced: bool) -> Value:
    if not isinstance(whole, Tensor) or not on_cpu(whole.device):
        return UNKNOWN
    ndim = whole.ndim if sliced or not whole.ndim or whole.ndim < 0 else whole.ndim - 1
    return Tensor(LOADER, None if ndim == AT_LEAST_1 and not sliced else ndim, (), (Step(FROM_DATA, taken),))


def item_of_batch(frame: Frame, state: State, node: ast.Subscript, value: Tensor, position: list[Value]) -> Tensor:
    """What an index gives: of a batch one of its parts, which have dimensions; of a part perhaps a single number.

    Of what is not called a batch, a part by its name may be a number as well: a weight, or the step of the program.
    """
    if all(isinstance(each, Const) and isinstance(each.value, str) for each in position):
        rows = isinstance(node.value, ast.Subscript) or last_name(node.value).endswith("batch")
        return replace(value, ndim=AT_LEAST_1) if rows and value.device == LOADER else value
    sliced = any(isinstance(each, ast.Slice) for each in inside(node.slice))
    single = not sliced and all(map(is_number, position)) and not is_whole(frame, node.value, value, state)
    return replace(value, ndim=None) if single else value


def is_whole(frame: Frame, node: ast.expr, value: Tensor, state: State) -> bool:
    """Whether a name stands for the batch as the loader gave it, not for one of its parts."""
    taken = value.steps[0].node if value.steps else None
    while isinstance(taken, ast.Tuple) and is_number(frame.evaluate(taken.elts[0], state)):
        taken = taken.elts[-1]
    if not isinstance(taken, ast.Name) and isinstance(taken, ast.expr):
        scope = frame.function or frame.machine.tree
        taken = next((each.targets[0] for each in assignments_in(scope) if is_inside(taken, each.value)), None)
    name = taken.arg if isinstance(taken, ast.arg) else taken.id if isinstance(taken, ast.Name) else None
    return isinstance(node, ast.Name) and node.id == name


def _given_by(
    frame: Frame,
    node: ast.expr,
    loop: ast.For | ast.AsyncFor | ast.comprehension,
    state: State,
    beside_others: bool = False,
) -> Value | None:
    """What a round of a loop over `node` gets; `beside_others` what else is moved there may come from elsewhere."""
    node = gone_through(frame.function or frame.machine.tree, node)
    if isinstance(node, ast.Call) and node.args:
        callee = (dotted_path(node.func) or "").rpartition(".")[2]
        if callee == "zip":
            found = [_given_by(frame, each, loop, state, beside_others=True) for each in node.args]
            return sequence([each or UNKNOWN for each in found]) if any(found) else None
        if callee == "chain":
            found = [_given_by(frame, each, loop, state, beside_others) for each in node.args]
            return next((each for each in found if each is not None), None) if all(found) else None
        if callee in GO_THROUGH:
            inner = _given_by(frame, node.args[0], loop, state, beside_others)
            return sequence([NUMBER, inner]) if inner is not None and callee == "enumerate" else inner
    source = _given(frame.evaluate(node, state))
    if moves_those_of(frame, source):
        return None
    if "device" in asked_in(frame.function or frame.machine.tree).get(dotted_path(node) or "", ()):
        return None  # a loader with a device of its own may bring its batches there
    if _is_loader(frame, node, source):
        return _from_loader(frame, loop.target, source)
    if isinstance(source, Library) and source.name not in LOADER_CLASSES:
        sample = item_of_data(frame, loop.target, source)
        return None if sample == UNKNOWN else sample
    open_yet = isinstance(source, Unknown) or (isinstance(source, Library) and _is_loader(frame, node, source, True))
    if open_yet and not beside_others and _moves_a_part(loop) and not _is_made_elsewhere(frame, node):
        return Tensor(LOADER, None, (), (Step("comes from the loop here", loop.target),), opaque=True)
    return None


def _is_made_elsewhere(frame: Frame, node: ast.expr) -> bool:
    """Whether a loop goes through an argument that a generator of the file makes, which does not say what it yields.

    Or through an input of a Module, which is computed before: no model and no loss goes through a loader.
    """
    function = frame.function
    if not isinstance(node, ast.Name) or not isinstance(function, ast.FunctionDef):
        return False
    if frame.owner is not None and frame.owner.is_module and function.name == "forward":
        return node.id in parameter_names(function)
    return is_given_by_generator(frame.machine.tree, function, node.id)


def _from_loader(frame: Frame, taken: ast.AST, loader: Value) -> Tensor:
    frame.machine.loaders[taken] = only(loader, Library)
    return Tensor(LOADER, AT_LEAST_1, (), (Step(FROM_LOADER, taken),), opaque=True)


def _moves_a_part(loop: ast.For | ast.AsyncFor | ast.comprehension) -> bool:
    """Whether a loop over anything unpacks what it gets and moves a part of that: the other parts came with it.

    A part may be a number, so that these count only where a number would not do.
    """
    names = {node.id for node in inside(loop.target) if isinstance(node, ast.Name)}
    unpacked = {
        each.id
        for node in assignments_in(loop)
        if isinstance(node.value, (ast.Name, ast.Subscript)) and _root(node.value) in names
        for target in node.targets
        for each in inside(target)
        if isinstance(each, ast.Name)
    }
    if len(names | unpacked) < 2:
        return False
    return any(_root(each) in names | unpacked for each in _moved_in(loop))


@once_a_node
def _moved_in(loop: ast.For | ast.AsyncFor | ast.comprehension) -> list[ast.expr]:
    """What a loop moves: ``x = x.to(d)``, and ``model(x.to(device))``, where it is said that `device` is one."""
    assigned = {id(node.value) for node in assignments_in(loop)}
    dropped = {id(each) for node in nodes_in(loop, ast.Expr) for each in dropped_by(node.value)}
    return [
        call.func.value
        for call in nodes_in(loop, ast.Call)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in _MOVES
        and (call.args or call.keywords or call.func.attr == "cuda")
        and (id(call) in assigned or (id(call) not in dropped and moved_by(call) is not None))
    ]


def part_moved(frame: Frame, function: AnyFunction, parameter: ast.arg) -> Tensor | None:
    """What an argument is of which the function moves a part, and that a caller here, if any, gives as a loop got it.

    What has to be moved was left where the loader made it, and so was the rest of the batch.
    """
    if isinstance(function, ast.Lambda) or moves_batches(frame):
        return None
    if not gets_batches(frame.machine.tree, function, parameter.arg):
        return None
    names, name = {parameter.arg}, parameter.arg
    for node in assignments_in(function):
        named = (each for target in node.targets for each in inside(target) if isinstance(each, ast.Name))
        targets = {each.id for each in named if isinstance(each.ctx, ast.Store)}
        if name in targets:
            return None
        if isinstance(node.value, (ast.Name, ast.Subscript)) and _root(node.value) == name:
            names |= targets
    moved = [each for each in map(moved_by, nodes_in(function, ast.Call)) if each is not None]
    parts = [each for each in moved if _root(each) in names]
    whole = any(isinstance(each, ast.Name) and each.id == name for each in parts)
    if whole or not (parts or moves_some(function, name)):
        return None
    return Tensor(LOADER, None, (), (Step("comes in here, and a part of it is moved", parameter),), opaque=True)


def moved_by(call: ast.Call) -> ast.expr | None:
    """`x` in ``x.cuda()`` and ``x.to(device)``, whatever else they are told."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _MOVES:
        return None
    given = arguments_of(call)
    return call.func.value if call.func.attr == "cuda" or any(map(says_device, given)) else None


def _root(node: ast.expr) -> str | None:
    """`batch` in ``batch["x"]``."""
    node = whole_of(node)
    return node.id if isinstance(node, ast.Name) else None


def _is_loader(frame: Frame, node: ast.expr, source: Value, perhaps: bool = False) -> bool:
    """A DataLoader whose data set is not on a device already, or something unknown that is called a loader.

    Of a DataLoader, `perhaps` also where nobody knows where its data set is.
    """
    source, tree = only(source, Library) or _given(source), frame.machine.tree
    if isinstance(source, Library):
        if source.name not in LOADER_CLASSES or any(places(tree, each, perhaps) for each in source.children):
            return False
        made = source.made_at
        return not (isinstance(made, ast.Call) and has_placing_collate(tree, made))
    is_called_so = isinstance(source, Unknown) and is_called_loader(node) and not collates_in_place(tree)
    return is_called_so and not is_told_device(tree, frame.function or tree, node)


def may_be_placed(frame: Frame, node: ast.expr, state: State) -> bool:
    """Whether a loop goes through a loader whose data set, or what puts its batches together, moves some of it."""
    node = gone_through(frame.function or frame.machine.tree, node)
    while isinstance(node, ast.Call) and last_name(node.func) in GO_THROUGH and node.args:
        node = node.args[0]
    loader = only(_given(frame.evaluate(node, state)), Library)
    return loader is not None and loader.name in LOADER_CLASSES and not _is_loader(frame, node, loader)


def _given(source: Value) -> Value:
    """`source` where it is not None: a loop goes through what the object or the function was given."""
    there = [each for _, each in alternatives(source) if each != NONE]
    return there[0] if len(there) == 1 else source


def is_from_loader(value: Value) -> bool:
    return type(value) is Tensor and value.device == LOADER


def is_input(frame: Frame, node: ast.expr, value: Value) -> bool:
    """Whether it is a part of a batch that a model computes with; among graphs, only what is used as a tensor."""
    if not is_from_loader(value):
        return False
    if not any(isinstance(each, Ref) and each.name.startswith(_GRAPHS) for each in frame.machine.globals.values()):
        return True
    scope = frame.function or frame.machine.tree
    uses = uses_in(scope).get(node.id) if scope is not None and isinstance(node, ast.Name) else None
    return (isinstance(value, Tensor) and not value.opaque) or (uses is not None and uses.is_tensor)


def may_be_no_tensor(frame: Frame, operands: list[tuple[ast.expr, Value]], node: ast.expr, value: Value) -> bool:
    """Whether a part of a batch may be texts: only what stands before it in the call was moved, and nothing uses it.

    Names and lengths of sequences go into a model beside their data, and out of a loader as they are. So does what is
    called like a text, in a function that moves other items of that batch one by one.
    """
    if isinstance(node, ast.Subscript):
        return is_called_text(node.slice) and _moves_items(frame, node.value)
    if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(value, Tensor) or not value.opaque:
        return False
    before = takewhile(lambda each: each[0] is not node, operands)
    moved = any(_may_be_moved(each) for _, operand in before for _, each in alternatives(operand))
    scope = frame.function or frame.machine.tree
    if isinstance(node, ast.Attribute):
        return moved and not any(map(torch_api.is_of_tensors, asked_in(scope).get(dotted_path(node) or "", ())))
    uses = uses_in(scope).get(node.id)
    return moved and (uses is None or not (uses.is_tensor or uses.attributes))


def _moves_items(frame: Frame, batch: ast.expr) -> bool:
    """Whether the function moves an item of a batch by its name: ``batch["image"].to(d)``."""
    path, attributes = dotted_path(batch), nodes_in(frame.function or frame.machine.tree, ast.Attribute)
    moved = (each.value for each in attributes if each.attr in ("to", "cuda") and isinstance(each.value, ast.Subscript))
    return path is not None and any(dotted_path(each.value) == path for each in moved)


def _may_be_moved(value: Value) -> bool:
    """Whether it is on an accelerator, or something that may have moved it gave it."""
    return isinstance(value, Unknown) or (isinstance(value, Tensor) and not stays_behind(value.device))


def forget(node: ast.expr, state: State) -> None:
    """A batch whose items are written anew: they may have been moved."""
    if (path := dotted_path(node)) is not None:
        state.bind(path, UNKNOWN)


def forget_if_written(node: ast.expr, value: Value, state: State) -> None:
    """A batch of which a part is written anew, ``batch.data = send(batch.data)``: it may be where it is wanted now."""
    if is_number(value) or isinstance(value, (Const, Text)):
        return
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    held = state.env.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(node, ast.Name) and isinstance(held, Tensor) and held.opaque:
        state.env[node.id] = UNKNOWN


def says_device(node: ast.expr) -> bool:
    """Whether the last word of a name or attribute is one for a device."""
    path = dotted_path(node)
    return path is not None and mentions_device(path.rpartition(".")[2])
