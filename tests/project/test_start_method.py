"""How processes start, where the programs say it that import what starts them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import written
from tests.project.test_writers import lint
from torchdevlint.project import tree

LOADING = """import multiprocessing as mp

class Detections:
    def __init__(self, net):
        self.net = net.cuda()

    def begin(self):
        process = mp.Process(target=self.read)
        process.start()

    def read(self):
        self.net.cuda()
"""
HANDED_ON = "from loading import Detections\n\ndef detections(net):\n    return Detections(net)\n"
DIRECT = "import torch\nfrom loading import Detections\n\nDetections(torch.nn.Linear(2, 2)).begin()\n"
INDIRECT = "import torch\nfrom handing import detections\n\ndetections(torch.nn.Linear(2, 2)).begin()\n"
SPAWN = 'torch.multiprocessing.set_start_method("spawn", force=True)\n'
FORKSERVER = 'torch.multiprocessing.set_start_method(method="forkserver")\n'
FORK = 'torch.multiprocessing.set_start_method("fork")\n'


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tree.forget()


@pytest.mark.parametrize(
    ("programs", "forks"),
    [
        ({}, True),
        ({"main": DIRECT}, True),
        ({"main": DIRECT + SPAWN}, False),
        ({"main": DIRECT + FORKSERVER, "handing": HANDED_ON, "other": INDIRECT + SPAWN}, False),
        ({"main": DIRECT + FORK}, True),
        ({"main": f"{DIRECT}# {SPAWN}"}, True),
        ({"main": DIRECT + SPAWN, "other": DIRECT}, True),
        ({"main": DIRECT + SPAWN, "handing": HANDED_ON, "other": INDIRECT}, True),
        ({"main": SPAWN.join(("import torch\n", ""))}, True),
    ],
    ids=["alone", "default", "spawn", "forkserver", "fork", "comment", "another", "further", "not importing"],
)
def test_programs_say_how_what_they_import_starts_processes(
    tmp_path: Path, programs: dict[str, str], forks: bool
) -> None:
    result = lint(written(tmp_path, loading=LOADING, **programs), None, select=("TDL308",))
    assert [each.code for each in result.diagnostics] == ["TDL308"] * forks
