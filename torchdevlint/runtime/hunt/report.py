"""A hunt as text, and its scripts as files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from torchdevlint.report.summary import count
from torchdevlint.report.terminal import escape, paint
from torchdevlint.runtime.hunt.findings import ALONE, BUG, CONTRACT, FOR_CPU, LIMIT, UNREPRODUCED, Bug, Hunt, Place

CODE, NAME = "hunt", "fails-on-accelerator"
"""What a bug is called where every finding has a code and a name."""
SHOWN = 12
"""Reasons that are listed; the JSON form has one for each target."""


def written(hunt: Hunt, folder: Path) -> Hunt:
    """The same hunt, after the script of each bug was written to a file of `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    bugs, taken = [], Counter[str]()
    for bug in hunt.bugs:
        name = re.sub(r"\W+", "_", f"{bug.failure.target.name}_{bug.failure.mode}").strip("_")
        taken[name] += 1
        file = folder / (f"{name}_{taken[name]}.py" if taken[name] > 1 else f"{name}.py")
        file.write_text(bug.failure.script.replace("THIS", file.name), encoding="utf-8")
        bugs.append(replace(bug, file=str(file)))
    return replace(hunt, bugs=tuple(bugs))


def text(hunt: Hunt, color: bool) -> str:
    """The report. Ends in a newline."""
    lines = [line for bug in hunt.bugs for line in (*_block(bug, color), "")]
    return "\n".join([*lines, *_others(hunt), _summary(hunt)]) + "\n"


def place_of(bug: Bug) -> Place:
    """The line of a bug: where the project raises, or else the target."""
    failure = bug.failure
    return failure.raised or Place(failure.target.filename, failure.target.line, failure.target.qualname)


def message(bug: Bug) -> str:
    """A bug in one line."""
    failure = bug.failure
    said = " ".join(failure.text.split())
    return f"{failure.target.name} ({failure.mode}) fails on an accelerator: {failure.exception}: {said}"


def _block(bug: Bug, color: bool) -> Iterator[str]:
    failure = bug.failure
    heading = paint(escape(_place(place_of(bug))), "path", color)
    yield f"{heading} {paint(failure.exception, 'error', color)} in the mode {failure.mode}"
    for title, said in (
        ("raised", " ".join(failure.text.split())[:400]),
        ("operand", failure.operand),
        ("made at", _place(failure.origin) if failure.origin is not None else ""),
        ("so", failure.why),
        ("target", failure.target.name + ("" if failure.target.exported else ", which no package exports")),
        ("also", ", ".join(f"{name} ({mode})" for name, mode in bug.reached[:6])),
        ("rule", f"{bug.rule.code} {bug.rule.name} (line {bug.rule.line})" if bug.rule is not None else "none"),
        ("script", bug.file or "\n" + failure.script),
    ):
        if said:
            yield f"  {title + ':':<10}" + "\n            ".join(escape(said).split("\n"))


def _place(place: Place) -> str:
    return f"{place.filename}:{place.line}"


def _others(hunt: Hunt) -> Iterator[str]:
    reasons = Counter(one.why for one in hunt.targets if one.why)
    reasons.update(f"module not imported: {why}" for why in hunt.failed.values())
    if reasons:
        yield "Not executed:"
        for why, number in sorted(reasons.items(), key=lambda row: (-row[1], row[0]))[:SHOWN]:
            yield f"  {number:>5}  {escape(' '.join(why.split()))[:160]}"
        if len(reasons) > SHOWN:
            yield f"  {sum(sorted(reasons.values())[:-SHOWN]):>5}  for {len(reasons) - SHOWN} other reasons"
        yield ""


def _summary(hunt: Hunt) -> str:
    sorts = Counter(failure.sort for one in hunt.targets for failure in one.failures)
    executed = sum(not one.why for one in hunt.targets)
    parts = [
        f"{executed} of {count(len(hunt.targets), 'target', 'targets')} executed",
        count(len(hunt.bugs), "bug", "bugs"),
        *(f"{sorts[sort]} {words}" for sort, words in _SORTS.items() if sorts[sort]),
    ]
    return ", ".join(parts) + "."


_SORTS = {
    CONTRACT: "want an argument elsewhere",
    FOR_CPU: "for the CPU only",
    ALONE: "of a method alone",
    LIMIT: "beyond the simulation",
    UNREPRODUCED: "not reproduced by a script",
}
assert BUG not in _SORTS
