"""The `forward` and `backward` of a `torch.autograd.Function`: who runs them, and where."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, positional_names, public_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.entries import Entry
from torchdevlint.flow.state.machine import Frame
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import keyword_of, own_nodes_in

_FUNCTIONS = ("torch.autograd.Function", "torch.autograd.function.Function")


def is_function(owner: ClassInfo | None) -> bool:
    """Whether a class is derived from `torch.autograd.Function`, by either of its names."""
    return owner is not None and any(base in _FUNCTIONS for base in owner.library_bases)


def is_autograd(frame: Frame, entry: Entry) -> bool:
    """Whether it is the forward or backward of a Function, which runs wherever the model is."""
    return getattr(frame.function, "name", "") in ("forward", "backward") and is_function(entry.owner)


def is_run_by_the_engine(frame: Frame) -> bool:
    """Whether it is the backward of a Function: the current GPU is that of the gradient.

    The engine runs each node with the device of its stream (torch/csrc/autograd/engine.cpp, `evaluate_function`).
    """
    return getattr(frame.function, "name", "") == "backward" and is_function(frame.owner)


def is_gradient(function: AnyFunction, name: str) -> bool:
    """Whether a parameter of the backward of a Function gets a gradient, as all do behind the context."""
    return getattr(function, "name", "") == "backward" and name in positional_names(function)[1:]


def gives_host_data(owner: ClassInfo | None) -> bool:
    """Whether the forward of a Function makes what it returns of data of the host: there its gradient is as well.

    ``result = torch.tensor([circuit.run(x.tolist())])``, without a device and a move.
    """
    forward = owner.methods.get("forward") if owner is not None else None
    returned = [each.value for each in own_nodes_in(forward, ast.Return)] if forward is not None else []
    if forward is None or len(returned) != 1:
        return False
    held = values_by_path(forward).get(dotted_path(returned[0]) or "", [returned[0]]) if returned[0] is not None else []
    return bool(held) and all(map(_is_of_host, held))


def _is_of_host(node: ast.expr | None) -> bool:
    is_made = isinstance(node, ast.Call) and public_path(node.func) in ("torch.tensor", "torch.from_numpy")
    return is_made and keyword_of(node, "device") is None  # type: ignore[arg-type]
