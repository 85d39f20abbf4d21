"""Modules that are only built as transforms of data run in loaders, on the CPU: what they keep there is advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

MATCHING = """import torch
from torch import nn

class Matching(nn.Module):
    def __init__(self, mean):
        super().__init__()
        self.mean = torch.tensor(mean).view(-1, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x - self.mean
"""
MAIN = """import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
from matching import Matching

def pipeline(folder):
    {lines}

if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = torch.nn.Conv2d(3, 3, 3).to(device)
    for x, _ in DataLoader(pipeline("data")):
        print(net(x.to(device)).mean().item())
"""
LISTED = """steps = [transforms.ToTensor()]
    if folder:
        steps.append(Matching([0.5, 0.4, 0.5]))
    steps.append(transforms.Normalize([0.5], [0.5]))
    return datasets.ImageFolder(folder, transform=transforms.Compose(steps))"""
AT_ONCE = "return datasets.ImageFolder(folder, transforms.Compose([transforms.ToTensor(), Matching([0.5])]))"
NAMED = "match = Matching([0.5])\n    return datasets.ImageFolder(folder, transform=match)"
MOVED = LISTED.replace("return", "torch.nn.Sequential(*steps).to('cuda')\n    return")
CALLED = NAMED.replace("return", "print(match.cuda()(torch.ones(3, 1, 1).cuda()))\n    return")
LAYER = "return torch.nn.Sequential(Matching([0.5]), torch.nn.Flatten())"
LEFT = ["matching.py:TDL101"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [(LISTED, []), (AT_ONCE, []), (NAMED, []), (MOVED, LEFT), (CALLED, LEFT), (LAYER, LEFT)],
    ids=["listed", "at once", "named", "moved besides", "called besides", "a layer"],
)
def test_a_module_that_is_a_transform(tmp_path: Path, lines: str, expected: list[str]) -> None:
    root = application(tmp_path, matching=MATCHING, main=MAIN.format(lines=lines))
    assert [each for each in found(root) if "TDL101" in each] == expected
    assert found(root, "TDL101") == LEFT


def test_a_transform_that_is_a_layer_elsewhere(tmp_path: Path) -> None:
    net = """import torch
from matching import Matching

if __name__ == "__main__":
    net = torch.nn.Sequential(Matching([0.5]), torch.nn.Conv2d(3, 3, 3)).cuda()
    print(net(torch.ones(1, 3, 8, 8).cuda()))
"""
    root = application(tmp_path, matching=MATCHING, main=MAIN.format(lines=LISTED), net=net)
    assert found(root) == LEFT
