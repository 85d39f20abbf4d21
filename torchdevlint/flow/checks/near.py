"""Expressions for a device that are surely right at a place: what a fix can write there."""

from __future__ import annotations

import ast
from itertools import islice

from msgspec import Struct

from torchdevlint.flow import torch_api
from torchdevlint.flow.bound import Scope, bound_at_the_end, bound_in, given_by_default, surely_bound
from torchdevlint.flow.checks.surely_tensors import may_be_no_tensor
from torchdevlint.flow.names import dotted_path, first_name
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import MODEL, TOP, Device, Origin, on_cpu
from torchdevlint.flow.state.joins import settle
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.near import Near
from torchdevlint.flow.state.others import holds
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Const, Dev, Library, Site, Tensor
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

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
    found = []
    first = dict(islice(state.env.items(), MOST_NAMES))
    last = dict(islice(reversed(state.env.items()), MOST_NAMES))
    for name, held in {**first, **dict(reversed(last.items()))}.items():
        value = settle(held, state.conditions)
        if isinstance(value, Tensor) and not value.opaque and value.device != TOP and not on_cpu(value.device):
            found.append((f"{name}.device", value.device))
        elif isinstance(value, Dev) and not value.number and not value.creations and value.device != TOP:
            found.append((name, value.device))
    return Near(frame.function, tuple(found), frame.owner, len(frame.tensor_names))


class Meeting(Struct, frozen=True):
    """The operation `node` at which a tensor meets what `other` gives, which is on the device `wanted`."""

    frame: Frame
    state: State
    node: ast.AST
    other: ast.expr
    wanted: Device

    def device_at(self, first: Site) -> str | None:
        """An expression for the device of `other` whose names are bound where `first` made a tensor, or None."""
        if first.near is None:
            return None
        if first.near.function is self.frame.function and first.node in inside(self.node):
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

    def _by_constant(self) -> str | None:
        """A device that the file names above: ``DEVICE = torch.device("cuda")``."""
        same = (Dev(self.wanted), Const(self.wanted.describe()))
        names = [name for name, value in self.frame.machine.globals.items() if value in same]
        return next((name for name in names if is_bound(self.frame, name, self.node)), None)

    def reads(self, node: ast.expr) -> bool:
        """Whether an operand is read as a tensor; the target of ``x += y`` is not where `x` stands."""
        stands = holds(self.frame.machine.tree, node) and holds(self.frame.machine.tree, self.node)
        return stands and is_tensor(self.frame, self.state, node)

    def _of_other(self, place: ast.AST) -> str | None:
        """The device of `other` itself, where that is a tensor that costs nothing to ask: a name, or a part of it."""
        asked = self.other
        if not is_tensor(self.frame, self.state, asked):
            return None
        while isinstance(asked, ast.Subscript) and _gives_another_view(asked):
            asked = asked.value
        path = dotted_path(asked)
        if path is None or _is_module(self.frame, path):
            return None
        if path in may_be_no_tensor(self.frame.function or self.frame.machine.tree, self.frame.machine.tree, place):
            return None
        return f"{self.frame.machine.text_of(asked)}.device"

    def _by_name(self, around: Near, place: ast.AST) -> str | None:
        """What is known where `place` is: that of `other` before that of other names."""
        frame, wanted = self.frame, self.wanted
        scope: Scope = around.function or frame.machine.tree
        bound = surely_bound(scope, place) - _may_be_none(scope)
        others = may_be_no_tensor(scope, frame.machine.tree, place)
        texts = [
            text
            for text, device in around.names
            if device == wanted
            and first_name(text) in bound
            and text.removesuffix(".device") not in (others if text.endswith(".device") else ())
            and not _is_module(frame, text.removesuffix(".device"), scope)
        ]
        own = f"{self.other.id}.device" if isinstance(self.other, ast.Name) else ""
        if texts:
            return own if own in texts else texts[0]
        if wanted.origin is Origin.EXPRESSION and around.function is frame.function:
            stands = is_bound(frame, wanted.name, place) and self._is_wanted(wanted.name)
            return wanted.name if stands else None
        if wanted == MODEL and around.owner is not None and around.owner.is_module and "self" in bound:
            return _of_layer(around.owner)
        return None

    def _is_wanted(self, text: str) -> bool:
        """Whether no name of this scope is meant, or one that holds the device: in `__init__` it had this name."""
        held = self.state.env.get(text)
        value = None if held is None else settle(held, self.state.conditions)
        return value is None or (isinstance(value, Dev) and value.device == self.wanted)


def _is_module(frame: Frame, path: str, scope: Scope | None = None) -> bool:
    """Whether a name is called or asked for what modules have: what is moved may be either, and modules have no device.

    A name by its function, an attribute by the whole file.
    """
    own = scope or frame.function or frame.machine.tree
    return path in _used_as_modules(own if path.isidentifier() else frame.machine.tree)


@once_a_node
def _used_as_modules(scope: Scope) -> frozenset[str | None]:
    called = {dotted_path(each.func) for each in nodes_in(scope, ast.Call)}
    asked = (each for each in nodes_in(scope, ast.Attribute) if each.attr in torch_api.MODULE_ONLY_ATTRIBUTES)
    return frozenset(called | {dotted_path(each.value) for each in asked})


def is_bound(frame: Frame, text: str, place: ast.AST) -> bool:
    """Whether the names of an expression for a device are surely bound at a place of the code that is run.

    Replicas of `DataParallel` have no parameters, so that ``next(self.parameters())`` raises in them.
    """
    if text.startswith("next(self.") and "DataParallel" in frame.machine.words:
        return False
    text = text.removeprefix("next(").removesuffix(".parameters()).device")
    scope: Scope = frame.function or frame.machine.tree
    if not _is_path(text):
        return False
    root = first_name(text)
    if root in surely_bound(scope, place) - _may_be_none(scope):
        return True
    own = scope is not frame.machine.tree and any(root in names for names in (bound_in(scope), frame.globals))
    return not own and root in bound_at_the_end(_before(frame.machine.tree, place))


def is_bound_where(frame: Frame, text: str, place: ast.AST) -> bool:
    """Whether an expression for a device means the same at a place of this file, in whichever function that is."""
    if not text or text.startswith('"'):
        return bool(text)
    tree, here = frame.machine.tree, frame.function or frame.machine.tree
    scope = _scope_of(tree, place)
    if scope is here:
        return is_bound(frame, text, place)
    root = first_name(text)
    if scope is tree:
        return _is_path(text) and root in surely_bound(tree, place) and root not in bound_in(here)
    return root == "self" and any(
        isinstance(each, ast.Assign) and dotted_path(each.targets[0]) == text and each.lineno < place.lineno  # type: ignore[attr-defined]
        for each in scope.body
    )


def _scope_of(tree: ast.Module, place: ast.AST) -> ast.Module | ast.FunctionDef:
    """The function that a place is in, or the module; those in functions after those around them."""
    around = [each for each in nodes_in(tree, ast.FunctionDef) if place in inside(each)]
    return around[-1] if around else tree


def _before(tree: ast.Module, place: ast.AST) -> list[ast.stmt]:
    """The statements of a file before the one that holds the place."""
    return [each for each in tree.body if (each.end_lineno or each.lineno) < getattr(place, "lineno", 0)]


def names_tensor(frame: Frame, state: State, text: str) -> bool:
    """Whether an expression is the device of a name that is known to be a tensor."""
    name = text.removesuffix(".device")
    held = state.env.get(name)
    value = None if held is None else settle(held, state.conditions)
    return isinstance(value, Tensor) and not value.opaque and not _is_module(frame, name)


def is_tensor(frame: Frame, state: State, node: ast.expr) -> bool:
    """Whether an expression is a tensor, and not a list that holds one."""
    if isinstance(node, ast.Starred):
        return False
    machine = frame.machine
    machine.muted += 1
    try:
        value = settle(frame.evaluate(node, state.copy()), state.conditions)
    finally:
        machine.muted -= 1
    return isinstance(value, Tensor)


def _gives_another_view(node: ast.Subscript) -> bool:
    """Whether only a tensor can be read by it: ``x[:, None]``."""
    return isinstance(node.slice, ast.Tuple) and any(
        isinstance(each, ast.Slice) or (isinstance(each, ast.Constant) and each.value in (None, Ellipsis))
        for each in node.slice.elts
    )


def _is_path(text: str) -> bool:
    return text.replace(".", "").isidentifier()


@once_a_node
def _may_be_none(scope: Scope) -> frozenset[str]:
    """The parameters that are None by default, or may be it by their annotation."""
    if isinstance(scope, ast.Module):
        return frozenset()
    given = scope.args
    defaults = given_by_default(given)
    names = {name for name, default in defaults if isinstance(default, ast.Constant) and default.value is None}
    for each in nodes_in(given, ast.arg):
        if each.annotation is not None and any(map(_says_none, inside(each.annotation))):
            names.add(each.arg)
    return frozenset(names)


def _says_none(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None or (
            isinstance(node.value, str) and ("Optional" in node.value or "None" in node.value)
        )
    return (dotted_path(node) or "").rpartition(".")[2] == "Optional"


def _of_layer(owner: ClassInfo) -> str | None:
    """``self.fc.weight.device`` of the first layer or parameter that ``__init__`` makes whatever it is given."""
    for info in owner.mro:
        init = info.methods.get("__init__")
        for statement in init.body if init is not None else ():
            path = dotted_path(statement.targets[0]) if isinstance(statement, ast.Assign) else None
            if path is None or not path.startswith("self.") or path.count(".") > 1:
                continue
            value = owner.attributes.get(path[5:])
            if isinstance(value, Tensor) and value.parameter:
                return f"{path}.device"
            if isinstance(value, Library) and value.name in _WITH_WEIGHT:
                return f"{path}.weight.device"
    return None
