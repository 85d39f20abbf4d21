"""Sequences of different lengths."""

from __future__ import annotations

from torchdevlint.flow.facts.common import Fact, Operand


class LengthsOnAccelerator(Fact, frozen=True):
    """`pack_padded_sequence`, called as `call`, is given lengths that are on an accelerator."""

    call: str
    lengths: Operand
