"""Copies to the CPU that are not waited for."""

from __future__ import annotations

from torchdevlint.flow.facts.common import Fact
from torchdevlint.model import Span


class ReadBeforeSync(Fact, frozen=True):
    """The CPU reads what a copy is still writing.

    `value` is the text of what is read at `at`; `copy` the call that copies without blocking, at `copied_at`, and
    `source` what says where it copies from.
    """

    value: str
    copy: str
    copied_at: Span
    source: str
