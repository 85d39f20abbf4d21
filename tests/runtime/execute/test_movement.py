"""A move whose result is dropped: where the tensor is after the statement, also where a comprehension moves it."""

from __future__ import annotations

import pytest

from tests.runtime.execute.bench import Bench
from torchdevlint.runtime.verify.verdict import Rung, Verdict

PLACED = """\
import torch


def place(batch: dict[str, torch.Tensor], device):
    {made}
    return batch
"""
COMPREHENSIONS = ("{k: v.to(device) for k, v in batch.items()}", "[v.to(device) for v in batch.values()]")


@pytest.mark.parametrize("made", COMPREHENSIONS)
def test_what_a_comprehension_moves_and_drops_stays(bench: Bench, made: str) -> None:
    """Python 3.12 runs it in the frame of its function, others in one of its own."""
    shown = bench.judgement(bench.finding(PLACED.format(made=made)))
    assert (shown.verdict, shown.rung) == (Verdict.CONFIRMED, Rung.SYNTHESISED)
    assert shown.evidence.observed == {"after the statement": "float32 on cpu", "what it made": "float32 on cuda:0"}
