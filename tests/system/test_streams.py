"""Streams that are closed, full, or read no further."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs bash and /dev/full")

FULL = "error: cannot write to standard output: No space left on device"
ON_DISK = "error: cannot write to /dev/full: No space left on device"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bug.py").write_text("import torch\n\nstate = torch.load('model.pt')\n" * 300)
    (tmp_path / "clean.py").write_text("import torch\n")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "code", "errors"),
    [
        ("LINT bug.py >&-", 1, ""),
        ("LINT bug.py gone.py 2>&- | wc -l >&2", 2, "304"),
        ("LINT - <&- >&- 2>&-", 0, ""),
        ("LINT bug.py >/dev/full", 2, FULL),
        ("LINT bug.py -o /dev/full", 2, ON_DISK),
        ("LINT bug.py --nonsense 2>/dev/full", 2, ""),
        ("LINT --jobs 2 bug.py clean.py | head -1", 1, ""),
        ("LINT bug.py gone.py 2>&1 >/dev/null | head -0", 2, ""),
    ],
)
def test_no_stream_costs_more_than_what_was_to_be_written(folder: Path, command: str, code: int, errors: str) -> None:
    lint = f"{sys.executable} -m torchdevlint check --no-cache --output-format concise"
    done = subprocess.run(
        ["bash", "-c", f"{command.replace('LINT', lint)}; exit ${{PIPESTATUS[0]}}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr.strip()) == (code, errors)
