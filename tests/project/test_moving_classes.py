"""Names and attributes that are told to move: they may be of a class of the project whose `to` moves in place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

ACTOR = """import torch

class Agent:
    def __init__(self, dynamics, policy):
        self.dynamics, self.policy = dynamics, policy

    def reset(self, device):
        self.state = self.dynamics.first(1)
        self.action = torch.zeros(1, 3)
        self.state.to(device)
        self.action = self.action.to(device)

    def __call__(self, x):
        self.action = self.policy(x, self.state)
        return self.action
"""
STATE = """from dataclasses import dataclass
import torch

@dataclass
class State:
    mean: torch.Tensor

    def {method}(self, device):
        for name, value in self.__dict__.items():
            {moves}
"""
MAIN = "from actor import Agent\nimport state\n\nAgent(None, None).reset('cuda')\n"


@pytest.mark.parametrize(
    ("method", "moves", "expected"),
    [
        ("to", "setattr(self, name, value.to(device))", []),
        ("to", "self.mean = self.mean.to(device)", []),
        ("to", "print(name, value.to(device))", []),
        ("to", "return State(value.to(device))", ["actor.py:TDL001"]),
        ("to", "raise NotImplementedError", []),
        ("moved", "setattr(self, name, value.to(device))", ["actor.py:TDL001"]),
    ],
)
def test_an_attribute_may_be_of_a_class_that_moves_in_place(
    tmp_path: Path, method: str, moves: str, expected: list[str]
) -> None:
    state = STATE.format(method=method, moves=moves)
    assert found(application(tmp_path, actor=ACTOR, state=state, main=MAIN)) == expected


def test_a_module_moves_what_it_keeps_itself(tmp_path: Path) -> None:
    state = STATE.format(method="to", moves="self.mean = value.to(device)")
    state = state.replace("class State:", "class State(torch.nn.Module):")
    assert "actor.py:TDL001" in found(application(tmp_path, actor=ACTOR, state=state, main=MAIN))


STEP = """import torch

def step(net, batch, config, device):
    rays = batch.rays
    if config.lazy:
        rays = batch.flat.to(device)
    else:
        rays.to(device)
    return net(rays) * rays.sum(0)
"""
RAYS = """from dataclasses import dataclass, fields
import torch

@dataclass
class Rays:
    origins: torch.Tensor

    def {other}(self, axis):
        return self.origins.sum(axis)

    def {method}(self, device):
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name).to(device))
"""


@pytest.mark.parametrize(
    ("method", "other", "expected"),
    [("to", "sum", []), ("moved", "sum", ["step.py:TDL001"]), ("to", "total", ["step.py:TDL001"])],
)
def test_a_name_may_be_of_a_class_that_moves_in_place(
    tmp_path: Path, method: str, other: str, expected: list[str]
) -> None:
    """Not where it is asked for something that the class does not have."""
    main = "import rays\nimport torch\nfrom step import step\n\nstep(torch.nn.Linear(3, 3), None, None, 'cuda')\n"
    written = application(tmp_path, step=STEP, rays=RAYS.format(method=method, other=other), main=main)
    assert found(written) == expected


@pytest.mark.parametrize(
    ("given", "taken", "expected"),
    [
        ("device", "device", []),
        ("device, non_blocking=True", "device", ["step.py:TDL001"]),
        ("device, non_blocking=True", "device, non_blocking=False", []),
        ("device, non_blocking=True", "*args, **kwargs", []),
        ("device, torch.float32", "device", ["step.py:TDL001"]),
        ("*config", "device", []),
    ],
)
def test_a_class_that_moves_in_place_takes_what_the_move_is_given(
    tmp_path: Path, given: str, taken: str, expected: list[str]
) -> None:
    """A method that would raise TypeError is not the one that is called."""
    rays = RAYS.format(method="to", other="sum").replace("def to(self, device):", f"def to(self, {taken}):")
    step = STEP.replace("rays.to(device)", f"rays.to({given})")
    main = "import rays\nimport torch\nfrom step import step\n\nstep(torch.nn.Linear(3, 3), None, None, 'cuda')\n"
    assert found(application(tmp_path, step=step, rays=rays, main=main)) == expected
