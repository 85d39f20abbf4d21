"""Names that are bound on every path to a place."""

from __future__ import annotations

import ast

import pytest

from torchdevlint.flow.vouch.bound import surely_bound


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a, (b, *c) = f()\nHERE", "a b c"),
        ("a: int\nb: int = 1\nHERE", "b"),
        ("if t:\n    a = b = 1\nelse:\n    a = 2\nHERE", "a"),
        ("if t:\n    a = 1\nHERE", ""),
        ("if t:\n    return\nelse:\n    a = 1\nHERE", "a"),
        ("if t:\n    a = 1\n    HERE", "a"),
        ("for a in s:\n    b = 1\nHERE", ""),
        ("for a in s:\n    HERE\n    b = 1", "a"),
        ("while t:\n    b = 1\n    HERE", "b"),
        ("with f() as a:\n    b = 1\nHERE", "a b"),
        ("with suppress(OSError):\n    b = 1\nHERE", ""),
        ("with f() as a:\n    HERE", "a"),
        ("try:\n    a = 1\n    b = 1\nexcept OSError:\n    a = 2\nfinally:\n    c = 1\nHERE", "a c"),
        ("try:\n    a = 1\nexcept OSError:\n    raise\nHERE", "a"),
        ("try:\n    a = 1\nexcept OSError:\n    HERE", ""),
        ("try:\n    a = 1\nexcept OSError:\n    pass\nelse:\n    HERE", "a"),
        ("a = b = 1\ndel b\nHERE", "a"),
        ("import a.b, c as d\nHERE", "a d"),
        ("x = [HERE for a in s for b in a]", "a b"),
        ("x = [b for a in s for b in HERE]", "a"),
        ("x = [a for a in HERE]", ""),
        ("a = 1; HERE; b = 2", "a"),
        ("match t:\n    case 1:\n        a = 1\n        HERE", "a"),
        ("HERE\na = 1", ""),
    ],
)
def test_only_what_every_path_binds_before(body: str, expected: str) -> None:
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    function = ast.parse(f"def g(p, *q, r=1):\n{indented}").body[0]
    assert isinstance(function, ast.FunctionDef)
    place = next(each for each in ast.walk(function) if isinstance(each, ast.Name) and each.id == "HERE")
    assert surely_bound(function, place) == {"p", "q", "r", *expected.split()}


def test_a_lambda_binds_its_parameters() -> None:
    node = ast.parse("lambda a, b=1: HERE", mode="eval").body
    assert isinstance(node, ast.Lambda)
    assert surely_bound(node, node.body) == {"a", "b"}


def test_a_lambda_in_a_default_has_parameters_of_its_own() -> None:
    (function,) = ast.parse("def f(x, key=lambda d: d, *a, k, **kw):\n    return x\n").body
    assert isinstance(function, ast.FunctionDef)
    assert surely_bound(function, function.body[0]) == {"x", "key", "a", "k", "kw"}
