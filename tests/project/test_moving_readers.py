"""Lost moves of what each reader brings to the device itself, be it another function: advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

NET = """import torch

def features(rows, raw, device, window=2, table=None):
    if not raw:
        rows = torch.einsum("ab,bc->ac", (rows, table))
    total = torch.zeros(4, device=device)
    for step in range(len(rows)):
        if raw == True:
            total = total + torch.where(rows[step // window] > window, 1, 0).to(device)
    return total

def moved_first(rows, device):
    rows = rows.float().to(device)
    return rows * torch.ones(4, device=device)
"""
MAIN = """import torch
from torch.distributions import Uniform
from net import features, moved_first

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def own(rows, scale):
    print(rows.shape)
    return torch.ones(4, device=device) * rows.to(device) * scale

def main():
    kept = torch.zeros(8, 4, device=device)
    weight = torch.ones(4, device=device)
    for step in range(8):
        rows = torch.ones(4, 4)
        rows.to(device)
        {line}
    print(kept, weight)

if __name__ == "__main__":
    main()
"""
LOST = ["main.py:TDL001"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("print(features(rows, True, device))", [], id="in the arm that is taken"),
        pytest.param("print(features(rows, False, device, table=weight))", LOST, id="in another arm"),
        pytest.param("print(features(rows, step > 1, device))", LOST, id="perhaps"),
        pytest.param("print(moved_first(rows, device=device))", [], id="first of all"),
        pytest.param("print(own(rows, 2))", [], id="in the same file"),
        pytest.param("print(own(2, rows))", LOST, id="as another argument"),
        pytest.param("print(own(*rows))", LOST, id="whichever"),
        pytest.param("print(own(rows, 2), rows * weight)", LOST, id="and used besides"),
        pytest.param("kept[:4] = rows", [], id="copied into a slice"),
        pytest.param("kept[:4] = kept[rows[:, 0] > 0]", LOST, id="compared for an index"),
        pytest.param("kept[:4] = kept[rows[:, 0]]", [], id="an index"),
        pytest.param("kept[:4] = rows[kept]", LOST, id="indexed"),
        pytest.param("kept = rows", LOST, id="bound"),
        pytest.param("weight = weight + Uniform(low=-rows, high=rows).rsample().to(device)", [], id="with its sample"),
        pytest.param("weight = (weight * rows).to(device)", LOST, id="with another tensor"),
        pytest.param("weight = weight + rows.to(torch.float16)", LOST, id="converted"),
        pytest.param("weight = weight + rows[step].cuda()", [], id="a row of it"),
        pytest.param("print(len(rows), rows.shape)", [], id="counted"),
        pytest.param(
            "rows = torch.diag(1 / (rows[0] + 3)).to(device)\n        weight = weight @ rows", [], id="bound anew"
        ),
        pytest.param("eps = 1e-4\n        rows = (rows + eps).to(device)\n        print(rows * weight)", [], id="eps"),
        pytest.param(
            "eps = 1e-4\n        eps += weight\n        rows = (rows + eps).to(device)", LOST, id="what is added to"
        ),
        pytest.param("rows = rows + 1\n        weight = weight * rows", LOST, id="bound to what is not moved"),
        pytest.param(
            "if step:\n            rows = rows.to(device)\n        weight = weight * rows",
            LOST,
            id="bound anew perhaps",
        ),
    ],
)
def test_a_lost_move_that_all_readers_make(tmp_path: Path, line: str, expected: list[str]) -> None:
    root = application(tmp_path, net=NET, main=MAIN.format(line=line))
    assert [each for each in found(root) if "TDL001" in each] == expected
    assert "main.py:TDL001" in found(root, "TDL001")


KEPT = """import torch
from torch import nn

class Noise(nn.Module):
    def __init__(self, steps, device):
        super().__init__()
        self.device = device
        self.betas = torch.linspace(0.1, 0.2, 8)
        self.betas.to(device)
        self.alphas = 1.0 - self.betas
        self.bars = torch.cumprod(self.alphas, dim=0).to(device)

    def forward(self, x):
        return x * self.bars

    def shown(self, x):
        return x
"""
USING = """import torch
from kept import Noise

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def main():
    noise = Noise(8, device).to(device)
    x = torch.ones(8, device=device)
    print(noise(x), noise.shown(x))

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("return x\n", "return x.cpu()\n", [], id="made of it and moved"),
        pytest.param("return x\n", "return x * self.alphas.to(x.device)\n", [], id="moved by a method"),
        pytest.param("return x\n", "return x[:len(self.betas)]\n", [], id="asked for what all tensors tell"),
        pytest.param("return x\n", "return x * self.alphas\n", ["kept.py:TDL001"], id="needed there"),
        pytest.param("1.0 - self.betas", "steps - self.betas", ["kept.py:TDL001"], id="made of another thing"),
        pytest.param("dim=0).to(device)", "dim=0)", ["kept.py:TDL001"], id="moved by nobody"),
        pytest.param(
            "self.alphas = 1.0 - self.betas",
            "self.alphas = self.bars = 1.0 - self.betas",
            ["kept.py:TDL001"],
            id="kept twice",
        ),
    ],
)
def test_a_lost_move_of_what_an_object_keeps(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    root = application(tmp_path, kept=KEPT.replace(old, new), using=USING, other="")
    assert [each for each in found(root) if each.endswith("TDL001")] == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("print(", "print(noise.betas * x, ", ["kept.py:TDL001"], id="of the object"),
        pytest.param("print(", "print(getattr(noise, 'betas') * x, ", ["kept.py:TDL001"], id="by a text"),
        pytest.param(
            "def main",
            "class More(Noise):\n    def more(self, x):\n        return self.betas * x\n\ndef main",
            ["kept.py:TDL001"],
            id="of a class that is derived",
        ),
        pytest.param(
            "def main",
            "class Adam:\n    def more(self, x):\n        return self.betas\n\ndef main",
            [],
            id="of another class",
        ),
    ],
)
def test_who_else_reads_what_an_object_keeps(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    root = application(tmp_path, kept=KEPT, using=USING.replace(old, new), other="")
    assert [each for each in found(root) if each.endswith("TDL001")] == expected
