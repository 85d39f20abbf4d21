"""The simulation that is active in this process, and the two questions that everything else asks it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch

from torchdevlint.runtime.record.sites import Place, Site, user_line
from torchdevlint.runtime.simulated.driver.memory import block_of
from torchdevlint.runtime.simulated.errors import refuse_float64_on_mps
from torchdevlint.runtime.simulated.tensors.claims import CPU, AcceleratorClaim, Claim, nbytes_of, set_claim

if TYPE_CHECKING:
    from torchdevlint.runtime.record.recorder import Recorder
    from torchdevlint.runtime.simulated.driver.driver import Driver


class Simulation:
    """One simulated machine: accelerators of one `kind`, their driver, and who is told what happens.

    If it is `flat`, every accelerator is the CPU under another name: all tensors are in one place, and meet.
    """

    def __init__(self, kind: str, driver: Driver, recorder: Recorder | None = None, flat: bool = False) -> None:
        self.kind = kind
        self.driver = driver
        self.recorder = recorder
        self.flat = flat
        self.lacks_float64 = kind == "mps"
        self.default_type_device: torch.device | None = None
        self.lets_pass: Callable[[Sequence[torch.Tensor]], bool] | None = None
        """Asked with the operands of a device error before it is raised: True lets the operation run all the same, with
        its result where an accelerator is. `verify` looks so for what comes after it.
        """
        self.graphs_differ = False
        """Whether backward passes have to go through the mode (`tensors.backward`)."""
        self.last_backward: Site | None = None
        """The line of the last one that did not."""

    def resolve(self, device: torch.device) -> torch.device:
        """`device` with an index, as the driver sees it: one object for each, which claims compare by identity first.

        Raises what the driver would for one that is not there.
        """
        if device.type != self.kind:
            return CPU if device.type == "cpu" else device
        try:
            resolved = self.driver.resolve(device)
        except Exception as error:
            if self.recorder is not None:
                self.recorder.failed(error, (), "device")
            raise
        return CPU if self.flat else resolved

    def is_simulated(self, device: torch.device | None) -> bool:
        return device is not None and device.type == self.kind

    def claim_for(
        self,
        nbytes: int,
        device: torch.device,
        how: str,
        created: Place = None,
        moved: Site | None = None,
        pinned: bool = False,
    ) -> Claim:
        """A claim of `nbytes` on `device` (resolved), which are taken from the memory of an accelerator."""
        if device.type == self.kind:
            return AcceleratorClaim(device, how, created, moved, block_of(nbytes), self.driver.memory[device.index])
        return Claim(device, how, created, moved, pinned)

    def claim(
        self,
        tensor: torch.Tensor,
        device: torch.device,
        how: str,
        created: Place = None,
        moved: Site | None = None,
        pinned: bool = False,
    ) -> None:
        """Say that the bytes of `tensor` are on `device` (resolved). Raises what it does for types that it lacks."""
        if device.type == "mps":
            refuse_float64_on_mps(device, tensor.dtype)
        set_claim(tensor, self.claim_for(nbytes_of(tensor), device, how, created, moved, pinned))

    def created(self, tensor: torch.Tensor, device: torch.device, how: str) -> None:
        """Claim a tensor that the program has just created."""
        self.claim(tensor, device, how, user_line())


active: Simulation | None = None


def simulation() -> Simulation:
    """The active simulation. Only what is patched in asks, so there is one."""
    assert active is not None, "no simulation is active"
    return active
