"""Transfers and waits that cost time and nothing else."""

from __future__ import annotations

from torchdevlint.flow.facts.common import Fact
from torchdevlint.model import Span


class FactoryThenMove(Fact, frozen=True):
    """``torch.zeros(3).to(device)``: made on the CPU, and copied.

    `factory` is the public name, `text` the factory's call at `made_at`, `move` the move, which stands behind what is
    at `moved_at`, and `arguments` what the factory takes to make the tensor where it is needed. `clashes` says that it
    cannot take them all, as it is told another type, or the type is changed on the way, which alone is `converts`.
    """

    factory: str
    text: str
    move: str
    arguments: str
    direct: bool
    """Whether the move follows the factory without another method between."""
    made_at: Span
    moved_at: Span
    clashes: bool
    converts: bool


class WaitInStep(Fact, frozen=True):
    """A place where each training step waits for the accelerator.

    `text` is the call, `kind` is ``read`` (a value goes to the host), ``print``, ``cache`` or ``synchronize``, and
    `loop` the head of the loop of steps.
    """

    text: str
    kind: str
    loop: Span


class UnpinnedLoader(Fact, frozen=True):
    """A loader whose batches are moved to an accelerator from memory that is not pinned.

    `move` is the text of the first move of a batch, at `moved_at`; `asynchronous` whether it says ``non_blocking``.
    """

    move: str
    moved_at: Span
    asynchronous: bool


class RepeatedMove(Fact, frozen=True):
    """A tensor of the CPU that each round of a loop moves, though the loop changes neither it nor the device."""

    name: str
    text: str
    loop: Span
