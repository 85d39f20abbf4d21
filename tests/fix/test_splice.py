"""Edits against a text: which fit beside each other, and what becomes of everything else."""

from __future__ import annotations

import pytest

from torchdevlint.fix.splice import splice
from torchdevlint.model import Applicability, Edit, Fix, Span


def fix(*edits: tuple[int, int, int, int, str]) -> Fix:
    return Fix(Applicability.SAFE, "", tuple(Edit(content, Span(*place)) for *place, content in edits))  # type: ignore[arg-type]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_everything_else_stays(newline: str) -> None:
    text = newline.join(["é = 1  # \f ", "\tx = (", "  2)", ""])
    new, done = splice(text, [fix((1, 5, 1, 6, "3")), fix((2, 6, 3, 5, "f(\n)"))])
    assert new == newline.join(["é = 3  # \f ", "\tx = f(", ")", ""])
    assert len(done) == 2


def test_a_text_without_a_line_end() -> None:
    assert splice("x", [fix((1, 2, 1, 2, " = 1\n"))])[0] == "x = 1\n"


def test_of_two_that_overlap_the_first_is_made() -> None:
    one, other = fix((1, 1, 1, 4, "x")), fix((1, 3, 1, 6, "y"))
    assert splice("abcdef", [one, other]) == ("xdef", (one,))


def test_edits_of_one_fix_are_made_together() -> None:
    one, both = fix((1, 1, 1, 2, "x")), fix((1, 2, 1, 3, "y"), (1, 1, 1, 1, "("))
    assert splice("ab", [one, both]) == ("xb", (one,))
    assert splice("ab", [both, one]) == ("(ay", (both,))


def test_neighbours_are_made_both() -> None:
    assert splice("ab", [fix((1, 1, 1, 2, "x")), fix((1, 2, 1, 3, "y"))])[0] == "xy"


def test_two_insertions_in_one_place_exclude_each_other_unless_they_are_one() -> None:
    one, same, other = fix((1, 1, 1, 1, "import a\n")), fix((1, 1, 1, 1, "import a\n")), fix((1, 1, 1, 1, "b"))
    assert splice("x", [one, same, other]) == ("import a\nx", (one, same))


@pytest.mark.parametrize(("at", "fits"), [(1, True), (2, False), (3, False), (4, True)])
def test_an_insertion_goes_with_what_it_does_not_touch(at: int, fits: bool) -> None:
    insertion, replacement = fix((1, 3, 1, 3, "+")), fix((1, at, 1, at + 1, "x"))
    assert splice("abcd", [insertion, replacement])[1] == (insertion, replacement)[: 1 + fits]
    assert splice("abcd", [replacement, insertion])[1] == (replacement, insertion)[: 1 + fits]
