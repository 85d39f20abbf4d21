"""Code frames: what is underlined stands under what it underlines, whatever the line is made of."""

from __future__ import annotations

import pytest

from torchdevlint.model import Span
from torchdevlint.report.frame import DEFAULT_COLUMNS, Mark, frame
from torchdevlint.report.terminal import escape, visible, width, wrap


def shown(lines: list[str], *marks: Mark, columns: int | None = None, gutter: int = 2) -> list[str]:
    return frame(lines, marks, columns, color=False, gutter=gutter)


def mark(row: int, column: int, end_row: int, end_column: int, label: str = "") -> Mark:
    return Mark(Span(row, column, end_row, end_column), label, "error", primary=True)


def side(row: int, column: int, end_row: int, end_column: int, label: str = "") -> Mark:
    return Mark(Span(row, column, end_row, end_column), label, "line")


def underlined(rows: list[str]) -> str:
    """What stands above the first run of carets, cell by cell."""
    under = next(index for index, row in enumerate(rows) if "^" in row)
    cells: list[str] = []
    for char in rows[under - 1]:
        cells += [char, ""][: width(char)]
    start, stop = rows[under].index("^"), rows[under].rindex("^") + 1
    return "".join(cells[start:stop])


def test_tabs_are_expanded() -> None:
    rows = shown(["\tx\t= y.to(d)"], mark(1, 6, 1, 13))
    assert rows[1] == " 1 |     x   = y.to(d)"
    assert underlined(rows) == "y.to(d)"


def test_wide_characters_take_two_cells() -> None:
    assert underlined(shown(['s = "日本語"; x.to(d)'], mark(1, 12, 1, 19))) == "x.to(d)"
    assert underlined(shown(['s = "日本語"; x.to(d)'], mark(1, 5, 1, 10))) == '"日本語"'


def test_combining_characters_take_none() -> None:
    assert underlined(shown(["e\u0301 = x.to(d)"], mark(1, 6, 1, 13))) == "x.to(d)"


def test_unsafe_characters_are_shown_as_escapes() -> None:
    rows = shown(['s = "\x1b[31m\u202e"; x.to(d)'], mark(1, 15, 1, 22))
    assert rows[1] == ' 1 | s = "\\x1b[31m\\u202e"; x.to(d)'
    assert underlined(rows) == "x.to(d)"


def test_a_long_line_is_cut_around_the_mark() -> None:
    source = "x = [" + "1, " * 500 + "y.to(d), " + "2, " * 500 + "]"
    start = source.index("y.to") + 1
    rows = shown([source], mark(1, start, 1, start + 7), columns=80)
    assert underlined(rows) == "y.to(d)"
    assert rows[1][5] == rows[1][-1] == "…"
    assert max(map(width, rows)) <= 80


def test_a_long_line_of_wide_characters_is_cut_too() -> None:
    source = '"' + "語" * 300 + '"; y.to(d); "' + "語" * 300 + '"'
    start = source.index("y.to") + 1
    for columns in range(40, 60):
        rows = shown([source], mark(1, start, 1, start + 7), columns=columns)
        assert underlined(rows) == "y.to(d)"
        assert max(map(width, rows)) <= columns


def test_a_mark_longer_than_the_line_may_be_ends_with_it() -> None:
    rows = shown(["x" * 1000], mark(1, 1, 1, 1001))
    assert max(map(len, rows)) <= DEFAULT_COLUMNS
    assert rows[2].rstrip("^") == "   | "


def test_a_short_line_is_not_cut_at_the_limit() -> None:
    rows = shown(["x" * 75], mark(1, 1, 1, 2), columns=80)
    assert rows[1] == " 1 | " + "x" * 75


def test_an_empty_span_gets_one_caret() -> None:
    assert shown(["f(:"], mark(1, 3, 1, 3)) == ["   |", " 1 | f(:", "   |   ^"]
    assert shown([""], mark(1, 1, 1, 1)) == ["   |", " 1 |", "   | ^"]


def test_a_span_over_whole_lines_gets_a_bracket() -> None:
    assert shown(["  f(", "    x,", "  )", "y"], mark(1, 3, 3, 4)) == [
        "   |",
        " 1 | /   f(",
        " 2 | |     x,",
        " 3 | |   )",
        "   | |___^",
        " 4 |   y",
    ]


def test_the_middle_of_a_tall_span_is_left_out() -> None:
    lines = ["x = f(", *[f"    {number}," for number in range(20)], ")"]
    rows = shown(lines, mark(1, 5, 22, 2))
    assert rows[1:3] == [" 1 |   x = f(", "   |  _____^"]
    assert "... |" in rows
    assert rows[-1] == "   | |_^"
    assert len(rows) == 10


def test_marks_on_one_line_have_a_row_each() -> None:
    rows = shown(["a = b(c) + d(e)"], mark(1, 5, 1, 9), side(1, 12, 1, 16, "on the CPU"), side(1, 1, 1, 2, "made"))
    assert rows[2:] == [
        "   |     ^^^^   ---- on the CPU",
        "   | - made",
    ]


def test_blank_lines_at_the_ends_are_not_shown() -> None:
    assert shown(["a", "", "x", "", ""], mark(3, 1, 3, 2)) == ["   |", " 1 | a", " 2 |", " 3 | x", "   | ^"]


def test_places_beyond_the_file_are_left_out_or_cut() -> None:
    assert shown(["x"], mark(5, 1, 5, 2)) == []
    assert shown(["x", "y"], mark(1, 1, 9, 9))[-1] == "   | |_^"
    assert shown(["x"], mark(1, 40, 1, 50))[-1] == "   |  ^"


def test_escape_leaves_ordinary_text_alone() -> None:
    for text in ("plain", "naïve", "日本語", "🔥", "e\u0301"):
        assert escape(text) == text
    assert [visible(char) for char in "\0\x7f\x85\u200b\u2028\u2066\ufeff\udc80"] == [
        "\\x00", "\\x7f", "\\x85", "\\u200b", "\\u2028", "\\u2066", "\\ufeff", "\\udc80",
    ]  # fmt: skip


def test_wrapping_breaks_between_words_only() -> None:
    text = "one two three fourteenletters five"
    assert list(wrap(text, "> ", "  ", 12)) == ["> one two", "  three", "  fourteenletters", "  five"]
    assert list(wrap(text, "> ", "  ", None)) == [f"> {text}"]
    assert list(wrap("a\nb", "> ", "  ", 12)) == ["> a", "  b"]
    assert list(wrap("", "> ", "  ", 12)) == ["> "]


def test_of_a_very_long_line_only_what_is_near_to_the_mark_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []
    monkeypatch.setattr("torchdevlint.report.frame.visible", lambda char: looked_at.append(char) or visible(char))
    before, after = "é = 1; " * 1_000, "; b = 2" * 100_000
    rows = shown([f"{before}x.to(d){after}"], mark(1, len(before) + 1, 1, len(before) + 8))
    assert underlined(rows) == "x.to(d)"
    assert "…" in rows[1].split("x.to(d)")[0]
    assert rows[1].endswith("…")
    assert len(looked_at) < 10 * DEFAULT_COLUMNS
    last = shown([before + "x.to(d)"], mark(1, len(before) + 1, 1, len(before) + 8))
    assert last[1].endswith("; x.to(d)")
    assert underlined(last) == "x.to(d)"
