"""Objects with a ``to`` of their own that moves some of their tensors, and forgets one (TDL310).

That an attribute is a tensor is said by an annotation, by the factory in ``__init__`` that makes it as it makes what
is moved, there or on the same device, or by another such method that moves it. What the class moves elsewhere, reads
on the host or writes again, without what is moved, has a place of its own.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.registration.kept_together import leaves
from torchdevlint.flow.checks.registration.registering import may_move_along
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.annotations import annotated_tensor
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.model_names import TAKEN_BY_NAME
from torchdevlint.flow.scope.names import dotted_path, last_name, positional_names, public_path
from torchdevlint.flow.scope.uses import asked_in
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import CPU, MODEL
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.others import resolved
from torchdevlint.flow.state.tensors import is_created
from torchdevlint.flow.state.values import Cls, Tensor
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import arguments_of, assignments_in, inside, keyword_of, nodes_in, once_a_node

_MOVERS = frozenset({"to", "cuda", "to_device", "move_to", "move_to_device"})


def _note_end(event: FileEnded) -> None:
    for owner in event.machine.classes.values():
        for name in sorted(_MOVERS.intersection(owner.methods)):
            mover = owner.methods[name]
            if isinstance(mover, ast.FunctionDef) and (len(owner.mro) == 1 or _makes_anew(owner, mover)):
                _look(event.machine, owner, mover)


def _makes_anew(owner: ClassInfo, mover: ast.FunctionDef) -> bool:
    """Whether a class with bases gives a new object, made of its attributes, whatever its bases do."""
    return not owner.is_module and any(True for _ in _copies(mover, owner))


def _look(machine: Machine, owner: ClassInfo, mover: ast.FunctionDef) -> None:
    moved, beside = _moved(mover, owner), _moved_beside(mover, owner)
    for name, move in beside.items() if moved or beside else ():
        if name not in moved and not _calls_own(mover) and _is_handed_on(owner, mover, name):
            _record(machine, owner, mover, name, next(iter(moved.values()), move))
            return
    if not moved:
        return
    for name in _tensors(machine, owner, moved):
        if name not in moved and _is_forgotten(owner, mover, name, moved):
            _record(machine, owner, mover, name, next(iter(moved.values())))
            return


def _moved(mover: ast.FunctionDef, owner: ClassInfo) -> dict[str, ast.Call]:
    """``self.x = self.x.to(device)``, and ``self.x.to(device)`` where another object of the class is made of it.

    Also where that depends on whether there is anything: ``None if self.x is None else self.x.to(device)``.
    """
    found: dict[str, ast.Call] = {}
    for assign in assignments_in(mover):
        call, path = assign.value, dotted_path(assign.targets[0]) or ""
        if isinstance(call, ast.Call) and path == f"self.{_moves(call, {})}":
            found[path.removeprefix("self.")] = call
    names = _names_of_attributes(mover)
    for given in _handed_on(mover, owner):
        for each in (given.body, given.orelse) if isinstance(given, ast.IfExp) else (given,):
            if isinstance(each, ast.Call) and (name := _moves(each, names)):
                found[name] = each
    return found


@once_a_node
def _names_of_attributes(mover: ast.FunctionDef) -> dict[str, str]:
    """The names that a method binds once, to an attribute as it is: ``x = self.x``."""
    times = Counter(each.id for each in nodes_in(mover, ast.Name) if isinstance(each.ctx, ast.Store))
    found: dict[str, str] = {}
    for assign in assignments_in(mover):
        target, attribute = assign.targets[0], _attribute(assign.value, {})
        if isinstance(target, ast.Name) and times[target.id] == 1 and attribute:
            found[target.id] = attribute
    return found


def _attribute(node: ast.expr, names: dict[str, str]) -> str:
    """`x` for ``self.x``, and for a name that stands for it."""
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    path = dotted_path(node) or ""
    return path.removeprefix("self.") if path.startswith("self.") and path.count(".") == 1 else ""


def _reads(mover: ast.FunctionDef, name: str) -> list[ast.expr]:
    """Where a method reads an attribute, itself or by a name that stands for it."""
    names = _names_of_attributes(mover)
    bound = {id(each.value) for each in assignments_in(mover) if isinstance(each.targets[0], ast.Name)}
    reads: list[ast.expr] = [each for each in nodes_in(mover, ast.Attribute) if dotted_path(each) == f"self.{name}"]
    if name in names.values():
        reads = [each for each in reads if id(each) not in bound]
    loads = (each for each in nodes_in(mover, ast.Name) if isinstance(each.ctx, ast.Load))
    return [*reads, *(each for each in loads if names.get(each.id) == name)]


def _moved_beside(mover: ast.FunctionDef, owner: ClassInfo) -> dict[str, ast.Call]:
    """What the other methods of a class that move the whole of it move: ``cpu`` for ``cuda``."""
    others = (method for name, method in owner.methods.items() if name in _MOVERS | {"cpu"} and method is not mover)
    functions = [each for each in others if isinstance(each, ast.FunctionDef)]
    return {name: move for each in functions for name, move in _moved(each, owner).items()}


def _is_handed_on(owner: ClassInfo, mover: ast.FunctionDef, name: str) -> bool:
    """Whether all that a method does with an attribute is to give it to the new object, or to itself, as it is."""
    reads = _reads(mover, name)
    kept = set(_kept_as_it_is(mover, owner))
    return bool(reads) and all(id(each) in kept for each in reads)


def _moves(call: ast.Call, names: dict[str, str]) -> str:
    """`x` for ``self.x.to(device)``."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in torch_api.MOVE_METHODS:
        return ""
    return _attribute(call.func.value, names)


def _copies(mover: ast.FunctionDef, owner: ClassInfo) -> Iterator[ast.Call]:
    """``Batch(..)`` or ``type(self)(..)`` in a method of `Batch`, where it is returned."""
    for each in nodes_in(mover, ast.Return):
        made = each.value
        if isinstance(made, ast.Call):
            asked = made.func.func if isinstance(made.func, ast.Call) else made.func
            if last_name(asked) in ((owner.name, "__class__") if asked is made.func else ("type",)):
                yield made


def _handed_on(mover: ast.FunctionDef, owner: ClassInfo) -> Iterator[ast.expr]:
    """What the new object is made of, also by a name of the method that is bound once: ``x = self.x.to(device)``."""
    bound: dict[str, list[ast.expr]] = {}
    names = _names_of_attributes(mover)
    for assign in assignments_in(mover):
        if isinstance(assign.targets[0], ast.Name):
            bound.setdefault(assign.targets[0].id, []).append(assign.value)
    for made in _copies(mover, owner):
        for given in arguments_of(made):
            values = bound.get(given.id, []) if isinstance(given, ast.Name) else []
            yield given if len(values) != 1 or given.id in names else values[0]  # type: ignore[attr-defined]


def _tensors(machine: Machine, owner: ClassInfo, moved: dict[str, ast.Call]) -> Iterator[str]:
    """The attributes that are tensors as what is moved is: by an annotation, or made by a factory.

    Or objects that are somewhere: by what is asked of them, or by a class that has a method of its own to move them.
    """
    for name, annotation in _annotated(owner):
        if annotated_tensor(annotation) or _moves_itself(machine, annotation):
            yield name
    asked = asked_in(owner.node)
    for name in sorted(owner.writers):
        if not _OF_TENSORS.isdisjoint(asked.get(f"self.{name}", ())):
            yield name
    yield from _given_tensors(machine.tree, owner)
    yield from _told_alike(owner, moved)
    made = {name: _made(owner, name) for name in sorted(owner.writers)}
    if any(made.get(name) for name in moved):
        yield from (name for name, is_made in made.items() if is_made)


def _told_alike(owner: ClassInfo, moved: dict[str, ast.Call]) -> Iterator[str]:
    """The attributes that ``__init__`` makes on the device on which it makes what is moved as well."""
    init, told = owner.methods.get("__init__"), dict[str, str]()
    for assign in assignments_in(init) if init is not None else ():
        call, name = assign.value, _attribute(assign.targets[0], {})
        if name and isinstance(call, ast.Call) and _has_dimensions(call) and keyword_of(call, "device") is not None:
            told[name] = ast.unparse(keyword_of(call, "device"))  # type: ignore[arg-type]
    places = {told[name] for name in moved if name in told}
    yield from (name for name, place in told.items() if place in places)


def _has_dimensions(call: ast.Call) -> bool:
    """Whether a factory of torch is given sizes, and not ``()``."""
    name = public_path(call.func).removeprefix("torch.")
    of_sizes = name in torch_api.FACTORIES - torch_api.DATA_FACTORIES and bool(call.args)
    return of_sizes and not (isinstance(call.args[0], (ast.Tuple, ast.List)) and not call.args[0].elts)


def _given_tensors(tree: ast.Module, owner: ClassInfo) -> Iterator[str]:
    """The attributes that keep an argument of ``__init__``, for which a function of the file gives a tensor.

    That is what the function asks for its ``device``, or has from a factory: ``Batch(x, torch.zeros(3))``.
    """
    init = owner.methods.get("__init__")
    if init is None or owner.is_module:
        return
    kept = {each.value.id: dotted_path(each.targets[0]) or "" for each in assignments_in(init) if _is_name(each.value)}  # type: ignore[attr-defined]
    names = positional_names(init)[1:]
    for function in functions_in(tree):
        calls = [call for call in nodes_in(function, ast.Call) if dotted_path(call.func) == owner.name]
        for call in calls:
            given = [*zip(names, call.args, strict=False), *((each.arg or "", each.value) for each in call.keywords)]
            for name, value in given:
                path = kept.get(name, "")
                if path.startswith("self.") and _is_tensor_in(function, value):
                    yield path.removeprefix("self.")


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)


def _is_tensor_in(function: FunctionNode, node: ast.expr) -> bool:
    path = dotted_path(node) or ""
    made = values_by_path(function).get(path, []) if isinstance(node, ast.Name) else [node]
    factories = torch_api.FACTORIES | torch_api.LIKE_FACTORIES
    from_torch = any(
        isinstance(each, ast.Call) and public_path(each.func).removeprefix("torch.") in factories for each in made
    )
    return from_torch or (isinstance(node, ast.Name) and "device" in asked_in(function).get(path, ()))


_OF_TENSORS = frozenset(
    {"device", "detach", "requires_grad", "numel", "unsqueeze", "new_zeros", "new_ones", "new_tensor", "expand_as"}
)
"""What is asked of tensors, and of objects that are somewhere."""


def _moves_itself(machine: Machine, annotation: ast.expr | None) -> bool:
    """Whether an annotation names a class of this file, or of one that it imports, with a ``to`` of its own."""
    named = [each for each in inside(annotation) if isinstance(each, ast.Name)] if annotation is not None else []
    if any(each.id not in ("Optional", "Union") and not _has_mover(machine, each.id) for each in named):
        return False
    return bool(named)


def _has_mover(machine: Machine, name: str) -> bool:
    held = resolved(machine.globals.get(name), machine.others)
    return isinstance(held, Cls) and "to" in held.info.all_methods and not held.info.is_module


def _annotated(owner: ClassInfo) -> Iterator[tuple[str, ast.expr | None]]:
    """The fields of a dataclass, and the arguments that ``__init__`` keeps as they came."""
    if owner.is_dataclass:
        fields = [each for each in owner.node.body if isinstance(each, ast.AnnAssign)]
        yield from ((each.target.id, each.annotation) for each in fields if isinstance(each.target, ast.Name))
    init = owner.methods.get("__init__")
    if init is None or owner.is_module:
        return
    annotations = {each.arg: each.annotation for each in nodes_in(init.args, ast.arg)}
    for assign in assignments_in(init):
        path = dotted_path(assign.targets[0]) or ""
        if path.startswith("self.") and isinstance(assign.value, ast.Name):
            yield path.removeprefix("self."), annotations.get(assign.value.id)


def _made(owner: ClassInfo, name: str) -> bool:
    """Whether ``__init__`` has made a tensor with dimensions by a factory, and registers it nowhere.

    What is known so far is enough: to run methods before their turn would change what others find.
    """
    held = [each for _, each in alternatives(owner.attributes[name])] if name in owner.attributes else []
    tensors = [each for each in held if isinstance(each, Tensor)]
    return bool(tensors) and all(
        bool(each.ndim) and is_created(each) and not each.parameter and each.device not in (MODEL, CPU)
        for each in tensors
    )


def _is_forgotten(owner: ClassInfo, mover: ast.FunctionDef, name: str, moved: dict[str, ast.Call]) -> bool:
    """Whether nothing moves an attribute, or has a reason to leave it where it is.

    Lengths and indices stay, unless others of their kind are moved.
    """
    if is_bookkeeping(name) and not (_is_taken(owner, name) or any(map(is_bookkeeping, moved))):
        return False
    if leaves(owner, name) or _calls_own(mover):
        return False
    reads = _reads(mover, name)
    if reads:
        kept = set(_kept_as_it_is(mover, owner))
        return all(id(each) in kept for each in reads)
    alike = [method for each in moved for method in owner.writers.get(each, ())]
    writers = [method for method in owner.writers.get(name, ()) if method is not mover and method not in alike]
    if any(getattr(each, "name", "") not in ("__init__", "cpu") for each in writers):
        return False
    return not may_move_along(owner, name)


def _is_taken(owner: ClassInfo, name: str) -> bool:
    """Whether models take it by this name, or the class takes its place for that of the object."""
    return name in TAKEN_BY_NAME or "device" in asked_in(owner.node).get(f"self.{name}", ())


def _kept_as_it_is(mover: ast.FunctionDef, owner: ClassInfo) -> Iterator[int]:
    """What goes into the new object, or stays in this one, as it is: ``None if self.x is None else self.x``."""
    yield from _without_effect(mover)
    for given in _handed_on(mover, owner):
        yield id(given)
        if isinstance(given, ast.IfExp):
            yield from (id(given.body), id(given.orelse))
            tested = given.test.left if isinstance(given.test, ast.Compare) else given.test
            yield id(tested)


def _without_effect(mover: ast.FunctionDef) -> Iterator[int]:
    """The two sides of ``self.x = self.x``."""
    for assign in assignments_in(mover):
        if dotted_path(assign.value) is not None and dotted_path(assign.value) == dotted_path(assign.targets[0]):
            yield from (id(assign.value), id(assign.targets[0]))


_ANY = frozenset({"super", "setattr", "getattr", "vars", "__dict__", "__setattr__", "fields", "asdict", "map"})


def _calls_own(mover: ast.FunctionDef) -> bool:
    """Whether it calls another method of the object, or one of its base, or goes through its attributes by name."""
    words = {each.id for each in nodes_in(mover, ast.Name)} | {each.attr for each in nodes_in(mover, ast.Attribute)}
    if _ANY & words:
        return True
    paths = (dotted_path(each.func) or "" for each in nodes_in(mover, ast.Call))
    return any(path.startswith("self.") and path.count(".") == 1 and path != "self.__class__" for path in paths)


def _record(machine: Machine, owner: ClassInfo, mover: ast.FunctionDef, name: str, move: ast.Call) -> None:
    scope = f"{owner.name}.{mover.name}"
    record(machine, scope, "attributes", f"self.{name}", move, at=move, move_at=mover)


EVENTS = {FileEnded: _note_end}
