"""The functions that make tensors: on which device, and where in the program.

A factory of the `torch` namespace reaches the dispatch mode with its device, which claims the result. The wrappers here
add what the mode cannot see: a device given as a number, a default tensor type, that the program itself asked for the
CPU, and the line. Functions that copy data into a tensor and move it in C++ (`torch.tensor`) are made whole here.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import torch
import torch.utils.data.dataset
from torch.overrides import handle_torch_function, has_torch_function_unary
from torch.utils._device import DeviceContext, _device_constructors

from torchdevlint.runtime.record.sites import user_line
from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.programs.threads import follower
from torchdevlint.runtime.simulated.state import Simulation, simulation
from torchdevlint.runtime.simulated.story import refuse_pinning, reported
from torchdevlint.runtime.simulated.tensors.claims import (
    CPU,
    PLAIN,
    Claim,
    claim_of,
    device_of,
    real_device,
    tensors_in,
)
from torchdevlint.runtime.simulated.tensors.legacy import REAL_TYPES
from torchdevlint.runtime.simulated.tensors.wrappers import takes_operations_apart

FACTORIES = """
    empty empty_permuted empty_strided empty_quantized ones arange bartlett_window blackman_window eye full
    hamming_window hann_window kaiser_window linspace logspace normal rand randn randint randperm tril_indices
    triu_indices zeros scalar_tensor
""".split()
FFT_FACTORIES = ("fftfreq", "rfftfreq")
LIKE = "empty_like full_like ones_like rand_like randint_like randn_like zeros_like".split()
ON_THE_CPU = ("from_numpy", "frombuffer", "from_file")
SPARSE = """
    sparse_coo_tensor sparse_compressed_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor
""".split()


def default_device() -> torch.device | None:
    """The device of `with torch.device(..)` or `torch.set_default_device` in this thread; None without one."""
    if torch._C._len_torch_function_stack() == 0:
        return None
    bottom = torch._C._get_function_stack_at(0)
    return bottom.device if isinstance(bottom, DeviceContext) else None


def _parsed(active: Simulation, kwargs: dict[str, Any]) -> None:
    """Make a device that is given as a number, or by a default tensor type, one that C++ understands."""
    device = kwargs.get("device")
    if device is None:
        if active.default_type_device is not None and default_device() is None:
            kwargs["device"] = active.default_type_device
    elif isinstance(device, int):
        kwargs["device"] = active.driver.parse(device)


def _into(active: Simulation, name: str, kwargs: dict[str, Any], out: torch.Tensor) -> None:
    """A given or default device agrees in kind with `out` (torch/csrc/utils/out_types.cpp: check_out_type_matches)."""
    wanted = default_device() if kwargs.get("device") is None else active.driver.parse(kwargs["device"])
    if wanted is None or not _is_ours(active, wanted):
        return
    there = device_of(out).type
    if wanted.type != there:
        error = RuntimeError(f"device type {wanted.type} does not match device type of out parameter ({there})")
        raise reported(active, error, [("out", out)], name)
    kwargs["device"] = CPU  # where C++ finds it


def _factory(name: str, original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    @functools.wraps(original)
    def factory(*args: Any, **kwargs: Any) -> torch.Tensor:
        active = simulation()
        if isinstance(kwargs.get("out"), torch.Tensor):
            _into(active, name, kwargs, kwargs["out"])
        else:
            _parsed(active, kwargs)
        if torch._C._len_torch_dispatch_stack():
            made = original(*args, **kwargs)
        else:  # a thread from before the simulation, or a kernel that is written in Python
            with follower:
                made = original(*args, **kwargs)
        return _stamped(active, made, name)

    return factory


def _range(original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """`torch.range`: its binding guards the device before anything can be dispatched, and ignores the default."""

    @functools.wraps(original)
    def range(*args: Any, **kwargs: Any) -> torch.Tensor:  # noqa: A001  # its name
        active = simulation()
        _parsed(active, kwargs)
        device = active.resolve(active.driver.parse(kwargs["device"])) if kwargs.get("device") is not None else None
        if device is None or device.type == "cpu" or not _is_ours(active, device):
            return _stamped(active, original(*args, **kwargs), "range")
        return _claimed(active, original(*args, **{**kwargs, "device": "cpu"}), device, "range")

    return range


def _like(name: str, original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    @functools.wraps(original)
    def like(*args: Any, **kwargs: Any) -> torch.Tensor:
        if args and type(args[0]) not in PLAIN and has_torch_function_unary(args[0]):
            made: torch.Tensor = handle_torch_function(like, (args[0],), *args, **kwargs)
            return made
        return inheriting(simulation(), name, original, args, kwargs)

    return like


def inheriting(
    active: Simulation, name: str, original: Callable[..., torch.Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> torch.Tensor:
    """A factory that takes its device from a tensor if none is given: `zeros_like`, `Tensor.new_zeros`.

    That the CPU is given is seen only here: composite C++ functions give it as well, since every tensor is there.
    """
    given = kwargs.get("device")
    if given is not None:
        kwargs["device"] = given = active.driver.parse(given)
    pinned = bool(kwargs.get("pin_memory"))
    made = original(*args, **kwargs)
    claim = claim_of(made)
    if (given is not None and given.type == "cpu") or (claim is not None and claim.device == CPU):  # that is shared
        _claimed(active, made, CPU, name, pinned)
    elif pinned and device_of(made).type == active.kind:
        refuse_pinning(active, name)
    elif claim is not None:
        claim.how, claim.created = name, user_line()
    return made


def _on_the_cpu(name: str, original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A function whose result shares memory with something that is not a tensor, always on the CPU."""

    @functools.wraps(original)
    def from_memory(*args: Any, **kwargs: Any) -> torch.Tensor:
        return _stamped(simulation(), original(*args, **kwargs), name)

    return from_memory


def _claimed(
    active: Simulation, made: torch.Tensor, device: torch.device, name: str, pinned: bool = False
) -> torch.Tensor:
    """Claim what the program made here. Fake tensors of a tracer say themselves where they are."""
    if not takes_operations_apart(type(made)):
        active.claim(made, device, name, user_line(), pinned=pinned)
    return made


def _stamped(active: Simulation, made: torch.Tensor, name: str) -> torch.Tensor:
    """Note where the program made a tensor; what no one has claimed is on the CPU."""
    if not isinstance(made, torch.Tensor) or takes_operations_apart(type(made)):
        return made
    claim = claim_of(made)
    if claim is not None:
        claim.created = claim.created or user_line()
    elif real_device(made) == CPU:
        active.created(made, CPU, name)
    return made


def tensor(original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """`torch.tensor`: a copy of data on the device, which is that of a tensor it is given."""

    @functools.wraps(original)
    def tensor(data: Any, **kwargs: Any) -> torch.Tensor:
        active = simulation()
        device = _wanted(active, data, kwargs.pop("device", None))
        if not _is_ours(active, device):
            return original(data, device=device, **kwargs)
        pinned = bool(kwargs.pop("pin_memory", False))
        return _claimed(active, original(data, device="cpu", **kwargs), device, "tensor", pinned)

    return tensor


def as_tensor(original: Callable[..., torch.Tensor], name: str) -> Callable[..., torch.Tensor]:
    """`torch.as_tensor` and `torch.asarray`: data that is on the device already is shared, else moved there."""

    @functools.wraps(original)
    def as_tensor(data: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
        active = simulation()
        names = ("dtype", "device") if name == "as_tensor" else ()
        kwargs.update(zip(names, args, strict=False))
        device = _wanted(active, data, kwargs.pop("device", None))
        if not _is_ours(active, device):
            return original(data, device=device, **kwargs)
        if isinstance(data, torch.Tensor):
            moved = data if device_of(data) == device else data.to(device)
            return original(moved, device="cpu", **kwargs) if kwargs else moved  # else a default device is its own
        return _claimed(active, original(data, device="cpu", **kwargs), device, name)

    return as_tensor


def _sparse(name: str, original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A sparse tensor lies where it is told, and what it is made of is moved there; else where its values are.

    torch/csrc/utils/tensor_new.cpp, `sparse_coo_tensor_ctor`: without `device` a tensor stays where it is.
    """
    position = 1 if name == "sparse_coo_tensor" else 2

    @functools.wraps(original)
    def sparse(*args: Any, **kwargs: Any) -> torch.Tensor:
        active = simulation()
        device = kwargs.pop("device", None)
        if device is None:
            values = args[position] if len(args) > position else kwargs.get("values")
            wanted = device_of(values) if isinstance(values, torch.Tensor) else _wanted(active, None, None)
            given = isinstance(values, torch.Tensor)
            if not given and any(device_of(one) != wanted for one in tensors_in(args, kwargs)):
                values = torch.as_tensor(values, device=wanted)  # so that it has a claim
                args = (*args[:position], values, *args[position + 1 :]) if len(args) > position else args
                kwargs = {**kwargs, "values": values} if "values" in kwargs else kwargs
        else:
            wanted = _wanted(active, None, device)
            args = tuple(arg.to(wanted) if isinstance(arg, torch.Tensor) else arg for arg in args)
            kwargs = {key: arg.to(wanted) if isinstance(arg, torch.Tensor) else arg for key, arg in kwargs.items()}
        if not _is_ours(active, wanted):
            return original(*args, **kwargs) if device is None else original(*args, device=wanted, **kwargs)
        return _claimed(active, original(*args, device="cpu", **kwargs), wanted, name)

    return sparse


def _nested(original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """`torch.nested.nested_tensor` on a device that is named: C++ would make its buffer there."""

    @functools.wraps(original)
    def nested_tensor(tensors: Any, **kwargs: Any) -> torch.Tensor:
        active = simulation()
        device = kwargs.pop("device", None)
        if device is not None:
            device = active.driver.parse(device)
            if not _is_ours(active, device):
                return original(tensors, device=device, **kwargs)
            tensors = [torch.as_tensor(tensor, device=device) for tensor in tensors]
        return original(tensors, **kwargs)

    return nested_tensor


_lent: MutableMapping[int, Claim] = weakref.WeakValueDictionary()
"""Claims of tensors that a capsule was made of, by their address: the capsule keeps the bytes, and so the claim."""


def _to_dlpack(original: Callable[[torch.Tensor], Any]) -> Callable[[torch.Tensor], Any]:
    def to_dlpack(tensor: torch.Tensor) -> Any:
        claim = claim_of(tensor)
        if claim is not None:
            _lent[tensor.data_ptr()] = claim
        return original(tensor)

    return to_dlpack


def _from_dlpack(original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """`torch.from_dlpack` of a tensor or of its capsule shares its bytes, wherever they are; others are on the CPU."""

    @functools.wraps(original)
    def from_dlpack(data: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
        active = simulation()
        made = original(data, *args, **kwargs)
        claim = claim_of(data) if isinstance(data, torch.Tensor) else _lent.get(made.data_ptr())
        active.created(made, CPU if claim is None else claim.device, "from_dlpack")
        return made

    return from_dlpack


def _wanted(active: Simulation, data: Any, device: Any) -> torch.device:
    """The device of a tensor made of `data`."""
    if device is not None:
        return active.resolve(active.driver.parse(device))
    default = default_device()
    if default is None and isinstance(data, torch.Tensor):
        return device_of(data)
    default = default or active.default_type_device
    return CPU if default is None else active.resolve(default)


def _is_ours(active: Simulation, device: torch.device) -> bool:
    return device.type in ("cpu", active.kind)


def set_default_tensor_type(original: Callable[[Any], None]) -> Callable[[Any], None]:
    """`torch.set_default_tensor_type`: a dtype, and since it may name an accelerator a device for the factories."""

    @functools.wraps(original)
    def set_default(kind: Any) -> None:
        active = simulation()
        name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__name__}"
        plain = name.replace(f"torch.{active.kind}.", "torch.")
        original(REAL_TYPES.get(plain.removeprefix("torch."), plain))
        active.default_type_device = torch.device(active.kind) if plain != name else None

    return set_default


def patches() -> Iterator[Patch]:
    """What replaces functions of the `torch` namespace."""
    _device_constructors()  # remembers the functions by identity: before they are replaced
    for name in FACTORIES:
        if hasattr(torch, name):
            yield torch, name, _factory(name, getattr(torch, name))
    dataset = torch.utils.data.dataset  # whose `random_split` calls a `randperm` of its own
    yield dataset, "randperm", _factory("randperm", dataset.randperm)
    yield torch, "range", _range(torch.range)
    for name in FFT_FACTORIES:
        yield torch.fft, name, _factory(name, getattr(torch.fft, name))
    for name in LIKE:
        yield torch, name, _like(name, getattr(torch, name))
    for name in ON_THE_CPU:
        if hasattr(torch, name):
            yield torch, name, _on_the_cpu(name, getattr(torch, name))
    for name in SPARSE:
        yield torch, name, _sparse(name, getattr(torch, name))
    yield torch.nested, "nested_tensor", _nested(torch.nested.nested_tensor)
    from_dlpack, to_dlpack = _from_dlpack(torch.from_dlpack), _to_dlpack(torch.to_dlpack)
    for where in (torch, torch.utils.dlpack):
        yield where, "from_dlpack", from_dlpack
        yield where, "to_dlpack", to_dlpack
    yield torch, "tensor", tensor(torch.tensor)
    for name in ("as_tensor", "asarray"):
        yield torch, name, as_tensor(getattr(torch, name), name)
    yield torch, "set_default_tensor_type", set_default_tensor_type(torch.set_default_tensor_type)
