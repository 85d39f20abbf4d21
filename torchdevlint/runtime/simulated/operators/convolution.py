"""Which kernel a convolution ends in, for each has a check and a text of its own.

Paths are in pytorch/pytorch below aten/src/ATen/native.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchdevlint.runtime.simulated.operators import texts
from torchdevlint.runtime.simulated.operators.checks import Check, iterate, kernel, same
from torchdevlint.runtime.simulated.operators.schema import Call, Operand
from torchdevlint.runtime.simulated.operators.texts import mismatch

_MUCH = 20480
_MANY = 16
_HALVES = ("torch.bfloat16", "torch.float16")


def _convolution(release: tuple[int, int]) -> Check:
    """Convolution.cpp, `_convolution`: the backend is chosen by where the input is.

    cuDNN and oneDNN compare types first (`check_input_same_type_as_parameters`), which do not have an ordinal; the
    check of cuDNN's kernel sees ordinals. What oneDNN does not take of the CPU goes to a kernel of PyTorch's own.
    """

    def check(call: Call) -> Any:
        (data,) = call.of("input")
        parameters = call.of("weight", "bias")
        elsewhere = next((one for one in parameters if one.device.type != data.device.type), None)
        if elsewhere is not None:
            if data.device.type == "cpu" and elsewhere.device.type != "mps" and not _is_for_onednn(call, data):
                _slow(call, [data, *parameters], release)
            text = f"Input type ({texts.type_name(data)}) and {elsewhere.name} type ({texts.type_name(elsewhere)})"
            text += " should be the same"
            if data.device.type == "cpu":
                text += f" or input should be a MKLDNN tensor and {elsewhere.name} is a dense tensor"
            raise mismatch(text, data, elsewhere)
        same([data, *call.of("weight")], lambda key: kernel("cudnn_convolution", "", key, False, False), release)
        return iterate([], [data, *call.of("bias")], scalars=0)

    return check


def _is_for_onednn(call: Call, data: Operand) -> bool:
    """Convolution.cpp, `ConvParams::use_mkldnn`: small convolutions are faster without."""
    if not _onednn_is_enabled():
        return False
    (weight,) = call.of("weight")
    strides, dilations = _numbers(call, "stride"), _numbers(call, "dilation")
    outer = zip(_numbers(call, "output_padding"), strides, strict=False)
    if _flag(call, "transposed") and any(padding >= stride for padding, stride in outer):
        return False
    dtype = str(data.tensor.dtype)
    if dtype in _HALVES:
        return True
    sizes, kernels = _planar(data.tensor), _planar(weight.tensor)
    return dtype == "torch.float32" and _is_worth_it(call, sizes, kernels, any(one != 1 for one in strides + dilations))


def _onednn_is_enabled() -> bool:
    import torch

    return bool(torch.backends.mkldnn.is_available() and torch._C._get_mkldnn_enabled())


def _threads() -> int:
    import torch

    return int(torch.get_num_threads())


def _is_worth_it(call: Call, sizes: list[int], kernels: list[int], spread: bool) -> bool:
    large = spread or sizes[0] >= _MANY or kernels[-2:] != [1, 1] or _threads() > 1
    wide = kernels[-1] > 3 and kernels[-2] > 3
    groups = int(call.named("groups", 1))
    return large and (groups > 1 or wide or sizes[0] > 1 or sizes[0] * sizes[1] * sizes[2] * sizes[3] > _MUCH)


def _slow(call: Call, operands: Sequence[Operand], release: tuple[int, int]) -> None:
    """Convolution.cpp, `_convolution_nogroup_backend`: raises what the kernel says that the operands lead to."""
    solid = len(_planar(operands[0].tensor)) == 5
    if _flag(call, "transposed"):
        base, structured = ("slow_conv_transpose3d", False) if solid else ("slow_conv_transpose2d", True)
    elif any(one != 1 for one in _numbers(call, "dilation")):
        base, structured = f"slow_conv_dilated{3 if solid else 2}d", False
    elif solid:  # only for the CPU
        operator = "aten::slow_conv3d_forward"
        key = next(one.device.type for one in operands if one.device.type != "cpu").upper()
        raise mismatch(texts.without_kernel(operator, key), *operands, kind=NotImplementedError)
    else:
        base, structured = "_slow_conv2d_forward", False
    same(list(operands), lambda key: kernel(base, "", key, structured, False), release)


def _planar(tensor: Any) -> list[int]:
    """`view1d_as_2d`: a convolution over one dimension is one over two."""
    sizes = list(tensor.shape)
    return [*sizes[:2], 1, *sizes[2:]] if len(sizes) == 3 else sizes


def _numbers(call: Call, name: str) -> list[int]:
    return [int(number) for number in call.named(name) or ()]


def _flag(call: Call, name: str) -> bool:
    return bool(call.named(name, False))


CONVOLUTION_BY_RELEASE: dict[str, Callable[[tuple[int, int]], Check]] = {"convolution _convolution": _convolution}
