"""Transfers and waits that cost time and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from torchdevlint.flow.facts.common import Fact
from torchdevlint.model import Span


@dataclass(frozen=True, slots=True)
class FactoryThenMove(Fact):
    """``torch.zeros(3).to(device)``: made on the CPU, and copied.

    `factory` is the public name, `text` the factory's call, `move` the move, and `arguments` what the factory takes to
    make the tensor where it is needed.
    """

    at: Span
    factory: str
    text: str
    move: str
    arguments: str
    direct: bool
    """Whether the move follows the factory without another method between."""
