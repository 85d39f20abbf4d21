"""Recording on real accelerators: a dispatch mode that watches transfers and waits, and the text of device errors.

What is an accelerator is a parameter, so that the recording can be tested where there is none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torchdevlint.runtime.modules import registered_tensors
from torchdevlint.runtime.record.operands import Origin, stories, tensors_in
from torchdevlint.runtime.record.recorder import Recorder
from torchdevlint.runtime.record.sites import Site, user_line
from torchdevlint.runtime.record.variables import named
from torchdevlint.symptoms import is_of_places

WAITING = {
    "aten::_local_scalar_dense": "the value of one element, as in .item()",
    "aten::nonzero": "nonzero, or an index by a mask",
    "aten::masked_select": "masked_select",
    "aten::_unique2": "unique",
    "aten::unique_consecutive": "unique_consecutive",
    "aten::unique_dim": "unique",
    "aten::equal": "torch.equal",
    "aten::is_nonzero": "the truth value of a tensor",
}
"""Operators whose CUDA kernels copy something to the host and wait for it: sizes or values that Python needs.

From the calls of `cudaStreamSynchronize` and `memcpy_and_sync` in aten/src/ATen/native/cuda.
"""
ORIGIN = "_torchdevlint_origin"
"""The attribute of a storage that holds the line and the operator that made it, and the line that moved it."""


def is_accelerator(device: torch.device) -> bool:
    return device.type not in ("cpu", "meta")


class Watch(TorchDispatchMode):  # type: ignore[misc]
    """Sees every operator below autograd, in the thread that entered the mode."""

    def __init__(self, recorder: Recorder, accelerated: Callable[[torch.device], bool] = is_accelerator) -> None:
        super().__init__()
        self.recorder = recorder
        self.accelerated = accelerated

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Not wrapped in `torch._disable_dynamo`, which costs a microsecond for each operation."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func._schema.name
        try:
            out = func(*args, **kwargs)
        except (RuntimeError, ValueError, IndexError) as error:
            if is_of_places(str(error)):
                operands = list(tensors_in((*args, *kwargs.values())))
                told = named(list(stories(func, args, kwargs, origin_of)), operands)
                self.recorder.failed(error, told, name)
            raise
        first = next(tensors_in(args), None)
        if name == "aten::_to_copy" and first is not None:
            self._moved(first, out, not kwargs.get("non_blocking"))
            _mark(out, *_origin_moved(first, out))
            return out
        if name == "aten::copy_":
            source = args[1] if len(args) > 1 else kwargs.get("src")
            if isinstance(source, torch.Tensor):
                blocking = not (args[2] if len(args) > 2 else kwargs.get("non_blocking"))
                self._moved(source, args[0], blocking)
        elif name in WAITING and first is not None and self.accelerated(first.device):
            self.recorder.synced(WAITING[name])
        site: Site | None = None
        for tensor in tensors_in(out if isinstance(out, (tuple, list)) else (out,)):
            if _origin(tensor) is None:
                site = site or user_line()
                _mark(tensor, site, name.removeprefix("aten::"), None)
        return out

    def _moved(self, source: torch.Tensor, target: torch.Tensor, blocking: bool) -> None:
        if source.device == target.device or not (self.accelerated(source.device) or self.accelerated(target.device)):
            return
        self.recorder.moved(source.nbytes, str(source.device), str(target.device), blocking)


def install(recorder: Recorder, device: str) -> None:
    """Watch this process. Raises RuntimeError if there is no such accelerator."""
    kind = torch.device(device).type
    module = getattr(torch, kind, None)
    if not is_accelerator(torch.device(device)) or module is None or not hasattr(module, "device_count"):
        raise RuntimeError(f"{device} is not an accelerator of this torch ({torch.__version__})")
    recorder.accelerators = module.device_count()  # of CUDA: asks the driver for the number, and initialises nothing
    if not recorder.accelerators:
        raise RuntimeError(f"torch {torch.__version__} finds no {kind} device here")
    recorder.created_at = created_at
    watch_modules(recorder, is_accelerator)
    watch_threads(lambda: Watch(recorder))
    Watch(recorder).__enter__()


def watch_threads(watch: Callable[[], Watch]) -> Callable[[], None]:
    """Have each new thread watched as well, since modes are of one thread. Gives the function that ends it.

    `_bootstrap_inner` is what a new thread runs in CPython 3.10 to 3.14, whether or not `run` is overridden.
    """
    thread: Any = threading.Thread
    original = thread._bootstrap_inner

    def within(*arguments: Any) -> Any:
        with watch():
            return original(*arguments)

    thread._bootstrap_inner = within

    def restore() -> None:
        thread._bootstrap_inner = original

    return restore


def watch_modules(recorder: Recorder, accelerated: Callable[[torch.device], bool]) -> Callable[[], None]:
    """Tell the recorder of modules that are moved as a whole. Gives the function that ends it."""
    original = torch.nn.Module._apply
    depth = 0

    def apply(module: Any, *arguments: Any, **options: Any) -> Any:
        nonlocal depth
        depth += 1
        try:
            out = original(module, *arguments, **options)
        finally:
            depth -= 1
        first = None if depth else next(registered_tensors(module), None)
        if first is not None and accelerated(first.device):
            recorder.module_moved(module, str(first.device))
        return out

    torch.nn.Module._apply = apply

    def restore() -> None:
        torch.nn.Module._apply = original

    return restore


def origin_of(tensor: torch.Tensor) -> Origin:
    created, how, moved = _origin(tensor) or (None, "", None)
    return Origin(str(tensor.device), created, how, moved)


def created_at(tensor: torch.Tensor) -> Site | None:
    origin = _origin(tensor)
    return None if origin is None else origin[0]


def _origin(tensor: torch.Tensor) -> tuple[Site | None, str, Site | None] | None:
    try:
        return getattr(tensor.untyped_storage(), ORIGIN, None)
    except (RuntimeError, NotImplementedError):  # sparse tensors have no storage
        return None


def _mark(tensor: torch.Tensor, site: Site | None, how: str, moved: Site | None) -> None:
    try:
        setattr(tensor.untyped_storage(), ORIGIN, (site, how, moved))
    except (RuntimeError, NotImplementedError, AttributeError):
        return


def _origin_moved(source: torch.Tensor, target: torch.Tensor) -> tuple[Site | None, str, Site | None]:
    site, how, moved = _origin(source) or (None, "", None)
    return site, how, user_line() if source.device != target.device else moved
