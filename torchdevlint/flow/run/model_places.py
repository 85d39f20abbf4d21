"""Where models are that came from elsewhere: arguments, and what an object was given and keeps.

Whoever calls the function or makes the object has the model wherever they want, in use on an accelerator.
"""

from __future__ import annotations

import ast
import re

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import TOP, Device, Origin
from torchdevlint.flow.state.joins import sequence
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.tensors import OF_A_MODEL_ELSEWHERE
from torchdevlint.flow.state.values import TEXT, UNKNOWN, Seq, Step, Tensor, Value
from torchdevlint.patterns import regex

_BEFORE_USE = regex(r"init|reset|build|creat|make|setup|load|conver|quanti|prun|fuse|copy|clone", re.IGNORECASE)
"""Words of functions that prepare a model, which is often before anything moves it."""
GIVE_PARAMETERS = frozenset({"parameters", "buffers", "named_parameters", "named_buffers"})


def parameters_in(place: Device, name: str, steps: tuple[Step, ...]) -> Value:
    """What a method such as ``named_parameters`` gives of a Module that is there."""
    each = Tensor(place, None, (), steps, parameter=True)
    return Seq(None, sequence([TEXT, each]) if name.startswith("named") else each)


def parameters_of_kept(frame: Frame, node: ast.Call, callee: ast.Attribute) -> Value:
    """``self.model.parameters()`` of a model of which nothing else is known."""
    place = place_of_given(frame, callee.value)
    if place == TOP:
        return UNKNOWN
    return parameters_in(place, callee.attr, (Step(OF_A_MODEL_ELSEWHERE, node, of_module=True),))


def place_of_given(frame: Frame, model: ast.expr) -> Device:
    """The place of an argument of the function that was entered, or of what its object was given; else TOP."""
    function = frame.function
    if frame.depth or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return TOP
    if _BEFORE_USE.search(function.name):
        return TOP
    if isinstance(model, ast.Name) and model.id in parameter_names(function):
        return Device(Origin.ARGUMENT, model.id)
    path, owner = dotted_path(model), frame.owner
    if path is None or owner is None or owner.is_module or not path.startswith("self."):
        return TOP
    return Device(Origin.ARGUMENT, path) if _is_given(owner, ".".join(path.split(".")[:2])) else TOP


def _is_given(owner: ClassInfo, path: str) -> bool:
    """Whether nothing is ever assigned to an attribute but what ``__init__`` was given."""
    init = owner.methods.get("__init__")
    kept = values_by_path(owner.node).get(path, [])
    names = frozenset() if init is None else parameter_names(init)
    return bool(kept) and all(isinstance(each, ast.Name) and each.id in names for each in kept)
