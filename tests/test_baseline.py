"""Baselines: what survives an edit, what is hidden, what is stale, and files that are none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from torchdevlint.baseline import Baseline, BaselineError, Entry, added, apply, match, read, renewed, write
from torchdevlint.model import Diagnostic, Severity, Span

FILE = Path("known.json")
LOAD = "state = torch.load('model.pt')"


def finding(row: int, filename: str = "src/a.py", code: str = "TDL201", end_row: int | None = None) -> Diagnostic:
    return Diagnostic(
        filename=filename,
        span=Span(row, 1, end_row or row, 9),
        code=code,
        name="a-rule",
        message=f"said of row {row}",
        severity=Severity.WARNING,
        symptom="",
        help="",
        url="",
        noqa_row=row,
    )


class Files:
    """Sources from a table, by their names."""

    def __init__(self, **lines: Sequence[str]) -> None:
        self.lines = {f"src/{name}.py": rows for name, rows in lines.items()}

    def __call__(self, filename: str, _cell: int | None = None, /) -> Sequence[str]:
        return self.lines.get(filename, ())


def known(diagnostics: Sequence[Diagnostic], sources: Files, file: Path = FILE) -> Baseline:
    """A baseline of these findings."""
    empty = Baseline(file)
    return renewed(empty, match(diagnostics, empty, sources), ())


def test_lines_that_move_and_code_that_is_formatted_stay_known() -> None:
    baseline = known([finding(1)], Files(a=[LOAD]))
    moved = Files(a=["import os", "", "    state  =  torch.load(", "  'model.pt'", ")"])
    assert apply([finding(3, end_row=5)], baseline, moved) == []


@pytest.mark.parametrize(
    ("now", "sources"),
    [
        (finding(1), Files(a=[LOAD.replace("model", "other")])),
        (finding(1, code="TDL202"), Files(a=[LOAD])),
        (finding(1, "src/b.py"), Files(b=[LOAD])),
        (finding(1), Files()),
    ],
    ids=["text", "code", "file", "unreadable"],
)
def test_another_finding_is_not_known(now: Diagnostic, sources: Files) -> None:
    assert apply([now], known([finding(1)], Files(a=[LOAD])), sources) == [now]


def test_of_equal_ones_as_many_are_hidden_as_are_known() -> None:
    rows = [finding(row) for row in range(1, 5)]
    sources = Files(a=[LOAD] * 4)
    assert [entry.number for entry in known(rows, sources).entries] == [1, 2, 3, 4]
    assert apply(rows, known(rows[:2], sources), sources) == rows[2:]
    third = added(Baseline(FILE), {rows[2]: "looked at"}, rows, sources)
    assert apply(rows, third, sources) == [rows[0], rows[1], rows[3]], "the number says which one"
    assert apply(rows[:1], third, sources) == [], "when others are gone, the rest is renumbered"


def test_paths_are_relative_to_the_folder_of_the_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path)
    baseline = known([finding(1)], Files(a=[LOAD]), Path("conf") / "known.json")
    assert [entry.path for entry in baseline.entries] == ["../src/a.py"]
    monkeypatch.chdir(tmp_path / "src")
    there = replace(baseline, file=tmp_path / "conf" / "known.json")
    assert apply([finding(1, "a.py")], there, lambda *_: [LOAD]) == []
    absolute = (tmp_path / "src" / "a.py").as_posix()
    assert apply([finding(1, absolute)], there, lambda *_: [LOAD]) == []


def test_unmatched_entries_are_those_that_hid_nothing() -> None:
    sources = Files(a=[LOAD, LOAD, "x.to(d)"])
    baseline = known([finding(1), finding(2), finding(3, code="TDL001")], sources)
    found = match([finding(1)], baseline, sources)
    assert {(entry.code, entry.number) for entry in found.unmatched} == {("TDL201", 2), ("TDL001", 1)}


class TestChanges:
    """`added` and `renewed`, which make a baseline from a baseline."""

    ROWS = (finding(1), finding(2), finding(3, code="TDL001"))
    SOURCES = Files(a=[LOAD, LOAD, "x.to(d)"])

    def test_reasons_are_kept_and_replaced(self) -> None:
        first = added(Baseline(FILE), {self.ROWS[1]: "refuted", self.ROWS[2]: None}, self.ROWS, self.SOURCES)
        assert [(one.code, one.number, one.reason) for one in first.entries] == [
            ("TDL001", 1, None),
            ("TDL201", 2, "refuted"),
        ]
        again = added(first, {self.ROWS[1]: None, self.ROWS[2]: "later"}, self.ROWS, self.SOURCES)
        assert {one.code: one.reason for one in again.entries} == {"TDL201": "refuted", "TDL001": "later"}
        everything = renewed(again, match(self.ROWS, again, self.SOURCES), ())
        assert sorted((one.code, one.number, one.reason or "") for one in everything.entries) == [
            ("TDL001", 1, "later"),
            ("TDL201", 1, ""),
            ("TDL201", 2, "refuted"),
        ]

    def test_a_reason_follows_its_finding_to_a_new_number(self) -> None:
        second = added(Baseline(FILE), {self.ROWS[1]: "refuted"}, self.ROWS, self.SOURCES)
        sources = Files(a=["gone", LOAD])
        (entry,) = renewed(second, match([finding(2)], second, sources), ()).entries
        assert (entry.number, entry.reason) == (1, "refuted")

    def test_what_is_stale_goes_and_what_was_not_looked_at_stays(self) -> None:
        elsewhere = Entry("src/b.py", "TDL201", LOAD)
        stale = Entry("src/a.py", "TDL201", "old()")
        before = Baseline(FILE, (elsewhere, stale))
        after = renewed(before, match(self.ROWS, before, self.SOURCES), [stale])
        assert elsewhere in after.entries
        assert stale not in after.entries
        assert len(after.entries) == 4


class TestFile:
    """Writing and reading."""

    ENTRIES = (Entry("b.py", "TDL001", "x.to(d)"), Entry("a.py", "TDL201", "y = '\u65e5\udcff'", 2, "because"))

    def test_what_is_written_is_read(self, tmp_path: Path) -> None:
        file = tmp_path / "known.json"
        write(Baseline(file, self.ENTRIES))
        assert set(read(file).entries) == set(self.ENTRIES)

    def test_it_is_sorted_ascii_with_a_version(self, tmp_path: Path) -> None:
        texts = set()
        for entries in (self.ENTRIES, self.ENTRIES[::-1]):
            write(Baseline(tmp_path / "known.json", entries))
            texts.add((tmp_path / "known.json").read_bytes())
        (text,) = texts
        assert text.isascii()
        assert json.loads(text) == {
            "version": 1,
            "findings": [
                {"path": "a.py", "code": "TDL201", "text": "y = '\u65e5\udcff'", "number": 2, "reason": "because"},
                {"path": "b.py", "code": "TDL001", "text": "x.to(d)", "number": 1},
            ],
        }

    def test_an_entry_that_stands_there_twice_counts_once(self, tmp_path: Path) -> None:
        entry = '{"path": "src/a.py", "code": "TDL201", "text": "x", "number": 1}'
        (tmp_path / "known.json").write_text(f'{{"version": 1, "findings": [{entry}, {entry}]}}')
        baseline = replace(read(tmp_path / "known.json"), file=FILE)
        assert apply([finding(1), finding(2)], baseline, Files(a=["x", "x"])) == [finding(2)]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "no JSON"),
            ("<<<<<<< ours\n", "no JSON"),
            ("[" * 100_000, "no JSON"),
            ("[]", "no `version`"),
            ('{"findings": []}', "no `version`"),
            ('{"version": 2, "findings": []}', "a baseline of version 2; this release reads version 1"),
            ('{"version": true, "findings": []}', "version true"),
            ('{"version": 1}', "`findings` must be a list"),
            ('{"version": 1, "findings": [3]}', "finding 1 must be an object"),
            ('{"version": 1, "findings": [{"path": "a", "code": "b"}]}', "finding 1 needs a string as `text`"),
            (
                '{"version": 1, "findings": [{"path": "a", "code": "b", "text": "c", "number": "1"}]}',
                "finding 1 needs a whole number as `number`",
            ),
            (
                '{"version": 1, "findings": [{"path": "a", "code": "b", "text": "c", "number": 1, "raeson": ""}]}',
                'finding 1 has an unknown key "raeson"',
            ),
            (
                '{"version": 1, "findings": [{"path": "a", "code": "b", "text": "c", "number": 1, "reason": 4}]}',
                "finding 1 needs a string as `reason`, or none",
            ),
        ],
    )
    def test_what_is_no_baseline_is_refused_in_one_line(self, tmp_path: Path, text: str, message: str) -> None:
        file = tmp_path / "known.json"
        file.write_text(text)
        with pytest.raises(BaselineError) as caught:
            read(file)
        assert str(caught.value).startswith(f"{file}: ")
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_bytes_that_are_no_text_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "known.json").write_bytes(b"\xff\xfe")
        with pytest.raises(BaselineError, match="no JSON"):
            read(tmp_path / "known.json")

    def test_a_missing_file_is_refused_or_empty(self, tmp_path: Path) -> None:
        with pytest.raises(BaselineError, match="no such baseline"):
            read(tmp_path / "none.json")
        assert read(tmp_path / "none.json", missing_ok=True) == Baseline(tmp_path / "none.json")

    def test_what_cannot_be_read_or_written_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(BaselineError, match="cannot be read"):
            read(tmp_path)
        with pytest.raises(BaselineError, match="cannot be written"):
            write(Baseline(tmp_path / "no" / "known.json"))
