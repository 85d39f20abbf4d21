"""What execution shows of the real fixes beside `check`: which are tried, the stored rows, and their page."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import jsonl
import tables
from corpus import CorpusError
from records import Bug

FILE = "executed.jsonl"
HUNT, SUITE = "hunt", "suite"
SHOWN, NOT, STAYS = "shown", "not shown", "shown, also after the fix"
NO_TESTS, UNABLE = "no tests", "its tests cannot run here"
SEED = "fixes31"


@dataclass(frozen=True)
class Executed:
    """What became of one fix: why it could not be imported (`refused`), or what each of the two ways gave.

    Each of `hunt` and `suite` is one of the words above, or says why it could not be done. `tests` is how many test
    files were run, `targets` how far the hunt came, and `remark` what a reader has found out about it. What `check`
    says is stored with the scores of all records.
    """

    id: str
    refused: str
    hunt: str = ""
    suite: str = ""
    tests: int = 0
    targets: str = ""
    remark: str = ""


def in_order(bugs: Iterable[Bug]) -> list[Bug]:
    """All fixes in the order in which they are tried, which nobody has chosen."""
    return sorted(bugs, key=lambda bug: hashlib.sha256(f"{SEED} {bug.id}".encode()).hexdigest())


def load(folder: Path) -> list[Executed]:
    """The stored rows. Raises CorpusError for one that is not of the form."""
    try:
        return [Executed(**row) for row in jsonl.read(folder / FILE)]
    except TypeError as error:
        raise CorpusError(f"{folder / FILE}: {error}") from error


def store(folder: Path, one: Executed, order: Sequence[Bug]) -> None:
    """Put a row in the place of the stored one of the same fix, whose remark stays where the outcomes are the same."""
    rows = {row.id: row for row in load(folder)}
    old = rows.get(one.id)
    rows[one.id] = replace(one, remark=old.remark) if old and replace(old, remark="") == one else one
    jsonl.write(folder / FILE, [asdict(rows[bug.id]) for bug in order if bug.id in rows])


@dataclass(frozen=True)
class Shown:
    """The fixes that could be imported, and which of them each way shows, by id."""

    done: tuple[Executed, ...]
    check: frozenset[str]
    hunt: frozenset[str]
    suite: frozenset[str]

    @property
    def together(self) -> frozenset[str]:
        return self.check | self.hunt | self.suite


def shown_of(rows: Iterable[Executed], checked: Collection[str]) -> Shown:
    """What is shown by each way; `checked` are the fixes that `check` finds in the file, and is quiet about after."""
    done = tuple(row for row in rows if not row.refused)
    return Shown(
        done,
        frozenset(row.id for row in done if row.id in checked),
        *(frozenset(row.id for row in done if getattr(row, way) == SHOWN) for way in (HUNT, SUITE)),
    )


def sentence(rows: Iterable[Executed], checked: Collection[str]) -> str:
    """The figure of the README."""
    shown = shown_of(rows, checked)
    return (
        f"Of {len(shown.done)} device bugs that public projects have fixed, taken at the commit before the fix in an "
        "order that nobody has chosen, `check`, whose rules were made with sight of many of them, shows "
        f"{len(shown.check)} and execution (`hunt`, or the project's own tests under simulation) "
        f"{len(shown.hunt | shown.suite)}: **together {len(shown.together)}**. "
        "[docs/hunt.md](docs/hunt.md#real-fixes) names them."
    )


def render(rows: Sequence[Executed], bugs: Mapping[str, Bug], checked: Collection[str]) -> str:
    """The counts, a row for each fix that was executed, and why the others were not."""
    shown = shown_of(rows, checked)
    of, projects = len(shown.done), len({bugs[row.id].repo for row in shown.done})
    with_tests = sum(row.suite not in (NO_TESTS, UNABLE) for row in shown.done)
    summary = (
        f"Of {len(rows)} fixes in the order of the draw {of} could be imported, from {projects} repositories. `check` "
        f"shows {len(shown.check)} of them, `hunt` {len(shown.hunt)}, the repository's tests under simulation "
        f"{len(shown.suite)} ({with_tests} have some that run); **together {len(shown.together)} of {of}**, "
        f"{len(shown.together - shown.check)} of which `check` does not show."
    )
    header = ("fix", "category", "check", "hunt", "its tests", "remark")
    table = tables.markdown(header, [_row(row, bugs[row.id], row.id in shown.check) for row in shown.done])
    return "\n\n".join([summary, table, *_refused(rows, bugs)])


def _row(row: Executed, bug: Bug, is_found: bool) -> list[str]:
    place = f"{bug.repo} {bug.parent_commit[:8]} `{bug.path}:{bug.lines[0]}`"
    outcomes = [_cell(outcome) for outcome in (SHOWN if is_found else NOT, row.hunt, row.suite)]
    return [place, bug.category, *outcomes, row.remark or "-"]


def _cell(outcome: str) -> str:
    return {SHOWN: "**shown**", NOT: "-"}.get(outcome, outcome)


def _refused(rows: Sequence[Executed], bugs: Mapping[str, Bug]) -> list[str]:
    reasons = Counter(row.refused for row in rows if row.refused)
    named = {reason: [_place(bugs[row.id]) for row in rows if row.refused == reason] for reason in reasons}
    order = sorted(reasons, key=lambda reason: (-reasons[reason], reason))
    lines = [f"- `{reason}`: {', '.join(named[reason])}" for reason in order]
    return ["Not imported, with the last line that Python says:\n\n" + "\n".join(lines)] if lines else []


def _place(bug: Bug) -> str:
    return f"{bug.repo} `{bug.path}`"
