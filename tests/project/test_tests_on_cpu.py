"""Tests that name the CPU at the top of their file, for all that they do: advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_published_files import application as written
from tests.project.test_ways import found, inside

__all__ = ["inside"]

TEST = """import os
import torch
from context import Context

CONTEXT = Context(device="cpu")

def test_sum():
    placed = torch.ones(4).to(CONTEXT.device)
    assert (placed + torch.ones(4)).shape == (4,)
"""
CONTEXT = """from pydantic import BaseModel

class Context(BaseModel):
    device: str
"""
FOUND = ["test_sum.py:TDL014"]


@pytest.mark.parametrize(
    ("name", "test", "expected"),
    [
        pytest.param("test_sum", TEST, [], id="the CPU"),
        pytest.param("test_sum", TEST.replace('"cpu"', 'torch.device("cpu")'), [], id="as a device"),
        pytest.param("test_sum", TEST.replace('"cpu"', 'os.environ["PLACE"]'), FOUND, id="from outside"),
        pytest.param("test_sum", f"{TEST}\ndef test_more():\n    torch.ones(2).cuda()\n", FOUND, id="and a GPU"),
        pytest.param("test_sum", TEST.replace("test_sum()", "test_sum(device)"), FOUND, id="and a fixture"),
        pytest.param(
            "test_sum", TEST.replace("Context\n", "Context\nfrom places import device\n", 1), FOUND, id="and another"
        ),
        pytest.param("sum", TEST, ["sum.py:TDL014"], id="no test"),
    ],
)
def test_a_constant(tmp_path: Path, name: str, test: str, expected: list[str]) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "sizes"\nversion = "1"\n')
    written(tmp_path, context=CONTEXT, **{name: test})
    assert found(tmp_path) == expected


ACTING = """import torch
import pendulum
from torch import nn

class World:
    def __init__(self):
        self.inner = pendulum.make()

    def step(self, action):
        return torch.tensor(self.inner.step(action[0].detach().numpy()))

def play():
    world, actor = World(), nn.Linear(3, 1)
    return world.step(actor(torch.ones(1, 3)))

def test_play():
    assert play().shape == (3,)
"""
READ = ["test_play.py:TDL006"]
FIXTURE = "import pytest\n\n@pytest.fixture\ndef place(request):\n    return request.param\n"


@pytest.mark.parametrize(
    ("test", "others", "expected"),
    [
        pytest.param(ACTING, {}, [], id="nothing of devices"),
        pytest.param(ACTING, {"conftest": FIXTURE}, [], id="nor in fixtures"),
        pytest.param(ACTING, {"conftest": FIXTURE.replace("param", "device")}, READ, id="a fixture"),
        pytest.param(ACTING.replace("play():", "play(device=None):"), {}, READ, id="an option"),
        pytest.param(ACTING.replace("nn.Linear(3, 1)", "nn.Linear(3, 1).to(PLACE)"), {}, READ, id="a move"),
        pytest.param(ACTING, {"test_gpu": "from test_play import World\n"}, READ, id="others import it"),
    ],
)
def test_that_says_nothing_of_devices(tmp_path: Path, test: str, others: dict[str, str], expected: list[str]) -> None:
    """What a test hands to functions of its own is where it was made, be it of a library."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "acting"\nversion = "1"\n')
    written(tmp_path, test_play=test, **others)
    assert found(tmp_path) == expected


def test_what_they_give_to_others(tmp_path: Path) -> None:
    """What meets in another file meets on the CPU as well."""
    net = "import torch\n\ndef add(x, device):\n    return x.to(device) + torch.ones(4)\n"
    test = 'import torch\nfrom net import add\n\nDEVICE = "cpu"\n\ndef test_add():\n    add(torch.ones(4), DEVICE)\n'
    written(tmp_path, net=net, test_add=test)
    assert not [each for each in found(tmp_path) if each.startswith("test_add")]


TRY = """import sys
import torch

device = "cpu"
net = torch.nn.Linear(4, 4)
net.load_state_dict(torch.load(sys.argv[1]))
print(net(torch.ones(4).to(device)))
"""
TRAIN = """import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
net = torch.nn.Linear(4, 4).to(device)
torch.save(net.state_dict(), "net.pt")
"""


def test_a_file_from_elsewhere(tmp_path: Path) -> None:
    """On the CPU a checkpoint of a GPU is what cannot be read, unless it is said where to."""
    written(tmp_path, test_folder=TRY, train=TRAIN)
    assert found(tmp_path) == ["test_folder.py:TDL201"]
