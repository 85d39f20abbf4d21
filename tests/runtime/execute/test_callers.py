"""Functions whose callers bring what they were given by functions that nobody knows."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.runtime.execute.bench import target_of
from torchdevlint.runtime.execute.callers import bring_from_elsewhere


def brought(tmp_path: Path, text: str) -> bool:
    """Of the function that holds ``MARK``."""
    path = tmp_path / "model.py"
    path.write_text(textwrap.dedent(text))
    target = target_of(path, "MARK")
    (place,) = target.places
    return bring_from_elsewhere(target, place, imported=True)


PRIVATE = """
    import torch
    from elsewhere import fetch


    def _private(x):
        return x + MARK


    def caller(x):
        {caller}
        return _private(y)
    """


@pytest.mark.parametrize("caller", ["y = fetch(x)", "a, y = fetch(x)", "z = 1; y = fetch(z)"])
def test_the_only_caller_brings_it_from_elsewhere(tmp_path: Path, caller: str) -> None:
    assert brought(tmp_path, PRIVATE.format(caller=caller))


@pytest.mark.parametrize(
    "caller",
    [
        "y = torch.zeros(3)",
        "y = x",
        "y = list(x)",
        "y = x.detach()",
        "y = caller(x)",
        "z = fetch(x); y = x",
        "y = fetch(x) + 1",
    ],
)
def test_the_caller_says_where_it_is(tmp_path: Path, caller: str) -> None:
    assert not brought(tmp_path, PRIVATE.format(caller=caller))


def test_one_caller_that_does_not_is_enough(tmp_path: Path) -> None:
    other = "\n\n    def other(x):\n        return _private(x)\n"
    assert not brought(tmp_path, PRIVATE.format(caller="y = fetch(x)") + other)


def test_a_private_function_that_nobody_calls_is_called(tmp_path: Path) -> None:
    assert not brought(tmp_path, "def _private(x):\n    return x + MARK\n")


def test_a_public_function_that_gets_it_from_elsewhere_is_no_other(tmp_path: Path) -> None:
    text = PRIVATE.format(caller="y = fetch(x)").replace("_private", "public")
    assert brought(tmp_path, text)


def test_what_a_function_of_the_file_makes_is_brought_as_well(tmp_path: Path) -> None:
    text = PRIVATE.format(caller="y = positions(x)") + "\n\n    def positions(x):\n        return {made}\n"
    assert brought(tmp_path, text.format(made="torch.arange(len(x))"))
    assert not brought(tmp_path, text.format(made="torch.arange(len(x), device=x.device)"))
    indirect = text.format(made="steps(x)") + "\n\n    def steps(x):\n        return torch.arange(len(x))\n"
    assert brought(tmp_path, indirect)


METHOD = """
    class Net:
        def _private(self, x):
            return x + MARK

        def forward(self, x):
            {forward}
            return self._private(y)

        def __init__(self):
            self.known = make()

        def own(self, x):
            return x
    """


@pytest.mark.parametrize(
    ("forward", "expected"),
    [
        ("y = self.inherited(x)", True),
        ("y = self.known(x)", False),
        ("y = self.own(x)", False),
        ("y = fetch(x)", True),
    ],
)
def test_methods_that_the_file_does_not_define_are_elsewhere(tmp_path: Path, forward: str, expected: bool) -> None:
    assert brought(tmp_path, METHOD.format(forward=forward)) is expected


@pytest.mark.parametrize("name", ["__call__", "forward"])
def test_entries_are_called_whoever_else_does(tmp_path: Path, name: str) -> None:
    text = METHOD.format(forward="y = fetch(x)").replace("def forward", "def run").replace("_private", name)
    assert not brought(tmp_path, text)


def test_a_function_that_calls_itself_is_no_caller(tmp_path: Path) -> None:
    text = "def _private(x):\n    y = fetch(x)\n    _private(y)\n    return x + MARK\n"
    assert not brought(tmp_path, text)
