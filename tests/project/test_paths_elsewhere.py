"""What another file does on some paths alone, with what this file gives it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_across_files import Files


@pytest.fixture
def project(tmp_path: Path) -> Files:
    return Files(tmp_path)


LAYERS = """
    import torch
    from torch import nn

    class Scores(nn.Module):
        def forward(self, q, k, mask=None, fast=False, bias=None):
            scores = q @ k
            USE
            return scores

    class Attention(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.proj = nn.Linear(size, size)
            self.scores = Scores()

        def forward(self, x, mask=None, fast=False):
            q = self.proj(x)
            return self.scores(q, q, mask=mask, fast=fast)
"""
NET = """
    import torch
    from torch import nn

    from layers import Attention

    class Net(nn.Module):
        def __init__(self, size, masked):
            super().__init__()
            self.attention = Attention(size)
            if masked:
                self.mask = torch.eye(size).bool()
            else:
                self.mask = None

        def forward(self, x, fast):
            if self.mask is None:
                return self.attention(x)
            return self.attention(x, mask=self.mask, fast=fast)
"""
BOTH = """
            if mask.dtype == torch.bool:
                scores.masked_fill_(mask, 0)
            else:
                scores += mask
"""
ONE = """
            if mask.dtype == torch.bool:
                scores.masked_fill_(mask, 0)
"""
GIVEN = """
            if mask is not None:
                scores = scores.masked_fill(mask, 0)
"""
CHOSEN = """
            if fast:
                scores = scores.masked_fill(mask, 0)
"""
MOVED = """
            if mask is not None:
                scores = scores.masked_fill(mask.to(scores.device), 0)
"""


def _files(use: str) -> dict[str, str]:
    return {"layers.py": LAYERS.replace("\n            USE", use.rstrip()), "net.py": NET}


@pytest.mark.parametrize("use", [GIVEN, BOTH])
def test_what_is_done_where_something_was_given_or_in_both_arms_counts(project: Files, use: str) -> None:
    assert project(_files(use))["net.py"] == {(11, "TDL101")}


@pytest.mark.parametrize("use", [ONE, CHOSEN, MOVED])
def test_what_is_done_in_one_arm_of_another_test_or_with_what_was_moved_does_not(project: Files, use: str) -> None:
    assert project(_files(use))["net.py"] == set()
