"""What an `Accelerator` does: its GPU is the current one, and a notebook that starts no other process is alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application, notebook
from tests.project.test_ways import ASKING, found, inside

__all__ = ["inside"]

TRAIN = """from accelerate import Accelerator
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)

    def encode(self, x):
        return self.layer(x)

def train(loader):
    accelerator = Accelerator()
    net = accelerator.prepare(Net())
    device = accelerator.device
    bias = torch.ones(3).to(device)
    scale = torch.ones(3, device=device)
    for x, y, z, mask in loader:
        weights = torch.ones(3).cuda()
        x = x.cuda()
        y = y.cuda()
        z = z.cuda()
        mask = mask.cuda()
        accelerator.backward((net(x) * weights * y * z * mask * scale + bias).sum())

print(train(torch.utils.data.DataLoader(range(8))))
"""
MOVED = "x = x.to(device)"


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        pytest.param("", "", 0, id="one of many"),
        pytest.param("x = x.cuda()", MOVED, 1, id="hardly more than take what was chosen"),
        pytest.param("x = x.cuda()", "x = x.to('cuda:0')", 1, id="the first one"),
    ],
)
def test_cuda_beside_its_device(tmp_path: Path, old: str, new: str, rows: int) -> None:
    main = TRAIN.replace(old, new) if old else TRAIN
    root = application(tmp_path, helper=ASKING, main=main)
    assert found(root).count("main.py:TDL012") == rows


WRAPPED = TRAIN.partition("    for x,")[0].partition("def train")
CELLS = (
    WRAPPED[0],
    """def fit(loader):
    accelerator = Accelerator()
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    for x in loader:
        accelerator.backward(net.encode(x).sum())
    torch.save(net.state_dict(), "net.pt")
""",
    "fit(torch.utils.data.DataLoader(range(8)))\nother = Net()\nother.load_state_dict(torch.load('net.pt', 'cpu'))\n",
)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("print(net)\n", []),
        (
            "from accelerate import notebook_launcher\nnotebook_launcher(Net)\n",
            ["look.ipynb:TDL202", "look.ipynb:TDL406"],
        ),
    ],
)
def test_a_notebook_that_starts_no_other_process(tmp_path: Path, cell: str, expected: list[str]) -> None:
    root = application(tmp_path, helper=ASKING)
    (root / "look.ipynb").write_text(notebook(*CELLS, cell))
    assert found(root) == expected
