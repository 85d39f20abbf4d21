"""What a Module does about being moved, for findings of moves without an effect: what its own `to` gives, and what
stays as it was when the Module, or the one that holds it, is moved.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch

from torchdevlint.runtime.execute.observe import Observation, attributes
from torchdevlint.runtime.execute.target import FunctionNode, Target, dotted, functions_of
from torchdevlint.runtime.execute.values import Setting, tensors_in
from torchdevlint.runtime.modules import registered_tensors

MOVES = ("to", "cuda", "cpu", "xpu")


def gives_nothing(target: Target) -> bool:
    """Whether the finding is that an override returns nothing: it points to no other place."""
    return _override(target) is not None and not target.notes


def of_override(result: Any, instance: Any, target: Target, setting: Setting) -> Observation:
    """What a call of the override gave, or what a Module that was constructed and moved keeps of the CPU."""
    override = _override(target)
    if gives_nothing(target):
        given = "None" if result is None else type(result).__name__
        return Observation(result is None, observed={"what it gives": given})
    held = attributes(target) if override is None else list(_told(override))
    found: Observation | None = None
    for path, holder in _holders(instance, target, inside=override is not None):
        known = set(map(id, registered_tensors(holder)))
        for name in held:
            for place, registered in _places(getattr(holder, name, None), known):
                if registered:
                    continue
                observed = {f"{path}.{name}": str(place)}
                if place.type != setting.device.type:
                    return Observation(True, observed=observed)
                found = found or Observation(False, observed=observed)
    return found or Observation(None, "what is to be moved holds no place here")


def _override(target: Target) -> FunctionNode | None:
    """The flagged method, where it is the method itself that is flagged."""
    functions = (function for _, function in functions_of(target.tree) if function.name in MOVES)
    return next((function for function in functions if function.lineno == target.at.row), None)


def _told(function: FunctionNode) -> Iterator[str]:
    """The attributes that a method sets."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and dotted(node.value) == "self":
            yield node.attr


def _holders(instance: Any, target: Target, inside: bool) -> Iterator[tuple[str, torch.nn.Module]]:
    """What was constructed, or the Modules in the attributes that the finding points to, with their paths."""
    if not isinstance(instance, torch.nn.Module):
        return
    if not inside:
        yield "self", instance
        return
    flagged = {function.name for function in (_override(target),) if function is not None}
    for name, module in torch.nn.Module.named_modules(instance):
        if name and flagged & vars(type(module)).keys():
            yield f"self.{name}", module


def _places(value: Any, known: set[int]) -> Iterator[tuple[torch.device, bool]]:
    """The places that an attribute holds, or says, and whether it is moved with the Module."""
    if isinstance(value, (str, torch.device)):
        try:
            yield torch.device(value), False
        except RuntimeError:  # another word
            return
    for one in tensors_in(value):
        yield one.device, id(one) in known
