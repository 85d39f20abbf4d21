"""What a function of another library makes of tensors of the CPU: its device is no other one that is chosen."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.state.devices import DEFAULT, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Ref, Tensor
from torchdevlint.source.nodes import arguments_of


def is_made_of_host(frame: Frame, state: State, node: ast.expr) -> bool:
    """Whether a name stands for what library functions were given tensors of the CPU for, and for no other tensors.

    ``moved = resampling.pull(torch.from_numpy(volume), grid)``; methods of it, ``moved = moved.to(dtype)``, stay there.
    A class of the library makes an object, which may have a device of its own.
    """
    if not isinstance(node, ast.Name) or frame.function is None:
        return False
    before = (each for each in values_by_path(frame.function).get(node.id, ()) if each.lineno < node.lineno)
    made = [each for each in before if not _is_method_of(each, node.id)]
    return bool(made) and all(isinstance(each, ast.Call) and _is_of_host(frame, state, each) for each in made)


def _is_method_of(node: ast.expr, name: str) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == name


def _is_of_host(frame: Frame, state: State, call: ast.Call) -> bool:
    """Whether a function of another library is called with tensors that were made on the CPU, and with no others."""
    callee = frame.evaluate(call.func, state)
    if not isinstance(callee, Ref) or callee.name.startswith("torch.") or _is_class(callee.name):
        return False
    values = [each for given in arguments_of(call) for _, each in alternatives(frame.evaluate(given, state))]
    tensors = [each for each in values if isinstance(each, Tensor)]
    return bool(tensors) and all(on_cpu(each.device) and (each.creations or each.device != DEFAULT) for each in tensors)


def _is_class(name: str) -> bool:
    return name.rpartition(".")[2][:1].isupper()
