"""What a change of a program does to its findings."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import jsonl

from metamorphic import changes, folders
from tests.casefile import Case, Finding, further_lines, marks, read_cases, settings_for
from torchdevlint.engine import check_bytes, check_file
from torchdevlint.model import FileResult

KNOWN = Path(__file__).resolve().parent / "known.jsonl"
_ABOUT_COMMENTS = "TDL9"


@dataclass(frozen=True)
class Break:
    """Findings of a case that are `lost` by a change, or `new`; `codes` are theirs, by comma."""

    change: str
    kind: str
    case: str
    codes: str

    def key(self) -> tuple[str, str, str, str]:
        return self.change, self.kind, self.case, self.codes

    def as_row(self) -> dict[str, object]:
        return asdict(self)


def known() -> frozenset[Break]:
    """The breaks that were there when they were written down."""
    return frozenset(Break(**row) for row in jsonl.read(KNOWN))


def found(names: Sequence[str], cases: Sequence[Case], show: bool = False) -> Iterator[tuple[str, int, list[Break]]]:
    """For each change its name, how many programs it was made of, and what broke."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            broken: list[Break] = []
            made = 0
            for number, case in enumerate(cases):
                files = changes.made(name, case.code)
                if files is None:
                    continue
                made += 1
                new = breaks_of(name, case, files, Path(folder) / f"{name}{number}")
                broken += new
                if show and new:
                    print("\n".join(f"# {path}\n{text}" for path, text in files.items()))
            yield name, made, broken


def cases_of_programs() -> list[Case]:
    """The cases whose findings are about what a program does, not about its comments."""
    return [case for case in read_cases() if not case.rule.startswith(_ABOUT_COMMENTS)]


def breaks_of(change: str, case: Case, files: Mapping[str, str], folder: Path) -> list[Break]:
    """What breaks if a case is written as these files; several of them are written into `folder`."""
    aside = changes.ABOUT_ASKING if change in changes.ASKING else frozenset[str]()
    lost, new = set[str](), set[str]()
    for path, result in _results(case, files, folder):
        assert not result.problems, (case.id, change, result.problems)
        if path == folders.NOTEBOOK:
            missing, more = _in_cells(case, result)
        else:
            missing, more = _in_text(files[path], result)
        lost |= missing - aside
        new |= more - aside
    kinds = [("lost", lost)] if lost else [("new", new)]
    return [Break(change, kind, case.id, ", ".join(sorted(codes))) for kind, codes in kinds if codes]


def _results(case: Case, files: Mapping[str, str], folder: Path) -> Iterator[tuple[str, FileResult]]:
    settings = settings_for(case.rule)
    if len(files) == 1 and folders.NOTEBOOK not in files:
        for path, text in files.items():
            yield path, check_bytes(text.encode(), path, settings)
        return
    folder.mkdir()
    for path, text in files.items():
        (folder / path).write_text(text, encoding="utf-8")
    for path in files:
        if path.endswith((".py", ".ipynb")) and path not in folders.OTHERS:
            yield path, check_file(str(folder / path), settings)


def _in_text(text: str, result: FileResult) -> tuple[set[str], set[str]]:
    """The codes that a text is marked with and that are not found there, and the reverse."""
    own = {(each.span.row, each.code) for each in result.diagnostics}
    named = frozenset[Finding]().union(*map(further_lines, result.diagnostics))
    want, also, gaps = (marks(text, word) for word in ("want", "also", "gap"))
    return {code for _, code in want - own - named}, {code for _, code in own - want - also - gaps}


def _in_cells(case: Case, result: FileResult) -> tuple[set[str], set[str]]:
    """The same of a notebook, where rows are those of a cell: so only the codes are compared."""
    own, want = Counter(each.code for each in result.diagnostics), {code for _, code in case.want}
    return want - own.keys(), own.keys() - want - {code for _, code in case.gaps}
