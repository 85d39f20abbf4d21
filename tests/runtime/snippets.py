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
TABLE = """\
import torch


def look_up(device: torch.device):
    table = torch.eye(8)
    rows = torch.arange(4).to(device)
    return table[rows]
"""
TOTAL = """\
import torch


def mean_loss(model: torch.nn.Module, device: torch.device):
    model = model.to(device)
    total = torch.tensor(0.0)
    for _ in range(3):
        total += model(torch.ones(8, 8, device=device)).sum()
    return total
"""
LEGACY = """\
import torch


def total():
    x = torch.ones(8).cuda()
    return x + torch.ones(8).cuda().type(torch.FloatTensor)
"""
CRITERION = """\
import torch


def train(device: torch.device):
    model = torch.nn.Linear(8, 2).to(device)
    criterion = torch.nn.CrossEntropyLoss(weight=torch.tensor([1.0, 3.0]))
    x = torch.ones(4, 8, device=device)
    y = torch.zeros(4, dtype=torch.long, device=device)
    return criterion(model(x), y)
"""
LENGTHS = """\
import torch
from torch.nn.utils.rnn import pack_padded_sequence


def pack(device: torch.device):
    x = torch.ones(4, 3, 2, device=device)
    lengths = torch.tensor([3, 2, 2, 1], device=device)
    return pack_padded_sequence(x, lengths, batch_first=True)
"""
BUILT_IN_FORWARD = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 8)

    def forward(self, x):
        x = self.first(x)
        return torch.nn.Linear(8, 8)(x)
"""
PARALLEL = """\
import torch


def train():
    model = torch.nn.DataParallel(torch.nn.Linear(8, 2))
    return model(torch.ones(4, 8).cuda())
"""
NOT_HANDED_ON = """\
import torch


def mask(size, device=None):
    return torch.ones(size, size)
"""
NO_LEAF = """\
import torch


def fit(device: torch.device):
    w = torch.zeros(3, requires_grad=True).to(device)
    return torch.optim.SGD([w], lr=0.1)
"""
NO_DEVICE = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.linear(x) + torch.ones(8, device=self.device)
"""
NO_SUCH_DEVICE = """\
import torch


def place(x: torch.Tensor):
    return x.to("gpu")
"""
NUMBER = """\
import torch


def like(x: torch.Tensor):
    return torch.zeros(8, device=x.get_device())
"""
MAYBE_CPU = """\
import torch


def build():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.nn.Linear(8, 8).cuda(device)
"""
SHUFFLED = """\
import torch
from torch.utils.data import DataLoader, TensorDataset


def count():
    torch.set_default_device("cuda")
    return len(list(DataLoader(TensorDataset(torch.arange(4)), shuffle=True)))
"""
PINNED = """\
import torch


def buffer():
    return torch.ones(8, device="cuda").pin_memory()
"""
IN_REPLICAS = """\
import torch


class Net(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x) + torch.ones(8, device=next(self.parameters()).device)


def train():
    model = torch.nn.DataParallel(Net(8, 8).cuda())
    return model(torch.ones(8, 8).cuda())
"""
GATHERED = """\
import torch


class Scored(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x).mean()


def train():
    model = torch.nn.DataParallel(Scored(8, 8).cuda())
    model(torch.ones(8, 8).cuda()).backward()
"""
WRAPPED_NAMES = """\
import torch


class Net(torch.nn.Linear):
    names = ["cat", "dog"]


def names():
    return torch.nn.DataParallel(Net(2, 2)).names
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
ASKED = """\
import torch


def on_host(x: torch.Tensor):
    if x.device == "cuda":
        x = x.cpu()
    return x
"""
GIVES_NOTHING = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def to(self, device):
        super().to(device)
"""
