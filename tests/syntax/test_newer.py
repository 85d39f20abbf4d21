"""What a libcst does not know yet is told from the text; each claim was tried with the releases that it names."""

from __future__ import annotations

import sys

import pytest

from tests.syntax.snippets import NEWER
from torchdevlint.config import Settings
from torchdevlint.engine import check_bytes
from torchdevlint.syntax.newer import SYNTAX, newer_than
from torchdevlint.syntax.parse import InvalidSyntaxError, parse

OLD = {
    "x = t'a{y!r:>{w}}'\n": ("1.8.2", "1.8.4", "template strings"),
    "x = (rt'''{a}\n''')\n": ("1.5.1", "1.8.4", "template strings"),
    "try: pass\nexcept A, B: pass\n": ("1.8.2", "1.8.4", "`except A, B:`"),
    "try:\n    pass\nexcept* A, B:\n    pass\n": ("1.6.0", "1.8.4", "`except A, B:`"),
    "class A[T = int]: pass\n": ("1.3.1", "1.4", "defaults of type parameters"),
    "def f[T: dict[str, int] = X, *Ts = *Y](a): pass\n": ("1.2.0", "1.4", "defaults of type parameters"),
    "x = {**d for d in ds}\n": ("1.8.6", "1.9", "unpacking in comprehensions"),
    "x = [\n    *d for d in ds\n]\n": ("1.8.6", "1.9", "unpacking in comprehensions"),
    "lazy import a.b as c\n": ("1.8.6", "1.9", "lazy imports"),
    "lazy from a import b\n": ("1.4.0", "1.9", "lazy imports"),
}


@pytest.mark.parametrize(("text", "old", "new", "name"), [(text, *each) for text, each in OLD.items()])
def test_what_an_older_libcst_does_not_know_is_named(text: str, old: str, new: str, name: str) -> None:
    rows = text.count("\n")
    found = newer_than(old, text, 1, rows)
    assert found is not None
    assert found.reason == f"libcst {old} does not know {name}, {new} and newer do"
    assert found.remedy.startswith(f"install `libcst>={new}`, or run the linter with Python 3.")
    assert newer_than(new, text, 1, rows) is None
    assert newer_than("10.0", text, 1, rows) is None


def test_template_strings_beside_each_other_are_read_by_none() -> None:
    for text in ("x = t'{a}' t'b'\n", "x = t'{a}' 'b'\n", "x = ('b'\n     tr'{a}')\n"):
        for version in ("1.5.1", "1.9.0"):
            found = newer_than(version, text, 1, 2)
            assert found is not None
            assert found.reason == f"libcst {version} does not know template strings beside each other"
            assert found.remedy == "run the linter with Python 3.14 or newer"


@pytest.mark.parametrize(
    "text",
    [
        "# t'{a}'\nx = 1\n",
        "'''t\"{a}\"\nlazy import a\n'''\n",
        "x = start'text'\n",
        "x = f't\"{a}\"' rb'' bt''\n",
        "except (A, B):\n    f(a, b)\n",
        "class A[T](B, metaclass=M): x = 1\n",
        "type X[T] = list[T]\n",
        "def f(a, *b, **c): return [*a, *(x for x in c)]\n",
        "lazy = 1\nx.lazy(a)\n",
        "x = [a * b for b in c]\n",
    ],
)
def test_what_every_libcst_knows_is_not_blamed(text: str) -> None:
    assert newer_than("1.2.0", text, 1, text.count("\n")) is None


def test_only_the_rows_in_question_are_looked_at() -> None:
    text = "x = = 1\ny = '''\n'''\nz = t'{a}'\n"
    assert newer_than("1.5.1", text, 1, 3) is None
    assert newer_than("1.5.1", text, 1, 4) is not None


def test_all_of_the_newer_syntax_that_a_libcst_gained_is_in_the_table() -> None:
    """The oldest that is allowed, 1.2, reads what 1.1 did."""
    gained = [text for text, since, _ in NEWER if since > (1, 2)]
    assert gained
    assert [text for text in gained if newer_than("1.2.0", text, 1, 2) is None] == []
    assert {each.name for each in SYNTAX if any(each.looks.search(text.replace("a{y!r:>{w}}", "")) for text in gained)}


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python reads it itself")
def test_the_finding_says_what_would_read_the_file() -> None:
    text = "import torch\nx = t'{a}' t'b'\n"
    with pytest.raises(InvalidSyntaxError, match=r"libcst .* does not know template strings beside each other"):
        parse(text)
    (finding,) = check_bytes(text.encode(), "newer.py", Settings()).diagnostics
    assert (finding.code, finding.span.row) == ("TDL901", 2)
    assert finding.message.endswith("does not know template strings beside each other")
    assert finding.help == "run the linter with Python 3.14 or newer"
