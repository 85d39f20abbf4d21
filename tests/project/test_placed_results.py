"""States that a Module makes for its callers, who place them in other files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import ASKING, found, inside

__all__ = ["inside"]

NET = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 3)

    def init_hidden(self, size):
        return torch.zeros(1, size, 3)

    def forward(self, x, hidden):
        return self.rnn(x, hidden)
"""
MAIN = """import torch
from torch.utils._pytree import tree_map as each
from helper import place
from net import Net

def main(loader):
    net = Net().to(place())
    hidden = net.init_hidden(8)
    for x in loader:
        out, hidden = net(x.to(place()), hidden)
        print(out.sum().item())

if __name__ == "__main__":
    main(torch.utils.data.DataLoader(range(8)))
"""
PLACES, KEEPS = "lambda h: h.to(place())", "lambda h: h.detach()"


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", True, id="as it is made"),
        pytest.param("init_hidden(8)", "init_hidden(8).to(place())", False, id="moved at once"),
        pytest.param("    for x", "    hidden = hidden.to(place())\n    for x", False, id="moved later"),
        pytest.param("    for x", f"    hidden = each({PLACES}, hidden)\n    for x", False, id="moved by parts"),
        pytest.param("    for x", f"    hidden = each({KEEPS}, hidden)\n    for x", True, id="mapped alone"),
        pytest.param("net.init_hidden(8)", "getattr(net, 'init_hidden')(8)", False, id="got by a text"),
        pytest.param("place()), hidden)", "place()), hidden.detach())", True, id="another method"),
    ],
)
def test_a_state_that_callers_place(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    assert old in MAIN
    root = application(tmp_path, helper=ASKING, net=NET, main=MAIN.replace(old, new) if old else MAIN)
    assert ("net.py:TDL003" in found(root)) is is_found
