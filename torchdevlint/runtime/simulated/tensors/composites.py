"""Functions of torch whose own device checks are in C++ above the dispatch mode, where every tensor is on the CPU.

They are checked before they are called. What they are made of is checked below, as for every other function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.overrides import handle_torch_function, has_torch_function_unary

from torchdevlint.runtime.simulated.operators import COMPOSITE, texts
from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.state import simulation
from torchdevlint.runtime.simulated.story import passes, refused, reported
from torchdevlint.runtime.simulated.tensors.claims import (
    ATTRIBUTE,
    CPU,
    PLAIN,
    claim_of,
    device_of,
    storage_of,
    tensors_in,
)

NUMBERS_ARE_FILLED_IN = (2, 15)
RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def _recurrent(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """aten/src/ATen/native/RNN.cpp, `check_attributes`: hidden states, then parameters, against the input.

    The arguments are (input, hidden, parameters, ..), or with `batch_sizes` after the input for a packed sequence; the
    hidden state is a list for an LSTM. Of a packed sequence it is cuDNN that asks, which takes what is on a GPU: on the
    CPU the first product of matrices finds out.
    """

    @functools.wraps(original)
    def recurrent(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 3:
            packed = isinstance(args[1 if name == "lstm" else 2], torch.Tensor)
            hidden, parameters = args[2:4] if packed else args[1:3]
            hidden = [hidden] if isinstance(hidden, torch.Tensor) else hidden
            asks = not packed or device_of(args[0]).type != "cpu"
            for what, tensors in (("hidden", hidden), ("parameter", parameters)) if asks else ():
                _agree(name, args[0], what, tensors)
        return original(*args, **kwargs)

    return recurrent


def _agree(name: str, given: torch.Tensor, what: str, tensors: Sequence[torch.Tensor]) -> None:
    here = claim_of(given)
    for tensor in tensors:
        there = claim_of(tensor)
        if here is not None and there is not None and here.device != there.device:
            error = RuntimeError(
                f"Input and {what} tensors are not at the same device, found input tensor at {here.device} and {what} "
                f"tensor at {there.device}"
            )
            raise reported(simulation(), error, [("input", given), (what, tensor)], name)


def _attention(original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """aten/src/ATen/native/transformers/attention.cpp, `validate_sdpa_input`."""

    @functools.wraps(original)
    def scaled_dot_product_attention(
        query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *args: Any, **kwargs: Any
    ) -> torch.Tensor:
        devices = {claim.device for tensor in (query, key, value) if (claim := claim_of(tensor)) is not None}
        if len(devices) > 1:
            error = RuntimeError(
                "Expected query, key, and value to have the same device type, but got query.device: "
                f"{device_of(query)} key.device: {device_of(key)} and value.device: {device_of(value)} instead."
            )
            operands = [("query", query), ("key", key), ("value", value)]
            raise reported(simulation(), error, operands, "scaled_dot_product_attention")
        return original(query, key, value, *args, **kwargs)

    return scaled_dot_product_attention


def _window(name: str, original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """aten/src/ATen/native/SpectralOps.cpp, `stft` and `istft`."""

    @functools.wraps(original)
    def spectrum(given: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        here = claim_of(given)
        for window in tensors_in(args, kwargs):
            there = claim_of(window)
            if here is not None and there is not None and here.device != there.device:
                error = RuntimeError(
                    f"{name} input and window must be on the same device but got self on {here.device} and window on "
                    f"{there.device}"
                )
                raise reported(simulation(), error, [("input", given), ("window", window)], name)
        return original(given, *args, **kwargs)

    return spectrum


def _ctc_loss(original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """aten/src/ATen/native/LossCTC.cpp, `ctc_loss`: targets and lengths may be anywhere, it moves them itself.

    It moves them in C++, where they are on the CPU already: so copies go in of which nothing is claimed.
    """

    @functools.wraps(original)
    def ctc_loss(log_probs: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        kwargs = {name: _unclaimed(value) for name, value in kwargs.items()}
        return original(log_probs, *map(_unclaimed, args), **kwargs)

    return ctc_loss


def _make_grads(original: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """torch/csrc/autograd/engine.cpp, `validate_outputs`: gradients of 0 dimensions are moved."""

    @functools.wraps(original)
    def make_grads(outputs: Sequence[Any], grads: Sequence[Any], *args: Any, **kwargs: Any) -> Sequence[Any]:
        made = list(original(outputs, grads, *args, **kwargs))
        for place, (output, gradient) in enumerate(zip(outputs, made, strict=False)):
            if not isinstance(output, torch.Tensor) or not isinstance(gradient, torch.Tensor):
                continue
            here, there = claim_of(output), claim_of(gradient)
            if here is None or there is None or here.device == there.device:
                continue
            if gradient.dim():
                text = f"invalid gradient at index {place} - expected device {here.device} but got {there.device}"
                operands = [("output", output), ("gradient", gradient)]
                raise reported(simulation(), RuntimeError(text), operands, "backward")
            made[place] = gradient.to(here.device)
        return tuple(made)

    return make_grads


def _unclaimed(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    copy = value.detach().clone()
    setattr(storage_of(copy), ATTRIBUTE, None)
    return copy


def _checked(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """A function with a check of its own in `operators.composite`. Tensors without a claim agree with the others."""
    check = COMPOSITE[name]

    @functools.wraps(original)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) not in PLAIN and has_torch_function_unary(args[0]):
            return handle_torch_function(checked, (args[0],), *args, **kwargs)
        tensors = list(tensors_in(args, kwargs))
        claims = [claim for tensor in tensors if (claim := claim_of(tensor)) is not None]
        if claims:
            likely = claims[0].device
            try:
                check(args, kwargs, lambda tensor: likely if (claim := claim_of(tensor)) is None else claim.device)
            except Exception as error:  # noqa: BLE001 (the accelerator's exceptions are of many classes)
                if not passes(simulation(), error):
                    raise refused(simulation(), error, name) from None
        return original(*args, **kwargs)

    return checked


def _padded(original: Callable[..., Any]) -> Callable[..., Any]:
    """aten/src/ATen/native/PackedSequence.cpp, `_pad_packed_sequence`: the lengths are made in C++, on the CPU."""

    @functools.wraps(original)
    def padded(*args: Any, **kwargs: Any) -> Any:
        output, lengths = original(*args, **kwargs)
        if claim_of(lengths) is None and type(lengths) is torch.Tensor:
            simulation().created(lengths, CPU, "_pad_packed_sequence")
        return output, lengths

    return padded


def _setitem(original: Callable[[torch.Tensor, Any, Any], None]) -> Callable[[torch.Tensor, Any, Any], None]:
    """ATen/TensorIndexing.h, `set_item`: since 2.15 a number is filled in by `index_fill_` or `masked_fill_`.

    Only where the index is on the tensor's device, which in C++ it is here always: else the number becomes a tensor,
    which `index_put_` puts there, as in earlier releases.
    """

    @functools.wraps(original)
    def __setitem__(self: torch.Tensor, index: Any, value: Any) -> None:  # noqa: N807  # it replaces one
        if isinstance(value, (int, float, complex)) and _is_elsewhere(index, self):
            value = torch.full((), value, dtype=self.dtype, device=device_of(self))
        original(self, index, value)

    return __setitem__


def fills_in(value: Any, indices: Sequence[Any]) -> bool:
    """Whether a number goes where one tensor says without an `index_put_`, which waits for how many that are."""
    one = len(indices) == 1 and isinstance(value, (int, float, complex))
    return one and texts.installed() >= NUMBERS_ARE_FILLED_IN


def setitem(original: Callable[[torch.Tensor, Any, Any], None]) -> Callable[[torch.Tensor, Any, Any], None]:
    """What the short way of `agreeing`, which replaces the method itself, calls for all that it does not take."""
    return _setitem(original) if texts.installed() >= NUMBERS_ARE_FILLED_IN else original


def _is_elsewhere(index: Any, table: torch.Tensor) -> bool:
    parts = index if isinstance(index, (tuple, list)) else (index,)
    claims = [claim for part in parts if isinstance(part, torch.Tensor) and (claim := claim_of(part)) is not None]
    if not claims:
        return False
    here = claim_of(table)
    return here is not None and any(claim.device != here.device for claim in claims)


def group_by_device_and_dtype(tensor_lists: Sequence[Sequence[Any]], with_indices: bool = False) -> dict[Any, Any]:
    """Groups for the `_foreach_` functions (torch/csrc/Module.cpp, aten/src/ATen/native/ForeachUtils.h).

    The first list says where an index belongs; in C++ every tensor would be on the CPU.
    """
    groups: dict[Any, Any] = {}
    for index, first in enumerate(tensor_lists[0]):
        key = (device_of(first), first.dtype)
        lists, indices = groups.setdefault(key, ([[] for _ in tensor_lists], []))
        for position, tensors in enumerate(tensor_lists):
            if len(tensors):
                lists[position].append(tensors[index])
        if with_indices:
            indices.append(index)
    return groups


def patches() -> Iterator[Patch]:
    """What replaces functions of torch that check devices in C++."""
    for name in RECURRENT:
        checked = _recurrent(name, getattr(torch._C._VariableFunctions, name))
        yield torch._VF, name, checked
        yield torch, name, checked
    attention = _attention(torch._C._nn.scaled_dot_product_attention)
    yield torch._C._nn, "scaled_dot_product_attention", attention
    yield torch.nn.functional, "scaled_dot_product_attention", attention
    yield torch._VF, "cartesian_prod", _checked("cartesian_prod", torch._VF.cartesian_prod)
    yield torch._VF, "_pad_packed_sequence", _padded(_checked("_pad_packed_sequence", torch._VF._pad_packed_sequence))
    for name in COMPOSITE:
        space, _, function = name.rpartition(".")
        if space:
            module = getattr(torch, space)
            yield module, function, _checked(name, getattr(module, function))
    for name in ("tensor_split", "quantile", "nanquantile", "meshgrid", "tensordot", "inner", "take_along_dim", "diff"):
        yield torch, name, _checked(name, getattr(torch, name))
        if hasattr(torch.Tensor, name):
            yield torch.Tensor, name, _checked(name, getattr(torch.Tensor, name))
    for name in ("stft", "istft"):
        yield torch._VF, name, _window(name, getattr(torch._VF, name))
    yield torch, "ctc_loss", _ctc_loss(torch.ctc_loss)
    yield torch.autograd, "_make_grads", _make_grads(torch.autograd._make_grads)
    yield torch._C, "_group_tensors_by_device_and_dtype", group_by_device_and_dtype
