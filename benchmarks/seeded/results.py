"""The recall of seeded bugs by kind, raw and corrected by the verdicts on misses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import jsonl
import tables
from corpus import CorpusError
from kinds import KINDS
from prove import LOAD, NOT_RUN, NOT_SHOWN, PROVED, RIGHT_FAILS, Proof
from prove import VERDICTS as OF_PROOFS
from score import Outcome

HEADER = ("kind", "bugs", "found", "recall", "misses judged", "of them real", "recall of real ones")
OF_EXECUTION = ("proved", "of them found")
_LACKING = ("is not installed here", "a part of its package is missing")
VERDICTS = ("real", "none")


@dataclass(frozen=True)
class Verdict:
    """Whether a seeded bug that was missed is one (`real`) or does no harm (`none`), by somebody who read the code."""

    key: str
    kind: str
    verdict: str
    reason: str


def load(data: Path) -> dict[str, Verdict]:
    """The verdicts by the keys of the bugs."""
    path = data / "judged.jsonl"
    try:
        judged = [Verdict(**row) for row in jsonl.read(path)]
    except TypeError as error:
        raise CorpusError(f"{path}: {error}") from error
    wrong = [each.key for each in judged if each.verdict not in VERDICTS or not each.reason.strip()]
    if wrong:
        raise CorpusError(f"{path}: {wrong[0]} has no verdict out of {', '.join(VERDICTS)} with a reason")
    return {each.key: each for each in judged}


def load_proofs(data: Path) -> list[Proof]:
    """What executing the bugs has shown; nothing where none was executed."""
    path = data / "proved.jsonl"
    try:
        proofs = [Proof(**row) for row in jsonl.read(path)] if path.is_file() else []
    except TypeError as error:
        raise CorpusError(f"{path}: {error}") from error
    wrong = [each.key for each in proofs if each.verdict not in OF_PROOFS]
    if wrong:
        raise CorpusError(f"{path}: {wrong[0]} has no verdict out of {', '.join(OF_PROOFS)}")
    return proofs


def corrected(found: int, missed: int, judged: Sequence[Verdict]) -> float | None:
    """Found bugs among the real ones, where as many of all misses are real as of those that were judged."""
    if missed and not judged:
        return None
    real = missed * sum(each.verdict == "real" for each in judged) / len(judged) if missed else 0.0
    return found / (found + real) if found + real else None


def columns(outcomes: Sequence[Outcome], verdicts: Mapping[str, Verdict]) -> str:
    return tables.columns(HEADER, _rows(outcomes, verdicts))


def markdown(outcomes: Sequence[Outcome], verdicts: Mapping[str, Verdict], proofs: Sequence[Proof]) -> str:
    packages = ", ".join(sorted({each.label for each in outcomes}))
    proved = {each.key for each in proofs if each.verdict == PROVED}
    of_kinds = [[each for each in outcomes if each.kind == kind] for kind in KINDS]
    counts = [_proved(each, proved) for each in (*of_kinds, outcomes)]
    rows = [[*row, *more] for row, more in zip(_rows(outcomes, verdicts), counts, strict=True)]
    text = f"{tables.markdown((*HEADER, *OF_EXECUTION), rows)}\n\n{told_of_proofs(outcomes, proofs)}"
    return f"{text}\n\nSeeded into {packages}."


def _proved(outcomes: Sequence[Outcome], proved: Set[str]) -> list[str]:
    shown = [each for each in outcomes if each.key in proved]
    return [str(len(shown)), str(sum(each.found for each in shown))]


def told_of_proofs(outcomes: Sequence[Outcome], proofs: Sequence[Proof]) -> str:
    """How many bugs an execution shows, and why it does not show the others."""
    keys = {each.key for each in outcomes}
    mine = [each for each in proofs if each.key in keys]
    counts = Counter(each.verdict for each in mine)
    lacking = sum(any(part in each.why for part in _LACKING) for each in mine if each.verdict == NOT_RUN)
    proved = {each.key for each in mine if each.verdict == PROVED}
    found = sum(each.found for each in outcomes if each.key in proved)
    return (
        f"Executed on simulated accelerators were {len(mine)} bugs: {counts[PROVED]} are proved, of which {found} are "
        f"found; {counts[LOAD]} are loads that fail when they are executed alone; {counts[NOT_SHOWN]} ran and showed "
        f"nothing; of {counts[RIGHT_FAILS]} the right code does not pass with the same values; {counts[NOT_RUN]} could "
        f"not be run, {lacking} of them because a library, or a part of one, is not installed."
    )


def _rows(outcomes: Sequence[Outcome], verdicts: Mapping[str, Verdict]) -> list[list[str]]:
    judged = [_of(outcomes, verdicts, kind) for kind in KINDS]
    by_kind = [[each for each in outcomes if each.kind == kind] for kind in KINDS]
    rows = list(map(_row, KINDS, by_kind, judged))
    real = sum(_expected(outcomes, kind, of_kind) for kind, of_kind in zip(KINDS, judged, strict=True))
    found = sum(each.found for each in outcomes)
    total = _row("**all**", outcomes, [each for of_kind in judged for each in of_kind])
    unread = any(not read and any(not each.found for each in some) for read, some in zip(judged, by_kind, strict=True))
    known = found + real > 0 and not unread
    return [*rows, [*total[:-1], f"{found / (found + real):.0%}" if known else "-"]]


def _expected(outcomes: Iterable[Outcome], kind: str, judged: Sequence[Verdict]) -> float:
    """How many misses of a kind are real, by the share of those that were judged."""
    missed = sum(each.kind == kind and not each.found for each in outcomes)
    return missed * sum(each.verdict == "real" for each in judged) / len(judged) if judged else 0.0


def _of(outcomes: Iterable[Outcome], verdicts: Mapping[str, Verdict], kind: str) -> list[Verdict]:
    """The verdicts on these misses of a kind; where nobody has read any of them, those on misses of other packages."""
    missed = [each for each in outcomes if each.kind == kind and not each.found]
    own = [verdicts[each.key] for each in missed if each.key in verdicts]
    return own or [each for each in verdicts.values() if missed and each.kind == kind]


def _row(title: str, outcomes: Sequence[Outcome], judged: Sequence[Verdict]) -> list[str]:
    found = sum(each.found for each in outcomes)
    share = corrected(found, len(outcomes) - found, judged)
    return [
        title,
        str(len(outcomes)),
        str(found),
        f"{found / len(outcomes):.0%}" if outcomes else "-",
        str(len(judged)),
        str(sum(each.verdict == "real" for each in judged)),
        "-" if share is None else f"{share:.0%}",
    ]
