"""Moves that are run only where CUDA was found, beside a weight; notebooks of which a cell cannot be parsed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application, notebook
from tests.project.test_ways import found, inside

__all__ = ["inside"]


GATHER = """import torch
import torch.distributed as dist

def gather(value, device):
    rows = torch.ones(len(value), device=device)
    return rows * torch.arange(3).cuda()
"""


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ((GATHER, "print(1)\n"), []),
        ((GATHER, "print(1)\n", "for row in range(1, 3):\n"), []),
        ((GATHER, "print(1)\n", "print(1,,)\n"), []),
        ((GATHER, "print(1)\n", "rows = (1,,)\n"), ["look.ipynb:TDL901"]),
        ((GATHER, "for row in range(1, 3):\n", "print(1)\n"), ["look.ipynb:TDL901"]),
        ((GATHER, "print(gather([1, 2, 3], 'cpu'))\n", "for row in range(1, 3):\n"), ["look.ipynb:TDL012"]),
    ],
)
def test_a_notebook_is_known_but_for_the_cells_that_cannot_be_parsed(
    tmp_path: Path, cells: tuple[str, ...], expected: list[str]
) -> None:
    root = application(tmp_path)
    (root / "look.ipynb").write_text(notebook(*cells))
    assert found(root) == expected


OWN_WEIGHT = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)

    def net(self, x):
        return self.layer(torch.cat([x, x], dim=1))

    def sample(self, count):
        x = torch.rand(count, 1)
        if torch.cuda.is_available():
            x = x.cuda()
        return x

    def train_all(self):
        return self.net(self.sample(8)).mean()
"""
MOVING = """import torch
from layers import Net

net = Net()
if torch.cuda.is_available():
    net.cuda()
print(net.train_all())
"""


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (MOVING, []),
        (MOVING.replace("net.cuda()", "net = net.cuda()"), []),
        (MOVING.replace("    net.cuda()", "    print('cuda')"), ["layers.py:TDL012"]),
        (MOVING.replace("net.cuda()", "net.cuda(int(input()))"), ["layers.py:TDL012"]),
    ],
)
def test_what_is_moved_if_there_is_cuda_meets_a_weight_where_all_programs_move_the_model_so(
    tmp_path: Path, other: str, expected: list[str]
) -> None:
    """The move and the weight need not stand in one function."""
    assert found(application(tmp_path, layers=OWN_WEIGHT, main=MOVING, other=other)) == expected
