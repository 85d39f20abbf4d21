"""Hits of every case file, executed on simulated accelerators: none is refuted, and nearly all are confirmed.

Of each rule the first few cases are taken, for the time; `scripts/verified.py cases` executes them all.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.casefile import Case, lint, read_cases, settings_for
from torchdevlint.rules import all_rules
from torchdevlint.runtime.child import Limits
from torchdevlint.runtime.verify.ladder import Climb, Order, climb
from torchdevlint.runtime.verify.server import Server
from torchdevlint.runtime.verify.verdict import Rung, Verdict

CONFIRMED = {
    "TDL001": 7,
    "TDL002": 8,
    "TDL003": 5,
    "TDL004": 4,
    "TDL005": 3,
    "TDL006": 5,
    "TDL007": 4,
    "TDL008": 5,
    "TDL009": 5,
    "TDL010": 2,
    "TDL012": 4,
    "TDL013": 4,
    "TDL014": 4,
    "TDL101": 5,
    "TDL102": 4,
    "TDL103": 5,
    "TDL104": 5,
    "TDL105": 4,
    "TDL107": 4,
    "TDL201": 3,
    "TDL202": 4,
    "TDL301": 5,
    "TDL302": 11,
    "TDL303": 10,
    "TDL304": 6,
    "TDL305": 5,
    "TDL306": 3,
    "TDL309": 7,
    "TDL310": 2,
    "TDL401": 5,
    "TDL402": 3,
    "TDL403": 5,
    "TDL406": 2,
}
"""So many of the findings in the chosen cases of a rule are confirmed, at least; of rules that are new, `FLOOR`."""
FLOOR = 2
MOST = 5
HITS = [case for case in read_cases() if case.want]
EXECUTED = sorted(rule.code for rule in all_rules() if rule.execution is not None)
SECONDS = 60.0


def climbs(cases: list[Case], folder: Path, server: Server) -> list[tuple[str, Climb]]:
    """Every finding in the cases, by the case and its row, with what the ladder says of it."""
    found = []
    for case in cases:
        own = folder / case.slug
        own.mkdir()
        path = own / "case.py"
        path.write_text(case.code, encoding="utf-8")
        order = Order(root=own, limits=Limits(SECONDS))
        diagnostics = lint(case.code, settings_for(case.rule), str(path))
        found += [(f"{case.id} (row {one.span.row})", climb(one, order, server)) for one in diagnostics]
    return found


def test_the_floors_are_those_of_rules_that_are_executed() -> None:
    assert set(CONFIRMED) <= set(EXECUTED)


@pytest.mark.slow
@pytest.mark.parametrize("code", EXECUTED)
def test_no_finding_of_a_case_is_refuted_and_most_are_confirmed(code: str, tmp_path: Path, server: Server) -> None:
    found = climbs([case for case in HITS if case.rule == code][:MOST], tmp_path, server)
    refuted = [name for name, one in found if one.judgement is not None and one.judgement.verdict is Verdict.REFUTED]
    assert refuted == []
    verdicts = Counter(one.judgement.verdict for _, one in found if one.judgement is not None)
    left = {name: dict(one.reasons) for name, one in found if one.judgement is None}
    assert verdicts[Verdict.CONFIRMED] >= CONFIRMED.get(code, FLOOR), left
    for name, reasons in left.items():
        assert list(reasons) == [Rung.SYNTHESISED, Rung.SLICE], name
        assert all(reasons.values()), name
