"""The `forward` and `backward` of a `torch.autograd.Function`: who runs them, and where."""

from __future__ import annotations

from torchdevlint.flow.scope.names import positional_names
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.entries import Entry
from torchdevlint.flow.state.machine import Frame
from torchdevlint.source.functions import AnyFunction

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
