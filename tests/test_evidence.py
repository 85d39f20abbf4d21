"""Every report on two devices says where each side got its own: in the facts, and in what the user reads."""

from __future__ import annotations

import pytest

from tests.casefile import Case, lint, read_cases, settings_for
from tests.flow.snippets import facts_of
from torchdevlint.flow.facts.tensors import BatchNotMoved, MixedDevices, ReadOnHost

ABOUT_TWO_DEVICES = ("TDL003", "TDL004", "TDL005", "TDL006", "TDL014", "TDL101")
HITS = [case for case in read_cases() if any(code in ABOUT_TWO_DEVICES for _, code in case.want)]
each_hit = pytest.mark.parametrize("case", HITS, ids=[case.id for case in HITS])


@each_hit
def test_both_sides_say_where_they_got_their_device(case: Case) -> None:
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


@each_hit
def test_a_report_has_related_locations(case: Case) -> None:
    reported = [each for each in lint(case.code, settings_for(case.rule)) if each.code in ABOUT_TWO_DEVICES]
    assert reported
    for each in reported:
        assert each.related, f"{case.file}:{case.row}: {each.message}"
