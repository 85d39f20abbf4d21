"""Modules without parameters: those whose buffers stay as they were made, and those that hold nothing at all."""

from __future__ import annotations

import ast

from torchdevlint.flow.kinds.element_calls import calls_elements
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.objects import attribute_of_object
from torchdevlint.flow.scope.names import dotted_path, root_name
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.joins import alternatives, is_module, is_number
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.tensors import tensors_in
from torchdevlint.flow.state.values import Library, Map, Obj, Seq, Tensor, Text, Unknown, Value
from torchdevlint.source.nodes import nodes_in

_MAX_DEPTH = 6
"""How many modules in modules are looked into."""
_PLAIN_BASES = frozenset({"torch.nn.Module", "builtins.object"})
_OF_SIGNALS = ("torchaudio.transforms.", "torchvision.transforms.")
"""Modules whose windows and kernels follow from their arguments."""


def is_constant(module: Value, depth: int = _MAX_DEPTH) -> bool:
    """Whether a module surely has no parameters, inside neither, and leaves its buffers alone."""
    if isinstance(module, Obj):
        return depth > 0 and module.info.is_module and _makes_constants(module.info, depth - 1)
    if not isinstance(module, Library) or not module.module or not module.name:
        return False
    if module.device is None or module.held is not None or module.name.startswith(_OF_SIGNALS):
        return True
    made = module.made_at
    if module.name.rpartition(".")[2] not in torch_api.CONTAINER_MODULES or not isinstance(made, ast.Call):
        return False
    seen = bool(module.children) and not any(isinstance(each, ast.Starred) for each in made.args)
    return seen and depth > 0 and all(is_constant(child, depth - 1) for child in module.children)


def holds_nothing(frame: Frame, module: Value) -> bool:
    """Whether a module surely has neither parameters nor buffers, inside neither: then no move changes anything."""
    if isinstance(module, Library):
        return module.module and bool(module.name) and module.device is None and module.held is None
    if not isinstance(module, Obj):
        return False
    for name in dict.fromkeys(name for info in module.info.mro for name in info.writers):
        attribute_of_object(frame, module, name)
    if not is_constant(module):
        return False
    held = [value for info in module.info.mro for value in info.attributes.values()]
    inside = [each for value in held for _, each in alternatives(value) if is_module(each)]
    return not any(True for value in held for _ in tensors_in(value)) and all(
        holds_nothing(frame, each) for each in inside
    )


def _makes_constants(info: ClassInfo, depth: int) -> bool:
    if not info.resolved or not _PLAIN_BASES.issuperset(info.library_bases):
        return False
    if any(each.makes_layers or _changes_itself(each) for each in info.mro):
        return False
    held = [each.attributes for each in info.mro]
    if any(not any(name in each for each in held) for base in info.mro for name in base.writers):
        return False
    return all(_has_no_weights(info, name, value, depth) for each in held for name, value in each.items())


def _has_no_weights(info: ClassInfo, attribute: str, value: Value, depth: int) -> bool:
    """Whether an attribute surely holds no parameter, and no module that has some."""
    held = [each for _, each in alternatives(value)]
    plain = any(is_number(each) or isinstance(each, Text) for each in held) or _is_operand(info, attribute)
    for each in held:
        if isinstance(each, Tensor):
            harmless = not each.parameter
        elif isinstance(each, (Library, Obj)):
            harmless = is_constant(each, depth) or not is_module(each)
        elif isinstance(each, (Seq, Map)):
            harmless = not calls_elements(info, attribute)
        else:
            harmless = plain or not isinstance(each, Unknown)
        if not harmless:
            return False
    return True


def _is_operand(info: ClassInfo, attribute: str) -> bool:
    """Whether an attribute, or what it holds under an index, is calculated with, as no module is."""
    return any(
        dotted_path(side.value if isinstance(side, ast.Subscript) else side) == f"self.{attribute}"
        for each in info.mro
        for node in nodes_in(each.node, ast.BinOp)
        for side in (node.left, node.right)
    )


def _changes_itself(info: ClassInfo) -> bool:
    """Whether a method besides ``__init__`` writes into `self`, or calls ``self.<buffer>.add_(..)`` or the like."""
    for name, method in info.methods.items():
        if name == "__init__":
            continue
        places: list[ast.Attribute | ast.Subscript] = [
            *nodes_in(method, ast.Attribute),
            *nodes_in(method, ast.Subscript),
        ]
        if any(not isinstance(each.ctx, ast.Load) and root_name(each) == "self" for each in places):
            return True
        called = (call.func for call in nodes_in(method, ast.Call) if isinstance(call.func, ast.Attribute))
        in_place = (each for each in called if each.attr.endswith("_") and not each.attr.endswith("__"))
        if any(root_name(each) == "self" for each in in_place):
            return True
    return False
