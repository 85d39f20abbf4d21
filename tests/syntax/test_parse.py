"""What parses, what is refused and where, and that libcst stays away until it is needed."""

from __future__ import annotations

import ast
import warnings

import pytest

from tests.conftest import python
from tests.syntax.snippets import NEWER
from torchdevlint.syntax.parse import InvalidSyntaxError, ParseError, TooDeepError, parse


def refused(text: str) -> tuple[str, int, int]:
    with pytest.raises(InvalidSyntaxError) as caught:
        parse(text)
    return caught.value.reason, caught.value.row, caught.value.column


def test_the_errors_are_one_family() -> None:
    assert issubclass(InvalidSyntaxError, ParseError)
    assert issubclass(TooDeepError, ParseError)


@pytest.mark.parametrize("text", ["", "x = 1\r\ny = 2\r", "def f():\n\treturn 1", "s = 'é\u2028'"])
def test_the_tree_is_pythons_own(text: str) -> None:
    assert ast.dump(parse(text), include_attributes=True) == ast.dump(ast.parse(text), include_attributes=True)


def test_warnings_about_the_linted_code_are_not_ours() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse("s = '\\d'\n'a' is 'b'\n1()\n")
        parse("s = '\\d'\nt = f\"{'\\d'}\"\ntype X = int\n")


@pytest.mark.parametrize("text", [text for text, since, _ in NEWER if since == (1, 1)])
def test_syntax_of_later_pythons_parses(text: str) -> None:
    assert isinstance(parse(text), ast.Module)


@pytest.mark.parametrize(
    ("text", "row", "column"),
    [
        ("x = (1,\n\ny = 2\ndef f(): pass\n", 1, 5),
        ("é = 1 2\n", 1, 5),
        ("a = 1\rb = 2\r\nc = = 3\n", 3, 5),
        ("if a:\n    x\n      y\n", 3, 7),
        ("print 'a'\n", 1, 1),
        ("def f(x):\n    y = \n\n    # what is missing\n    return x\n", 2, 9),
        ("def f(:\n", 1, 7),
        ("a = '''\n", 1, 5),
        ("if a:\n", 1, 6),
        ("a = b$c\n", 1, 6),
    ],
)
def test_the_place_of_an_error_is_1_based_and_within_the_text(text: str, row: int, column: int) -> None:
    reason, found_row, found_column = refused(text)
    assert reason
    assert "\n" not in reason
    assert found_row == row
    assert abs(found_column - column) <= 2, "Pythons differ in the column"
    assert found_column >= 1


def test_the_words_are_pythons_own() -> None:
    assert refused("x = (1,\n")[0] == "'(' was never closed"
    assert refused("a = 1\n  b = 2\n") == ("unexpected indent", 2, 3) or refused("a = 1\n  b = 2\n")[1] == 2
    assert refused("'a' b'b'\n")[0].startswith("cannot mix bytes and nonbytes literals")


def test_an_error_after_newer_syntax_is_not_blamed_on_that() -> None:
    text = "type X = int\nclass A[T]: pass\n\nx = 1\ny = = 2\n"
    _, row, _ = refused(text)
    assert row == 5


@pytest.mark.parametrize(
    ("text", "place"), [("a = 1\nb\0 = 2", (2, 2)), ("a = 1\r\nb = '\ud800'", (2, 6)), ("\0", (1, 1))]
)
def test_characters_that_source_cannot_hold(text: str, place: tuple[int, int]) -> None:
    reason, row, column = refused(text)
    assert reason.startswith("source code cannot contain")
    assert (row, column) == place


def test_libcst_is_loaded_only_for_what_python_refuses() -> None:
    code = (
        "import sys\n"
        "from torchdevlint.syntax.parse import parse\n"
        "parse('x = 1\\n')\n"
        "before = 'libcst' in sys.modules\n"
        "parse('x = {**a for a in b}\\n') if False else None\n"
        "try:\n    parse('x = = 1\\n')\nexcept Exception: pass\n"
        "print(before, 'libcst' in sys.modules)\n"
    )
    assert python("-c", code).stdout.split() == ["False", "True"]
