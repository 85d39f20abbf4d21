"""Hold one run against the records and against what the sources state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.truth.case import Case, Expectation
from benchmarks.truth.exceptions import EXCEPTIONS
from benchmarks.truth.normalise import normalise
from benchmarks.truth.records import Record

Observation = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Judged:
    """A case, what the run saw, and what it is held against.

    `agrees` is None where no GPU has run the case, `stated` where no source is named. `excused` is the reason of an
    exception; it changes neither.
    """

    case: Case
    observed: Observation
    recorded: Observation | None
    agrees: bool | None
    stated: bool | None
    excused: str


def judge(cases: Iterable[Case], observed: Mapping[str, Observation], records: Mapping[str, Record]) -> list[Judged]:
    """Every case of `cases` that was run. `records` is by id, as `records.by_case` gives it."""
    judged = []
    for case in cases:
        seen = observed.get(case.id)
        if seen is None:
            continue
        record = records.get(case.id)
        judged.append(
            Judged(
                case=case,
                observed=seen,
                recorded=record.observed if record else None,
                agrees=same(seen, record.observed) if record else None,
                stated=meets(case.expects, seen) if case.expects else None,
                excused=EXCEPTIONS.get(case.id, ""),
            )
        )
    return judged


def same(left: Observation, right: Observation) -> bool:
    """True for one outcome: the same things seen, or the same class of exception with the same normalised text."""
    if left["outcome"] != right["outcome"]:
        return False
    if left["outcome"] == "ok":
        return bool(left["seen"] == right["seen"])
    if left["outcome"] == "raises":
        kinds = left["exception"][0] == right["exception"][0]
        return kinds and normalise(left["message"]) == normalise(right["message"])
    return True


def meets(expects: Expectation, observed: Observation) -> bool:
    """True if `observed` is what the source states; of what it does not state, anything will do."""
    if expects.raises:
        if observed["outcome"] != "raises" or expects.raises not in observed["exception"]:
            return False
        message = " ".join(observed["message"].split())
        return not expects.texts or any(text in message for text in expects.texts)
    if observed["outcome"] != "ok":
        return False
    return all(_fits(observed["seen"].get(name), value) for name, value in expects.seen.items())


def _fits(seen: Any, stated: Any) -> bool:
    return bool(seen == stated) or (isinstance(seen, str) and isinstance(stated, str) and seen.startswith(f"{stated} "))


@dataclass(frozen=True, slots=True)
class Count:
    """How the cases of one group came out. `excused` are the disagreements that have a listed reason."""

    cases: int = 0
    recorded: int = 0
    agree: int = 0
    disagree: int = 0
    excused: int = 0
    stated: int = 0
    met: int = 0

    @property
    def unrecorded(self) -> int:
        return self.cases - self.recorded


def counts(judged: Iterable[Judged]) -> dict[str, Count]:
    """By group, in the order of the cases, and the sum under ``total``."""
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        groups.setdefault(one.case.group, []).append(one)
    everything = [one for group in groups.values() for one in group]
    return {**{name: _count(group) for name, group in groups.items()}, "total": _count(everything)}


def _count(group: list[Judged]) -> Count:
    return Count(
        cases=len(group),
        recorded=sum(one.agrees is not None for one in group),
        agree=sum(one.agrees is True for one in group),
        disagree=sum(one.agrees is False and not one.excused for one in group),
        excused=sum(one.agrees is False and bool(one.excused) for one in group),
        stated=sum(one.stated is not None for one in group),
        met=sum(one.stated is True for one in group),
    )


def disagreements(judged: Iterable[Judged]) -> list[Judged]:
    """Those that differ from a real GPU and have no listed reason."""
    return [one for one in judged if one.agrees is False and not one.excused]


def contradictions(judged: Iterable[Judged]) -> list[Judged]:
    """Those that differ from what a source states and have no listed reason."""
    return [one for one in judged if one.stated is False and not one.excused]


def tell(observed: Observation) -> str:
    """`observed` in one line."""
    if observed["outcome"] == "ok":
        return ", ".join(f"{name}={value!r}" for name, value in observed["seen"].items()) or "ok"
    if observed["outcome"] == "raises":
        return f"{observed['exception'][0]}: {' '.join(observed['message'].split())}"
    return f"died: {observed.get('detail', '')}"


def tell_expected(expects: Expectation) -> str:
    """`expects` in one line, with its source."""
    if expects.raises:
        said = expects.raises + (f": {' | '.join(expects.texts)}" if expects.texts else "")
    else:
        said = ", ".join(f"{name}={value!r}" for name, value in expects.seen.items())
    return f"{said} ({expects.source})"
