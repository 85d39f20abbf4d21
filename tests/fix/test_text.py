"""One text: fixes are applied until none is left, and none that would break it."""

from __future__ import annotations

import codecs
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from torchdevlint.config import Settings
from torchdevlint.engine import check_bytes
from torchdevlint.fix import text as fixing
from torchdevlint.fix.text import MOST_PASSES, fix_bytes
from torchdevlint.model import Applicability, Diagnostic, Edit, FileResult, Fix, Severity, Span

SETTINGS = Settings(select=("TDL504", "TDL9"))
OLD, NEW = "torch.cuda.amp.autocast()", 'torch.amp.autocast("cuda")'


def finding(row: int, content: str, applicability: Applicability = Applicability.SAFE) -> Diagnostic:
    """A finding whose fix replaces the first character of a row."""
    span = Span(row, 1, row, 2)
    fix = Fix(applicability, "", (Edit(content, span),))
    return Diagnostic("a.py", span, "TDL001", "some-rule", "", Severity.ERROR, "", "", "", row, fix=fix)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[bytes], list[Diagnostic]]], None]:
    """Says what is found in a content."""

    def say(find: Callable[[bytes], list[Diagnostic]]) -> None:
        monkeypatch.setattr(fixing, "check_bytes", lambda data, name, _: FileResult(name, tuple(find(data))))

    return say


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("mark", "encoding", "cookie"),
    [
        (b"", "utf-8", ""),
        (codecs.BOM_UTF8, "utf-8", ""),
        (b"", "latin-1", "# coding: latin-1"),
        (b"", "gbk", "#-*- coding: gbk"),
        (b"", "utf-8", "# coding: utf-8-sig"),
        (codecs.BOM_UTF8, "utf-8", "# coding: utf-8-sig"),
    ],
)
def test_encoding_mark_and_line_ends_stay(mark: bytes, encoding: str, cookie: str, newline: str) -> None:
    lines = [cookie, "import torch  # µ" if encoding != "gbk" else "import torch  # 中", f"x = {OLD}", ""]
    data = mark + newline.join(lines).encode(encoding)
    assert fix_bytes(data, "a.py", SETTINGS).content == data.replace(OLD.encode(), NEW.encode())


def test_an_encoding_that_gives_other_bytes_back_is_left_alone() -> None:
    data = f"# coding: iso2022_jp\n# \x1b(B\nimport torch\nx = {OLD}\n".encode()
    result = fix_bytes(data, "a.py", SETTINGS)
    assert result.content == data
    assert [problem.rule for problem in result.result.problems] == ["TDL504"]


def test_two_fixes_in_one_place_take_two_rounds() -> None:
    data = f"import torch\nx = {OLD}  # noqa: TDL504, TDL001\n".encode()
    fixed = fix_bytes(data, "a.py", replace(SETTINGS, select=("TDL504", "TDL001", "TDL9")))
    assert fixed.applied == {"TDL900": 1}
    again = fix_bytes(f"import torch\nx = {OLD}  # noqa: TDL001\n".encode(), "a.py", SETTINGS)
    assert again.content == f"import torch\nx = {NEW}  # noqa: TDL001\n".encode()


def test_a_fix_that_leaves_no_valid_code_is_refused_and_the_others_are_made(
    found: Callable[[Callable[[bytes], list[Diagnostic]]], None],
) -> None:
    def find(data: bytes) -> list[Diagnostic]:
        good = [finding(2, "y")] if b"\nx" in data else []
        return [finding(1, "("), *good]

    found(find)
    fixed = fix_bytes(b"a\nx = 1\n", "a.py", SETTINGS)
    assert fixed.content == b"a\ny = 1\n"
    assert "in line 1 leaves no valid code" in fixed.result.problems[0].message


def test_fixes_that_undo_each_other_are_given_up(found: Callable[[Callable[[bytes], list[Diagnostic]]], None]) -> None:
    rounds = []

    def find(data: bytes) -> list[Diagnostic]:
        rounds.append(data)
        return [finding(1, "b" if data.startswith(b"a") else "a")]

    found(find)
    fixed = fix_bytes(b"a = 1\n", "a.py", SETTINGS)
    assert fixed.content == b"a = 1\n"
    assert len(rounds) == MOST_PASSES + 1
    assert "after each of" in fixed.result.problems[0].message


@pytest.mark.parametrize(
    ("applicability", "unsafe", "applied"),
    [
        (Applicability.SAFE, False, True),
        (Applicability.UNSAFE, False, False),
        (Applicability.UNSAFE, True, True),
        (Applicability.DISPLAY, True, False),
    ],
)
def test_what_is_applied(
    found: Callable[[Callable[[bytes], list[Diagnostic]]], None],
    applicability: Applicability,
    unsafe: bool,
    applied: bool,
) -> None:
    found(lambda data: [finding(1, "b", applicability)] if data.startswith(b"a") else [])
    fixed = fix_bytes(b"a = 1\n", "a.py", replace(SETTINGS, unsafe_fixes=unsafe))
    assert (fixed.content == b"b = 1\n") is applied


@pytest.mark.parametrize(
    ("fixable", "unfixable", "applied"),
    [
        (("ALL",), ("TDL5",), False),
        (("TDL504",), ("TDL5",), True),
        (("TDL9",), (), False),
        (("TDL5",), ("TDL5",), False),
    ],
)
def test_rules_that_may_be_fixed(fixable: tuple[str, ...], unfixable: tuple[str, ...], applied: bool) -> None:
    data = f"import torch\nx = {OLD}\n".encode()
    fixed = fix_bytes(data, "a.py", replace(SETTINGS, fixable=fixable, unfixable=unfixable))
    assert (fixed.content != data) is applied


def test_a_broken_file_is_left_alone() -> None:
    assert fix_bytes(b"import torch\nx = (\n", "a.py", SETTINGS).content == b"import torch\nx = (\n"
    assert check_bytes(b"x = (\n", "a.py", SETTINGS).diagnostics[0].code == "TDL901"
