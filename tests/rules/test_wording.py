"""How rules quote code."""

from __future__ import annotations

from torchdevlint.rules.wording import LONGEST, code


def test_what_is_too_long_loses_its_middle() -> None:
    assert code("x" * LONGEST) == f"`{'x' * LONGEST}`"
    shortened = code(f"a{'x' * LONGEST}z")
    assert shortened.startswith("`ax")
    assert shortened.endswith("xz`")
    assert len(shortened.strip("`")) <= LONGEST
    assert "..." in shortened


def test_code_is_quoted_on_one_line() -> None:
    assert code("f(\n    a,\n)") == "`f( a, )`"
