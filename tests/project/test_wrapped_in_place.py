"""A Parameter that is moved after it was made is advice where every program makes it of what is there already."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

NET = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, device, start=None):
        super().__init__()
        m, p, n = torch.svd(start)
        first = torch.mm(m[:, :2], torch.diag(p[:2]))
        self.nodes = nn.Parameter(first, requires_grad=True).to(device)

    def forward(self, x):
        return x @ self.nodes
"""
TRAINER = """from net import Net

class Trainer:
    def __init__(self, device, start):
        self.net = Net(device, start=start).to(device)
"""
MAIN = """import torch
from trainer import Trainer

def main(device, tables, random):
    supports = [torch.tensor(each).to(device) for each in tables]
    start = None if random else supports[0]
    print(Trainer(device, start).net(torch.ones(2, 3).to(device)).mean().item())

if __name__ == "__main__":
    main(torch.device("cuda" if torch.cuda.is_available() else "cpu"), [[[1.0] * 3] * 3], False)
"""
OTHER = """import torch
from net import Net

if __name__ == "__main__":
    print(Net("cuda", torch.ones(3, 3{place})))
"""
LEFT = ["net.py:TDL103"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("torch.tensor(each).to(device)", "torch.tensor(each)", LEFT),
        ("else supports[0]", "else supports[0].cpu()", LEFT),
        ("else supports[0]", "else torch.eye(3)", LEFT),
    ],
)
def test_what_the_callers_give(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    root = application(tmp_path, net=NET, trainer=TRAINER, main=MAIN.replace(old, new) if old else MAIN)
    assert [each for each in found(root) if "TDL103" in each] == expected


@pytest.mark.parametrize(("place", "expected"), [(', device="cuda"', []), ("", LEFT)])
def test_one_more_program(tmp_path: Path, place: str, expected: list[str]) -> None:
    root = application(tmp_path, net=NET, trainer=TRAINER, main=MAIN, other=OTHER.format(place=place))
    assert [each for each in found(root) if "TDL103" in each] == expected
