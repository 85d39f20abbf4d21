"""A suite on simulated accelerators beside the same suite on a plain CPU: which tests say something of the simulation.

A test that passes on the CPU and fails on accelerators is one of three things: a bug of the library or of the test, as
a real GPU would show it; a false alarm, which is a defect of ours; or a limit that the simulation names. A person
judges which, in ``judged.jsonl``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from corpus import CorpusError
from suites import Ran

BUG, TEST_BUG, FALSE_ALARM, LIMIT, UNRELATED = "bug", "test bug", "false alarm", "limit", "unrelated"
VERDICTS = (BUG, TEST_BUG, FALSE_ALARM, LIMIT, UNRELATED)
BAD = ("failed", "error")


@dataclass(frozen=True)
class Verdict:
    """What a person found of the tests whose id begins with `test`: one of `VERDICTS`, and why."""

    suite: str
    test: str
    verdict: str
    reason: str

    def fits(self, library: str, test: str) -> bool:
        return self.suite == library and test.startswith(self.test)


@dataclass(frozen=True)
class Compared:
    """Ids of tests. `gained` run only where there are accelerators, `lost` only where there are none; `alarmed` passed
    or did not run on the CPU and fail on accelerators; `both` fail on either. But for `lost`, ids are those that tests
    have on accelerators.
    """

    plain: Ran
    simulated: Ran
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    alarmed: tuple[str, ...]
    both: tuple[str, ...]

    @property
    def run(self) -> int:
        return sum(one.result != "skipped" for one in self.simulated.outcomes.values())


def compare(plain: Ran, simulated: Ran) -> Compared:
    before = {test: one.result for test, one in plain.outcomes.items()}
    after = {test: one.result for test, one in simulated.outcomes.items()}
    twins = {test: simulated.suite.on_the_cpu(test) for test in after}
    ran_before, ran_after = (
        {test for test, result in those.items() if result != "skipped"} for those in (before, after)
    )
    bad = {test for test, result in after.items() if result in BAD}
    bad_before = {test for test in after if before.get(twins[test]) in BAD}
    return Compared(
        plain,
        simulated,
        gained=tuple(sorted(test for test in ran_after if twins[test] not in ran_before)),
        lost=tuple(sorted(ran_before - {twins[test] for test in ran_after})),
        alarmed=tuple(sorted(bad - bad_before)),
        both=tuple(sorted(bad & bad_before)),
    )


def judge(library: str, alarmed: Iterable[str], verdicts: Iterable[Verdict]) -> Mapping[str, list[str]]:
    """The alarmed tests of each verdict; those that nobody has judged are under the empty one."""
    told: dict[str, list[str]] = {name: [] for name in ("", *VERDICTS)}
    for test in alarmed:
        fitting = [verdict for verdict in verdicts if verdict.fits(library, test)]
        told[max(fitting, key=lambda verdict: len(verdict.test)).verdict if fitting else ""].append(test)
    return told


def load(path: Path) -> list[Verdict]:
    if not path.is_file():
        return []
    verdicts = [Verdict(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    for verdict in verdicts:
        if verdict.verdict not in VERDICTS or not verdict.reason.strip():
            raise CorpusError(f"{path.name}: {verdict.test}: needs one of {', '.join(VERDICTS)}, and a reason")
    return verdicts
