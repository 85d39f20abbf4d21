"""Gradients are where autograd's engine has them: beside what they are gradients of.

After every node the engine looks whether a gradient is on the device of the tensor that it is the gradient of, and
moves one of 0 dimensions there (torch/csrc/autograd/engine.cpp, `validate_outputs`); what `copy_` has brought to
another device goes back (functions/tensor.cpp, `CopyBackwards`). In C++ every tensor is on the CPU, so there nothing
moves; and the zeros that stand for a gradient which nobody computed are claimed by no one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction, _SingleLevelFunction
from torch.utils.hooks import unserializable_hook

from torchdevlint.runtime.simulated import state
from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.tensors.claims import claim_of

_Tensor = torch.Tensor
_node_of = torch._C.TensorBase.grad_fn.__get__
_PLACES = "_torchdevlint_places"
_RETURNING = "_torchdevlint_returning"


def returns_to(tensor: torch.Tensor, device: torch.device) -> None:
    """Let the gradient of `tensor`, which is on `device`, come back there from where an operation has used it.

    Hooks run before the gradient is accumulated, retained or given to the program; this one before the program's own.
    Saving the tensor does not warn of it.
    """
    if not tensor.requires_grad:
        return
    seen = -1 if tensor.is_leaf else tensor._version  # an operation in place gives the tensor another node
    if getattr(tensor, _RETURNING, None) == seen:
        return
    setattr(tensor, _RETURNING, seen)

    @unserializable_hook  # type: ignore[untyped-decorator]
    def back(gradient: torch.Tensor) -> torch.Tensor | None:
        claim = claim_of(gradient)
        return None if claim is None or claim.device == device else gradient.to(device)

    earlier = dict(tensor._backward_hooks or {})
    tensor.register_hook(back)
    for number, hook in earlier.items():  # C++ goes through the dictionary as it was filled
        del tensor._backward_hooks[number]
        tensor._backward_hooks[number] = hook


def _apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """`Function.apply`: the node that it makes remembers where each output is."""
    made = super(_SingleLevelFunction, cls).apply(*args, **kwargs)
    outputs = made if isinstance(made, tuple) else (made,)
    for output in outputs:
        if isinstance(output, _Tensor) and output.requires_grad:
            node = _node_of(output)
            if isinstance(node, BackwardCFunction):  # not after an operation in place on a view
                setattr(node, _PLACES, [_place(one) for one in outputs])
            break
    return made


def _place(output: Any) -> torch.device | None:
    claim = claim_of(output) if isinstance(output, _Tensor) else None
    return None if claim is None else claim.device


def _claiming(original: Callable[..., Any]) -> Callable[..., Any]:
    """What the engine calls (python_function.cpp, `PyNode::apply`), which makes zeros with the device of an output."""

    def apply(self: Any, *gradients: Any) -> Any:
        active = state.active
        for gradient, place in zip(gradients, getattr(self, _PLACES, ()), strict=False):
            made = place is not None and isinstance(gradient, _Tensor) and claim_of(gradient) is None
            if made and active is not None:
                active.claim(gradient, place, "zeros")
        return original(self, *gradients)

    return apply


def patches() -> Iterator[Patch]:
    """What replaces methods of the classes of `torch.autograd.function`."""
    yield _SingleLevelFunction, "apply", classmethod(_apply)
    yield BackwardCFunction, "apply", _claiming(BackwardCFunction.apply)
