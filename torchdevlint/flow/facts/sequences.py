"""Sequences of different lengths."""

from __future__ import annotations

from torchdevlint.flow.facts.common import Fact, Operand


class LengthsOnAccelerator(Fact, frozen=True):
    """`pack_padded_sequence`, called as `call`, is given lengths that are on an accelerator.

    `surely` says that they are a tensor on all paths, and no list of numbers on some.
    """

    call: str
    lengths: Operand
    surely: bool
