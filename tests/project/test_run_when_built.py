"""Tensors that a method makes which constructors alone call: on the CPU, as the object is then."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import ASKING, found

TOKENS = """import torch
from torch import nn

class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(3, 3, 3)

    def length(self, size):
        return self.forward(torch.zeros(1, 3, size, size)).shape[1]

    def forward(self, x):
        return self.layer(x)

class Encoder(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.length = length

    def forward(self, x):
        return x[:, :self.length]
"""
NET = """from torch import nn
from tokens import Encoder, Tokens

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = Tokens()
        self.encoder = Encoder(self.tokens.length(32))

    def forward(self, x):
        return self.encoder(self.tokens(x))
"""
MAIN = """import torch
from helper import place
from net import Net

if __name__ == "__main__":
    net = Net().to(place())
    print(net(torch.ones(1, 3, 9, 9, device=place())))
"""


def test_a_method_that_a_constructor_calls(tmp_path: Path) -> None:
    root = application(tmp_path, helper=ASKING, tokens=TOKENS, net=NET, main=MAIN)
    assert found(root) == []
    assert found(root, "TDL003", "TDL014") == ["tokens.py:TDL003"]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        pytest.param("net", "self.tokens(x)", "self.tokens(x[:self.tokens.length(9)])", id="forward calls it too"),
        pytest.param("main", "    print", "    print(net.tokens.length(9))\n    print", id="a program calls it too"),
        pytest.param("net", "self.tokens = Tokens()", "self.tokens = Tokens().cuda()", id="it was moved before"),
        pytest.param("main", "    print", "    print(map(net.tokens.length, (9,)))\n    print", id="it is handed on"),
        pytest.param("main", "    print", "    print(getattr(net.tokens, 'length')(9))\n    print", id="by its text"),
    ],
)
def test_a_method_that_others_call(tmp_path: Path, name: str, old: str, new: str) -> None:
    files = {"helper": ASKING, "tokens": TOKENS, "net": NET, "main": MAIN}
    assert old in files[name]
    root = application(tmp_path, **{**files, name: files[name].replace(old, new)})
    assert "tokens.py:TDL003" in found(root)
