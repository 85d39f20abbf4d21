"""One process that executes, for all tests of a session that need one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.execute.bench import Bench
from torchdevlint.runtime.verify.server import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    pytest.importorskip("torch", reason="what was flagged is executed with torch")
    with Server() as one:
        yield one


@pytest.fixture
def bench(tmp_path: Path, server: Server) -> Bench:
    return Bench(tmp_path, server)
