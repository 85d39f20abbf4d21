"""What begins in code that no program comes to, wherever it leads; and names that notebooks say of libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application, notebook
from tests.project.test_ways import ASKING, found, inside

__all__ = ["inside"]

LAYERS = """import torch
from torch import nn

class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x, state):
        return self.layer(x) + state
"""
MODULES = """import torch
from torch import nn
from layers import Cell

class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell()

    def forward(self, x):
        return self.cell(x, torch.zeros(x.shape[0], 3, device=x.device))

class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell()

    def forward(self, x):
        return self.cell(x, torch.zeros(x.shape[0], 3))
"""
MAIN = """import torch
from helper import place
from modules import Plain

def main(loader):
    net = Plain().to(place())
    for x in loader:
        print(net(x.to(place())).sum().item())

if __name__ == "__main__":
    main(torch.utils.data.DataLoader(range(8)))
"""


@pytest.mark.parametrize(
    ("old", "is_found"),
    [
        pytest.param("", False, id="a class that nobody builds"),
        pytest.param("Plain", True, id="a class that the program builds"),
    ],
)
def test_what_begins_in_a_class_and_meets_in_another_file(tmp_path: Path, old: str, is_found: bool) -> None:
    main = MAIN.replace(old, "Deep") if old else MAIN
    root = application(tmp_path, helper=ASKING, layers=LAYERS, modules=MODULES, main=main)
    assert ("modules.py:TDL003" in found(root)) is is_found
    assert "modules.py:TDL003" in found(root, "TDL003")


SHOWING = """import numpy as np
import torch

def show(x):
    print(np.transpose(x.cuda().numpy()))

def total(x):
    return x.sum()
"""


@pytest.mark.parametrize(
    ("cell", "is_found"),
    [
        pytest.param("import matplotlib.pyplot as plt\nplt.show()\n", False, id="of a library"),
        pytest.param("from showing import show\nshow(total(place()))\n", True, id="of the file"),
        pytest.param("import showing\nshowing.show(place())\n", True, id="of the module"),
        pytest.param("from showing import *\nshow(place())\n", True, id="by a star"),
    ],
)
def test_a_name_that_a_notebook_says(tmp_path: Path, cell: str, is_found: bool) -> None:
    main = "from helper import place\nfrom showing import total\n\nprint(total(place()))\n"
    root = application(tmp_path, helper=ASKING, showing=SHOWING, main=main, other="A = 1\n")
    (root / "try.ipynb").write_text(notebook("from helper import place\nfrom showing import total\n", cell))
    assert ("showing.py:TDL006" in found(root)) is is_found
