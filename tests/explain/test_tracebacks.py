"""Tracebacks that people have pasted in public, shortened: what is read of them, and how the rules are ranked.

The files in ``tracebacks/`` have a section for each: its heading says what is special, the line below it from where it
is, its exception (``-`` if none is named), the symptom, the place of the user's line (or ``nowhere``), and the rule
that comes first where the thread or the text says which it is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from torchdevlint.explain.pasted import read
from torchdevlint.explain.ranking import likely
from torchdevlint.symptoms import by_name

FOLDER = Path(__file__).parent / "tracebacks"
CASE = re.compile(
    r"^## (?P<title>[^\n]+)\n(?P<source>\S+#\d+): `(?P<exception>[^`]+)` (?P<symptom>[\w-]+)"
    r" (?:nowhere|at `(?P<place>[^`]+)`)(?:, (?P<rule>TDL\d+))?\n\n```text\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Case(NamedTuple):
    title: str
    source: str
    exception: str
    symptom: str
    place: str | None
    rule: str | None
    text: str


def cases() -> list[Case]:
    texts = [path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md"))]
    return [Case(**case.groupdict()) for text in texts for case in CASE.finditer(text)]


CASES = cases()
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.source)


def test_every_section_is_read() -> None:
    sections = sum(path.read_text(encoding="utf-8").count("\n## ") for path in FOLDER.glob("*.md"))
    assert len(CASES) == sections >= 60
    assert len({case.source for case in CASES}) == len(CASES)
    assert len({case.symptom for case in CASES}) >= 12


@each_case
def test_the_error_is_recognised(case: Case) -> None:
    error, _ = read(case.text)
    assert error is not None
    assert error.recognised is not None
    assert (error.exception or "-") == case.exception
    assert error.recognised.symptom == by_name()[case.symptom]


@each_case
def test_the_line_of_the_user_is_found(case: Case) -> None:
    error, _ = read(case.text)
    assert error is not None
    place = error.user.place if error.user is not None else None
    if case.place is None:
        assert place is None
        return
    assert place is not None
    assert place == case.place or place.endswith(("/" + case.place, "\\" + case.place))


@each_case
def test_the_rule_that_is_known_comes_first(case: Case) -> None:
    error, _ = read(case.text)
    assert error is not None
    ranked = [one.code for one in likely(error)]
    assert ranked
    if case.rule is not None:
        assert ranked[0] == case.rule, ranked
