"""One process that executes, for all tests of a session that need one."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import forked
from tests.runtime.execute.bench import Bench
from torchdevlint.runtime.verify.forked import ForkServer
from torchdevlint.runtime.verify.server import Server

NOBODY = "http://127.0.0.1:9"


class Offline(Server):
    """Code that asks for a network (``torch.hub.load``) is sent to where nobody listens.

    Its process is a fork of the tests' own, whatever it is to be `above`.
    """

    def __init__(self, prepared: dict[str, Any] | None = None, _above: ForkServer | None = None) -> None:
        super().__init__(prepared)

    def _start(self, folder: Path) -> subprocess.Popen[bytes]:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
                patch.setenv(name, NOBODY)
            patch.setattr(subprocess, "Popen", forked.Popen)
            return super()._start(folder)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    pytest.importorskip("torch", reason="what was flagged is executed with torch")
    with Offline() as one:
        yield one


@pytest.fixture
def bench(tmp_path: Path, server: Server) -> Bench:
    return Bench(tmp_path, server)
