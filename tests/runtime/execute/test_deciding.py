"""Which slots are changed first: those that the failing statement reads, or the tests that a run did not pass."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torchdevlint.runtime.execute.deciding import Deciding
from torchdevlint.runtime.execute.target import functions_of

TEXT = textwrap.dedent(
    """\
    class Net:
        def __init__(self, width, depth, mode="a"):
            size = width * 2
            self.size, self.mode = size, mode
            self.depth = depth
            self.state = None

        def fit(self, data):
            self.state = data

        def forward(self, x, y=None, flag=False):
            if self.mode == "a":
                return x
            if y is None:
                raise ValueError("y is missing")
            z = x + 1
            for each in y:
                z = z + helper(each, limit=self.size)
            if flag:
                z = z * 2
            assert self.state is not None
            return z


    def helper(each, limit):
        if limit > 3:
            return each[0]
        return each
    """
)


def deciding(tmp_path: Path, before: dict[str, str]) -> tuple[Deciding, type]:
    path = tmp_path / "net.py"
    path.write_text(TEXT)
    tree = ast.parse(TEXT)
    owner, entry = next((owner, each) for owner, each in functions_of(tree) if each.name == "forward")
    keys = ["init.width", "init.depth", "init.mode", "x", "y", "flag"]
    names: dict[str, Any] = {}
    exec(compile(TEXT, str(path), "exec"), names)
    return Deciding(tree, str(path), entry, owner, keys, before), names["Net"]


def error_of(run: Callable[[], Any]) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011 (any)
        run()
    return caught.value


def test_a_raise_is_decided_by_the_test_around_it(tmp_path: Path) -> None:
    found, net = deciding(tmp_path, {})
    assert found.of_error(error_of(lambda: net(1, 2, "b").forward(3))) == ("y",)


def test_an_argument_is_followed_to_what_the_caller_gave(tmp_path: Path) -> None:
    """``each[0]`` fails in `helper`, which gets items of `y`; the line that calls it reads more than these."""
    found, net = deciding(tmp_path, {})
    decides = found.of_error(error_of(lambda: net(2, 2, "b").forward(3, [1])))
    assert decides[0] == "y"
    assert "init.width" in decides
    assert "init.depth" not in decides


def test_an_attribute_is_followed_to_the_parameters_and_the_method_that_fill_it(tmp_path: Path) -> None:
    found, net = deciding(tmp_path, {"fit": "before.0"})
    assert found.of_error(error_of(lambda: net(1, 2, "b").forward(3, []))) == ("before.0",)


def row(text: str) -> frozenset[int]:
    return frozenset({TEXT.splitlines().index(next(line for line in TEXT.splitlines() if text in line)) + 1})


def test_a_missed_line_is_decided_by_the_tests_before_it(tmp_path: Path) -> None:
    found, _ = deciding(tmp_path, {})
    assert found.of_missed([row("z = z * 2")]) == ("flag", "y", "init.mode")
    assert found.of_missed([row("return each[0]")])[0] == "init.width"
    assert found.of_missed([row("if self.mode")]) == ()
    assert found.of_missed([frozenset({-1})]) == ()
