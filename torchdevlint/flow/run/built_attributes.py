"""What attributes hold when ``__init__`` is done: what it filled or moved, and what each of its arms made."""

from __future__ import annotations

import ast

from torchdevlint.flow.kinds.construction import is_built_by_base, is_part_of_init
from torchdevlint.flow.run.objects import relocate
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.chains import moved_in
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.place_tests import tests_around
from torchdevlint.flow.scope.uses import asked_in
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import DEFAULT, MODEL
from torchdevlint.flow.state.joins import alternatives, choose
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.members import writers_of
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import tensors_in
from torchdevlint.flow.state.values import NONE, Choice, Conditions, Library, Map, Obj, Seq, Tensor, Value
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import assignment_of, nodes_in

_CHANGES = frozenset("append extend insert add appendleft clear pop popleft remove update setdefault popitem".split())


def keep_built(info: ClassInfo, end: State) -> None:
    """Let the other methods know what attributes hold that ``__init__`` alone writes.

    That is what a container was filled with that was empty, where all of it is made there on the default device and no
    other method changes it; a Module registers none of it (TDL101). And it is the tensor that one arm makes, where the
    other one registers a parameter: one of them is there, and it is not unknown which.
    """
    for name, held in info.attributes.items():
        built = end.paths.get(f"self.{name}")
        if built is None or len(info.writers.get(name, ())) != 1:
            continue
        if _is_empty(held) and isinstance(built, (Seq, Map)):
            if _holds_new_tensors(built) and not _changes_elsewhere(info, name):
                info.attributes[name] = built
        elif isinstance(built, Choice) and all(map(_is_registered_or_new, (each for _, each in built.alternatives))):
            info.attributes[name] = built


def keep_wrapped(info: ClassInfo, target: ast.Attribute, held: Value) -> None:
    """``self.net = DataParallel(self.net)`` in ``__init__``: the other methods find the wrapper alone."""
    if not isinstance(held, Library) or held.inner is None or len(info.writers.get(target.attr, ())) != 1:
        return
    init = info.methods.get("__init__")
    plain = () if init is None else map(assignment_of, init.body)
    if any(each is not None and target in each.targets for each in plain):
        info.attributes[target.attr] = held


def keep_moved(frame: Frame, where: Conditions, node: ast.expr, moved: Value) -> None:
    """``self.model.to(d)`` where it is made: the other methods find the model there, unless one of them moves it too.

    That is ``__init__``, a method that only this runs, and the one method that makes the model and moves it.
    """
    owner, function = frame.owner, frame.function
    if not isinstance(node, ast.Attribute) or dotted_path(node.value) != "self":
        return
    if owner is None or owner.is_module or function is None or (where and _may_be_left(function, node)):
        return
    if not _is_maker(frame.machine, owner, function, node.attr):
        return
    others = (method for one in owner.mro for method in one.methods.values() if method is not function)
    path = f"self.{node.attr}"
    if not any(path in moved_in(method) for method in others) and len(makers_of(owner, node.attr)) == 1:
        owner.attributes[node.attr] = _unless_none(owner.attributes.get(node.attr, moved), moved)


def _may_be_left(function: AnyFunction, move: ast.expr) -> bool:
    """Whether a run of a function may leave out a move and end all the same: an error is no end of ``__init__``."""
    return bool(tests_around(function, move)) or any(nodes_in(function, kind) for kind in _LEAVES)


_LEAVES = (ast.Return, ast.Continue, ast.Break, ast.Try)


def is_written_by_init(frame: Frame, info: ClassInfo, name: str) -> bool:
    """Whether a method that is entered by itself writes what it has written already when ``__init__`` called it.

    Only then its arguments were known, and what ``__init__`` had kept before.
    """
    function, machine = frame.function, frame.machine
    if frame.depth or name not in info.attributes or not info.is_module or function not in machine.entered:
        return False
    own = next((each for each, node in info.methods.items() if node is function), "__init__")
    init = info.all_methods.get("__init__")
    run = init is not None and init[1] in info.evaluated
    return own != "__init__" and run and is_part_of_init(machine, info, own)


def where_built(frame: Frame, receiver: Obj, name: str, made: Value, held: Value) -> Value:
    """What a Module keeps; a layer that a method makes once the Module is there is where it was made, until it moves.

    So the other methods find it, if no other one makes it.
    """
    info, function = receiver.info, frame.function
    if "init" in (frame.entry.kind, frame.context) or not isinstance(made, (Library, Obj)) or made.device != DEFAULT:
        return relocate(held, receiver.device)
    own = next((each for each, node in info.methods.items() if node is function), "__init__")
    alone = name in info.attributes and own != "__init__" and makers_of(info, name) == [function]
    if alone and not _is_run_early(info, own) and not is_part_of_init(frame.machine, info, own):
        info.attributes[name] = relocate(info.attributes[name], DEFAULT)
    return relocate(held, DEFAULT)


def _is_run_early(info: ClassInfo, method: str) -> bool:
    """Whether ``__init__`` may run a method, which others may call as well."""
    init = info.all_methods.get("__init__")
    reads = nodes_in(init[1], ast.Attribute) if init is not None else ()
    return any(each.attr == method for each in reads) or is_built_by_base(info, method, in_init=False)


def _unless_none(held: Value, moved: Value) -> Value:
    """What is held after the move by whoever finds either the model or, before it is made, None."""
    none_yet = [each for each in alternatives(held) if each[1] == NONE]
    return choose([*none_yet, ((), moved)]) if none_yet else moved


def _is_maker(machine: Machine, owner: ClassInfo, function: ast.AST, attribute: str) -> bool:
    """Whether whoever has an object finds its attribute as a method has left it."""
    name = next((name for name, each in owner.methods.items() if each is function), None)
    if name is None or name == "__init__":
        return name is not None
    return makers_of(owner, attribute) == [function] or is_part_of_init(machine, owner, name)


def makers_of(owner: ClassInfo, attribute: str) -> list[ast.AST]:
    """The methods that write the attribute, without those that only say that nothing is there yet."""
    path = f"self.{attribute}"
    return [each for each in writers_of(owner, attribute) if not _writes_none(each, path)]


def _writes_none(method: ast.AST, path: str) -> bool:
    written = values_by_path(method).get(path, ())
    return bool(written) and all(isinstance(each, ast.Constant) and each.value is None for each in written)


def _is_registered_or_new(value: Value) -> bool:
    if not isinstance(value, Tensor):
        return value == NONE
    return value.device == MODEL or (value.device == DEFAULT and bool(value.creations))


def _is_empty(value: Value) -> bool:
    return (isinstance(value, Seq) and value.items == ()) or (
        isinstance(value, Map) and value.closed and not value.items
    )


def _holds_new_tensors(grown: Seq | Map) -> bool:
    found = list(tensors_in(grown))
    return bool(found) and all(each.device == DEFAULT and each.creations and not each.parameter for each in found)


def _changes_elsewhere(info: ClassInfo, name: str) -> bool:
    """Whether a method besides ``__init__`` writes into the container."""
    path = f"self.{name}"
    for method in (node for name, node in info.methods.items() if name != "__init__"):
        if not asked_in(method).get(path, set()).isdisjoint(_CHANGES):
            return True
        if any(
            dotted_path(each.value) == path and not isinstance(each.ctx, ast.Load)
            for each in nodes_in(method, ast.Subscript)
        ):
            return True
    return False
