"""Sequences of different lengths."""

from __future__ import annotations

from dataclasses import dataclass

from torchdevlint.flow.facts.common import Fact, Operand
from torchdevlint.model import Span


@dataclass(frozen=True, slots=True)
class LengthsOnAccelerator(Fact):
    """`pack_padded_sequence`, called as `call`, is given lengths that are on an accelerator."""

    at: Span
    call: str
    lengths: Operand
