"""What several processes do with one accelerator."""

from __future__ import annotations

from dataclasses import dataclass

from torchdevlint.flow.facts.common import Fact
from torchdevlint.model import Span


@dataclass(frozen=True, slots=True)
class AcceleratorInWorker(Fact):
    """What the workers of a loader run uses an accelerator, or reads data that is there already.

    `text` is the call that does, or that put the data there, `stored` whether that was done beforehand, `function` what
    workers run (``Frames.__getitem__``; empty for data that a loader is given as it is), `loader_at` the loader.
    """

    at: Span
    text: str
    function: str
    stored: bool
    loader_at: Span
