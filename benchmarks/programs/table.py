"""What was executed, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import tables
from compared import BUG, FALSE_ALARM, LIMIT, UNRELATED, Compared, Verdict, judge
from execute import Executed

PROGRAMS = ("program", "library", "plain CPU, s", "simulated, s", "outcome", "false alarms")
SUITES = (
    *("suite", "tests run", "only with accelerators", "plain CPU, s", "simulated, s"),
    *("device bugs", "false alarms", "limits", "unrelated", "not judged"),
)


def of_programs(rows: Iterable[Executed]) -> str:
    return tables.markdown(
        PROGRAMS,
        [
            [
                f"`{one.program.name}`",
                f"{one.program.library} {one.version}".strip() or "torch",
                f"{one.plain:.1f}",
                f"{one.simulated:.1f}",
                one.outcome,
                one.alarms,
            ]
            for one in rows
        ],
    )


def of_suites(rows: Iterable[Compared], verdicts: Sequence[Verdict]) -> str:
    cells = []
    for one in rows:
        told = judge(one, verdicts)
        cells.append(
            [
                f"{one.plain.suite.library} {one.plain.suite.version}",
                f"{one.run:,}",
                f"{len(one.gained):,}",
                f"{one.plain.wall:.0f}",
                f"{one.simulated.wall:.0f}",
                *(len(told[verdict]) for verdict in (BUG, FALSE_ALARM, LIMIT, UNRELATED, "")),
            ]
        )
    return tables.markdown(SUITES, cells)
