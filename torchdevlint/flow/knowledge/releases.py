"""Since which release torch has what fixes write, as data.

From the release notes of 0.4.0, 0.4.1, 1.6, 1.12, 2.0, 2.3 and 2.6. ``tests/fix/test_releases.py`` holds
the table against what the fixes of all cases write.
"""

from __future__ import annotations

import re

from msgspec import Struct

from torchdevlint.patterns import regex


class Since(Struct, frozen=True):
    """What an edit writes, by a pattern, what it is called, and the first release that has it.

    Code that says what `shown` finds runs with such a release, whatever the project asks for.
    """

    written: re.Pattern[str]
    name: str
    release: tuple[int, ...]
    shown: re.Pattern[str]


_OF_DEVICES = regex(r"\btorch\.(?:device|no_grad|tensor)\s*\(|\.to\(")
"""What code says that is for torch 0.4 or newer."""


def _since(pattern: str, name: str, *release: int) -> Since:
    found = regex(pattern)
    return Since(found, name, release, _OF_DEVICES if release == (0, 4) else found)


SINCE = (
    _since(r"(?:^|\.)to\(|^to$", "`.to`", 0, 4),
    _since(r"\.device\b", "`Tensor.device`", 0, 4),
    _since(r"\bdevice=", "`device=`", 0, 4),
    _since(r"\btorch\.device\b", "`torch.device`", 0, 4),
    _since(r"\btorch\.tensor\b", "`torch.tensor`", 0, 4),
    _since(r"\bdtype=|\.dtype\b|\btorch\.(?:float|int|bfloat)\d+", "`torch.dtype`", 0, 4),
    _since(r"\bmap_location=[\"']", "a text as `map_location`", 0, 4),
    _since(r"^[\"']cpu[\"']$", "a text as a device", 0, 4),
    _since(r"\bnon_blocking=", "`non_blocking=`", 0, 4),
    _since(r"\.requires_grad_\(", "`Tensor.requires_grad_`", 0, 4),
    _since(r"\bset_default_dtype\b", "`torch.set_default_dtype`", 0, 4),
    _since(r"\bModuleDict\b", "`nn.ModuleDict`", 0, 4, 1),
    _since(r"\bParameterDict\b", "`nn.ParameterDict`", 0, 4, 1),
    _since(r"\bpersistent=", "`register_buffer(persistent=)`", 1, 6),
    _since(r"\bgenerator=", "`DataLoader(generator=)`", 1, 6),
    _since(r"\bbackends\.mps\b", "`torch.backends.mps`", 1, 12),
    _since(r"\bamp\.autocast\b", "`torch.amp.autocast`", 1, 12),
    _since(r"\bset_default_device\b", "`torch.set_default_device`", 2, 0),
    _since(r"\bamp\.GradScaler\b", "`torch.amp.GradScaler`", 2, 3),
    _since(r"\baccelerator\.(?:is_available|current_accelerator)\b", "`torch.accelerator`", 2, 6),
)
