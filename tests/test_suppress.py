"""Suppression comments, held against flake8's own functions where flake8 is the authority."""

from __future__ import annotations

import argparse
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import flake8
import pytest
from flake8.processor import FileProcessor
from flake8.violation import Violation
from hypothesis import given
from hypothesis import strategies as st

from tests.casefile import lint
from torchdevlint.config import Settings
from torchdevlint.flow.facts.files import UnusedSuppression
from torchdevlint.model import Applicability, Diagnostic, Edit, Severity, Span
from torchdevlint.rules import identities
from torchdevlint.rules import tdl900_unused_suppression as tdl900
from torchdevlint.suppress import Suppressions, find_invalid, find_unused, read

RAN = ("TDL001", "TDL003", "TDL201", "TDL900")


def finding(row: int, code: str = "TDL201", end_row: int | None = None) -> Diagnostic:
    names = {"TDL201": "load-without-map-location", "TDL900": "unused-suppression"}
    span = Span(row, 1, end_row or row, 2)
    return Diagnostic("a.py", span, code, names.get(code, "other-rule"), "", Severity.ERROR, "", "", "", row)


def kept(text: str, *rows: int, code: str = "TDL201", noqa: bool = True) -> list[int]:
    diagnostics, _ = read(text, noqa).apply([finding(row, code) for row in rows or (1,)])
    return [one.span.row for one in diagnostics]


def unneeded(suppressions: Suppressions, findings: Iterable[Diagnostic], ran: Sequence[str]) -> list[UnusedSuppression]:
    _, used = suppressions.apply(findings)
    return list(find_unused(suppressions, ran, used))


def unused(text: str, *findings: Diagnostic, ran: tuple[str, ...] = RAN) -> list[tuple[int, tuple[str, ...]]]:
    return [(fact.at.row, fact.unused) for fact in unneeded(read(text), findings, ran)]


def after_fix(text: str, *findings: Diagnostic, ran: tuple[str, ...] = RAN) -> str:
    """`text` with the fixes of all its unused suppressions applied, last first."""
    edits: list[Edit] = []
    for fact in unneeded(read(text), findings, ran):
        (report,) = tdl900.check(fact)
        assert report.fix is not None
        assert report.fix.applicability is Applicability.SAFE
        edits += report.fix.edits
    for edit in sorted(edits, key=lambda each: each.span, reverse=True):
        text = applied(text, edit)
    return text


def applied(text: str, edit: Edit) -> str:
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:index])) for index in range(len(lines) + 1)]
    begin = starts[edit.span.row - 1] + edit.span.column - 1
    end = starts[edit.span.end_row - 1] + edit.span.end_column - 1
    return text[:begin] + edit.content + text[end:]


def flake8_keeps(text: str, row: int, code: str) -> bool:
    lines = io.StringIO(text).readlines()
    processor = FileProcessor("a.py", argparse.Namespace(
        hang_closing=False, indent_size=4, max_line_length=79, max_doc_length=None, verbose=0, disable_noqa=False,
    ), lines)  # fmt: skip
    if processor.should_ignore_file():
        return False
    line = processor.noqa_line_for(row)
    if line is None:
        line = lines[row - 1] if row <= len(lines) else ""
    return not Violation(code, "a.py", row, 1, "", line).is_inline_ignored(disable_noqa=False)


UNENDED_LINES_DIFFER = flake8.__version_info__ < (7,)
"""flake8 6 joins the last line with a backslash's before it even where Python's tokens do not end that line."""

LINES = [
    "x = 1",
    "x = 1  # noqa",
    "x = 1  # NoQA : TDL201",
    "x = 1  # noqa: TDL201",
    "x = 1  # noqa:TDL201,E501",
    "x = 1  # noqa: E501 TDL2 because",
    "x = 1  # noqa: E501",
    "x = 1  # noqa: tdl201",
    "x = 1  # noqa: TDL",
    "x = 1  # noqa:  TDL201",
    "x = 1  # noqa : E501",
    "x = 1  #noqa",
    "x = 1  # noqa: E501  # noqa: TDL201",
    "x = 1  # noqa: TDL201TDL3",
    "x = '# noqa: TDL201'",
    "x = 1  # type: ignore # noqa: TDL201,",
    "x = 1 + \\",
    "    2  # noqa: TDL201",
    '"""a',
    '# noqa: TDL201"""',
    'b"""  # noqa',
    "f(",
    "    1,  # noqa",
    ")",
    "",
    "# flake8: noqa",
    "# flake8:",
    "noqa",
    "x = 1  # flake8: noqa",
    "    # flake8=NOQA: TDL001",
    "\t# comment",
    "\x0cx = 1  # noqa",
    "  y = (",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("code", ["TDL201", "TDL301"])
def test_one_line_is_read_as_flake8_reads_it(line: str, code: str) -> None:
    assert kept(f"{line}\n", 1, code=code) == ([1] if flake8_keeps(f"{line}\n", 1, code) else [])


@given(st.lists(st.sampled_from(LINES), max_size=8), st.sampled_from(["TDL201", "TDL001"]), st.booleans())
def test_many_lines_are_read_as_flake8_reads_them(lines: list[str], code: str, final: bool) -> None:
    text = "\n".join(lines) + "\n" * (final or UNENDED_LINES_DIFFER)
    rows = range(1, len(lines) + 2)
    assert kept(text, *rows, code=code) == [row for row in rows if flake8_keeps(text, row, code)]


@given(st.lists(st.sampled_from([line for line in LINES if "noqa" not in line.lower()]), min_size=1, max_size=8))
def test_a_noqa_on_the_row_that_is_named_suppresses(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    for row in range(1, len(lines) + 1):
        target = read(text).noqa_row(row)
        marked = "\n".join(line + "  # noqa" * (at == target) for at, line in enumerate(lines, start=1)) + "\n"
        if read(marked).noqa_row(row) == target:  # the comment did not end a backslash's line
            assert kept(marked, row) == []


def test_the_noqa_row_is_the_last_of_joined_lines_and_the_row_itself_elsewhere() -> None:
    text = 'f("""\na\n""")\ng(\n    1,\n)\nx = 1 + \\\n  2\n'
    assert [read(text).noqa_row(row) for row in range(1, 10)] == [3, 3, 3, 4, 5, 6, 8, 8, 9]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newlines_of_every_kind(newline: str) -> None:
    text = newline.join(["x = 1", "y = 2  # noqa: TDL201", "z = 3  # torchdevlint: ignore[TDL201]", ""])
    assert kept(text, 1, 2, 3) == [1]


@pytest.mark.parametrize(
    ("comment", "suppresses"),
    [
        ("# torchdevlint: ignore[TDL201]", True),
        ("#torchdevlint:ignore[TDL201]", True),
        ("# torchdevlint: ignore[TDL001, tdl201] because", True),
        ("# torchdevlint: ignore[load-without-map-location]", True),
        ("# torchdevlint: ignore[TDL2]", True),
        ("# torchdevlint: ignore", True),
        ("# torchdevlint: ignore (a reason)", True),
        ("# type: ignore  # torchdevlint: ignore[TDL201]", True),
        ("# torchdevlint: ignore[TDL001]", False),
        ("# torchdevlint: ignore[]", False),
        ("# torchdevlint: ignore TDL001", False),
        ("# torchdevlint: ignore: TDL001", False),
        ("# torchdevlint: ignored", False),
        ("# torchdevlint: ignore-file", False),
    ],
)
@pytest.mark.parametrize("noqa", [True, False])
def test_the_own_comment(comment: str, suppresses: bool, noqa: bool) -> None:
    assert kept(f"x = 1  {comment}\ny = 2\n", 1, 2, noqa=noqa) == ([2] if suppresses else [1, 2])


def test_an_own_comment_counts_where_a_finding_ends_and_noqa_does_not() -> None:
    for comment, rows in (("# torchdevlint: ignore[TDL201]", []), ("# noqa: TDL201", [1])):
        found, _ = read(f"f(\n    1,\n)  {comment}\n").apply([finding(1, end_row=3)])
        assert [one.span.row for one in found] == rows


def test_an_own_comment_within_a_string_is_no_comment() -> None:
    assert kept('x = "# torchdevlint: ignore"\n') == [1]


def test_file_ignore_holds_everywhere_for_its_codes() -> None:
    text = "x = 1\n# torchdevlint: file-ignore[TDL201, TDL003]\n"
    assert kept(text, 1, 2) == []
    assert kept(text, 1, code="TDL001") == [1]
    assert kept("# torchdevlint: file-ignore\nx = 1\n", 2, code="TDL900") == []


def test_inside_flake8_noqa_is_left_to_flake8() -> None:
    assert kept("# flake8: noqa\nx = 1  # noqa\n", 2, noqa=False) == [2]
    assert unneeded(read("x = 1  # noqa: TDL201\n", noqa=False), [], RAN) == []
    assert unneeded(read("x = 1  # torchdevlint: ignore[TDL201]\n", noqa=False), [], RAN) == []


@pytest.mark.parametrize("text", ["x = (  # torchdevlint: ignore[TDL201]\n", "'''\n# torchdevlint: ignore\n"])
def test_text_that_cannot_be_tokenized_is_read_line_by_line(text: str) -> None:
    row = text.count("\n")
    assert kept(text, row) == []
    assert read(text).noqa_row(1) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1  # noqa: TDL201\n", [(1, ("TDL201",))]),
        ("x = 1  # noqa: E501, TDL201, TDL003\n", [(1, ("TDL201", "TDL003"))]),
        ("x = 1  # noqa: tdl201\n", []),
        ("x = 1  # torchdevlint: ignore[load-without-map-location]\n", [(1, ("load-without-map-location",))]),
        ("# torchdevlint: file-ignore[TDL201]\nx = 1\n", [(1, ("TDL201",))]),
        ("x = 1  # noqa: E501  # noqa: TDL201\n", [(1, ("TDL201",))]),
        ("x = 1  # noqa\n", []),
        ("x = 1  # noqa: E501\n", []),
        ("x = 1  # noqa: TDL2\n", []),
        ("x = 1  # torchdevlint: ignore\n", []),
        ("x = 1  # noqa: TDL301\n", []),
        ("x = 1  # noqa: TDL999\n", []),
        ("x = 1  # noqa: TDL900\n", []),
        ("x = '# noqa: TDL201'\n", []),
        ("x = 1  # torchdevlint: ignore[TDL900]\n", []),
    ],
)
def test_only_explicit_codes_that_ran_can_be_unused(text: str, expected: list[tuple[int, tuple[str, ...]]]) -> None:
    assert unused(text) == expected


def test_what_suppresses_something_is_used() -> None:
    text = "x = 1  # noqa: TDL201,TDL003  # torchdevlint: ignore[TDL201]\n"
    assert unused(text, finding(1)) == [(1, ("TDL003",))]
    assert unused("# torchdevlint: file-ignore[TDL201]\nx = 1\n", finding(2)) == []
    assert unused("# flake8: noqa\nx = 1  # noqa: TDL201\n", finding(2)) == []


def test_an_unused_suppression_can_itself_be_suppressed() -> None:
    for comment in ("# torchdevlint: file-ignore[TDL900]", "# flake8: noqa"):
        assert kept(f"{comment}\nx = 1  # noqa: TDL201\n", 2, code="TDL900") == []
    assert kept("x = 1  # noqa: TDL201, TDL900\n", 1, code="TDL900") == []
    assert kept("x = 1  # noqa: TDL201\n", 1, code="TDL900") == [1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # noqa: TDL201\n", "x = 1\n"),
        ("x = 1  # noqa: TDL201,\n", "x = 1\n"),
        ("x = 1  # noqa: E501, TDL201\n", "x = 1  # noqa: E501\n"),
        ("x = 1  # noqa:TDL201 E501 TDL003 as said\n", "x = 1  # noqa: E501 as said\n"),
        ("x = 1  # noqa: TDL201 as said\n", "x = 1  # as said\n"),
        ("x = 1  # noqa: TDL201  # type: ignore\n", "x = 1  # type: ignore\n"),
        ("x = 1  # type: ignore  # noqa: TDL201\n", "x = 1  # type: ignore\n"),
        ("x = 1\n# torchdevlint: file-ignore[TDL201]\ny = 2\n", "x = 1\ny = 2\n"),
        ("x = 1\n    # torchdevlint: file-ignore[TDL201]\r\ny = 2\n", "x = 1\ny = 2\n"),
        ("# torchdevlint: file-ignore[TDL201, TDL301]\r\ny = 2\n", "# torchdevlint: file-ignore[TDL301]\r\ny = 2\n"),
        ("ü = '→'  # torchdevlint: ignore[TDL201]\n", "ü = '→'\n"),
        ("x = 1  # noqa: TDL201", "x = 1"),
        ("# torchdevlint: file-ignore[TDL201]", ""),
    ],
)
def test_the_fix_takes_what_is_unused_and_nothing_else(before: str, after: str) -> None:
    assert after_fix(before) == after
    assert unused(after) == []


def test_the_report_stands_at_the_comment() -> None:
    (fact,) = unneeded(read("x = 1  # noqa: E501, TDL201\n"), [], RAN)
    (report,) = tdl900.check(fact)
    assert report.span == Span(1, 8, 1, 28)
    assert "TDL201" in report.message
    assert "E501" not in report.message


def test_an_untouched_text_is_not_tokenized(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokenize.generate_tokens", lambda _: pytest.fail("tokenized"))
    assert kept("x = 1  # a comment\n") == [1]
    assert unused("x = 1  # noqa: E501\n") == []


def test_noqa_can_be_ignored_and_then_is_neither_heeded_nor_unused() -> None:
    text = "# flake8: noqa\nx = 1  # noqa\ny = 2  # torchdevlint: ignore[TDL201]\nz = 3  # noqa: TDL201\n"
    heeded, ignored = read(text), read(text, ignore_noqa=True)
    rows = [finding(row) for row in (1, 2, 3, 4)]
    assert [each.span.row for each in heeded.behind_file_noqa(rows)] == [1]
    assert [each.span.row for each in ignored.apply(rows)[0]] == [1, 2, 4]
    assert ignored.behind_file_noqa(rows) == []
    assert unneeded(ignored, [], RAN) == [fact for fact in unneeded(heeded, [], RAN) if fact.at.row == 3]
    joined = 'x = """\n    1\n"""\n'
    assert read(joined, ignore_noqa=True).noqa_row(1) == read(joined).noqa_row(1) == 3


@pytest.mark.parametrize(
    ("text", "silent"),
    [
        ("# torchdevlint: ignore[TDL201]\nx\ny\n", {2}),
        ("# torchdevlint: ignore\nx\ny\n", {2}),
        ("  # torchdevlint: ignore[TDL201]\n# why\n# torchdevlint: ignore[TDL001]\nx\ny\n", {4}),
        ("# torchdevlint: ignore[TDL201]\n\nx\n", set()),
        ("# torchdevlint: ignore[TDL201]\n# why\n\nx\n", set()),
        ("# torchdevlint: ignore[TDL001]\nx\n", set()),
        ("# torchdevlint: ignore[TDL201]\nf(\n    1,\n    2,\n)\ny\n", {2, 3, 4, 5}),
        ("# torchdevlint: ignore[TDL201]\nx = '''a\n\n'''\ny\n", {2, 3, 4}),
        ("# torchdevlint: ignore[TDL201]\nx; f(\n)\ny\n", {2, 3}),
        ("# torchdevlint: ignore[TDL201]\nif x:\n    y\nelse:\n    z\n", {2}),
        ("# torchdevlint: ignore[TDL201]\nif x: y\nz\n", {2}),
        ("if x:\n    y\n# torchdevlint: ignore[TDL201]\nelse:\n    z\n", {4}),
        ("# torchdevlint: ignore[TDL201]\n@a\n# b\n@b(\n)\ndef f(\n    x,\n):\n    y\n", {2, 3, 4, 5, 6, 7, 8}),
        ("@a\n# torchdevlint: ignore[TDL201]\n@b\nclass C(\n    D\n):\n    y = 1\n", {3, 4, 5, 6}),
        ("f(\n    # torchdevlint: ignore[TDL201]\n    1,\n    2,\n)\n", {3}),
        ("x  # torchdevlint: ignore[TDL001]\ny\n", set()),
        ("# torchdevlint: ignore[TDL201]\n", set()),
        ("x = 1\n# torchdevlint: ignore[TDL201]", set()),
        ("# torchdevlint: ignore[TDL201]\nx = (\n", {2}),
    ],
)
def test_a_comment_that_stands_alone_holds_for_the_statement_below(text: str, silent: set[int]) -> None:
    comments = {row for row, line in enumerate(text.splitlines(), start=1) if "torchdevlint" in line}
    rows = [row for row in range(1, len(text.splitlines()) + 1) if row not in comments]
    assert set(rows) - set(kept(text, *rows)) == silent
    assert set(rows) - set(kept(text, *rows, noqa=False)) == silent, "in flake8 they hold as well"


def test_a_statement_that_only_ends_below_a_comment_is_not_silenced_by_it() -> None:
    text = "for x in y:\n    # torchdevlint: ignore[TDL201]\n    z\n"
    assert read(text).apply([finding(1, end_row=3)])[0] == [finding(1, end_row=3)]


@pytest.mark.parametrize(
    ("lines", "silent"),
    [
        (["x", "off", "x", "x", "on", "x"], {3, 4}),
        (["off[TDL201]", "x", "on[tdl201]", "x"], {2}),
        (["off[tdl2]", "x", "on", "x"], {2}),
        (["off[TDL001]", "x"], set()),
        (["off[load-without-map-location]", "x", "on[TDL201]", "x"], {2}),
        (["off[TDL201]", "x", "on[load-without-map-location]", "x"], {2}),
        (["off", "x", "x"], {2, 3}),
        (["on", "x"], set()),
        (["off", "x", "off", "x", "on", "x", "on", "x"], {2, 4}),
        (["off[TDL201]", "off[TDL2]", "x", "on[TDL201]", "x", "on", "x"], {3, 5}),
        (["off[TDL001,TDL201]", "x", "on[TDL001]", "x", "on[TDL2]", "x"], {2, 4}),
        (["off", "x", "on[TDL201]", "x"], {2, 4}),
        (["off[]", "x"], set()),
        (["off", "on", "x", "off", "x", "on"], {5}),
    ],
)
def test_regions(lines: list[str], silent: set[int]) -> None:
    text = "\n".join("x = 1" if line == "x" else f"    # torchdevlint: {line} because" for line in lines)
    rows = [row for row, line in enumerate(lines, start=1) if line == "x"]
    for noqa in (True, False):
        assert set(rows) - set(kept(text, *rows, noqa=noqa)) == silent


def test_a_region_beside_code_is_none() -> None:
    assert kept(
        "x = 1  # torchdevlint: off\ny = 2\n# torchdevlint: off\nz\nw  # torchdevlint: on\nv\n", 1, 2, 4, 6
    ) == [1, 2]


def test_nothing_goes_beyond_a_cell() -> None:
    text = "# torchdevlint: off\nx\n# torchdevlint: on\ny\n# torchdevlint: off\nx\n# torchdevlint: ignore\ny\n"
    kept_rows = [each.span.row for each in read(text, cells=(1, 3, 8)).apply([finding(row) for row in (2, 4, 6, 8)])[0]]
    assert kept_rows == [4, 8]
    (stray,) = find_invalid(read(text, cells=(1, 3, 8)))
    assert (stray.at.row, stray.problem) == (3, "closing")
    assert list(find_invalid(read(text))) == []


DIRECTIVES = "ignore ignore[TDL201] ignore[TDL001] off off[TDL2] off[TDL001] on on[TDL2] on[TDL0]".split()
OWN_LINES = [f"# torchdevlint: {each}" for each in DIRECTIVES]


def covered(lines: list[str], code: str) -> set[int]:
    """The rows of one-line statements for which comments hold, found line by line."""

    def names(line: str) -> bool:
        keys = line.partition("[")[2].rstrip("]")
        return not keys or code.startswith(keys)

    found: set[int] = set()
    off: set[str] = set()
    above = False
    for row, line in enumerate(lines, start=1):
        directive, _, keys = line.removeprefix("# torchdevlint: ").rstrip("]").partition("[")
        if directive == "off":
            off.add(keys)
        elif directive == "on":
            off = {each for each in off if keys and not each.startswith(keys)}
        elif directive == "ignore":
            above |= names(line)
        elif not line:
            above = False
        elif not line.startswith("#"):
            if above or any(code.startswith(each) for each in off):
                found.add(row)
            above = False
    return found


@given(
    st.lists(st.sampled_from(["x = 1", "", "# why", *OWN_LINES]), max_size=16), st.sampled_from(["TDL201", "TDL001"])
)
def test_findings_outside_of_what_comments_cover_stay(lines: list[str], code: str) -> None:
    rows = [row for row, line in enumerate(lines, start=1) if line == "x = 1"]
    silent = covered(lines, code)
    text = "\n".join(lines) + "\n"
    assert [row for row in rows if row not in silent] == (kept(text, *rows, code=code) if rows else [])


ALL = tuple(rule.code for rule in identities() if rule.default)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # torchdevlint: ignore\n", "x = 1\n"),
        ("x = 1  # torchdevlint: ignore because of it\n", "x = 1  # because of it\n"),
        ("x = 1\n\n# torchdevlint: ignore\n\ny = 2\n", "x = 1\n\ny = 2\n"),
        ("x = 1\n\n\n# torchdevlint: ignore\n\n\ny = 2\n", "x = 1\n\n\ny = 2\n"),
        ("x = 1\n\n# torchdevlint: ignore\ny = 2\n", "x = 1\n\ny = 2\n"),
        ("# torchdevlint: ignore\n\nx = 1\n", "x = 1\n"),
        ("# torchdevlint: off\nx = 1\n# torchdevlint: on\ny = 2\n", "x = 1\ny = 2\n"),
        ("x\n\n# torchdevlint: off\n\ny\n\n# torchdevlint: on\n\nz\n", "x\n\ny\n\nz\n"),
        ("# torchdevlint: off[TDL201,TDL003]\nx\n# torchdevlint: on\n", "x\n"),
        ("# torchdevlint: off[TDL201]\nx\n", "x\n"),
        (
            "# torchdevlint: off[TDL201,TDL502]\nx\n# torchdevlint: on\n",
            "# torchdevlint: off[TDL502]\nx\n# torchdevlint: on\n",
        ),
    ],
)
def test_the_fix_of_blanket_comments_and_regions(before: str, after: str) -> None:
    assert after_fix(before, ran=ALL) == after
    assert unneeded(read(after), [], ALL) == []


def test_one_end_of_two_regions_stays_until_both_are_gone() -> None:
    text = "# torchdevlint: off[TDL201]\nx\n# torchdevlint: off[TDL001]\nx\n# torchdevlint: on\n"
    assert after_fix(text, finding(2), ran=ALL) == "# torchdevlint: off[TDL201]\nx\nx\n# torchdevlint: on\n"
    left = after_fix(text, ran=ALL)
    assert left == "x\nx\n# torchdevlint: on\n"
    (stray,) = find_invalid(read(left))
    assert (stray.problem, stray.sure, stray.edit and stray.edit.span) == ("closing", True, Span(3, 1, 4, 1))


def test_blanket_comments_are_judged_only_where_all_default_rules_ran() -> None:
    text = "x = 1  # torchdevlint: ignore\n# torchdevlint: off\n"
    assert unused(text, ran=ALL) == [(1, ()), (2, ())]
    assert unused(text, ran=ALL[1:]) == []
    assert unused(text, finding(1), ran=ALL) == [(2, ())]
    assert unused("# torchdevlint: file-ignore\n", ran=ALL) == []


def test_a_blanket_comment_hides_what_is_said_of_others_and_not_of_itself() -> None:
    text = "# torchdevlint: off\nx = 1  # noqa: TDL201\n# torchdevlint: on\n"
    assert unused(text, ran=ALL) == [(2, ("TDL201",))]
    assert kept(text, 2, code="TDL900") == []
    assert kept("# torchdevlint: off\nx = 1\n", 1, code="TDL900") == [1]


@pytest.mark.parametrize(
    ("comment", "written", "problem", "meant", "repaired"),
    [
        ("# noqa: TDL9999", "TDL9999", "code", "TDL900", None),
        ("# noqa: E501, TDL0001", "TDL0001", "code", "TDL001", "# noqa: E501, TDL001"),
        ("# noqa: tdl201", "tdl201", "code", "TDL201", "# noqa: TDL201"),
        ("# torchdevlint: ignore[TDL01]", "TDL01", "code", "TDL001", "# torchdevlint: ignore[TDL001]"),
        ("# torchdevlint: off[TDL-201]", "TDL-201", "code", "TDL201", "# torchdevlint: off[TDL201]"),
        ("# torchdevlint: ignore[TDL2O1]", "TDL2O1", "code", "TDL201", "# torchdevlint: ignore[TDL201]"),
        ("# torchdevlint: ignore[load_without_map_location]", "load_without_map_location", "name",
         "load-without-map-location", "# torchdevlint: ignore[load-without-map-location]"),
        ("# torchdevlint: ignore[whatever]", "whatever", "name", "", None),
        ("# torchdevlint: ignor[TDL201]", "ignor", "directive", "ignore", "# torchdevlint: ignore[TDL201]"),
        ("# torchdevlint: ignor", "ignor", "directive", "ignore", "# torchdevlint: ignore"),
        ("# torchdevlint: file_ignore[TDL201]", "file_ignore", "directive", "file-ignore",
         "# torchdevlint: file-ignore[TDL201]"),
        ("# torchdevlint: revael", "revael", "directive", "reveal", "# torchdevlint: reveal"),
        ("# torchdevlint: disable=TDL201", "disable", "directive", "", None),
        ("# torchdevlint:", "", "directive", "", None),
        ("# torchdevlint: ignore[TDL201", "ignore", "brackets", "", "# torchdevlint: ignore[TDL201]"),
        ("# torchdevlint: ignore: TDL201, TDL001 why", "ignore", "brackets", "",
         "# torchdevlint: ignore[TDL201, TDL001] why"),
        ("# torchdevlint: ignore(TDL201)", "ignore", "brackets", "", "# torchdevlint: ignore[TDL201]"),
        ("# torchdevlint: ignore[[TDL201]]", "ignore", "brackets", "", None),
        ("# torchdevlint: ignore[load-without-map-location", "ignore", "brackets", "", None),
    ],
)  # fmt: skip
def test_what_is_invalid(comment: str, written: str, problem: str, meant: str, repaired: str | None) -> None:
    (fact,) = find_invalid(read(f"{comment}\n"))
    assert (fact.written, fact.problem, fact.nearest) == (written, problem, meant)
    assert (fact.edit and applied(f"{comment}\n", fact.edit)) == (repaired and f"{repaired}\n")
    unsure = ("TDL01", "TDL0001", "file_ignore")
    assert fact.sure is (repaired is not None and written not in unsure and comment != "# torchdevlint: ignor")


@pytest.mark.parametrize(
    "text",
    [
        "# noqa: E501, W9999",
        "# noqa: TDL",
        "# noqa: TDL0, TDL01",
        "# noqa: see TDL9999",
        "# torchdevlint: ignore[E501, tdl, TDL2, tdl201, load-without-map-location]",
        "# torchdevlint: ignore[]",
        "# torchdevlint: ignore (a reason) [1]",
        "# torchdevlint: reveal what is it",
        "# torchdevlint: off\n# torchdevlint: on",
        "x = '# noqa: TDL9999 # torchdevlint: ignor[TDL001]'",
    ],
)
def test_what_is_not_invalid(text: str) -> None:
    assert list(find_invalid(read(f"{text}\n"))) == []


def test_a_noqa_that_holds_for_nobody_cannot_be_invalid() -> None:
    text = "# noqa: TDL9999\n# torchdevlint: ignore[TDL9999]\n"
    assert [fact.at.row for fact in find_invalid(read(text))] == [1, 2]
    assert [fact.at.row for fact in find_invalid(read(text, ignore_noqa=True))] == [2]


@given(st.text(st.sampled_from("#: torchdevlint:ignoreoffon[]TDL201,noqa\n\"'(x="), max_size=80))
def test_no_comment_is_too_strange(text: str) -> None:
    found = read(text)
    lines = found.lines
    for fact in find_invalid(found):
        assert lines[fact.at.row - 1][fact.at.column - 1 : fact.at.end_column - 1]
    unneeded(found, [finding(row) for row in range(1, len(lines) + 1)], ALL)


def test_the_page_says_what_is_reported() -> None:
    page = (Path(__file__).parent.parent / "docs" / "suppressions.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    for text in blocks:
        marked = [row for row, line in enumerate(text.split("\n"), start=1) if line.endswith("# reported")]
        assert [each.span.row for each in lint(text, Settings())] == marked, text
