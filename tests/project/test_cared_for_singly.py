"""Modules of a plain list that are moved and trained one by one, where nothing asks their Module as a whole: advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import ASKING, found, inside
from torchdevlint.project import tree

__all__ = ["inside"]

CRITICS = """import torch
from helper import place
from torch import nn, optim

class Critics(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.nets = []
        self.optimizers = []
        for number in range(count):
            self.nets.append(nn.Linear(3, 1))
            self.nets[number].to(place())
            self.optimizers.append(optim.Adam(self.nets[number].parameters(), 0.1))

    def forward(self, x):
        return [net(x) for net in self.nets]

    def update(self, x):
        for optimizer, value in zip(self.optimizers, self(x)):
            optimizer.zero_grad()
            value.sum().backward()
            optimizer.step()
"""
AGENT = """from critics import Critics

class Other:
    def __init__(self):
        self.critic = None

    def train(self):
        self.critic.eval()

class Agent:
    def __init__(self, count):
        self.critic = Critics(count)

    def train(self, x):
        self.critic.update(x)
        return self.critic(x)
"""
MAIN = """import torch
from agent import Agent
from helper import place

def main():
    agent = Agent(2)
    agent.train(torch.ones(2, 3, device=place()))

if __name__ == "__main__":
    main()
"""


def reported(root: Path, critics: str = CRITICS, agent: str = AGENT, main: str = MAIN) -> bool:
    return "critics.py:TDL102" in found(application(root, helper=ASKING, critics=critics, agent=agent, main=main))


def test_modules_that_are_cared_for_one_by_one(tmp_path: Path) -> None:
    root = application(tmp_path, helper=ASKING, critics=CRITICS, agent=AGENT, main=MAIN)
    assert found(root) == []
    assert found(root, "TDL102") == ["critics.py:TDL102"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("            self.nets[number].to(place())\n", ""),
        ("self.nets[number].parameters()", "self.parameters()"),
        ("            optimizer.step()", "            optimizer.step()\n        return self.state_dict()"),
        ("            optimizer.step()", "            optimizer.step()\n        torch.save(self, 'critics.pt')"),
        ("    def forward", "    def train(self, mode=True):\n        return super().train(mode)\n\n    def forward"),
        ("class Critics(nn.Module)", "class Base(nn.Module):\n    def a(self): self.apply(a)\n\nclass Critics(Base)"),
        ("class Critics(nn.Module)", "from lightning import LightningModule\n\nclass Critics(LightningModule)"),
    ],
    ids=["none is moved", "trained together", "saved", "handed on", "by its base", "in its base", "a base of others"],
)
def test_a_class_that_asks_itself(tmp_path: Path, old: str, new: str) -> None:
    assert old in CRITICS
    assert reported(tmp_path, CRITICS.replace(old, new))


LOOKING = """from critics import Critics
from strangers import evaluate

def look(net):
    print(net)
    return net is None

def save(count, it):
    return it.state_dict()

def build(count):
    kind = Critics
    made = kind(count)
    return made
"""
FURTHER = """class Further(Critics):
    def size(self):
        return len(list(self.parameters()))
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("return self.critic(x)", "self.critic.eval()", True, id="asked"),
        pytest.param("return self.critic(x)", "return self.critic", True, id="given by a method"),
        pytest.param("return self.critic(x)", "return [self.critic]", True, id="put away"),
        pytest.param("return self.critic(x)", "return evaluate(self.critic)", True, id="handed to a stranger"),
        pytest.param("return self.critic(x)", "return look(self.critic)", False, id="handed on"),
        pytest.param("return self.critic(x)", "return save(1, it=self.critic)", True, id="handed to what saves it"),
        pytest.param("= Critics(count)", "= Critics(count).to('cuda')", True, id="moved"),
        pytest.param("= Critics(count)", "= [Critics][0](count)", True, id="built somehow"),
        pytest.param("= Critics(count)", "= build(count)", False, id="built by a function"),
        pytest.param("class Agent", f"{FURTHER}\nclass Agent", True, id="derived from"),
    ],
)
def test_what_has_an_object_of_it(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    agent = f"from looking import build, evaluate, look, save\n{AGENT.replace(old, new)}"
    root = application(tmp_path, helper=ASKING, critics=CRITICS, looking=LOOKING, agent=agent, main=MAIN)
    assert ("critics.py:TDL102" in found(root)) is is_found


def test_another_program_asks_the_agent(tmp_path: Path) -> None:
    main = MAIN.replace("    agent.train", "    print(len(agent.critic.state_dict()))\n    agent.train")
    assert reported(tmp_path, main=main)


def test_a_configuration_may_name_the_class(tmp_path: Path) -> None:
    root = application(tmp_path, helper=ASKING, critics=CRITICS, agent=AGENT, main=MAIN)
    (root / "train.yaml").write_text("model: critics.Critics\n")
    tree.forget()
    assert "critics.py:TDL102" in found(root)
