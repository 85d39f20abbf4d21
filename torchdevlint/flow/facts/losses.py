"""Losses and metrics."""

from __future__ import annotations

from torchdevlint.flow.facts.common import Fact, Operand
from torchdevlint.model import Span


class LossNotMoved(Fact, frozen=True):
    """A loss with a weight, or a metric, that nothing moves, and that is called with tensors of an accelerator.

    `class_name` is the public name of what is made at `at`, `made` its text; `weight` the argument that a loss keeps,
    and `weight_evidence` where that comes from; `used` and `used_at` the call; `target` the text of the device that it
    has to be moved to, or empty where no short expression says it; `bound` whether its names are surely bound at `at`.
    """

    class_name: str
    made: str
    weight: str | None
    weight_evidence: tuple[tuple[str, Span], ...]
    used: str
    used_at: Span
    other: Operand
    target: str
    bound: bool = False
