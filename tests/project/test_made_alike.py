"""Loads of a path that a function puts together of what it is given, after another one has saved to the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

ASKING = """import torch

def place():
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""
KEEPING = """import os
import torch

def keep(folder, net, name):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        torch.save(net.state_dict(), file)

def restore(folder, net, name):
    path = os.path.join(folder, name)
    net.load_state_dict(torch.load(path))
"""
MAIN = """import sys
import torch
from helper import place
from keeping import keep, restore

def main(folder):
    best, net = 9.0, torch.nn.Linear(3, 3).to(place())
    for epoch in range(9):
        loss = net(torch.ones(3, device=place())).sum().item()
        if loss < best:
            best = loss
            keep(folder, net, "best")
    restore(net=net, folder=folder, name="best")

if __name__ == "__main__":
    main(sys.argv[1])
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="what was saved"),
        pytest.param('name="best"', 'name="last"', True, id="another name"),
        pytest.param("os.path.join(folder, name)\n    with", "os.path.join(name, folder)\n    with", True, id="apart"),
        pytest.param("    best, net", '    restore(folder, net, "best")\n    best, net', True, id="before as well"),
        pytest.param("    restore(net", "    folder = sys.argv[2]\n    restore(net", True, id="bound anew"),
        pytest.param('keep(folder, net, "best")', "print(best)", True, id="nothing is saved"),
    ],
)
def test_a_path_of_what_both_are_given(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    files = {"main": MAIN, "keeping": KEEPING}
    changed = {name: text.replace(old, new) if old else text for name, text in files.items()}
    assert not old or changed != files
    assert ("keeping.py:TDL201" in found(application(tmp_path, helper=ASKING, **changed))) is is_found


STOPPING = """import torch

class Stopping:
    def __init__(self, path):
        self.path = path
        self.best = 9.0

    def check(self, loss, net):
        if loss < self.best:
            self.best = loss
            self.keep(net)
        return loss > 99

    def keep(self, net):
        with open(self.path, "wb") as file:
            torch.save(net.state_dict(), file)

    def best_of(self, net):
        with open(self.path, "rb") as file:
            net.load_state_dict(torch.load(file))
"""
TRAINING = """import sys
import torch
from helper import place
from stopping import Stopping

class Training:
    def __init__(self, net, stopping):
        self.net = net.to(place())
        self.stopping = stopping

    def fit(self):
        for epoch in range(9):
            loss = self.net(torch.ones(3, device=place())).sum().item()
            if self.stopping.check(loss, self.net):
                break
        self.stopping.best_of(self.net)

if __name__ == "__main__":
    Training(torch.nn.Linear(3, 3), Stopping(sys.argv[1])).fit()
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="what was saved"),
        pytest.param("            self.keep(net)\n", "", True, id="nothing is saved"),
        pytest.param("self.stopping.best_of", "Stopping(sys.argv[2]).best_of", True, id="another object"),
    ],
)
def test_a_path_that_an_object_keeps_and_opens(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    files = {"main": TRAINING, "stopping": STOPPING}
    changed = {name: text.replace(old, new) if old else text for name, text in files.items()}
    assert not old or changed != files
    assert ("stopping.py:TDL201" in found(application(tmp_path, helper=ASKING, **changed))) is is_found


def test_a_traced_module_that_is_read_back(tmp_path: Path) -> None:
    """Methods that are called on what is loaded do not matter."""
    main = """import torch
from helper import place

net = torch.nn.Linear(3, 3).to(place())
torch.jit.save(torch.jit.trace(net, torch.ones(3, device=place())), "traced.pt")
print(torch.jit.load("traced.pt").eval().cpu())
"""
    files = {"helper": ASKING, "one": "A = 1\n", "two": "B = 1\n", "three": "C = 1\n"}
    root = application(tmp_path, main=main, **files)
    assert found(root) == []
    (root / "main.py").write_text(main.replace('load("', 'load("un'))
    assert found(root) == ["main.py:TDL201"]
