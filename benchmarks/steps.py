"""The programs that `simulation.py` times: each makes what it needs on a device, and gives one step of its work.

Two are models of an ordinary kind, whose kernels take most of the time. The others are made of small operations, where
what is added to each of them counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[[], None]


def transformer(device: str) -> Step:
    """Two encoder layers of width 64 on 8 sequences of 32 tokens, cross entropy, AdamW."""
    import torch
    from torch import nn

    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    model = nn.Sequential(nn.Embedding(100, 64), nn.TransformerEncoder(layer, 2), nn.Linear(64, 100)).to(device)
    tokens = torch.randint(0, 100, (8, 32)).to(device)
    return _training(model, torch.optim.AdamW(model.parameters()), tokens, tokens.flatten())


def cnn(device: str) -> Step:
    """Two convolutions with batch normalisation on 8 images of 32 x 32, cross entropy, SGD with momentum."""
    import torch
    from torch import nn

    model = nn.Sequential(
        *(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1)),
        *(nn.Flatten(), nn.Linear(32, 10)),
    ).to(device)
    images, labels = torch.rand(8, 3, 32, 32).to(device), torch.randint(0, 10, (8,)).to(device)
    return _training(model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9), images, labels)


def mlp(device: str) -> Step:
    """Three layers of width 16 on 8 rows, cross entropy, SGD."""
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)).to(device)
    rows, labels = torch.rand(8, 16).to(device), torch.randint(0, 4, (8,)).to(device)
    return _training(model, torch.optim.SGD(model.parameters(), 0.1), rows, labels)


def lstm_cell(device: str) -> Step:
    """An LSTMCell of width 16 over 20 steps of 4 sequences, and the gradients of the sum of its outputs."""
    import torch
    from torch import nn

    cell = nn.LSTMCell(8, 16).to(device)
    sequence = torch.rand(20, 4, 8).to(device)
    start = torch.zeros(4, 16).to(device)

    def step() -> None:
        cell.zero_grad()
        hidden, memory = start, start
        outputs = []
        for row in sequence:
            hidden, memory = cell(row, (hidden, memory))
            outputs.append(hidden)
        torch.stack(outputs).sum().backward()

    return step


def indexing(device: str) -> Step:
    """Rows, columns, slices, masks and lists of indices of a table of 16 x 16, read and written in a loop."""
    import torch

    table, other = torch.rand(16, 16).to(device), torch.zeros(16, 16).to(device)
    chosen = torch.tensor([3, 1, 2]).to(device)

    def step() -> None:
        for number in range(16):
            row = table[number]
            other[number] = row
            other[:, number] = table[:, 0]
            other[number, 2:6] += row[1:5]
            other[chosen] = table[chosen]
            other[row > 0.5] = 0.0

    return step


def elementwise(device: str) -> Step:
    """Arithmetic of vectors of 16 numbers, without gradients."""
    import torch

    left, right = torch.rand(16).to(device), torch.rand(16).to(device)

    def step() -> None:
        value = left
        for _ in range(20):
            value = (value * right + left) / 2.0 - right
            value = torch.where(value > 0, value.exp(), value.abs()).clamp(0.0, 1.0)

    return step


def optimizer(device: str) -> Step:
    """A step of AdamW with 200 parameters of 16 numbers."""
    import torch

    parameters = [torch.rand(16).to(device).requires_grad_() for _ in range(200)]
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    chosen = torch.optim.AdamW(parameters, foreach=True)  # as on accelerators by default

    def step() -> None:
        chosen.step()

    return step


STEPS = {step.__name__: step for step in (transformer, cnn, mlp, lstm_cell, indexing, elementwise, optimizer)}


def _training(model: Any, optimizer: Any, inputs: Any, targets: Any) -> Step:
    from torch.nn import functional

    def step() -> None:
        optimizer.zero_grad()
        output = model(inputs)
        functional.cross_entropy(output.flatten(0, -2), targets).backward()
        optimizer.step()

    return step
