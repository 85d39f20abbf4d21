"""Two simulated accelerators for a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from torchdevlint.runtime.simulated import Simulation, simulate


@pytest.fixture
def machine() -> Iterator[Simulation]:
    with simulate(2) as simulation:
        yield simulation
