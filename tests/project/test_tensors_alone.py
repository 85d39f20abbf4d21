"""Arms for what is no tensor: advice where all calls in the project give tensors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

NET = """import numpy as np
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.loss = nn.MSELoss()

    def forward(self, x):
        if TEST:
            x = torch.from_numpy(x)
        return self.loss(self.layer(x.float()), torch.zeros(3, device=x.device))

    def residual(self, points):
        ahead = points.clone()
        return self.forward(ahead) + self.forward(points)
"""
MAIN = """import sys
import numpy as np
import torch
from net import Net

def main(env):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = Net().to(device)
    points = np.linspace(0, 1, 3)
    points = torch.from_numpy(points).to(device)
    start = torch.zeros(3)
    print(net.residual(points), net(start.to(device)), net(points[:3]))
    GIVEN

if __name__ == "__main__":
    main(sys.argv[1])
"""


def rows(root: Path, asked: str, given: str) -> int:
    application(root, net=NET.replace("TEST", asked), main=MAIN.replace("GIVEN", given))
    return found(root).count("net.py:TDL003")


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ("not torch.is_tensor(x)", 0),
        ("torch.is_tensor(x) != True", 0),
        ("not isinstance(x, torch.Tensor)", 0),
        ("isinstance(x, np.ndarray)", 0),
        ("len(x) > 3", 1),
    ],
)
def test_the_question(tmp_path: Path, asked: str, count: int) -> None:
    assert rows(tmp_path, asked, "print(device)") == count


@pytest.mark.parametrize(
    ("given", "count"),
    [
        pytest.param("print(net(torch.ones(3, device=device) * 2))", 0, id="made by torch"),
        pytest.param("print(net(np.ones(3)))", 1, id="an array"),
        pytest.param("print(net(env.reset()))", 1, id="nobody knows"),
        pytest.param("print(net.residual(env.reset()))", 1, id="by another method"),
        pytest.param("print(net(*env))", 1, id="behind a star"),
        pytest.param("print([each(env) for each in (net, net)])", 1, id="what may be the model"),
    ],
)
def test_what_calls_give(tmp_path: Path, given: str, count: int) -> None:
    assert rows(tmp_path, "not torch.is_tensor(x)", given) == count


@pytest.mark.parametrize(
    ("last", "count"),
    [
        pytest.param("points = torch.from_numpy(points).float()", 0, id="a tensor in the end"),
        pytest.param("points = torch.from_numpy(points)\npoints = points.numpy()", 1, id="an array in the end"),
        pytest.param("points = torch.from_numpy(points)\nfor points in env:\n    print(points)", 1, id="by a loop"),
    ],
)
def test_what_a_function_reads_of_the_top_level(tmp_path: Path, last: str, count: int) -> None:
    """Arrays become tensors under the same name, before anything is called that reads it."""
    top = (
        f"env = sys.argv\npoints = np.linspace(0, 1, 3)\n{last}\n\ndef shown(net):\n    return net(points)\n\ndef main"
    )
    main = MAIN.replace("def main", top).replace("    GIVEN", "    print(shown(net))")
    root = application(tmp_path, net=NET.replace("TEST", "not torch.is_tensor(x)"), main=main, other="")
    assert found(root).count("net.py:TDL003") == count
