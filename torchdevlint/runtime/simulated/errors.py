"""What an accelerator's driver raises, and what a simulation says of what it cannot do."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, NoReturn, cast

import torch

from torchdevlint.runtime.record.recorder import active


class NotSimulated(RuntimeError):  # noqa: N818  # says what it is
    """What a simulation on the CPU cannot do: the program is not wrong, it needs the real hardware."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} cannot be simulated: torchdevlint runs accelerators on the CPU")
        recorder = active()
        if recorder is not None:  # the program may handle it, and go on another way
            recorder.limitation(str(self))

    def __reduce__(self) -> Any:
        """In another process it is what it says: that may not have imported torch, and so not begun to simulate."""
        return RuntimeError, self.args


def not_simulated(what: str) -> NoReturn:
    raise NotSimulated(what)


def refusing(what: str, original: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function that cannot be simulated, with the name and the text of `original` where there is one."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        not_simulated(what)

    return refuse if original is None else wraps(original)(refuse)


def refusing_class(name: str, what: str, module: str = "torch.cuda") -> type:
    """A class that cannot be simulated: it can be named and tested for, but not made."""

    def refuse(cls: type, *args: Any, **kwargs: Any) -> Any:
        not_simulated(what)

    return type(name, (), {"__new__": refuse, "__module__": module, "__qualname__": name})


_NO_KERNEL = re.compile(
    r"Could not run '(?P<operator>\S+)' with arguments from the '\w*CPU' backend"
    r"|^\"(?P<kernel>\w+_cpu)\" not implemented for"
    r"|^(?P<function>\S+): .* not implemented on the CPU"
)


def refuse_without_kernel(error: RuntimeError) -> None:
    """Raises `NotSimulated` if `error` says that only the CPU lacks a kernel for what an accelerator may well do."""
    found = _NO_KERNEL.search(str(error))
    if found is not None:
        raise NotSimulated(f"`{found[found.lastgroup or 0]}`, which has no kernel for the CPU here,") from error


def initialization_error() -> RuntimeError:
    """What a forked child gets for tensors of its parent's accelerator: cudaErrorInitializationError."""
    return _accelerator_error("CUDA error: initialization error\n", 3)


def invalid_ordinal(kind: str, index: int, count: int) -> RuntimeError:
    """What `cudaSetDevice` with too great an index becomes.

    c10/cuda/CUDAException.cpp makes the text, with `get_cuda_error_help` and the suffix of CUDAMiscFunctions.cpp; the
    class is `torch.AcceleratorError` where there is one (2.8), with the error's number.
    """
    if kind != "cuda":  # c10/xpu/XPUFunctions.h: check_device_index; older releases: XPUFunctions.cpp: check_device
        if header_says("The device index is out of range", "c10/xpu/XPUFunctions.h"):
            return RuntimeError(f"The device index is out of range. It must be in [0, {count}), but got {index}.")
        return RuntimeError(f"device is out of range, device is {index}, total number of device is {count}.")
    return _accelerator_error(
        "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n", 101
    )


def _accelerator_error(text: str, number: int) -> RuntimeError:
    """An error of the CUDA runtime; the class has the error's number where there is one (2.8)."""
    if header_says("CUDA_LOG_FILE", "async_error_suffix", "c10/cuda/CUDAMiscFunctions.h"):
        hint = "For more detailed error information, run with CUDA_LOG_FILE=stderr\n"
    else:
        hint = (
            "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might"
            " be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
        )
    message = f"{text}{hint}Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    error = cast(RuntimeError, getattr(torch, "AcceleratorError", RuntimeError)(message))
    if type(error) is not RuntimeError:
        error.error_code = number  # type: ignore[attr-defined]
    return error


def refuse_float64_on_mps(target: torch.device, dtype: torch.dtype) -> None:
    """aten/src/ATen/native/mps/OperationUtils.mm and mps/EmptyTensor.cpp."""
    if target.type == "mps" and dtype == torch.float64:
        raise TypeError(
            "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
            "Please use float32 instead."
        )


def out_of_memory(kind: str = "cuda") -> RuntimeError:
    """More was asked for than even this machine has (c10/cuda/CUDACachingAllocator.cpp)."""
    made: type[RuntimeError] = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)
    return made(f"{kind.upper()} out of memory. Tried to allocate more than this machine has.")


@cache
def header_says(*words_and_header: str) -> bool:
    """Whether one of PyTorch's own headers, which its wheels carry, has one of the words: texts differ by release."""
    *words, header = words_and_header
    text = _header(header)
    return any(word in text for word in words)


@cache
def line_in_header(start: str, word: str, header: str) -> int | None:
    """The number of the first line with `word` after `start`."""
    text = _header(header)
    place = text.find(word, max(text.find(start), 0))
    return text.count("\n", 0, place) + 1 if place >= 0 else None


def _header(name: str) -> str:
    try:
        return (Path(torch.__file__).parent / "include" / name).read_text(encoding="utf-8")
    except OSError:
        return ""
