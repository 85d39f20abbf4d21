"""The machines on which a program is run: the control, where every accelerator is the CPU, and one with real ones."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from torchdevlint.runtime.execute.values import CPU, Setting
from torchdevlint.runtime.record import recorder as recording
from torchdevlint.runtime.record.recorder import Recorder

SIMULATED = "simulated"


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that this process is from now on. `second` is another accelerator, where there is one."""

    first: torch.device
    second: torch.device | None
    recorder: Recorder

    def settings(self, code: str) -> tuple[Setting, ...]:
        """Where a program for a rule's finding gets its values: what is tried, one after the other.

        A move shows only for what is elsewhere, so that its tensors are on the CPU first. A batch may be no loader's
        here, and is on the CPU all the same; a test may ask for the CPU; a function that is told a device may be given
        what is elsewhere. For TDL012 all is on an accelerator that is not the current one.
        """
        device = self.second if code == "TDL012" and self.second is not None else self.first
        there, here = Setting(device, device, device), Setting(device, CPU, device)
        if code in ("TDL001", "TDL002"):
            return here, there
        return (there, here) if code in ("TDL005", "TDL310", "TDL311") else (there,)


def control(count: int = 2) -> Machine:
    """Become a machine with accelerators that are the CPU under another name, or without any."""
    from torchdevlint.runtime.simulated import install

    recorder = Recorder(backend=SIMULATED, accelerators=count)
    install(count, flat=True, recorder=recorder)
    if not count:
        return Machine(CPU, None, recorder)
    return Machine(torch.device("cuda:0"), torch.device("cuda:1"), recorder)


def accelerated(device: str, count: int = 2, kind: str = "cuda") -> Machine:
    """Become a machine with simulated accelerators, or none, or watch the real one that `device` names."""
    recorder = Recorder(backend=device, accelerators=count, kind=kind)
    recording.start(recorder)
    if device == SIMULATED:
        from torchdevlint.runtime.simulated import install

        install(count, kind, recorder=recorder)
        if not count:
            return Machine(CPU, None, recorder)
        second = torch.device(kind, 1) if count > 1 else None
        return Machine(torch.device(kind, 0), second, recorder)
    from torchdevlint.runtime.record import hardware

    hardware.install(recorder, device)
    first = torch.device(device)
    first = first if first.index is not None else torch.device(first.type, 0)
    other = torch.device(first.type, 1 if first.index == 0 else 0)
    return Machine(first, other if recorder.accelerators > 1 else None, recorder)
