"""What is looked for in the texts of whole files."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchdevlint.patterns import LinePattern, says_name

TEXTS = st.lists(st.sampled_from(["net", "_", ".", "\n", " ", "é", "9", "net_", "import", "*"])).map("".join)


@given(TEXTS)
def test_a_name_is_said_where_it_is_a_whole_word(text: str) -> None:
    assert says_name(text, "net") is (re.search(r"\bnet\b", text) is not None)


@given(TEXTS)
def test_a_line_pattern_finds_what_its_pattern_finds_in_a_line(text: str) -> None:
    pattern = r"^ ?import\s*\*|\bnet$"
    found = any(re.search(pattern, line) for line in text.split("\n"))
    assert LinePattern(pattern, "import net").is_in(text) is found


@pytest.mark.parametrize("text", ["", "impor", "import\n*"])
def test_a_line_pattern_does_not_go_over_the_end_of_a_line(text: str) -> None:
    assert not LinePattern(r"import\s*\*", "import").is_in(text)
