"""The simulation that is active in this process, and the two questions that everything else asks it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from torchdevlint.runtime.record.sites import Site, user_line
from torchdevlint.runtime.simulated.tensors.claims import CPU, AcceleratorClaim, Claim, nbytes_of, set_claim

if TYPE_CHECKING:
    from torchdevlint.runtime.simulated.driver.driver import Driver

    Recorder = Any


class Simulation:
    """One simulated machine: accelerators of one `kind`, their driver, and who is told what happens."""

    def __init__(self, kind: str, driver: Driver, recorder: Recorder | None = None) -> None:
        self.kind = kind
        self.driver = driver
        self.recorder = recorder
        self.default_type_device: torch.device | None = None
        self._devices: dict[int, torch.device] = {}

    def device(self, index: int) -> torch.device:
        """The one `torch.device` object of an accelerator: claims are compared by identity first."""
        device = self._devices.get(index)
        if device is None:
            device = self._devices[index] = torch.device(self.kind, index)
        return device

    def resolve(self, device: torch.device) -> torch.device:
        """`device` with an index, as the driver sees it. Raises what the driver would for one that is not there."""
        if device.type != self.kind:
            return CPU if device.type == "cpu" else device
        try:
            resolved = self.driver.resolve(device)
        except Exception as error:
            if self.recorder is not None:
                self.recorder.failed(error, (), "device")
            raise
        return self.device(resolved.index)

    def is_simulated(self, device: torch.device | None) -> bool:
        return device is not None and device.type == self.kind

    def parse(self, device: Any) -> torch.device:
        """A device as PyTorch's functions take it (`torch.device`, string or index). Raises what torch raises."""
        if isinstance(device, int) and not isinstance(device, bool):
            return torch.device(self.kind, device)
        return torch.device(device)

    def claim(
        self,
        tensor: torch.Tensor,
        device: torch.device,
        how: str,
        created: Site | None = None,
        moved: Site | None = None,
        pinned: bool = False,
    ) -> None:
        """Say that the bytes of `tensor` are on `device` (resolved)."""
        if device.type == self.kind:
            made: Claim = AcceleratorClaim(
                device, how, created, moved, nbytes_of(tensor), self.driver.memory[device.index]
            )
        else:
            made = Claim(device, how, created, moved, pinned)
        set_claim(tensor, made)

    def created(self, tensor: torch.Tensor, device: torch.device, how: str) -> None:
        """Claim a tensor that the program has just created."""
        self.claim(tensor, device, how, user_line())


active: Simulation | None = None


def simulation() -> Simulation:
    """The active simulation. Only what is patched in asks, so there is one."""
    assert active is not None, "no simulation is active"
    return active
