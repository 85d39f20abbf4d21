"""The edits that rules make of texts, as they come out in a file."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from torchdevlint.fix.splice import splice
from torchdevlint.model import Applicability, Edit, Fix, Span
from torchdevlint.rules.edits import (
    argument_added,
    argument_removed,
    argument_replaced,
    call_added,
    call_before,
    keywords,
)


def made(text: str, edits: Sequence[Edit | None]) -> str | None:
    """`text` after edits, which are those of an expression that begins in column 5 of its second line."""
    found = tuple(each for each in edits if each is not None)
    if not found:
        return None
    before = "# first\nx = "
    new, accepted = splice(before + text, [Fix(Applicability.SAFE, "", found)])
    assert accepted
    return new.removeprefix(before)


def span(text: str) -> Span:
    lines = text.split("\n")
    last = len(lines[-1]) + (5 if len(lines) == 1 else 1)
    return Span(2, 5, 1 + len(lines), last)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f()", "f(a=1)"),
        ("f(x)", "f(x, a=1)"),
        ("f(x, )", "f(x, a=1, )"),
        ("f(\n    x,  # why\n)", "f(\n    x, a=1,  # why\n)"),
        ("f", None),
    ],
)
def test_an_argument_is_added(text: str, expected: str | None) -> None:
    assert made(text, [argument_added(text, span(text), "a=1")]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x.to(d, a=True)", "x.to(d)"),
        ("x.to(a=True)", "x.to()"),
        ("x.to(a=True, b=2)", "x.to(b=2)"),
        ("x.to(d, a=True, b=2)", "x.to(d, b=2)"),
        ("x.to(\n    d,\n    a=f(1, 2),\n)", "x.to(\n    d,\n)"),
        ("g(a=1).to(d, a=2)", "g(a=1).to(d)"),
        ("g(a=1).to(d)", None),
        ("x.to(d, a=1)  # a", None),
    ],
)
def test_an_argument_is_removed(text: str, expected: str | None) -> None:
    assert made(text, [argument_removed(text, span(text), "a")]) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("f(x, a=None)", "f(x, a=y.b)"), ("f(x, a=c)", None), ("f(g(a=None))", None)]
)
def test_the_value_of_an_argument_is_replaced(text: str, expected: str | None) -> None:
    assert made(text, [argument_replaced(text, span(text), "a", "None", "y.b")]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y", "y.cpu()"),
        ("f(a + b)", "f(a + b).cpu()"),
        ("a[i, j].b", "a[i, j].b.cpu()"),
        ("a+b", "(a+b).cpu()"),
        ("-a", "(-a).cpu()"),
        ("a if b else c", "(a if b else c).cpu()"),
    ],
)
def test_a_call_is_added(text: str, expected: str) -> None:
    assert made(text, call_added(text, span(text), ".cpu()")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(a + b).numpy()", "(a + b).cpu().numpy()"),
        ("a.numpy().f.numpy( )", "a.numpy().f.cpu().numpy( )"),
        ("a\\\n  .numpy()", "a\\\n  .cpu().numpy()"),
        ("np.f(a.numpy())", None),
    ],
)
def test_a_call_is_added_before_the_last_one(text: str, expected: str | None) -> None:
    assert made(text, [call_before(text, span(text), "numpy", ".cpu()")]) == expected


def test_the_keywords_of_a_call_are_its_own() -> None:
    assert keywords("f(g(x, a=1), b=2, *c, **d)") == {"b", "**"}
    assert keywords("f[a]") is None
