"""Definitions that a later one of the same name replaces before anybody could use them hurt nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import ASKING, found, inside

__all__ = ["inside"]

NETS = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x) + torch.arange(3)

BETWEEN
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)
"""
MAIN = """import torch
from helper import place
from nets import Net

if __name__ == "__main__":
    print(Net().to(place())(torch.ones(2, 3).to(place())))
"""


@pytest.mark.parametrize(
    ("between", "is_found"),
    [
        pytest.param("", False, id="replaced"),
        pytest.param("SIZE = 3\n", False, id="something else"),
        pytest.param("def build():\n    return Net()\n", False, id="read later"),
        pytest.param("First = Net\n", True, id="kept"),
        pytest.param("class Deep(Net):\n    pass\n", True, id="derived from"),
        pytest.param("class Pair:\n    first = Net\n", True, id="kept by a class"),
        pytest.param("def build(kind=Net):\n    return kind()\n", True, id="a default"),
        pytest.param("print(globals())\n", True, id="something is called"),
    ],
)
def test_a_class_that_is_defined_twice(tmp_path: Path, between: str, is_found: bool) -> None:
    nets = NETS.replace("BETWEEN", between)
    root = application(tmp_path, helper=ASKING, nets=nets, main=MAIN, a="", b="")
    assert ("nets.py:TDL003" in found(root)) is is_found
    assert "nets.py:TDL003" in found(root, "TDL003")
