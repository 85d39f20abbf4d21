"""Backward passes go past the dispatch mode, where nothing of them can be misplaced.

Half of what a training step of small operations calls is C++ of autograd, and there each call costs a way through
Python. What it would find is known: a node has saved the operands of its operation, which were all on one device, and
the engine gives it a gradient that is there as well. So nothing is checked again, and only what the program sees is
claimed: gradients of leaves where the leaf is, when they are read; what `torch.autograd.grad` returns; what hooks and
`Function`s of the program are given (`gradients`). While these run, the mode is back.

The long way is taken if `graphs_differ` (an operation that autograd follows had operands of several devices, a tensor
with a dispatch of its own, a kernel that waits, hooks on what is saved), where a node can be seen by the program, for
gradients of gradients, where the program looks at the memory of accelerators (gradients between nodes are not counted
here), and under whatever else looks on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from torchdevlint.runtime.record.sites import user_line
from torchdevlint.runtime.simulated import state
from torchdevlint.runtime.simulated.errors import refuse_without_kernel
from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.state import Simulation
from torchdevlint.runtime.simulated.tensors.claims import PLAIN, WITHOUT_STORAGE, claim_of, storage_of

_Base = torch._C.TensorBase
_grad = _Base.grad
_node_of = _Base.grad_fn.__get__
HOW = "backward"
_PYTHON = torch._C.DispatchKey.Python
_leave_out = torch._C._dispatch_tls_set_dispatch_key_excluded
_is_left_out = torch._C._dispatch_tls_is_dispatch_key_excluded


def within_the_mode(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the program that the engine calls: it runs as if backward went through the mode."""

    @functools.wraps(function)
    def within(*args: Any, **kwargs: Any) -> Any:
        if not _is_left_out(_PYTHON):
            return function(*args, **kwargs)
        _leave_out(_PYTHON, False)
        try:
            return function(*args, **kwargs)
        finally:
            _leave_out(_PYTHON, True)

    return within


def claim_gradient(simulation: Simulation, gradient: Any, of: torch.Tensor) -> None:
    """The engine has seen to it that a gradient is where the tensor is that it is the gradient of."""
    if type(gradient) not in PLAIN:
        return
    try:
        if storage_of(gradient)._torchdevlint_claim is not None:
            return
    except WITHOUT_STORAGE:
        if claim_of(gradient) is not None:
            return
    place = claim_of(of)
    if place is not None:
        simulation.claim(gradient, place.device, HOW, simulation.last_backward or user_line())


def _past_the_mode(
    simulation: Simulation, original: Callable[..., Any], alone: Callable[[], bool]
) -> Callable[..., Any]:
    """`_engine_run_backward`: (outputs, gradients, retain_graph, create_graph, inputs, .., accumulate_grad=..)."""

    @functools.wraps(original)
    def run_backward(outputs: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        if len(args) < 4 or args[2] or not alone() or not _is_plain(simulation, outputs):
            return original(outputs, *args, **kwargs)
        simulation.last_backward = user_line()
        _leave_out(_PYTHON, True)
        try:
            made = original(outputs, *args, **kwargs)
        except RuntimeError as error:
            refuse_without_kernel(error)
            raise
        finally:
            _leave_out(_PYTHON, False)
        if not kwargs.get("accumulate_grad"):
            for gradient, given in zip(made, args[3], strict=False):
                if isinstance(given, torch.Tensor):
                    claim_gradient(simulation, gradient, given)
        return made

    return run_backward


def _is_plain(simulation: Simulation, outputs: Sequence[Any]) -> bool:
    if simulation.graphs_differ or simulation.driver.memory_was_asked or torch.is_anomaly_enabled():
        return False
    if torch._C._get_deterministic_algorithms() or _is_distributed():
        return False
    try:
        return all(type(one) in PLAIN and storage_of(one)._torchdevlint_claim is not None for one in outputs)
    except WITHOUT_STORAGE:
        return False


def _is_distributed() -> bool:
    """Whether there is a process group: its reducers are C++ that calls Python out of a backward pass."""
    return bool(torch.distributed.is_available() and torch.distributed.is_initialized())


def gradient_of(tensor: torch.Tensor) -> Any:
    """`Tensor.grad`, which a backward pass has left without a claim."""
    gradient = _grad.__get__(tensor)
    if gradient is not None and state.active is not None:
        claim_gradient(state.active, gradient, tensor)
    return gradient


def _node(tensor: torch.Tensor) -> Any:
    """`Tensor.grad_fn`: who has a node can put hooks on it, and on all that are before it."""
    node = _node_of(tensor)
    if node is not None and state.active is not None:
        state.active.graphs_differ = True
    return node


def _post_accumulate(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def register_post_accumulate_grad_hook(self: torch.Tensor, hook: Callable[..., Any]) -> Any:
        return original(self, within_the_mode(hook))

    return register_post_accumulate_grad_hook


def patches(simulation: Simulation, alone: Callable[[], bool]) -> Iterator[Patch]:
    """What replaces the function that calls autograd's engine, and what shows a program the engine's nodes."""
    original = getattr(torch.autograd.graph, "_engine_run_backward", None)
    if original is None:
        return
    run_backward = _past_the_mode(simulation, original, alone)
    yield torch.autograd.graph, "_engine_run_backward", run_backward
    yield torch.autograd, "_engine_run_backward", run_backward
    yield torch.Tensor, "grad_fn", property(_node)
    post = "register_post_accumulate_grad_hook"
    yield torch.Tensor, post, _post_accumulate(getattr(torch.Tensor, post))
