"""Expressions for a device: what can be written at a place to say where something is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice
from typing import TypeGuard

from msgspec.structs import replace

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import unpacked_to
from torchdevlint.flow.scope.names import dotted_path, first_name, is_dtype, names_one_of
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import MODEL, TOP, Device, Origin, Relation, on_cpu, relation
from torchdevlint.flow.state.joins import alternatives, settle
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.near import Near
from torchdevlint.flow.state.others import holds
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Const, Dev, Library, Site, Tensor, Unknown, Value
from torchdevlint.flow.vouch.bound import scopes_around, steady
from torchdevlint.flow.vouch.kinds import may_be_no_tensor, may_be_none
from torchdevlint.flow.vouch.names import is_written, means_the_same
from torchdevlint.model import Frozen
from torchdevlint.source.nodes import arguments_of, assignment_of, is_inside, nodes_in, once_a_node

_WITH_WEIGHT = frozenset(
    f"torch.nn.{name}"
    for name in (
        "Linear Bilinear Embedding EmbeddingBag Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d"
    ).split()
)
"""Layers whose `weight` is always a parameter."""


MOST_NAMES = 25
"""This is asked for every tensor that is made, and in generated files thousands of names hold one each."""


def near(frame: Frame, state: State) -> Near:
    """What the names here say about devices: the first that were bound, which parameters are, and the last ones."""
    found, parts = [], []
    first = dict(islice(state.env.items(), MOST_NAMES))
    last = dict(islice(reversed(state.env.items()), MOST_NAMES))  # type: ignore[call-overload]
    for name, held in {**first, **dict(reversed(last.items()))}.items():
        value = settle(held, state.conditions)
        if _is_off_the_cpu(value):
            found.append((f"{name}.device", value.device))
        elif type(value) is Dev and not value.number and not value.creations and value.device != TOP:
            found.append((name, value.device))
        given = value.given if type(value) is Unknown else value.device if type(value) is Tensor else None
        if given is not None and given.origin in (Origin.ARGUMENT, Origin.MODEL):
            parts.append((name, given))
    return Near(frame.function, tuple(found), frame.owner, len(frame.tensor_names), parts=tuple(parts))


def _is_off_the_cpu(value: Value) -> TypeGuard[Tensor]:
    if type(value) is not Tensor or value.opaque:
        return False
    return value.device.origin is not Origin.TOP and not on_cpu(value.device)


def remember(frame: Frame, state: State, node: ast.Call) -> None:
    """Look around at a call that a fix may change later: of what several runs of it see, what all of them do."""
    machine = frame.machine
    if machine.muted and node in machine.near:
        return
    here, before = near(frame, state), machine.near.get(node)
    if isinstance(node.func, ast.Attribute):
        receiver = evaluated_silently(frame, state, node.func.value)
        here = replace(here, moved=receiver.device if isinstance(receiver, Tensor) else None)
    if before is not None:
        seen = {text for text, _ in before.names}
        parts = tuple(each for each in here.parts if each[0] in dict(before.parts))
        here = replace(here, names=tuple(each for each in here.names if each[0] in seen), parts=parts)
    machine.near[node] = here


class Meeting(Frozen, frozen=True):
    """The operation `node` at which a tensor meets what `other` gives, which is on the device `wanted`."""

    frame: Frame
    state: State
    node: ast.AST
    other: ast.expr
    wanted: Device

    def device_at(self, first: Site) -> str | None:
        """An expression for the device of `other` that stands where `first` made a tensor, or None."""
        if first.near is None:
            return None
        if first.near.function is self.frame.function and is_inside(first.node, self.node):
            return self._of_other(first.node) or self._by_name(first.near, first.node)
        return self._by_name(first.near, first.node)

    def device_here(self) -> str | None:
        """The same for the operation."""
        return self._of_other(self.node) or self._by_name(near(self.frame, self.state), self.node)

    def device_named(self) -> str | None:
        """The same, by a variable for devices or a literal before the tensor that is there."""
        if self.wanted.origin is Origin.EXPRESSION:
            return self._by_name(near(self.frame, self.state), self.node) or self._of_other(self.node)
        named = f'"{self.wanted.describe()}"' if self.wanted.origin is Origin.LITERAL else None
        return self.device_here() or self._by_constant() or named

    def reads(self, node: ast.expr) -> bool:
        """Whether an operand is read as a tensor; the target of ``x += y`` is not where `x` stands."""
        stands = holds(self.frame.machine.tree, node) and holds(self.frame.machine.tree, self.node)
        return stands and isinstance(evaluated_silently(self.frame, self.state, node), Tensor)

    def _by_constant(self) -> str | None:
        """A device that the file names above: ``DEVICE = torch.device("cuda")``."""
        same = (Dev(self.wanted), Const(self.wanted.describe()))
        names = [name for name, value in self.frame.machine.globals.items() if value in same]
        return next((name for name in names if means_the_same(self.frame, name, self.node, self.node)), None)

    def _of_other(self, place: ast.AST) -> str | None:
        """The device of `other` itself, where that is a tensor that costs nothing to ask: a name, or a part of it."""
        asked, machine = self.other, self.frame.machine
        scopes = scopes_around(machine.tree, place)
        if not scopes or not isinstance(evaluated_silently(self.frame, self.state, asked), Tensor):
            return None
        while isinstance(asked, ast.Subscript) and _gives_another_view(asked):
            asked = asked.value
        path = dotted_path(asked)
        if path is None or not _is_surely_tensor(machine.tree, scopes[0], path, place):
            return None
        return f"{machine.text_of(asked)}.device"

    def _by_name(self, around: Near, place: ast.AST) -> str | None:
        """What is known where `place` is: that of `other` before that of other names."""
        own = f"{self.other.id}.device" if isinstance(self.other, ast.Name) else ""
        seen = self.node if self._is_wanted(self.wanted.name) else None
        return device_at(self.frame, around, place, self.wanted, own, seen)

    def _is_wanted(self, text: str) -> bool:
        """Whether no name of this scope is meant, or one that holds the device: in `__init__` it had this name."""
        held = self.state.env.get(text)
        value = None if held is None else settle(held, self.state.conditions)
        return value is None or (isinstance(value, Dev) and value.device == self.wanted)


def device_at(
    frame: Frame, around: Near, place: ast.AST, wanted: Device, first: str = "", seen: ast.AST | None = None
) -> str | None:
    """An expression for the device `wanted` that can be written at a place, `first` if that is one; or None.

    `around` was seen at the place, and the device at `seen`, in this frame.
    """
    held = _held(frame, around, place)
    texts = [text for text, device in around.names if device == wanted and _is_fit(frame, text, device, held, place)]
    if texts:
        return first if first in texts else texts[0]
    if wanted.origin is Origin.EXPRESSION and seen is not None:
        return wanted.name if means_the_same(frame, wanted.name, place, seen) else None
    if wanted == MODEL and around.owner is not None and around.owner.is_module and "self" in held:
        return None if getattr(around.function, "name", "") == "__init__" else _of_layer(around.owner)
    return None


def device_of_part(frame: Frame, around: Near, place: ast.AST, wanted: Device) -> str | None:
    """The device of a name at a place for what came with an argument and is used as a tensor there, or None.

    Unlike that of `device_at` it may be an array on another path, so that no fix writes it.
    """
    held, scopes = _held(frame, around, place), scopes_around(frame.machine.tree, place)
    names = [name for name, device in around.parts if device == wanted and name in held]
    return next((f"{name}.device" for name in names if name in _used_as_tensors(scopes[0])), None)


@once_a_node
def _used_as_tensors(scope: Scope) -> frozenset[str]:
    """The names of a scope that are read in several dimensions, or asked for what only tensors have."""
    sliced = (each.value for each in nodes_in(scope, ast.Subscript) if isinstance(each.slice, ast.Tuple))
    methods = (each for each in nodes_in(scope, ast.Attribute) if each.attr in torch_api.TENSOR_ONLY_METHODS)
    read = (*sliced, *(each.value for each in methods))
    return frozenset(each.id for each in read if isinstance(each, ast.Name))


def is_surely_tensor(frame: Frame, state: State, node: ast.expr) -> bool:
    """Whether an expression that is read here is a tensor on all paths, also by what the code does with it."""
    tree = frame.machine.tree
    value, scopes, path = evaluated_silently(frame, state, node), scopes_around(tree, node), dotted_path(node)
    held = [] if value is None else [each for _, each in alternatives(value, state.conditions)]
    known = bool(held) and all(isinstance(each, Tensor) and not each.opaque for each in held)
    return known and bool(scopes) and (path is None or _is_surely_tensor(tree, scopes[0], path, node))


def is_only_tensor(frame: Frame, state: State, call: ast.AST, node: ast.expr) -> bool:
    """Whether `node` is surely a tensor, and nothing else that `call` is given is left where an edit takes it away.

    What came out of the same result as it is one as well: ``pred, target = run(..)``, then ``score(target, pred)``.
    """
    others = [each for each in arguments_of(call) if each is not node] if isinstance(call, ast.Call) else []
    for each in others:
        value = evaluated_silently(frame, state, each)
        held = () if value is None else alternatives(value, state.conditions)
        if any(_is_off_the_cpu(one) and one.ndim != 0 for _, one in held):
            return False
    path, scope = dotted_path(node), frame.function or frame.machine.tree
    result = [one for parts, made in unpacked_to(scope, path or "") if isinstance(made, ast.Call) for one in parts]
    if any(names_one_of(other, result) for other in map(dotted_path, others) if other is not None):
        return False
    return is_surely_tensor(frame, state, node)


def known_at(frame: Frame, place: ast.AST, text: str) -> Device | None:
    """The device that ``x.device`` is where a call that was remembered stands, if `x` is surely a tensor that is there.

    None where the tensor that the call moves is there already, as in ``x = x.cuda()``: moved to there, it stays.
    """
    around = frame.machine.near.get(place)
    if around is None:
        return None
    held = _held(frame, around, place)
    device = next((one for name, one in around.names if name == text), None)
    if device is None or not _is_fit(frame, text, device, held, place):
        return None
    return None if around.moved is not None and relation(around.moved, device) is Relation.AGREE else device


def remembered(frame: Frame, place: ast.AST) -> Near | None:
    return frame.machine.near.get(place)


def _held(frame: Frame, around: Near, place: ast.AST) -> frozenset[str]:
    """The names that are at a place what `around` says of them; none where that was seen in another function."""
    scopes, scope = scopes_around(frame.machine.tree, place), around.function or frame.machine.tree
    return steady(scope, place) if scopes and scopes[0] is scope else frozenset()


def _is_fit(frame: Frame, text: str, device: Device, held: frozenset[str], place: ast.AST) -> bool:
    """Whether an expression for a device is steady, and the device of a tensor that nobody moves there first."""
    if first_name(text) not in held:
        return False
    tree = frame.machine.tree
    scope = scopes_around(tree, place)[0]
    if not text.endswith(".device"):
        return text not in may_be_none(scope, place)
    path = text.removesuffix(".device")
    sent = device.origin is Origin.ARGUMENT and path in _sent(scope)
    return not sent and _is_surely_tensor(tree, scope, path, place)


def _is_surely_tensor(tree: ast.Module, scope: Scope, path: str, place: ast.AST) -> bool:
    """Whether what the inference takes for a tensor is no Module, number, or None by what the code does with it."""
    if path in _used_as_modules(scope if path.isidentifier() else tree):
        return False
    return path not in may_be_no_tensor(scope, tree, place) and path not in may_be_none(scope, place)


@once_a_node
def _used_as_modules(scope: Scope) -> frozenset[str | None]:
    """What is called or asked for what modules have: what is moved may be either, and modules have no device."""
    called = {dotted_path(each.func) for each in nodes_in(scope, ast.Call)}
    asked = (each for each in nodes_in(scope, ast.Attribute) if each.attr in torch_api.MODULE_ONLY_ATTRIBUTES)
    return frozenset(called | {dotted_path(each.value) for each in asked})


@once_a_node
def _sent(scope: Scope) -> frozenset[str]:
    """The names that a scope moves to an accelerator: what comes in under them is not there yet."""
    return frozenset(each for each in _receivers(scope) if each is not None)


def _receivers(scope: Scope) -> Iterator[str | None]:
    for call in nodes_in(scope, ast.Call):
        if isinstance(call.func, ast.Attribute) and (call.func.attr == "cuda" or _moves(call)):
            yield dotted_path(call.func.value)


def _moves(call: ast.Call) -> bool:
    given = [*call.args[:1], *(each.value for each in call.keywords if each.arg == "device")]
    named = [dotted_path(each) for each in given if not is_dtype(each)]
    return call.func.attr == "to" and bool(named)  # type: ignore[attr-defined]


def evaluated_silently(frame: Frame, state: State, node: ast.expr) -> Value | None:
    """What an expression is, looked at once more without any report; None for what is spread."""
    if isinstance(node, ast.Starred):
        return None
    machine = frame.machine
    machine.muted += 1
    try:
        return settle(frame.evaluate(node, state.copy()), state.conditions)
    finally:
        machine.muted -= 1


def _gives_another_view(node: ast.Subscript) -> bool:
    """Whether only a tensor can be read by it: ``x[:, None]``."""
    return isinstance(node.slice, ast.Tuple) and any(
        isinstance(each, ast.Slice) or (isinstance(each, ast.Constant) and each.value in (None, Ellipsis))
        for each in node.slice.elts
    )


def _of_layer(owner: ClassInfo) -> str | None:
    """``self.fc.weight.device`` of the first layer or parameter that ``__init__`` surely makes, and others read."""
    for info in owner.mro:
        init = info.methods.get("__init__")
        for statement in init.body if init is not None else ():
            assigned = assignment_of(statement)
            path = dotted_path(assigned.targets[0]) if assigned is not None else None
            if path is None or not path.startswith("self.") or path.count(".") > 1 or path not in _read(owner.node):
                continue
            if path in _sent_away(owner.node):
                continue
            value = owner.attributes.get(path[5:])
            if isinstance(value, Tensor) and value.parameter:
                return f"{path}.device"
            if isinstance(value, Library) and value.name in _WITH_WEIGHT:
                return f"{path}.weight.device"
    return None


@once_a_node
def _sent_away(owner: ast.ClassDef) -> frozenset[str | None]:
    """The paths that methods of a class move alone, such as `self.fc` of ``self.fc.cpu()``."""
    calls = (each.func for each in nodes_in(owner, ast.Call) if isinstance(each.func, ast.Attribute))
    moved = (each.value for each in calls if each.attr == "to" or each.attr in torch_api.DEVICE_METHODS)
    return frozenset(map(dotted_path, moved))


@once_a_node
def _read(owner: ast.ClassDef) -> frozenset[str | None]:
    """The paths that the methods of a class read, besides its ``__init__``."""
    methods = (each for each in owner.body if getattr(each, "name", "__init__") != "__init__")
    read = (each for method in methods for each in nodes_in(method, ast.Attribute) if not is_written(each))
    return frozenset(map(dotted_path, read))


def _row(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)
