"""What was executed, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import tables
from compared import VERDICTS, Verdict, judge
from stored import Seconds, StoredProgram, StoredReal, StoredSuite

PROGRAMS = ("program", "library", "outcome", "false alarms")
SUITES = (
    *("suite", "tests run", "only with accelerators", "CPU time"),
    *("fail by bugs", "by bugs of tests", "by false alarms", "by limits", "unrelated", "not judged"),
)
REAL = (
    *("suite", "tests run", "fail simulated alone", "of these fail on the GPU", "pass there", "do not run there"),
    "device errors of other tests there",
)
SECONDS = ("plain CPU, s", "simulated, s")


def page(
    programs: Sequence[StoredProgram],
    suites: Sequence[StoredSuite],
    real: Sequence[StoredReal],
    verdicts: Sequence[Verdict],
) -> str:
    """The tables, and what was found in the libraries."""
    parts = [
        of_programs(programs),
        of_suites(suites, verdicts),
        _parts(suites),
        _releases(programs, suites),
        of_real(real),
        _reasons(suites, verdicts),
    ]
    return "\n\n".join(part for part in parts if part)


def of_programs(rows: Sequence[StoredProgram]) -> str:
    timed = any(one.seconds for one in rows)
    return tables.markdown(
        (*PROGRAMS, *(SECONDS if timed else ())),
        [
            [
                f"`{one.name}`",
                f"{one.library} {one.version}".strip() or "torch",
                one.outcome,
                one.alarms,
                *(_seconds(one.seconds) if timed else ()),
            ]
            for one in rows
        ],
    )


def of_suites(rows: Sequence[StoredSuite], verdicts: Sequence[Verdict]) -> str:
    """Tests that ran with accelerators, CPU seconds as a multiple of the plain CPU's, and the tests of each verdict."""
    cells = []
    for one in rows:
        told = judge(one.library, one.alarmed, verdicts)
        cells.append(
            [
                f"{one.library} {one.version}{_how_much(one)}",
                f"{one.run:,}",
                f"{one.gained:,}",
                f"{one.cpu.simulated / one.cpu.plain:.1f}" if one.cpu else "",
                *(len(told[verdict]) for verdict in (*VERDICTS, "")),
            ]
        )
    return tables.markdown(SUITES, cells)


def of_real(rows: Sequence[StoredReal]) -> str:
    """What the simulation said of suites, beside what a GPU did; then every test in which they differ."""
    if not rows:
        return ""
    cells = [
        [
            f"{one.library} {one.version}",
            f"{one.run:,}",
            one.alarmed,
            one.failed,
            len(one.passed),
            one.alarmed - one.failed - len(one.passed),
            len(one.only),
        ]
        for one in rows
    ]
    machines = sorted({f"{one.gpu}, torch {one.torch}" for one in rows})
    heading = f"The same suites on a real GPU ({'; '.join(machines)}), beside what the simulation said of them:"
    return "\n\n".join((heading, tables.markdown(REAL, cells), "Where they differ:", "\n".join(_differing(rows))))


def _differing(rows: Sequence[StoredReal]) -> list[str]:
    """A line for each error that only one of the two gave, with the first test of it."""
    lines = []
    for one in rows:
        for where, tests in (("only simulated", one.passed), ("only on the GPU", one.only)):
            for text in dict.fromkeys(tests.values()):
                own = [test for test, other in tests.items() if other == text]
                more = f" and {len(own) - 1} more" if len(own) > 1 else ""
                lines.append(f"- {one.library}, `{own[0]}`{more}, {where}: {text}")
    return lines


def _how_much(one: StoredSuite) -> str:
    if one.paths:
        return f" (parts: {one.share:.0%} of its test files)"
    return " (sampled)" if one.share < 1 else ""


def _parts(suites: Sequence[StoredSuite]) -> str:
    told = (f"{one.library}: {', '.join(f'`{path}`' for path in one.paths)}" for one in suites if one.paths)
    return "".join(f"Parts of {line}.\n" for line in told).rstrip()


def _seconds(seconds: Seconds | None) -> tuple[str, str]:
    return ("", "") if seconds is None else (f"{seconds.plain:.1f}", f"{seconds.simulated:.1f}")


def _releases(programs: Sequence[StoredProgram], suites: Sequence[StoredSuite]) -> str:
    releases = sorted({one.torch for one in (*programs, *suites)})
    return f"Measured with torch {', '.join(releases)}." if releases else ""


def _reasons(suites: Sequence[StoredSuite], verdicts: Sequence[Verdict]) -> str:
    """Every reason for which a stored test needed a verdict, with the first place and how many tests it is about."""
    lines = []
    for one in suites:
        used: dict[tuple[str, str], Counter[str]] = {}
        for test in one.alarmed:
            fitting = [verdict for verdict in verdicts if verdict.fits(one.library, test)]
            if fitting:
                chosen = max(fitting, key=lambda verdict: len(verdict.test))
                used.setdefault((chosen.verdict, chosen.reason), Counter())[chosen.test] += 1
        for (verdict, reason), places in used.items():
            tests = "1 test" if places.total() == 1 else f"{places.total()} tests"
            others = len(places) - 1
            more = f" and {others} more place{'s' if others > 1 else ''}" if others else ""
            lines.append(f"- {one.library}, `{next(iter(places))}`{more} ({tests}), {verdict}: {reason}")
    return "What fails on accelerators only, and why:\n\n" + "\n".join(lines) if lines else ""
