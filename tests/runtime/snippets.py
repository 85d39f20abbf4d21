"""Snippets with one finding each: what `verify` says of them is told in `test_verify`."""

from __future__ import annotations

MISSING = "import nosuchlibrary\n"
"""In front of a snippet: it cannot be imported, so that only a slice of it can be run."""

FACTORY = """\
import torch


def total(x: torch.Tensor):
    return x + torch.ones(8)
"""
RNN = """\
import torch


class Net(torch.nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.rnn = torch.nn.LSTM(width, width)

    def forward(self, x):
        hidden = torch.zeros(1, x.size(1), 8)
        cell = torch.zeros(1, x.size(1), 8, device=x.device)
        y, _ = self.rnn(x, (hidden, cell))
        return y
"""
LEFT_BEHIND = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        x = self.linear(x)
        made = torch.zeros(x.shape[0], 3)
        made[:, 0] = x[:, 0]
        return made
"""
TWO_LITERALS = """\
import torch


def total():
    x = torch.ones(8).cuda()
    y = torch.ones(8, device="cpu")
    return x + y
"""
BATCH = """\
import torch


def train(model, loader, device):
    model.to(device)
    for x, y in loader:
        out = model(x)
        out.sum().backward()
"""
NUMPY = """\
import torch


def plot(model: torch.nn.Module, device):
    model = model.to(device)
    x = torch.ones(8, 8).to(device)
    return model(x).detach().numpy()
"""
OTHER_DEVICE = """\
import torch


def place(x: torch.Tensor, device: torch.device):
    mask = torch.ones(8).cuda()
    return x.to(device) * mask
"""
UNREGISTERED = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(8)
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.linear(x) * self.scale
"""
DROPPED_MOVE = """\
import torch


def place(x: torch.Tensor, device: torch.device):
    x.to(device)
    return x
"""
DEAD_LOOP = """\
import torch


def place(batch: list[torch.Tensor], device: torch.device):
    for x in batch:
        x = x.to(device)
    return batch
"""
PLAIN_LIST = """\
import torch


class Net(torch.nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layers = [torch.nn.Linear(width, width) for _ in range(2)]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
MOVED_PARAMETER = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(3)).cuda()

    def forward(self, x):
        return x * self.scale
"""
LOAD = """\
import torch


def restore(model, path):
    model.load_state_dict(torch.load(path))
"""
WRAPPED = """\
import torch


def save(model: torch.nn.Module):
    model = torch.nn.DataParallel(model)
    torch.save(model.state_dict(), "model.pt")
"""
LATE = """\
import os

import torch

torch.zeros(3).cuda()
os.environ["CUDA_VISIBLE_DEVICES"] = "1"
"""
MISSPELT = """\
import os

os.environ["CUDA_VISIBLE_DEVICE"] = "1"
"""
NO_TEXT = """\
import os

os.environ["CUDA_VISIBLE_DEVICES"] = 1
"""
