"""What containers hold that only a Module could register."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import canonical, dotted_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import MODEL
from torchdevlint.flow.state.joins import alternatives, is_number
from torchdevlint.flow.state.others import OtherFiles, named, resolved
from torchdevlint.flow.state.tensors import elements
from torchdevlint.flow.state.values import NONE, Choice, Cls, Func, Library, Map, Obj, Ref, Seq, Tensor, Text, Value
from torchdevlint.source.nodes import nodes_in


def held_in(value: Value, depth: int = 2, others: OtherFiles | None = None) -> str | None:
    """``modules`` or ``parameters`` if a container surely holds some that have no other owner, nested ones too.

    So it is where it is a container in one arm, and None, an empty one, a module of torch or a parameter that is
    registered in the others. A pair in one arm and one of its items in the other is what a function gives that can be
    asked for more. Of what classes of other files hold, `others` tells.
    """
    if isinstance(value, Choice):
        rest = (each for _, each in value.alternatives if each != NONE and not _is_registered(each))
        held = {held_in(each, depth, others) for each in rest if not _is_empty(each)}
        return held.pop() if len(held) == 1 else None
    if not isinstance(value, (Seq, Map)) or depth == 0:
        return None
    inside = [each for part in parts_of(value) for _, each in alternatives(part) if each != NONE]
    if any(is_number(each) or isinstance(each, (Text, Func, Cls, Ref)) for each in inside):
        return None
    if any(_is_orphan(each, others) for each in inside):
        return "modules"
    if any(map(_is_made_here, inside)):
        return "parameters"
    nested = [found for each in inside if (found := held_in(each, depth - 1, others)) is not None]
    return nested[0] if nested else None


def _is_registered(value: Value) -> bool:
    return isinstance(value, Library) or (isinstance(value, Tensor) and value.parameter)


def _is_empty(value: Value) -> bool:
    """Whether it is a container into which nothing was put."""
    if isinstance(value, Map):
        return value.closed and not value.items
    return isinstance(value, Seq) and value.items == ()


def parts_of(value: Seq | Map) -> list[Value]:
    """What a container holds."""
    if isinstance(value, Seq) and value.items is None:
        return [value.element, *value.members]
    return elements(value)


def _is_made_here(value: Value) -> bool:
    """A Parameter that has no owner yet, as those that ``module.parameters()`` gives have."""
    if not isinstance(value, Tensor) or not value.parameter or value.device == MODEL:
        return False
    return not any(each.of_module for each in value.steps)


def _is_orphan(module: Value, others: OtherFiles | None) -> bool:
    """A module with parameters that nothing has registered: registering puts it where the model is."""
    if isinstance(module, Library):
        return module.module and bool(module.name) and module.device not in (None, MODEL)
    if not isinstance(module, Obj) or not module.info.is_module or module.device == MODEL:
        return False
    return holds_parameters(module.info, others)


def holds_parameters(info: ClassInfo, others: OtherFiles | None, holders: frozenset[ClassInfo] = frozenset()) -> bool:
    """Whether a class makes parameters, or instances of another class that does; `holders` are those that hold it.

    A buffer that it calculates with has to be moved just so. A class whose base is a layer is one itself.
    """
    if any(each.makes_layers for each in info.mro) or any(map(_calculates_with_buffers, info.mro)):
        return True
    if any(_is_layer(canonical(each)) for each in info.library_bases):
        return True
    made = _made_in(info, others)
    if any(isinstance(each, Ref) and _is_layer(each.name) for each in made):
        return True
    if any(isinstance(each, Func) and _names_layers(each) for each in made):
        return True
    inside = [each.info for each in made if isinstance(each, Cls) and each.info not in holders]
    return any(holds_parameters(each, others, holders | {info}) for each in inside)


def classes_held(info: ClassInfo, others: OtherFiles | None) -> set[ClassInfo]:
    """The classes of Modules that a class makes instances of, and those that they make."""
    found, left = set[ClassInfo](), [info]
    while left:
        made = (each.info for each in _made_in(left.pop(), others) if isinstance(each, Cls))
        more = {each for each in made if each.is_module} - found
        found |= more
        left.extend(more)
    return found


def _made_in(info: ClassInfo, others: OtherFiles | None) -> list[Value | None]:
    """What a class calls, or keeps to call it later."""
    calls = [(call.func, info.found(call.func)) for call in nodes_in(info.node, ast.Call)]
    called = [named(found, callee, others) or resolved(found, others) for callee, found in calls if found is not None]
    return [*called, *(resolved(each, others) for each in _classes_kept(info))]


def _calculates_with_buffers(info: ClassInfo) -> bool:
    """Whether a method reads a buffer of its class, and brings it nowhere itself."""
    made = (method for name, method in info.methods.items() if name in ("__init__", "__new__"))
    buffers = {name for method in made for name in _buffers_made_in(method)}
    for name, method in info.methods.items() if buffers else ():
        read = [each for each in nodes_in(method, ast.Attribute) if dotted_path(each) in buffers]
        owners = [each for each in nodes_in(method, ast.Attribute) if each.value in read]
        brought = any(each.attr in torch_api.PLACING_METHODS for each in owners)
        if name != "__init__" and read and not brought:
            return True
    return False


def _buffers_made_in(method: ast.AST) -> Iterator[str]:
    """The buffers that a method registers and fills: ``self.register_buffer("table", table)``."""
    for call in nodes_in(method, ast.Call):
        if dotted_path(call.func) == "self.register_buffer" and len(call.args) > 1:
            name, value = call.args[:2]
            is_empty = isinstance(value, ast.Constant) and value.value is None
            if isinstance(name, ast.Constant) and isinstance(name.value, str) and not is_empty:
                yield f"self.{name.value}"


def _is_layer(name: str) -> bool:
    return name.startswith("torch.nn.") and name.removeprefix("torch.nn.") in torch_api.PARAMETER_MODULES


def _names_layers(function: Func) -> bool:
    """Whether a function calls layers of torch by their names: ``MLP(3, 4)``, which gives a `Sequential` of some."""
    for call in nodes_in(function.node, ast.Call):
        root, _, rest = (dotted_path(call.func) or "").partition(".")
        found = next((scope[root] for scope in function.closure.scopes if root in scope), None)
        if isinstance(found, Ref) and _is_layer(canonical(f"{found.name}.{rest}".rstrip("."))):
            return True
    return False


def _classes_kept(info: ClassInfo) -> list[Value]:
    """What a class, its bases and those below it say under names that a method reads: ``_conv = nn.Conv2d``."""
    read = {
        each.attr
        for one in info.mro
        for each in nodes_in(one.node, ast.Attribute)
        if isinstance(each.value, ast.Name) and each.value.id == "self"
    }
    kept = [value for one in info.mro for name, value in one.attributes.items() if name in read]
    open_names = sorted(read.difference(*(one.attributes for one in info.mro)))
    return [*kept, *(value for one in info.mro for name in open_names for value in one.classes_below.get(name, ()))]
