"""Classes called `Trainer`: those of a project say themselves what they place, those of libraries do not.

No program is seen that comes to what saves, so that its text decides.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

NETS = """import torch

class Net:
    def __init__(self, **nets):
        self.parts = {name: {"net": each} for name, each in nets.items()}

    def __call__(self, x):
        return sum(each["net"](x) for each in self.parts.values())

    def keep(self, folder, epoch):
        for name, each in self.parts.items():
            torch.save({"state": each["net"].state_dict()}, folder + f"/{name}_{epoch}")

    def restore(self, folder, epoch):
        for name, each in self.parts.items():
            saved = torch.load(folder + f"/{name}_{epoch}")
            each["net"].load_state_dict(saved["state"])
"""
TRAINER = """class Trainer:
    def __init__(self, net):
        self.net = net

    def fit(self, rows, folder):
        for epoch, each in enumerate(rows):
            self.net(each).sum().backward()
            self.net.keep(folder, epoch)
"""
SHOW = """import sys
import torch
from torch import nn
from nets import Net
from trainer import Trainer

if __name__ == "__main__":
    net = Net(first=nn.Linear(3, 3))
    net.restore(sys.argv[1], 3)
    print(net(torch.ones(3)))
"""
FOUND = ["nets.py:TDL201"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("", "", [], id="of the project"),
        pytest.param(
            "class Trainer:", "class Learner:\n    pass\n\nclass Trainer(Learner):", [], id="of the same file"
        ),
        pytest.param(
            "class Trainer:", "from transformers import Trainer as T\n\nclass Trainer(T):", FOUND, id="as another name"
        ),
        pytest.param(
            "class Trainer:", "import ignite\n\nclass Trainer(ignite.BaseTrainer):", FOUND, id="of another library"
        ),
        pytest.param("self.net = net", "self.net = net.to(place())", FOUND, id="it places"),
    ],
)
def test_trainers(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    trainer = TRAINER.replace(old, new) if old else TRAINER
    assert found(application(tmp_path, nets=NETS, trainer=trainer, show=SHOW)) == expected


@pytest.mark.parametrize(
    "imports", ["from transformers import Trainer\n", "import transformers\nTrainer = transformers.Trainer\n"]
)
def test_who_imports_it_from_elsewhere(tmp_path: Path, imports: str) -> None:
    show = SHOW.replace("from trainer import Trainer\n", imports)
    assert found(application(tmp_path, nets=NETS, trainer=TRAINER, show=show)) == FOUND
