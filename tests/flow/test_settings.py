"""What a team tells the inference about its own classes and helpers."""

from __future__ import annotations

import ast

from torchdevlint.config import Settings
from torchdevlint.flow.analyse import analyse
from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.source.text import Source

MODULE = """
import torch
from .base import Network

class Net(Network):
    def forward(self, x: torch.Tensor):
        return x + torch.zeros(3)
"""
HOOK = """
import torch
from team.training import Trainable

class Net(Trainable):
    def training_step(self, batch: torch.Tensor, index):
        return batch + torch.zeros(3)
"""
CONTAINER = """
import torch
from team.data import Graphs

def place(graphs: Graphs, device):
    graphs.to(device)
    return graphs.view(-1)
"""
HELPER = """
import torch
from torch import nn
from team.helpers import to_model

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x):
        noise = to_model(torch.randn(3))
        plain = torch.randn(3)
        return self.lin(x) + noise + plain
"""
DECIDED_BY_TORCH = """
import os
import torch

count = torch.cuda.device_count()
os.environ["CUDA_VISIBLE_DEVICES"] = "0"
"""


def facts(text: str, **settings: object) -> list[tuple[str, int]]:
    tree = ast.parse(text)
    source = Source(text, tree)
    found = analyse(tree, source, Settings(**settings))  # type: ignore[arg-type]
    places = [fact.creations[0].span if isinstance(fact, MixedDevices) else fact.at for fact in found]
    return [(type(fact).__name__, place.row) for fact, place in zip(found, places, strict=True)]


def entries(text: str, **settings: object) -> list[str]:
    tree = ast.parse(text)
    source = Source(text, tree)
    found = analyse(tree, source, Settings(**settings))  # type: ignore[arg-type]
    return [fact.entry for fact in found if isinstance(fact, MixedDevices)]


def test_a_base_of_another_file_is_a_module_when_it_is_configured() -> None:
    text = MODULE.replace("Network", "Thing")
    assert entries(text) == ["function"]
    assert entries(text, module_bases=("team.models.base.Thing",)) == ["forward"]


def test_hooks_of_a_base_that_manages_devices_are_called_where_the_model_is() -> None:
    assert entries(HOOK) == ["function"]
    assert entries(HOOK, device_managed_bases=("team.training.Trainable",)) == ["forward"]


def test_a_container_that_moves_in_place_is_no_tensor() -> None:
    assert facts(CONTAINER) == [("DiscardedMove", 6)]
    assert facts(CONTAINER, in_place_movers=("team.data.Graphs",)) == []


def test_a_helper_that_moves_its_argument() -> None:
    assert facts(HELPER, batch_movers=("team.helpers.to_model",)) == [("MixedDevices", 13)]


def test_the_oldest_torch_decides_what_counting_devices_does() -> None:
    assert facts(DECIDED_BY_TORCH) == []
    assert facts(DECIDED_BY_TORCH, target_torch="2.3") == [("LateVisibleDevices", 6)]
