"""What shows that a batch is on the CPU, and has to be moved by whoever loops over it (TDL005).

The name of a loader alone does not: what a function is given may have brought its batches along, as wrappers of
loaders do, and data sets that keep their rows on an accelerator. One of these shows it:

- another part of the batch is moved, or the file moves what a loader gives in another place;
- the loader is made of a data set that is followed: of a class of the project, of a library, or of tensors of the CPU;
- the function or class that has the loop speaks of places, or an annotation says that it is a `DataLoader` of torch.

An ``if`` in the loop that decides whether the very part is moved takes all of them away, and so does a data set of
unknown tensors where the function that makes it moves tensors. A model whose code is not known may move what it gets,
if models of the project do.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import NamedTuple

from torchdevlint.flow.kinds.loaders import FROM_LOADER, moved_by, says_device
from torchdevlint.flow.scope.assigned import unpacked_to, values_by_path
from torchdevlint.flow.scope.gone_through import GO_THROUGH, gone_through
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.scope.names import (
    dotted_path,
    is_called_loader,
    last_name,
    mentions_device,
    root_name,
    stem_of,
    whole_of,
)
from torchdevlint.flow.state.devices import LOADER, MODEL, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Library, Obj, Ref, Seq, Tensor, Unknown, Value
from torchdevlint.model import Span
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import (
    arguments_of,
    assignment_of,
    assignments_in,
    inside,
    is_inside,
    keyword_of,
    nodes_in,
    once_a_node,
)

_HOLDING = frozenset(f"torch.utils.data.{name}" for name in ("Subset", "ConcatDataset", "TensorDataset"))
"""Data sets that give what they are made of."""
_PARTS = frozenset({"random_split", "Subset", "ConcatDataset"})
_LIBRARIES = ("torchvision.", "torchaudio.", "torchtext.", "datasets.")
"""Libraries whose data sets read files."""
_MOST_HOPS = 5
_TAKEN = regex(r"`(\w+)` is taken out of the batch here")


class Witness(NamedTuple):
    """A sentence of what shows it, and its place; both empty where the facts of the batch say it.

    It is weak where the data set is not known, and no batch of the file is moved.
    """

    text: str = ""
    at: Span | None = None
    is_weak: bool = False


def witness_of(frame: Frame, stayed: Tensor, other: Tensor) -> Witness | None:
    """What shows that a batch of a loader, no part of which is moved, is on the CPU; None if nothing does.

    What no loader gave was found by a move, or its maker leaves it on the CPU; what is made where a batch is goes with
    the loaders of the file.
    """
    machine, first = frame.machine, stayed.steps[0] if stayed.steps else None
    if first is None or (first.text != FROM_LOADER and not first.text.endswith(LOADER.describe())):
        return Witness()
    taken = [first.node] if first.text == FROM_LOADER else machine.loaders
    return next((found for each in taken if (found := _shown(frame, each, other)) is not None), None)


def _shown(frame: Frame, taken: ast.AST, other: Tensor) -> Witness | None:
    """What shows where the batches are that a loop, or a call, takes from its loader."""
    machine = frame.machine
    known = machine.loaders.get(taken)
    made = None if known is None else known.made_at
    if known is not None and made is not None and _is_followed(machine, known):
        return Witness("the loader is made here, of data on the CPU", machine.span_of(made))
    move = _moved_of_a_loader(machine.tree, taken)
    if move is not None:
        return Witness("what a loader gives is moved here", machine.span_of(move))
    if other.device == MODEL or _asks_loader(machine.tree, taken):
        return None
    if known is not None and any(map(_holds_anything, known.children[:1])) and _moves_tensors(machine.tree, made):
        return None
    speaks = any(_speaks_of_place(each) for each in _around(frame, taken, made))
    return Witness(is_weak=True) if speaks or (known is not None and made is None) else None


def _is_followed(machine: Machine, loader: Library) -> bool:
    """Whether the data set that a loader is made of gives what is on the CPU, for all that its code shows."""
    if loader.children and all(_is_on_cpu(each) for _, each in alternatives(loader.children[0])):
        return True
    made = loader.made_at
    return isinstance(made, ast.Call) and _is_of_library(machine, made, _data_of(made))


def _is_on_cpu(data: Value) -> bool:
    """Whether a data set is one of the project, whose rows it gives itself, or holds tensors of the CPU alone."""
    if isinstance(data, Obj):
        return data.info.method("__getitem__", None) is not None or data.info.method("__iter__", None) is not None
    if isinstance(data, Library):
        return data.name in _HOLDING and bool(data.children) and all(map(_is_on_cpu, data.children[:_MOST_HOPS]))
    if isinstance(data, Seq):
        held = [*(data.items or ()), *data.members]
        return bool(held) and all(map(_is_on_cpu, held))
    return isinstance(data, Tensor) and on_cpu(data.device)


def _holds_anything(data: Value) -> bool:
    """Whether it is a data set of tensors of which nothing is known, which the code around it may have moved."""
    return isinstance(data, Library) and data.name in _HOLDING and Unknown in map(type, data.children)


def _moves_tensors(tree: ast.Module, made: ast.AST | None) -> bool:
    """Whether the function that makes a loader moves something that is no model."""
    scope = next((each for each in nodes_in(tree, ast.FunctionDef) if made is not None and is_inside(made, each)), None)
    moved = [] if scope is None else [each for each in map(moved_by, nodes_in(scope, ast.Call)) if each is not None]
    made_there = [each.func if isinstance(each, ast.Call) else each for each in map(whole_of, moved)]
    return any(last_name(each).islower() and not is_named_like_a_model(each) for each in made_there)


def _data_of(call: ast.Call) -> ast.expr | None:
    return call.args[0] if call.args else keyword_of(call, "dataset")


def _is_of_library(machine: Machine, made: ast.Call, data: ast.expr | None) -> bool:
    """Whether what a loader is made of leads to a class or function of a library that reads its data from files."""
    functions = (each for each in nodes_in(machine.tree, ast.FunctionDef) if is_inside(made, each))
    scope: ast.AST = max(functions, key=lambda each: each.lineno, default=machine.tree)
    for _ in range(_MOST_HOPS):
        if isinstance(data, ast.Call) and last_name(data.func) in _PARTS:
            data = _data_of(data)
        elif isinstance(data, ast.Call):
            path = dotted_path(data.func)
            if path is None or isinstance(machine.globals.get(path.split(".")[0]), Ref):
                named = machine.globals.get((path or "").split(".")[0])
                return isinstance(named, Ref) and f"{named.name}.".startswith(_LIBRARIES)
            data = data.func.value if isinstance(data.func, ast.Attribute) else None
        elif isinstance(data, ast.Subscript):
            data = data.value
        elif isinstance(data, (ast.Name, ast.Attribute)):
            path = dotted_path(data) or ""
            data = next((each for where in (scope, machine.tree) for each in _bound_to(where, path)), None)
        else:
            return False
    return False


def _bound_to(scope: ast.AST, path: str) -> list[ast.expr]:
    return [*values_by_path(scope).get(path, ()), *(each for _, each in unpacked_to(scope, path))]


def _moved_of_a_loader(tree: ast.Module, taken: ast.AST) -> ast.expr | None:
    """What a loop over a loader moves of what it gets, this one first, unless it asks the loader whether to."""
    found = _moved_of_loaders(tree)
    return next((each for target, each in found if target is taken), None) or next((each for _, each in found), None)


@once_a_node
def _moved_of_loaders(tree: ast.Module) -> list[tuple[ast.expr, ast.expr]]:
    """What the loops of a file over loaders move of their targets, or have moved by what is told a device."""
    found = []
    for loop in nodes_in(tree, ast.For):
        given = _source(tree, loop)
        if isinstance(given, ast.Call) or not is_called_loader(given) or _asks(loop, given):
            continue
        names = {each.id for each in inside(loop.target) if isinstance(each, ast.Name)}
        moved = (each for call in nodes_in(loop, ast.Call) for each in _moved(call))
        found += [(loop.target, each) for each in moved if root_name(each) in names]
    return found


def _source(tree: ast.Module, loop: ast.For) -> ast.expr:
    given = gone_through(tree, loop.iter)
    while isinstance(given, ast.Call) and last_name(given.func) in GO_THROUGH and given.args:
        given = given.args[0]
    return given


def _moved(call: ast.Call) -> list[ast.expr]:
    """`x` of ``x.to(device)`` and of ``sent(x, device)``."""
    moved = moved_by(call)
    if moved is not None:
        return [moved]
    told = isinstance(call.func, ast.Name) and any(map(says_device, call.args[1:]))
    return [each for each in call.args[:1] if told and isinstance(each, ast.Name)]


def _asks(loop: ast.For, loader: ast.expr) -> bool:
    """Whether a loop has a test of an attribute of the loader: ``if loader.device == "cpu":``."""
    path, tests = dotted_path(loader), (each.test for each in nodes_in(loop, ast.If))
    attributes = (each for test in tests for each in inside(test) if isinstance(each, ast.Attribute))
    return any(dotted_path(each.value) == path for each in attributes)


def _asks_loader(tree: ast.Module, taken: ast.AST) -> bool:
    loop = _loop_of(tree, taken)
    return loop is not None and _asks(loop, _source(tree, loop))


def _loop_of(tree: ast.Module, taken: ast.AST) -> ast.For | None:
    """The loop of a target, or over what a call gives."""
    loops = nodes_in(tree, ast.For)
    return next((each for each in loops if each.target is taken or is_inside(taken, each.iter)), None)


def _around(frame: Frame, taken: ast.AST, made: ast.AST | None) -> Iterator[ast.AST]:
    """The functions, or files, that have the loop and make its loader, and the classes of these."""
    while True:
        scope: ast.AST = frame.function or frame.machine.tree
        if is_inside(taken, scope) or (made is not None and is_inside(made, scope)):
            yield scope
            if frame.owner is not None:
                yield frame.owner.node
        if frame.called_at is None:
            return
        frame = frame.called_at[1]


@once_a_node
def _speaks_of_place(scope: ast.AST) -> bool:
    """Whether code moves something, or names a device: it knows of places, and brings its batches nowhere."""
    named = (each.id for each in nodes_in(scope, ast.Name))
    told = (each.arg for each in nodes_in(scope, ast.arg))
    kept = (each.attr for each in nodes_in(scope, ast.Attribute))
    moves = any(moved_by(call) is not None for call in nodes_in(scope, ast.Call))
    return moves or any(mentions_device(each) for names in (told, named, kept) for each in names)


def is_moved_where_told(frame: Frame, node: ast.AST, stayed: Tensor) -> bool:
    """Whether an arm of an ``if`` in the loop moves the very part: what is asked there knows where the batches are.

    ``if not whole_set_on_gpu: x = x.to(device)``. So does a test that asks the loader.
    """
    tree = frame.machine.tree
    loop = _loop_of(tree, stayed.steps[0].node) if stayed.steps else None
    if loop is None:
        return False
    if _asks(loop, _source(tree, loop)):
        return True
    names = {found[1] for step in stayed.steps if (found := _TAKEN.match(step.text)) is not None}
    line = getattr(node, "lineno", 0) if is_inside(node, loop) else sys.maxsize
    moved = _moved_in_arms(loop)
    return any(moved.get(each, line) < line for each in names)


@once_a_node
def _moved_in_arms(loop: ast.For) -> dict[str, int]:
    """The names that arms of an ``if`` bind to themselves, moved, and the first line where one does.

    Where another arm moves other parts alone, this one is forgotten there.
    """
    found: dict[str, int] = {}
    branches = nodes_in(loop, ast.If)
    elifs = {id(each.orelse[0]) for each in branches if len(each.orelse) == 1}
    for branch in branches:
        arms = [] if id(branch) in elifs else [moved for arm in _arms(branch) if (moved := _moved_to_itself(arm))]
        for name in set.intersection(*map(set, arms)) if arms else ():
            found.setdefault(name, min(moved[name] for moved in arms))
    return found


def _arms(branch: ast.If) -> Iterator[list[ast.stmt]]:
    """The arms of an ``if`` and of each ``elif`` of it."""
    yield branch.body
    if len(branch.orelse) == 1 and isinstance(branch.orelse[0], ast.If):
        yield from _arms(branch.orelse[0])
    else:
        yield branch.orelse


def _moved_to_itself(block: list[ast.stmt]) -> dict[str, int]:
    """``x = x.float().to(device)``: the name and its line."""
    found = {}
    made = [each for statement in block for each in (assignment_of(statement), *assignments_in(statement))]
    for each in (assignment for assignment in made if assignment is not None):
        calls = [call for call in inside(each.value) if isinstance(call, ast.Call)]
        roots = {root_name(stem_of(part)) for part in map(moved_by, calls) if part is not None}
        named = (target.id for target in each.targets if isinstance(target, ast.Name))
        found.update({name: each.lineno for name in named if name in roots})
    return found


def is_fed_alone(frame: Frame, state: State, node: ast.AST, other: ast.expr) -> bool:
    """Whether it is a call of a model of which only the place is known, and nothing that it is given was moved."""
    if not isinstance(node, ast.Call) or other is not node.func:
        return False
    model = frame.evaluate(other, state)
    if not (isinstance(model, Unknown) or (isinstance(model, Library) and not model.name)):
        return False
    given = (frame.evaluate(each, state) for each in arguments_of(node))
    return not any(isinstance(each, Tensor) and each.moved and not on_cpu(each.device) for each in given)
