"""Comments that silence findings: where they go, what they are merged with, and that they do."""

from __future__ import annotations

import codecs

import pytest

from tests.casefile import read_cases, settings_for
from torchdevlint.config import Settings
from torchdevlint.engine import check_bytes
from torchdevlint.fix.silence import silenced, silencing
from torchdevlint.model import Diagnostic
from torchdevlint.source.notebook import Content

SETTINGS = Settings(select=("TDL2", "TDL504", "TDL9"))


def findings(data: bytes) -> tuple[Diagnostic, ...]:
    return check_bytes(data, "a.py", SETTINGS).diagnostics


def after(code: str) -> str:
    """The code with its comments, which leave nothing to find."""
    data = f"import torch\n{code}\n".encode()
    new, left = silenced(data, findings(data))
    assert left == []
    assert findings(new) == ()
    return new.decode().removeprefix("import torch\n").removesuffix("\n")


LOAD = "x = torch.load('m')"
BOTH = f"{LOAD}, torch.cuda.amp.autocast()"
PLACES = {
    "a line": (LOAD, f"{LOAD}  # noqa: TDL201"),
    "blanks at its end": (f"{LOAD}  ", f"{LOAD}  # noqa: TDL201"),
    "a comment": (f"{LOAD}  # why", f"{LOAD}  # why  # noqa: TDL201"),
    "two rules": (BOTH, f"{BOTH}  # noqa: TDL201,TDL504"),
    "one rule twice": (f"{LOAD}, torch.load('n')", f"{LOAD}, torch.load('n')  # noqa: TDL201"),
    "codes of others": (f"{LOAD}  # noqa: E501", f"{LOAD}  # noqa: E501,TDL201"),
    "as they are separated": (f"{LOAD}  # noqa: E501, W291 why", f"{LOAD}  # noqa: E501, W291, TDL201 why"),
    "a comma at the end": (f"{LOAD}  # noqa:E501, ", f"{LOAD}  # noqa:E501,TDL201 "),
    "an own comment": (
        f"{LOAD}  # torchdevlint: ignore[TDL504]",
        f"{LOAD}  # torchdevlint: ignore[TDL504,TDL201,TDL900]",
    ),
    "an own comment above": (
        f"# torchdevlint: ignore[TDL504]\n{LOAD}",
        f"# torchdevlint: ignore[TDL504,TDL201,TDL900]\n{LOAD}",
    ),
    "an own comment that is misspelt": (
        f"{LOAD}  # torchdevlint: ignor[TDL504]",
        f"{LOAD}  # torchdevlint: ignor[TDL504]  # noqa: TDL201,TDL902",
    ),
    "a region of another rule": (
        f"# torchdevlint: off[TDL201]\n{BOTH}",
        f"# torchdevlint: off[TDL201]\n{BOTH}  # noqa: TDL504",
    ),
    "an empty own comment": (f"{LOAD}  # torchdevlint: ignore[]", f"{LOAD}  # torchdevlint: ignore[TDL201]"),
    "a comment for the file": (
        f"# torchdevlint: file-ignore[TDL504]\n{LOAD}",
        f"# torchdevlint: file-ignore[TDL504]  # noqa: TDL900\n{LOAD}  # noqa: TDL201",
    ),
    "both kinds": (
        f"{LOAD}  # torchdevlint: ignore[TDL504]  # noqa: E501",
        f"{LOAD}  # torchdevlint: ignore[TDL504]  # noqa: E501,TDL201,TDL900",
    ),
    "a backslash": ("x = \\\n  torch.load('m')", "x = \\\n  torch.load('m')  # noqa: TDL201"),
    "backslashes after it": (
        "x = torch.load('m') \\\n  or \\\n  1",
        "x = torch.load('m') \\\n  or \\\n  1  # noqa: TDL201",
    ),
    "a string of several lines": ('x = torch.load("""m\n\nn""")', 'x = torch.load("""m\n\nn""")  # noqa: TDL201'),
    "brackets": ("x = torch.load(\n  'm',\n)", "x = torch.load(  # noqa: TDL201\n  'm',\n)"),
    "an own comment at the end of brackets": (
        "x = torch.load(\n  'm',\n)  # torchdevlint: ignore[TDL504]",
        "x = torch.load(\n  'm',\n)  # torchdevlint: ignore[TDL504,TDL201,TDL900]",
    ),
    "a string that flake8 reads": (
        'x = torch.load("# noqa: E501")',
        'x = torch.load("# noqa: E501")  # torchdevlint: ignore[TDL201]',
    ),
    "a comment that is not needed": ("y = 1  # noqa: TDL201", "y = 1  # noqa: TDL201,TDL900"),
    "a last line without an end": (f"{LOAD}\nif x:\n\tpass", f"{LOAD}  # noqa: TDL201\nif x:\n\tpass"),
}


@pytest.mark.parametrize(("code", "expected"), PLACES.values(), ids=PLACES)
def test_where_a_comment_goes(code: str, expected: str) -> None:
    assert after(code) == expected
    assert after(expected) == expected


def test_a_comment_that_would_end_a_continuation_is_refused() -> None:
    """A finding whose line is not what it was when it was made."""
    (finding,) = findings(f"import torch\n{LOAD}\n".encode())
    data = f"import torch\nx = \\\n  {LOAD}\n".encode()
    assert silenced(data, [finding]) == (data, [finding])


@pytest.mark.parametrize("data", [b"def f(:\n", b"# \xff\n", b"x = '''\n", b"x = 1\0\n"])
def test_what_is_no_python_stays_as_it_is(data: bytes) -> None:
    found = findings(data)
    assert [each.code for each in found] == ["TDL901"]
    assert silenced(data, found) == (data, list(found))


@pytest.mark.parametrize(
    ("mark", "encoding", "cookie"),
    [(b"", "utf-8", "# é"), (codecs.BOM_UTF8, "utf-8", "# é"), (b"", "latin-1", "# coding: latin-1 é")],
)
def test_encoding_mark_and_line_ends_stay(mark: bytes, encoding: str, cookie: str) -> None:
    lines = [cookie, "import torch", LOAD, "if x:", "\tpass"]
    data = mark + "\r\n".join(lines).encode(encoding)
    lines[2] += "  # noqa: TDL201"
    assert silenced(data, findings(data)) == (mark + "\r\n".join(lines).encode(encoding), [])


def test_one_finding_alone() -> None:
    text = f"import torch\n{BOTH}\n"
    first, second = findings(text.encode())
    for finding in (first, second):
        fix = silencing(finding, Content(text))
        assert fix is not None
        assert [edit.content for edit in fix.edits] == [f"  # noqa: {finding.code}"]
        assert fix.message == f"Silence {finding.code} in this line"
    (broken,) = findings(b"x = '''\n")
    assert silencing(broken, Content("x = '''\n")) is None


def test_every_finding_of_the_cases_can_be_silenced() -> None:
    hits = [case for case in read_cases() if case.want and case.rule != "TDL901"]
    for case in hits[::15]:
        data, settings = case.code.encode(), settings_for(case.rule)
        new, left = silenced(data, check_bytes(data, "case.py", settings).diagnostics)
        assert left == [], case.id
        assert check_bytes(new, "case.py", settings).diagnostics == (), case.id
        assert new.count(b"\n") == data.count(b"\n"), case.id
