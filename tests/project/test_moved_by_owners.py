"""Modules that an object keeps, and that another file moves: ``trainer.model.to(device)``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_published_files import application as written
from tests.project.test_ways import found, inside

__all__ = ["inside"]

TRAINER = """from torch import nn

class Trainer:
    def __init__(self, device):
        self.device = device
        self.model = nn.Linear(4, 4)

    def step(self, x):
        x = x.to(self.device)
        return self.model(x)
"""
MAIN = """import sys
import torch
from trainer import Trainer

class Run:
    def __init__(self, device):
        self.model = torch.nn.Linear(4, 4).to("cpu")
        self.trainer = Trainer(device)
        MOVE
        print(self.trainer.step(torch.ones(4)))

if __name__ == "__main__":
    Run(torch.device(sys.argv[1]))
"""
FOUND = ["trainer.py:TDL004"]


@pytest.mark.parametrize(
    ("move", "expected"),
    [
        pytest.param("self.trainer.model.to(device)", [], id="to"),
        pytest.param("self.trainer.model = self.trainer.model.cuda()", [], id="assigned"),
        pytest.param("[self.trainer][0].model.to(device)", [], id="of any object"),
        pytest.param("pass", FOUND, id="nobody"),
        pytest.param("self.trainer.model.eval()", FOUND, id="not moved"),
        pytest.param("self.trainer.head.to(device)", FOUND, id="another one"),
        pytest.param("self.model.to(device)", FOUND, id="its own"),
        pytest.param("pass  # self.trainer.model.to(device)", FOUND, id="comment"),
    ],
)
def test_who_moves_it(tmp_path: Path, move: str, expected: list[str]) -> None:
    written(tmp_path, trainer=TRAINER, main=MAIN.replace("MOVE", move))
    assert found(tmp_path) == expected


def test_a_file_that_does_not_import_it(tmp_path: Path) -> None:
    """What it moves is something else."""
    other = "def place(trainer, device):\n    trainer.model.to(device)\n"
    written(tmp_path, trainer=TRAINER, main=MAIN.replace("MOVE", "pass"), other=other)
    assert found(tmp_path) == FOUND
