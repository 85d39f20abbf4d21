"""Gradients are where autograd's engine has them: beside what they are gradients of.

After every node the engine looks whether a gradient is on the device of the tensor that it is the gradient of, and
moves one of 0 dimensions there (torch/csrc/autograd/engine.cpp, `validate_outputs`); what `copy_` has brought to
another device goes back (functions/tensor.cpp, `CopyBackwards`). While it runs a node, the device of that is the
current one. In C++ every tensor is on the CPU, so there nothing moves; and the zeros that stand for a gradient which
nobody computed are claimed by no one.

What the engine refuses is refused here as well: a gradient of a `Function` of the program, and what a hook gives, that
are on another device.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction, Function, _SingleLevelFunction
from torch.utils.hooks import unserializable_hook

from torchdevlint.runtime.simulated import state
from torchdevlint.runtime.simulated.operators import texts
from torchdevlint.runtime.simulated.operators.schema import Operand
from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.state import Simulation, simulation
from torchdevlint.runtime.simulated.story import reported
from torchdevlint.runtime.simulated.tensors.backward import HOW, gradient_of, within_the_mode
from torchdevlint.runtime.simulated.tensors.claims import PLAIN, claim_of

_Tensor = torch.Tensor
_node_of = torch._C.TensorBase.grad_fn.__get__
_grad = torch._C.TensorBase.grad
_data = torch._C.TensorBase.data
_PLACES = "_torchdevlint_places"
_EXPECTED = "_torchdevlint_expected"
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
    def back(gradient: torch.Tensor | None) -> torch.Tensor | None:
        if gradient is None:  # an undefined one
            return None
        claim = claim_of(gradient)
        return None if claim is None or claim.device == device else gradient.to(device)

    earlier = dict(tensor._backward_hooks or {})
    tensor.register_hook(back)
    for number, hook in earlier.items():  # C++ goes through the dictionary as it was filled
        del tensor._backward_hooks[number]
        tensor._backward_hooks[number] = hook


def _remembering(original: Any) -> Any:
    """`Function.apply`: the node that it makes remembers where each output is, and each input that gets a gradient."""

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        made = original.__get__(None, cls)(*args, **kwargs)
        outputs = made if isinstance(made, tuple) else (made,)
        for output in outputs:
            if isinstance(output, _Tensor) and output.requires_grad:
                node = _node_of(output)
                if isinstance(node, BackwardCFunction):  # not after an operation in place on a view
                    setattr(node, _PLACES, [_place(one) for one in outputs])
                    expected = [_place(one) if isinstance(one, _Tensor) and one.requires_grad else None for one in args]
                    setattr(node, _EXPECTED, (expected, [isinstance(one, _Tensor) for one in args]))
                break
        return made

    return classmethod(apply)


def _place(output: Any) -> torch.device | None:
    claim = claim_of(output) if isinstance(output, _Tensor) else None
    return None if claim is None else claim.device


def _claiming(original: Callable[..., Any], boxed: bool = False) -> Callable[..., Any]:
    """What the engine calls (python_function.cpp, `PyNode::apply`), which makes zeros with the device of an output.

    With `boxed` it gets all gradients in one list (`boxed_grads_call`, since 2.15).
    """

    @within_the_mode
    def apply(self: Any, *gradients: Any) -> Any:
        active = state.active
        for gradient, place in zip(gradients[0] if boxed else gradients, getattr(self, _PLACES, ()), strict=False):
            made = place is not None and isinstance(gradient, _Tensor) and claim_of(gradient) is None
            if made and active is not None:
                active.claim(gradient, place, "zeros")
        with _current(active, getattr(self, _PLACES, ())):
            made = original(self, *gradients)
        expected = getattr(self, _EXPECTED, None)
        return made if expected is None or active is None else _validated(self, made, *expected)

    return apply


@contextmanager
def _current(active: Simulation | None, places: Iterable[torch.device | None]) -> Iterator[None]:
    """The device that the engine makes the current one for a node: that of its first gradient on an accelerator.

    It runs a node with the stream of that (torch/csrc/autograd/engine.cpp, `evaluate_function`; `Node::stream`).
    """
    place = next((each for each in places if each is not None and each.type != "cpu"), None)
    if active is None or place is None or place.index is None:
        yield
        return
    before = active.driver.exchange(place.index)
    try:
        yield
    finally:
        active.driver.exchange(before)


def _validated(node: Any, made: Any, expected: list[torch.device | None], are_tensors: list[bool]) -> Any:
    """The gradients that a `Function` of the program gives for its inputs, as `validate_outputs` lets them pass.

    Only inputs that are tensors are counted (python_function.cpp, `PyNode::to_variable_list`).
    """
    results = made if isinstance(made, tuple) else (made,)
    index = -1
    for position, (gradient, place, is_tensor) in enumerate(zip(results, expected, are_tensors, strict=False)):
        index += is_tensor
        here = _place(gradient)
        if here is None or place is None or here == place:
            continue
        if not gradient.dim():
            results = (*results[:position], gradient.to(place), *results[position + 1 :])
            continue
        text = f"Function {node.name()} returned an invalid gradient at index {index} - expected device {place} "
        error = RuntimeError(f"{text}but got {here}")
        raise reported(simulation(), error, [("gradient", gradient)], node.name())
    return results if isinstance(made, tuple) else results[0]


def _register_hook(original: Callable[..., Any]) -> Callable[..., Any]:
    """`Tensor.register_hook`: the hook gives a gradient of the type that it got (custom_function.cpp).

    `check_variable_result` compares types, which do not have an ordinal.
    """

    @functools.wraps(original)
    def register_hook(self: torch.Tensor, hook: Callable[..., Any]) -> Any:
        return original(self, hook if getattr(hook, "__module__", "") == __name__ else _checked(hook, _place(self)))

    return register_hook


def _checked(hook: Callable[..., Any], place: torch.device | None) -> Callable[..., Any]:
    @functools.wraps(hook)
    @within_the_mode
    def checked(gradient: torch.Tensor) -> Any:
        if place is not None and state.active is not None and claim_of(gradient) is None:
            state.active.claim(gradient, place, HOW, state.active.last_backward)
        given = hook(gradient)
        if isinstance(given, _Tensor) and state.active is not None:
            before, after = _place(gradient), _place(given)
            if before is not None and after is not None and before.type != after.type:
                was, got = (texts.type_name(Operand("", one, _place(one))) for one in (gradient, given))
                name = getattr(hook, "__name__", "<unknown>")
                error = RuntimeError(f"hook '{name}' has changed the type of value (was {was} got {got})")
                raise reported(simulation(), error, [("gradient", gradient), ("result", given)], "backward")
        return given

    return checked


def _set_grad(self: torch.Tensor, value: torch.Tensor | None) -> None:
    """A gradient from another device is refused (torch/csrc/autograd/python_variable.cpp, `THPVariable_set_grad`)."""
    if isinstance(value, torch.Tensor):
        given, own = claim_of(value), claim_of(self)
        if given is not None and own is not None and given.device != own.device:
            error = RuntimeError(_grad_mismatch(given.device, own.device))
            raise reported(simulation(), error, [("grad", value), ("self", self)], "grad")
    _grad.__set__(self, value)


def _grad_mismatch(given: torch.device, own: torch.device) -> str:
    if given.type != own.type:
        return (
            f"attempting to assign a gradient with device type '{given.type}' to a tensor with device type "
            f"'{own.type}'. Please ensure that the gradient and the tensor are on the same device"
        )
    return (
        f"attempting to assign a gradient located on device with index '{given.index}' to a tensor located on device "
        f"with index '{own.index}'. Please ensure that the gradient and the tensor are on the same device"
    )


def _set_data(self: torch.Tensor, value: torch.Tensor) -> None:
    """A gradient stays where it is when only the data of its tensor moves; a backward pass has not claimed it yet."""
    if type(self) in PLAIN:
        gradient_of(self)
    _data.__set__(self, value)


def patches() -> Iterator[Patch]:
    """What replaces methods of the classes of `torch.autograd.function`, and what tensors have of gradients."""
    yield torch.Tensor, "data", property(_data.__get__, _set_data, _data.__delete__)
    yield torch.Tensor, "grad", property(gradient_of, _set_grad, _grad.__delete__)
    in_c = vars(torch._C._FunctionBase)["apply"]
    yield _SingleLevelFunction, "apply", _remembering(in_c)
    if vars(Function).get("apply") is in_c:  # since 2.14; before, its own ends in that of its base
        yield Function, "apply", _remembering(in_c)
    yield BackwardCFunction, "apply", _claiming(BackwardCFunction.apply)
    if hasattr(BackwardCFunction, "apply_boxed"):
        yield BackwardCFunction, "apply_boxed", _claiming(BackwardCFunction.apply_boxed, boxed=True)
    yield torch.Tensor, "register_hook", _register_hook(torch.Tensor.register_hook)
