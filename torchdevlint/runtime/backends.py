"""What a child process can execute on: the accelerators that torch finds, simulated ones, the CPU, and `meta`.

`discover` imports torch and is called in a child process; the records travel as JSON.
"""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from typing import Any

CPU, META, SIMULATED = "cpu", "meta", "simulated"


@dataclass(frozen=True, slots=True)
class Device:
    """One device of a backend; `memory` is its total in bytes, None where the driver does not say."""

    name: str
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class Backend:
    """A place to execute on.

    `kind` is ``hardware`` for an accelerator, ``simulated`` for accelerators on the CPU, ``cpu``, or ``valueless`` for
    `meta`.
    """

    name: str
    kind: str
    devices: tuple[Device, ...]
    version: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """What there is to execute on, and with which torch; `trouble` is why an accelerator could not be asked."""

    torch: str
    python: str
    platform: str
    backends: tuple[Backend, ...]
    trouble: str = ""

    @property
    def accelerators(self) -> tuple[Backend, ...]:
        return tuple(backend for backend in self.backends if backend.kind == "hardware")


def discover() -> Machine:
    """Ask torch. A driver that fails is trouble to be told, not an error."""
    import torch

    accelerators: tuple[Backend, ...] = ()
    trouble = ""
    try:
        accelerators = tuple(_hardware(torch, name) for name in _accelerator_names(torch))
    except Exception as error:  # noqa: BLE001 (drivers fail in every way)
        trouble = f"{type(error).__name__}: {error}"
    simulated = Backend(SIMULATED, "simulated", (Device("as many as are asked for"),))
    cpu = Backend(CPU, "cpu", (Device(f"{platform.machine()}, {os.cpu_count()} cores"),))
    meta = Backend(META, "valueless", (Device("placement without values"),))
    return Machine(
        torch=torch.__version__,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        backends=(*accelerators, simulated, cpu, meta),
        trouble=trouble,
    )


def to_json(machine: Machine) -> dict[str, Any]:
    return asdict(machine)


def from_json(data: dict[str, Any]) -> Machine:
    backends = tuple(
        Backend(row["name"], row["kind"], tuple(Device(**device) for device in row["devices"]), row["version"])
        for row in data["backends"]
    )
    return Machine(**{**data, "backends": backends})


def _accelerator_names(torch: Any) -> list[str]:
    """Device types with at least one device, the one torch prefers first. `torch.accelerator` exists since 2.6."""
    if hasattr(torch, "accelerator"):
        if not torch.accelerator.is_available():
            return []
        return [torch.accelerator.current_accelerator().type]
    available = {
        "cuda": torch.cuda.is_available(),
        "xpu": hasattr(torch, "xpu") and torch.xpu.is_available(),
        "mps": hasattr(torch.backends, "mps") and torch.backends.mps.is_available(),
    }
    return [name for name, there in available.items() if there]


def _hardware(torch: Any, name: str) -> Backend:
    module = getattr(torch, name)
    count = module.device_count() if hasattr(module, "device_count") else 1
    devices = tuple(_device(module, name, index) for index in range(count))
    return Backend(name, "hardware", devices, _version(torch, name))


def _device(module: Any, name: str, index: int) -> Device:
    title = module.get_device_name(index) if hasattr(module, "get_device_name") else f"{name}:{index}"
    memory = None
    if hasattr(module, "get_device_properties"):
        memory = getattr(module.get_device_properties(index), "total_memory", None)
    return Device(str(title), memory)


def _version(torch: Any, name: str) -> str:
    if name == "cuda" and getattr(torch.version, "hip", None):
        return f"ROCm {torch.version.hip}"
    if name == "cuda":
        return f"CUDA {torch.version.cuda}"
    if name == "mps":
        return f"macOS {platform.mac_ver()[0]}"
    return str(getattr(torch.version, name, None) or "")
