"""A literal CUDA beside a tensor, in programs that choose: what calls the code around it needs CUDA, or may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

MAIN = """import argparse
import torch
from nets import Net
from training import Trainer, validate

def main():
    args = argparse.ArgumentParser().parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = Net().to(device)
    trainer = Trainer(net, device)
    for x, y in args.loader:
        trainer.step(x, y)
    print(validate(net, args.loader, device))

if __name__ == "__main__":
    main()
"""
NETS = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)
"""
LOSSES = """import torch
from torch import nn

class Smooth(nn.Module):
    def forward(self, x):
        ramp = torch.arange(x.shape[1]).cuda()
        return (x * ramp).mean()
"""
TRAINING = """import torch
from losses import Smooth

class Trainer:
    def __init__(self, net, device):
        self.net = net
        self.device = device
        self.smooth = Smooth()

    def step(self, x, y):
        loss = self.measured(x.to(self.device), y.to(self.device))
        loss.backward()

    def measured(self, x, y):
        gap = (y.cuda() - x).abs().mean()
        return gap + self.smooth(self.net(x))

def validate(net, loader, device):
    return [net(x.to(device)).sum() for x, _ in loader]
"""


def programs(root: Path, **changed: str) -> Path:
    files = {"main": MAIN, "nets": NETS, "losses": LOSSES, "training": TRAINING, "names": "FIRST = 'a'\n"}
    return application(root, **{**files, **changed})


@pytest.mark.parametrize("kept", ["self.smooth", "self.parts['smooth']"])
def test_what_keeps_an_object_calls_it(tmp_path: Path, kept: str) -> None:
    """`Trainer` makes the loss in its constructor; the method that calls it sends its targets to CUDA in any case."""
    root = programs(
        tmp_path,
        training=TRAINING.replace("self.smooth", kept).replace("self.net =", "self.parts = {}\n        self.net ="),
    )
    assert "losses.py:TDL012" not in found(root)
    assert "losses.py:TDL012" in found(root, "TDL012")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("y.cuda() - x", "y - x"),
        ("y.cuda() - x", "y.to(self.device).cuda() - x"),
        ("y.cuda() - x", "(y.cuda() if y.is_cuda else y) - x"),
        ("y.cuda() - x", "torch.zeros(3).cuda() - x"),
        ("y.cuda() - x", "y.to('cuda:1') - x"),
        (
            "\ndef validate",
            "\n    def eased(self, x):\n        return self.smooth(x)\n\ndef validate",
        ),
    ],
    ids=[
        "nothing needs it",
        "beside a device that was chosen",
        "under a question",
        "for a tensor that is made there",
        "another GPU",
        "another method calls it too",
    ],
)
def test_one_of_those_that_call_it_may_be_elsewhere(tmp_path: Path, old: str, new: str) -> None:
    root = programs(tmp_path, training=TRAINING.replace(old, new))
    assert "losses.py:TDL012" in found(root)


PROBE = """import torch
from losses import Smooth

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
smooth = Smooth().to(device)
print(smooth(torch.ones(2, 3).to(device)))
"""


def test_another_program_calls_it(tmp_path: Path) -> None:
    root = programs(tmp_path, probe=PROBE)
    assert "losses.py:TDL012" in found(root)
    (root / "probe.py").write_text(PROBE.replace("device)", "'cuda')"))
    assert "losses.py:TDL012" not in found(root)


CALLED = """import torch

def spread(x, y):
    return torch.cdist(x.cuda(), y.cuda())
"""
MIXING = """import torch
from torch import nn
from spreads import spread

class Mixed(nn.Module):
    def forward(self, x, y):
        far = spread(x, y)
        return far * torch.arange(x.shape[1]).cuda() * x
"""
MIXED_TRAINING = TRAINING.replace("losses", "mixing").replace("Smooth", "Mixed").replace("y.cuda()", "y")


@pytest.mark.parametrize(
    ("called", "is_found"),
    [
        (CALLED, False),
        (CALLED.replace(".cuda()", ""), True),
        (CALLED.replace("x.cuda()", "x").replace("y.cuda()", "y.to(x.device)"), True),
    ],
    ids=["sends all to CUDA", "sends nothing", "follows an argument"],
)
def test_what_the_function_calls_needs_cuda(tmp_path: Path, called: str, is_found: bool) -> None:
    root = programs(tmp_path, training=MIXED_TRAINING, mixing=MIXING, spreads=called, losses="")
    assert ("mixing.py:TDL012" in found(root)) == is_found


ASKING = """import torch
from torch import nn

class Smooth(nn.Module):
    def forward(self, x):
        ramp = torch.arange(x.shape[1])
        if (torch.cuda.is_available()):
            ramp = ramp.cuda()
        return (x * ramp).mean()
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("if torch.cuda.is_available() else", "if not args.no_cuda else", True),
        ('"cuda" if', '"cuda:1" if', True),
    ],
    ids=["by the same question", "by an option", "another GPU"],
)
def test_what_is_run_where_cuda_was_found(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    """It is right wherever the program chooses by the same question alone."""
    training = TRAINING.replace("y.cuda()", "y")
    root = programs(tmp_path, training=training, losses=ASKING, main=MAIN.replace(old, new))
    assert ("losses.py:TDL012" in found(root)) == is_found
