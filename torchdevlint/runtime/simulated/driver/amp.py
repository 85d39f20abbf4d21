"""Autocast of an accelerator, for kernels that run on the CPU.

PyTorch keeps a switch and a type for each kind of device (aten/src/ATen/autocast_mode.cpp), and looks at where a
tensor really is. So while the accelerator's autocast is on, the CPU's is on with the same type, and what the program
asks about the CPU's is answered from what the program itself said. Where CUDA's autocast treats an operator in another
way than the CPU's, `autocast_policy` has its own kernels.

Known gap: a tensor that really is on the CPU is converted too, by operators of the lower precision such as `mm`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

from torchdevlint.runtime.simulated.driver.autocast_policy import Policy, banned
from torchdevlint.runtime.simulated.patches import Patch

if TYPE_CHECKING:
    from torchdevlint.runtime.simulated.driver.driver import Driver


class _Said(threading.local):
    """What the program of this thread set for the CPU, while the CPU's switch is borrowed."""

    borrowed = False
    enabled = False
    dtype: torch.dtype | None = None


class Autocast:
    """The four functions of `torch` that read and set autocast, above PyTorch's own."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._available = torch._C._is_autocast_available(kind)  # not for mps before 2.5
        self.policy = Policy(kind, self.is_active, lambda: self._get_dtype(kind))
        self._said = _Said()
        self._is_enabled, self._set_enabled = torch.is_autocast_enabled, torch.set_autocast_enabled
        self._get_dtype, self._set_dtype = torch.get_autocast_dtype, torch.set_autocast_dtype

    def is_active(self) -> bool:
        return self._available and bool(self._is_enabled(self.kind))

    def is_enabled(self, device_type: str = "cuda") -> bool:
        if device_type == "cpu" and self._said.borrowed:
            return self._said.enabled
        return bool(self._is_enabled(device_type))

    def get_dtype(self, device_type: str) -> Any:
        if device_type == "cpu" and self._said.borrowed:
            return self._said.dtype
        return self._get_dtype(device_type)

    def set_enabled(self, *args: Any, **kwargs: Any) -> None:
        """`set_autocast_enabled(device_type, enabled)`, or `set_autocast_enabled(enabled)`, which is CUDA's."""
        given = [*args, *kwargs.values()]
        device_type = kwargs.get("device_type", given[0] if len(given) > 1 else "cuda")
        enabled = kwargs.get("enabled", given[-1])
        if device_type == "cpu" and self._said.borrowed:
            self._said.enabled = bool(enabled)
            return
        self._set_enabled(device_type, enabled)
        if device_type == self.kind:
            self.follow()

    def set_dtype(self, device_type: str, dtype: torch.dtype) -> None:
        if device_type == "cpu" and self._said.borrowed:
            self._said.dtype = dtype
            return
        self._set_dtype(device_type, dtype)
        if device_type == self.kind:
            self.follow()

    def follow(self) -> None:
        """Bring the CPU's switch into line with the accelerator's."""
        said = self._said
        if self.is_active():
            self.policy.register()
            if not said.borrowed:
                said.enabled, said.dtype, said.borrowed = self._is_enabled("cpu"), self._get_dtype("cpu"), True
            self._set_dtype("cpu", self._get_dtype(self.kind))
            self._set_enabled("cpu", True)
        else:
            self.give_back()

    def give_back(self) -> None:
        """Set the CPU's switch as the program did."""
        said = self._said
        if said.borrowed:
            said.borrowed = False
            self._set_dtype("cpu", said.dtype)
            self._set_enabled("cpu", said.enabled)


class _Switch:
    """An owner for `Patches` with one attribute, which acts: set where the simulation begins, deleted where it ends.

    The two may be inside a `with torch.autocast`, whose switch of this thread then goes with the simulation.
    """

    def __init__(self, autocast: Autocast) -> None:
        self._autocast = autocast

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "on":
            self._autocast.follow()

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._autocast.give_back()
        self._autocast.policy.take_back()


def patches(driver: Driver) -> Iterable[Patch]:
    """`torch.autocast` itself is kept, and calls what is replaced here."""
    autocast = Autocast(driver.kind)
    yield _Switch(autocast), "on", True
    if driver.kind != "mps":
        real = torch._C._nn.binary_cross_entropy
        yield torch._C._nn, "binary_cross_entropy", banned(autocast.policy, autocast.is_active, real)
    yield torch, "is_autocast_enabled", autocast.is_enabled
    yield torch, "get_autocast_dtype", autocast.get_dtype
    yield torch, "set_autocast_enabled", autocast.set_enabled
    yield torch, "set_autocast_dtype", autocast.set_dtype
    yield from _older_names(autocast)


def _older_names(autocast: Autocast) -> Iterable[Patch]:
    """Deprecated since 2.4, one pair for each kind of device (torch/csrc/autograd/init.cpp)."""
    for kind, infix in (("cpu", "cpu"), ("cuda", "gpu"), ("xpu", "xpu")):
        if hasattr(torch, f"is_autocast_{infix}_enabled"):
            yield torch, f"is_autocast_{infix}_enabled", lambda kind=kind: autocast.is_enabled(kind)
            yield torch, f"set_autocast_{infix}_enabled", lambda on, kind=kind: autocast.set_enabled(kind, on)
        if hasattr(torch, f"get_autocast_{infix}_dtype"):
            yield torch, f"get_autocast_{infix}_dtype", lambda kind=kind: autocast.get_dtype(kind)
            yield torch, f"set_autocast_{infix}_dtype", lambda dtype, kind=kind: autocast.set_dtype(kind, dtype)
