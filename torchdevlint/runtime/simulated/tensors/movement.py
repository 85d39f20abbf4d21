"""What `torch.Tensor` says about devices, and the methods that move it.

These are properties and methods of the Python class `torch.Tensor`: they hold for Parameters, inside functions of torch
that are written in Python, and in every thread.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import handle_torch_function, has_torch_function_unary

from torchdevlint.runtime.record.sites import user_line
from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.state import Simulation, simulation
from torchdevlint.runtime.simulated.story import refuse_unregistered, reported
from torchdevlint.runtime.simulated.tensors.claims import CPU, claim_of, device_of
from torchdevlint.runtime.simulated.tensors.factories import inheriting
from torchdevlint.runtime.simulated.tensors.legacy import DTYPES
from torchdevlint.runtime.simulated.tensors.special import moved
from torchdevlint.runtime.simulated.tensors.wrappers import copied_by_its_class, takes_operations_apart

_Base = torch._C.TensorBase
_to = _Base.to
_type = _Base.type
_numpy = _Base.numpy
_tolist = _Base.tolist


class ToDevice(torch.autograd.Function):  # type: ignore[misc]
    """A move that autograd can follow back: the gradient returns to the device that the tensor came from."""

    generate_vmap_rule = True

    @staticmethod
    def forward(tensor: torch.Tensor, device: torch.device, options: dict[str, Any]) -> torch.Tensor:
        return _copied(tensor, device, options)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.source, ctx.dtype = device_of(inputs[0]), inputs[0].dtype

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient.to(ctx.source, ctx.dtype), None, None

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor, device: None, options: None) -> torch.Tensor:
        return tangent


def move(tensor: torch.Tensor, device: torch.device, **options: Any) -> torch.Tensor:
    """A copy of `tensor` on `device` (resolved). `options` are those of `Tensor.to` without `device` and `copy`."""
    if (tensor.requires_grad and torch.is_grad_enabled()) or torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        made: torch.Tensor = ToDevice.apply(tensor, device, options)
        return made
    return _copied(tensor, device, options)


def _copied(tensor: torch.Tensor, device: torch.device, options: dict[str, Any]) -> torch.Tensor:
    active = simulation()
    claim = claim_of(tensor)
    source = CPU if claim is None else claim.device
    if source.type == active.kind:
        active.driver.refuse_bad_fork()
    non_blocking = bool(options.pop("non_blocking", False))
    dtype = options.pop("dtype", None) or tensor.dtype
    if takes_operations_apart(type(tensor)):
        return copied_by_its_class(tensor, device, {"dtype": dtype, "non_blocking": non_blocking, **options})
    if isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin):  # a lazy module's, which refuses functions
        with torch._C.DisableTorchFunctionSubclass():
            made: torch.Tensor = _to(tensor, dtype, copy=True, **options)
    else:
        made = _to(tensor, dtype, copy=True, **options)
    line = user_line()
    how, created = ("to", None) if claim is None else (claim.how, claim.created)
    # aten/src/ATen/native/TensorConversions.cpp, `_to_copy`: what is copied to the CPU without blocking is pinned
    pinned = non_blocking and device.type == "cpu" and source.type == active.kind
    active.claim(made, device, how, created, line, pinned)
    new = claim_of(made)
    if claim is not None and new is not None:
        claim.copy = (line, weakref.ref(new))
    moved(active, made, source, device, not non_blocking)
    return made


def to(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """`Tensor.to` in its three forms: (device, dtype), (dtype), (other)."""
    if has_torch_function_unary(self):
        return handle_torch_function(to, (self,), self, *args, **kwargs)
    active = simulation()
    device, rest, options = _destination(active, args, kwargs)
    if device is None:
        return _to(self, *args, **kwargs)
    source = device_of(self)
    if source.type == "meta" and device.type == active.kind:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")  # aten/src/ATen/native/Copy.cpp
    if device.type not in ("cpu", active.kind) or source.type not in ("cpu", active.kind):
        return _to(self, *args, **kwargs)
    target = active.resolve(device)
    options.update(zip(("dtype", "non_blocking", "copy", "memory_format"), rest, strict=False))
    if target == source:
        options.pop("non_blocking", None)
        return _to(self, options.pop("dtype", None) or self.dtype, **options)
    options.pop("copy", None)
    return move(self, target, **options)


def _destination(
    active: Simulation, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[torch.device | None, tuple[Any, ...], dict[str, Any]]:
    """The device that a call of `to` names (None: it only casts), the arguments after it, and the keyword arguments."""
    options = dict(kwargs)
    first, rest = (args[0], args[1:]) if args else (options.pop("device", options.pop("other", None)), ())
    if isinstance(first, torch.Tensor):
        options.setdefault("dtype", first.dtype)
        return device_of(first), (first.dtype, *rest) if rest else (), options
    if isinstance(first, torch.dtype):
        return (active.driver.parse(options["device"]) if options.get("device") is not None else None), rest, options
    return (None if first is None else active.driver.parse(first)), rest, options


def cuda(
    self: torch.Tensor,
    device: Any = None,
    non_blocking: bool = False,
    memory_format: torch.memory_format = torch.preserve_format,
) -> torch.Tensor:
    if has_torch_function_unary(self):
        return handle_torch_function(cuda, (self,), self, device, non_blocking, memory_format)
    return _to_kind("cuda", self, device, non_blocking, memory_format)


def xpu(
    self: torch.Tensor,
    device: Any = None,
    non_blocking: bool = False,
    memory_format: torch.memory_format = torch.preserve_format,
) -> torch.Tensor:
    if has_torch_function_unary(self):
        return handle_torch_function(xpu, (self,), self, device, non_blocking, memory_format)
    return _to_kind("xpu", self, device, non_blocking, memory_format)


def _to_kind(
    kind: str, tensor: torch.Tensor, device: Any, non_blocking: bool, memory_format: torch.memory_format
) -> torch.Tensor:
    """`.cuda()` and `.xpu()` (torch/csrc/autograd: `THPVariable_cuda` names what it refuses)."""
    wanted = torch.device(kind) if device is None else simulation().driver.parse(device)
    if wanted.type != kind:
        raise RuntimeError(f"Invalid device, must be {kind} device")
    return tensor.to(wanted, non_blocking=non_blocking, memory_format=memory_format)


def cpu(self: torch.Tensor, memory_format: torch.memory_format = torch.preserve_format) -> torch.Tensor:
    if has_torch_function_unary(self):
        return handle_torch_function(cpu, (self,), self, memory_format)
    return self.to(CPU, memory_format=memory_format)


def type_(self: torch.Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """`Tensor.type`: the legacy name of what a tensor is, or a cast to a name, which moves as well."""
    if has_torch_function_unary(self):
        return handle_torch_function(type_, (self,), self, dtype, non_blocking, **kwargs)
    if dtype is None:
        name = _type(self)
        claim = claim_of(self)
        if claim is None or claim.device.type == "cpu":
            return name
        return name.replace("torch.", f"torch.{claim.device.type}.", 1)
    if isinstance(dtype, torch.dtype):
        return _type(self, dtype, non_blocking, **kwargs)
    name = dtype if isinstance(dtype, str) else f"{dtype.__module__}.{dtype.__name__}"
    module, _, last = name.rpartition(".")
    kind = module.partition(".")[2]
    plain = DTYPES.get(last)
    if plain is None or module.partition(".")[0] != "torch":
        return _type(self, name, non_blocking, **kwargs)
    return self.to(torch.device(kind or "cpu"), plain, non_blocking=non_blocking)


type_.__name__ = type_.__qualname__ = "type"


def type_as(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    if has_torch_function_unary(self):
        return handle_torch_function(type_as, (self,), self, other)
    return self.to(other)


def numpy(self: torch.Tensor, *, force: bool = False) -> Any:
    """`Tensor.numpy` (torch/csrc/utils/tensor_numpy.cpp: `tensor_to_numpy`)."""
    if has_torch_function_unary(self):
        return handle_torch_function(numpy, (self,), self, force=force)
    claim = claim_of(self)
    if claim is None or claim.device.type == "cpu" or self.layout is not torch.strided:
        return _numpy(self, force=force)
    passed = simulation().lets_pass
    if not force and not (passed is not None and passed([self])):
        error = TypeError(
            f"can't convert {claim.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
            "memory first."
        )
        raise reported(simulation(), error, [("self", self)], "numpy")
    return _numpy(self.detach().cpu(), force=True)


def pin_memory(self: torch.Tensor, device: Any = None) -> torch.Tensor:
    """`Tensor.pin_memory` (aten/src/ATen/native/Memory.cpp): a copy on the CPU that is marked as pinned."""
    if has_torch_function_unary(self):
        return handle_torch_function(pin_memory, (self,), self, device)
    claim = claim_of(self)
    if (claim is not None and claim.device.type != "cpu") or self.layout is not torch.strided:
        error = RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
        raise reported(simulation(), error, [("self", self)], "pin_memory")
    if claim is not None and claim.pinned:
        return self
    simulation().driver.refuse_bad_fork()
    made: torch.Tensor = self.clone()
    simulation().claim(made, CPU, "pin_memory", None if claim is None else claim.created, pinned=True)
    return made


def tolist(self: torch.Tensor) -> Any:
    """torch/csrc/utils/tensor_list.cpp: a copy on the CPU is read."""
    if has_torch_function_unary(self):
        return handle_torch_function(tolist, (self,), self)
    return _tolist(self.detach().cpu() if device_of(self).type == simulation().kind else self)


def is_pinned(self: torch.Tensor, device: Any = None) -> bool:
    if has_torch_function_unary(self):
        return bool(handle_torch_function(is_pinned, (self,), self, device))
    claim = claim_of(self)
    return claim is not None and claim.pinned


def record_stream(self: torch.Tensor, stream: Any) -> Any:
    """Order is not simulated below the level of streams: there is nothing to remember. The CPU has no such kernel."""
    if has_torch_function_unary(self):
        return handle_torch_function(record_stream, (self,), self, stream)
    claim = claim_of(self)
    if claim is not None and claim.device.type == "cpu" and not simulation().flat:
        refuse_unregistered(simulation(), "aten::record_stream", "cpu", [self])
    return None


def get_device(self: torch.Tensor) -> int:
    if has_torch_function_unary(self):
        return int(handle_torch_function(get_device, (self,), self))
    device = device_of(self)
    return -1 if device.type == "cpu" else (device.index if device.index is not None else _Base.get_device(self))


def _attribute(get: Callable[[torch.Tensor], Any]) -> property:
    """An attribute that a class with a `__torch_function__` answers itself, as those that are written in C++."""

    def ask(self: torch.Tensor) -> Any:
        if has_torch_function_unary(self):
            return handle_torch_function(made.__get__, (self,), self)
        return get(self)

    made = property(ask)
    return made


def _is(kind: str) -> property:
    return _attribute(lambda self: device_of(self).type == kind)


def _new(name: str) -> Callable[..., torch.Tensor]:
    """`Tensor.new_zeros` and the like: on the device of the tensor if none is given."""
    original = getattr(_Base, name)

    def new(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        if has_torch_function_unary(self):
            return handle_torch_function(new, (self,), self, *args, **kwargs)
        return inheriting(simulation(), name, original, (self, *args), kwargs)

    new.__name__ = new.__qualname__ = name
    return new


def new_tensor(self: torch.Tensor, data: Any, **kwargs: Any) -> torch.Tensor:
    if has_torch_function_unary(self):
        return handle_torch_function(new_tensor, (self,), self, data, **kwargs)
    kwargs.setdefault("dtype", self.dtype)
    kwargs["device"] = device_of(self) if kwargs.get("device") is None else kwargs["device"]
    made: torch.Tensor = torch.tensor(data, **kwargs)
    return made


def new(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """The legacy `Tensor.new`: a tensor of the same type in the same place."""
    if has_torch_function_unary(self):
        return handle_torch_function(new, (self,), self, *args, **kwargs)
    made: torch.Tensor = _Base.new(self, *args, **{**kwargs, "device": "cpu"} if "device" in kwargs else kwargs)
    claim = claim_of(self)
    if claim is not None and claim_of(made) is None:
        simulation().created(made, claim.device, "new")
    return made


def patches() -> Iterator[Patch]:
    """What replaces attributes of `torch.Tensor`."""
    tensor = torch.Tensor
    yield tensor, "device", _attribute(device_of)
    for kind in ("cuda", "cpu", "xpu", "mps"):
        yield tensor, f"is_{kind}", _is(kind)
    for name, method in {
        "to": to,
        "cuda": cuda,
        "xpu": xpu,
        "cpu": cpu,
        "type": type_,
        "type_as": type_as,
        "numpy": numpy,
        "tolist": tolist,
        "pin_memory": pin_memory,
        "is_pinned": is_pinned,
        "record_stream": record_stream,
        "get_device": get_device,
        "new_tensor": new_tensor,
        "new": new,
    }.items():
        yield tensor, name, method
    for name in ("new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided"):
        yield tensor, name, _new(name)
    yield torch, "get_device", lambda input: get_device(input)  # noqa: A006, PLW0108 (two for torch/overrides.py)
