"""All patches that put a driver below PyTorch's own Python, in one list."""

from __future__ import annotations

from collections.abc import Iterable

from torchdevlint.runtime.simulated.driver import (
    accelerator_api,
    amp,
    backends,
    cuda_api,
    cuda_streams,
    generators,
    other_kinds,
)
from torchdevlint.runtime.simulated.driver.driver import Driver
from torchdevlint.runtime.simulated.patches import Patch


def patches(driver: Driver) -> Iterable[Patch]:
    """(owner, attribute, replacement), each once.

    Nothing for a machine without accelerators: a CPU build of PyTorch has the right answers and errors itself.
    Iterate when installing, not earlier: parts are made from the state that PyTorch has at that moment.
    """
    if not driver.installed:
        return
    yield from cuda_streams.patches(driver)
    yield from generators.patches(driver)
    yield from amp.patches(driver)
    yield from accelerator_api.patches(driver)
    if driver.kind == "cuda":
        yield from cuda_api.patches(driver)
        yield from backends.patches()
    else:
        yield from other_kinds.patches(driver)
