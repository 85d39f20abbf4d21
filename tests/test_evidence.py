"""Every report on two devices says where each side got its own: here in the facts, in `test_cases` in what is shown."""

from __future__ import annotations

import pytest

from tests.casefile import Case, read_cases
from tests.conftest import HoldAll
from tests.flow.snippets import facts_of
from torchdevlint.flow.facts.tensors import BatchNotMoved, MixedDevices, ReadOnHost

ABOUT_TWO_DEVICES = ("TDL003", "TDL004", "TDL005", "TDL006", "TDL014", "TDL101")
HITS = [case for case in read_cases() if any(code in ABOUT_TWO_DEVICES for _, code in case.want)]


@pytest.mark.parametrize("rule", sorted({case.rule for case in HITS}))
def test_both_sides_say_where_they_got_their_device(rule: str, hold_all: HoldAll) -> None:
    hold_all([case for case in HITS if case.rule == rule], both_sides_say_where_they_got_their_device)


def both_sides_say_where_they_got_their_device(case: Case) -> None:
    kinds = (MixedDevices, BatchNotMoved, ReadOnHost)
    facts = [each for each in facts_of(case.code, head="") if isinstance(each, kinds)]
    assert facts
    for fact in facts:
        if isinstance(fact, MixedDevices):
            assert fact.creations or fact.stayed.evidence, f"{case.file}:{case.row}: {fact.stayed}"
            assert fact.other.evidence, f"{case.file}:{case.row}: {fact.other}"
        elif isinstance(fact, BatchNotMoved):
            assert fact.other.evidence, f"{case.file}:{case.row}: {fact.other}"
        else:
            assert fact.value.evidence, f"{case.file}:{case.row}: {fact.value}"


def test_a_batch_says_which_other_part_of_it_is_moved() -> None:
    code = """
import torch
from torch import nn


def train(loader, model, criterion: nn.CrossEntropyLoss, device):
    model.to(device)
    for images, target in loader:
        images = images.to(device)
        loss = criterion(model(images), target)
"""
    (fact,) = (each for each in facts_of(code, head="") if isinstance(each, BatchNotMoved))
    assert fact.beside is not None
    name, span = fact.beside
    assert (name, span.row) == ("images", 9)
