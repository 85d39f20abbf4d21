"""What went well because a value of ours was on the accelerator refutes nothing; what the code says itself does."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.runtime.execute.bench import Bench, by_hand
from torchdevlint.runtime.verify.verdict import Rung, Verdict


class Program(NamedTuple):
    """`at` is what is flagged, `notes` what its notes point to, and `reason` why nothing is refuted, if nothing is."""

    code: str
    at: str
    notes: tuple[str, ...]
    text: str
    reason: str = ""


COPIED = """
import torch


def weighted(x: torch.Tensor, weights):
    weights = {made}
    return x * weights.unsqueeze(-1)
"""
TAUGHT = """
import copy

import torch
from torch import nn


def distil(net: nn.Module, x: torch.Tensor):
    {first}
    {second}
    return net(x) - teacher(x)
"""
MERGED = """
import torch
from torch import nn


class Merged(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(size, size))

    def merged(self, x: torch.Tensor):
        self.whole = {whole}
        return x @ self.whole
"""
MADE = """
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x


def train(model: nn.Module, x: torch.Tensor):
    return model(x)


def run(x):
    return train(Net(), x)
"""
COPY, MOVE = "teacher = copy.deepcopy(net)", 'net = net.to("cuda")'
PROGRAMS = {
    "a copy of an argument": Program(
        "TDL014", "torch.tensor(weights)", (), COPIED.format(made="torch.tensor(weights)"), "what is copied was"
    ),
    "a copy that says where it goes": Program(
        "TDL014", "torch.tensor(weights, device=x.device)", (),
        COPIED.format(made="torch.tensor(weights, device=x.device)"),
    ),
    "a copy of a model before that is moved": Program(
        "TDL004", "net(x) - teacher(x)", ("copy.deepcopy(net)",), TAUGHT.format(first=COPY, second=MOVE),
        "`net` was on the accelerator before the function moved it",
    ),
    "a copy of a model after that was moved": Program(
        "TDL004", "net(x) - teacher(x)", ("copy.deepcopy(net)",), TAUGHT.format(first=MOVE, second=COPY)
    ),
    "an attribute that is made of what was moved": Program(
        "TDL101", "self.weight + 1", (), MERGED.format(whole="self.weight + 1"), "after the Module was moved"
    ),
    "a Module of a class that took no part": Program(
        "TDL004", "model(x)", ("class Net(nn.Module):",), MADE, "no `Net` took part"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_our_values_put_right_is_not_refuted(bench: Bench, name: str) -> None:
    program = PROGRAMS[name]
    climbed = bench.climb(by_hand(bench.write(program.text), program.code, program.at, *program.notes))
    if not program.reason:
        assert climbed.judgement is not None
        assert climbed.judgement.verdict is Verdict.REFUTED
    else:
        assert climbed.judgement is None
        assert program.reason in dict(climbed.reasons)[Rung.SYNTHESISED]


HALF_MOVED = """\
import torch


class Batch:
    def __init__(self, source: torch.Tensor, target: torch.Tensor):
        self.source = source
        self.target = target

    def to(self, device):
        self.source = self.source.to(device)
        return self
"""


def test_what_stays_beside_what_is_moved_refutes_nothing(bench: Bench) -> None:
    climbed = bench.climb(bench.finding(HALF_MOVED))
    assert climbed.judgement is None
    assert "something else that it returns is not on the accelerator" in dict(climbed.reasons)[Rung.SYNTHESISED]


WRAPPED = """\
import torch
from torch import nn


def train(net: nn.Module, path):
    if torch.cuda.device_count() > 1:
        net = nn.DataParallel(net)
    torch.save(net.state_dict(), path)
"""


@pytest.mark.parametrize("accelerators", [1, 2])
def test_a_wrapper_for_several_gpus_takes_several(bench: Bench, accelerators: int) -> None:
    climbed = bench.climb(bench.finding(WRAPPED), accelerators=accelerators)
    if accelerators > 1:
        assert climbed.judgement is not None
        assert climbed.judgement.verdict is Verdict.CONFIRMED
    else:
        assert climbed.judgement is None
