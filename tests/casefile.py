"""Reads the literate test cases under ``tests/cases``.

A case file is named ``TDL001-unassigned-tensor-move.md`` after its rule. In it, every ``## heading`` is one case and
its pytest id. A case holds

* a sentence saying why the code is wrong or right;
* a ```` ```python ```` block. A line that must be reported ends in ``# want: TDL001`` (several codes: commas), one
  that a finding above must name as a further line of its cause in ``# also: TDL001``;
* optionally, after a line ``fixed:``, a second block that must leave no finding;
* optionally a line ``run: ...`` that says what calling the block's ``main(device)`` does on an accelerator (on the
  CPU it succeeds; with ``anywhere:`` in front, the symptom needs no accelerator, and with ``two accelerators:`` it
  needs two of them):

  - ``run: raises "<text>"``: an exception whose message contains the text
  - ``run: wrong: <what>``: no exception but a wrong result, so that the program's own ``assert``, whose message
    contains ``<what>``, fails
  - ``run: ok``: nothing bad

* optionally a line ``gap: <why>``. It explains lines marked ``# gap: TDL001``: bugs that are not found today. The
  test fails when one of them is found, so that the mark is removed.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from torchdevlint.config import Settings
from torchdevlint.engine import check_bytes
from torchdevlint.model import Diagnostic
from torchdevlint.rules import all_rules, by_code

CASES = Path(__file__).parent / "cases"

_FILE = re.compile(r"(TDL\d{3})-([a-z0-9-]+)\.md$")
_MARK = re.compile(r"#\s*(want|also|gap):\s*(TDL\d{3}(?:\s*,\s*TDL\d{3})*)\s*$")
_RUN = re.compile(
    r"(?:(?P<anywhere>anywhere:)|(?P<two>two accelerators:))?\s*"
    r"(?:raises \"(?P<raises>.+)\"|wrong:\s*(?P<wrong>.+)|(?P<ok>ok))$"
)

COMPARED, ALL = 6, 10_000
"""So many cases of each rule at most are linted in several processes, in every run and where there is time."""

Finding = tuple[int, str]
"""Row in the block, code."""


@dataclass(frozen=True)
class Run:
    """What executing a case shows: `symptom` is ``raises``, ``wrong`` or ``ok``, `text` is part of the message."""

    symptom: str
    text: str
    anywhere: bool
    accelerators: int = 1
    """How many of them it takes."""


@dataclass(frozen=True)
class Case:
    """One heading of a case file; `want`, `also` and `gaps` are rows and codes within `code`."""

    file: str
    row: int
    rule: str
    title: str
    why: str
    code: str
    want: frozenset[Finding]
    gaps: frozenset[Finding]
    gap: str | None
    fixed: str | None
    run: Run | None
    also: frozenset[Finding] = frozenset()

    @property
    def id(self) -> str:
        return f"{self.rule}: {self.title}"

    @property
    def slug(self) -> str:
        """A file name for the block."""
        return f"{self.rule}_{self.row}"


def settings_for(code: str) -> Settings:
    """The default rules, and all that the case file's own rule reports, also what is off by default or in preview."""
    rule = by_code().get(code)
    others = tuple(each.code for each in all_rules() if each.preview and each is not rule)
    return Settings(extend_select=(code,) if rule is not None else (), preview=True, ignore=others)


def lint(text: str, settings: Settings, filename: str = "case.py") -> tuple[Diagnostic, ...]:
    """The findings in `text`; anything that kept the linter from its job is an error here."""
    result = check_bytes(text.encode(), filename, settings)
    assert not result.problems, result.problems
    return result.diagnostics


def further_lines(diagnostic: Diagnostic) -> frozenset[Finding]:
    """The lines that the message of a finding names beside its own."""
    assert diagnostic.message.endswith(diagnostic.also)
    return frozenset((int(row), diagnostic.code) for row in re.findall(r"\d+", diagnostic.also))


@cache
def read_cases(folder: Path = CASES) -> tuple[Case, ...]:
    """Every case, in file and line order. Raises ValueError with file and row for a case that cannot be read."""
    cases = [case for path in sorted(folder.glob("*.md")) for case in read_file(path)]
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise ValueError(f"{case.file}:{case.row}: a second case with the title {case.title!r}")
        seen.add(case.id)
    return tuple(cases)


def sampled(most: int) -> list[Case]:
    """Of each rule so many cases at most, spread over all that it has, for what is slow and much the same for all."""
    of_rule: dict[str, list[Case]] = {}
    for case in read_cases():
        of_rule.setdefault(case.rule, []).append(case)
    return [case for cases in of_rule.values() for case in cases[:: -(-len(cases) // most)]]


def read_file(path: Path) -> list[Case]:
    match = _FILE.match(path.name)
    if not match:
        raise ValueError(f"{path.name}: a case file is named after its rule, as in TDL001-unassigned-tensor-move.md")
    lines = path.read_text(encoding="utf-8").splitlines()
    heads = _headings(lines)
    ends = [*heads[1:], len(lines)]
    return [_case(path.name, match[1], lines, start, end) for start, end in zip(heads, ends, strict=False)]


def _headings(lines: list[str]) -> list[int]:
    fenced = False
    found = []
    for index, line in enumerate(lines):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and line.startswith("## "):
            found.append(index)
    return found


def _case(file: str, rule: str, lines: list[str], start: int, end: int) -> Case:
    def fail(index: int, message: str) -> ValueError:
        return ValueError(f"{file}:{index + 1}: {message}")

    prose: list[str] = []
    blocks: dict[str, str] = {}
    run: Run | None = None
    gap: str | None = None
    role = "code"
    index = start + 1
    while index < end:
        line = lines[index].strip()
        if line.startswith("```"):
            if line != "```python":
                raise fail(index, "only python blocks belong into a case")
            close = next((at for at in range(index + 1, end) if lines[at].strip() == "```"), None)
            if close is None or role in blocks:
                raise fail(index, "an open block, or a second block without `fixed:` before it")
            blocks[role] = "\n".join(lines[index + 1 : close]) + "\n"
            index = close + 1
            continue
        key, _, value = line.partition(":")
        if line == "fixed:":
            role = "fixed"
        elif key == "run":
            run = _run(value.strip())
            if run is None:
                raise fail(index, f"not a run line: {line}")
        elif key == "gap":
            gap = value.strip()
        elif line:
            prose.append(line)
        index += 1
    if "code" not in blocks or not prose:
        raise fail(start, "a case needs a sentence that says why, and a python block")
    want, gaps = marks(blocks["code"], "want"), marks(blocks["code"], "gap")
    if bool(gap) != bool(gaps):
        raise fail(start, "`gap:` and lines marked `# gap: CODE` come together")
    if run and "def main(device" not in blocks["code"]:
        raise fail(start, "a case that runs defines main(device)")
    return Case(
        file, start + 1, rule, lines[start][3:].strip(), " ".join(prose), blocks["code"], want, gaps, gap,
        blocks.get("fixed"), run, marks(blocks["code"], "also"),
    )  # fmt: skip


def _run(text: str) -> Run | None:
    match = _RUN.match(text)
    if not match:
        return None
    symptom = next(name for name in ("raises", "wrong", "ok") if match[name])
    return Run(symptom, "" if symptom == "ok" else match[symptom], bool(match["anywhere"]), 2 if match["two"] else 1)


def marks(code: str, kind: str) -> frozenset[Finding]:
    return frozenset(
        (row, name.strip())
        for row, line in enumerate(code.split("\n"), start=1)
        for match in [_MARK.search(line)]
        if match and match[1] == kind
        for name in match[2].split(",")
    )


def main() -> None:
    """Prints the findings of so many cases of each rule as JSON, for comparison between processes."""
    cases = sampled(int(sys.argv[1]))
    found = {case.id: [repr(one) for one in lint(case.code, settings_for(case.rule))] for case in cases}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
