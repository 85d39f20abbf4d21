"""Arms of tests that no call of an application takes, and what is only called in such: advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import ASKING, found

RENDERING = """import torch

def render(density, noise=0.0, test=False):
    if noise > 0.0:
        density = density.unsqueeze(0) + torch.randn(3)
    return density.relu()

class Net(torch.nn.Module):
    def __init__(self, width, pooled=True, tuned=False):
        super().__init__()
        self.tuned = tuned
        self.layer = torch.nn.Linear(width, 3)
        if not pooled:
            self.other = Spare()

    def forward(self, x):
        if self.tuned:
            x = x + torch.arange(3)
        return self.layer(x)

class Spare(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x) + torch.arange(3)
"""
MAIN = """import argparse
from helper import place
from rendering import Net, render

def main(args):
    net = Net(3, tuned=False).to(place())
    density = net(args.rays.to(place()))
    return render(density, 0), render(density, test=True)

if __name__ == "__main__":
    main(argparse.ArgumentParser().parse_args())
"""


def test_options_that_no_call_turns_on(tmp_path: Path) -> None:
    """The spare layers are only built where an option is off that no call turns off."""
    root = application(tmp_path, helper=ASKING, rendering=RENDERING, main=MAIN)
    assert found(root) == []
    assert set(found(root, "TDL003", "TDL014")) == {"rendering.py:TDL003", "rendering.py:TDL014"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("render(density, 0)", "render(density, 0.5)", "TDL014", id="one call turns it on"),
        pytest.param("render(density, 0)", "render(density, args.noise)", "TDL014", id="an option of the command line"),
        pytest.param("render(density, 0)", "render(density, **vars(args))", "TDL014", id="all that there is"),
        pytest.param("render(density, 0)", "map(render, density)", "TDL014", id="handed on"),
        pytest.param("tuned=False", "tuned=True", "TDL003", id="an attribute that is on"),
        pytest.param("    density", "    net.tuned = args.tuned\n    density", "TDL003", id="set from outside"),
        pytest.param("Net(3, ", "Net(3, args.pooled, ", "TDL003", id="built by an option"),
    ],
)
def test_options_that_are_turned_on(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in MAIN
    root = application(tmp_path, helper=ASKING, rendering=RENDERING, main=MAIN.replace(old, new))
    assert found(root) == [f"rendering.py:{expected}"]


def test_settings_of_a_program(tmp_path: Path) -> None:
    """What the top level of a program gives is there to be changed."""
    call = "from helper import place\nfrom rendering import render\n\nrender(place(), 0)\n"
    root = application(tmp_path, helper=ASKING, rendering=RENDERING, main=MAIN, other=call)
    assert found(root) == ["rendering.py:TDL014"]


def test_a_name_that_means_another_function(tmp_path: Path) -> None:
    """A copy of the function, or one that is imported from elsewhere, is none of its calls."""
    copy = "def render(density, noise):\n    return density\n\ndef plot(density):\n    return render(density, 0.5)\n"
    other = "from viewer import render\n\ndef show(density):\n    return render(density, 0.5)\n"
    root = application(tmp_path, helper=ASKING, rendering=RENDERING, main=MAIN, copied=copy, other=other)
    assert found(root) == []
