"""Every case of the rules: what is to be found is found, all else is silent, and fixes give what they should."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import torchdevlint

SETTINGS = torchdevlint.Settings(select=("ACM",), unsafe_fixes=True)
CASE = re.compile(r"^## (?P<title>.*?)\n.*?^```python\n(?P<code>.*?)^```(?P<rest>.*?)(?=^## |\Z)", re.S | re.M)
FIXED = re.compile(r"^fixed:\n+```python\n(.*?)^```", re.S | re.M)
CASES = [
    pytest.param(case["code"], FIXED.search(case["rest"]), id=f"{path.stem[:6]}: {case['title']}")
    for path in sorted((Path(__file__).parent / "cases").glob("*.md"))
    for case in CASE.finditer(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("code", "fixed"), CASES)
def test_case(code: str, fixed: re.Match[str] | None) -> None:
    result = torchdevlint.check_source(code, settings=SETTINGS)
    assert not result.problems
    rows = enumerate(code.splitlines(), start=1)
    wanted = [(row, line.rpartition("# want: ")[2]) for row, line in rows if "# want: " in line]
    assert [(each.span.row, each.code) for each in result.diagnostics] == wanted
    if fixed is not None:
        new = torchdevlint.fix_source(code, settings=SETTINGS).text
        assert re.sub(r"  # want: \w+", "", new) == fixed[1]


def test_there_are_cases() -> None:
    assert len(CASES) > 10
