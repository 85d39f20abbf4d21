"""What a Module holds that `Module.to` moves."""

from __future__ import annotations

from collections.abc import Iterator

import torch


def registered_tensors(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    """The parameters and buffers of a Module and of its submodules, each Module's once.

    They are found as `Module._apply` finds them (torch/nn/modules/module.py), so that a class may use `parameters` and
    the like for something of its own: ``self.parameters = [0.1, 0.2]``.
    """
    visited = set()
    waiting = [module]
    while waiting:
        one = waiting.pop()
        if id(one) in visited:
            continue
        visited.add(id(one))
        for tensors in (one._parameters, one._buffers):
            yield from (each for each in tensors.values() if each is not None)
        waiting += [each for each in reversed(one._modules.values()) if each is not None]
