"""What releases of PyTorch before 2.8 cannot do under a dispatch mode, done without it."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.utils._python_dispatch import _disable_current_modes

from torchdevlint.runtime.simulated.operators import texts
from torchdevlint.runtime.simulated.patches import Patch

_as_subclass = torch._C.TensorBase.as_subclass


def as_subclass(self: torch.Tensor, cls: type) -> torch.Tensor:
    """A claim is on the storage, which the new tensor shares. Newer releases disable modes themselves.

    torch/csrc/autograd/python_variable.cpp: `THPVariable_as_subclass`; pytorch/pytorch issue 149290.
    """
    with _disable_current_modes():
        made: torch.Tensor = _as_subclass(self, cls)
    return made


def patches() -> Iterator[Patch]:
    if texts.installed() < (2, 8):
        yield torch.Tensor, "as_subclass", as_subclass
