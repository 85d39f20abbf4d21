"""What a function puts into a dict that it finds empty."""

from __future__ import annotations

import ast

import pytest

from torchdevlint.flow.scope.first_use import filled_at_first_use


@pytest.mark.parametrize(
    ("test", "filled"),
    [
        ("len(state) == 0", True),
        ("not state", True),
        ("'step' not in state", True),
        ("first or len(state) == 0", True),
        ("len(state) == 1", False),
        ("len(state) != 0", False),
        ("state == 0", False),
        ("len(other) == 0", False),
    ],
)
def test_a_dict_is_filled_where_it_is_empty(test: str, filled: bool) -> None:
    function = ast.parse(f"def step(state, other, first):\n    if {test}:\n        state['step'] = 0\n").body[0]
    condition = function.body[0]  # type: ignore[attr-defined]
    assert filled_at_first_use(function, condition) == (frozenset({"state['step']"}) if filled else frozenset())


def test_what_is_written_elsewhere_too_is_not_the_first() -> None:
    text = "def step(state):\n    if not state:\n        state['step'] = 0\n    state['step'] = 1\n"
    function = ast.parse(text).body[0]
    assert filled_at_first_use(function, function.body[0]) == frozenset()  # type: ignore[attr-defined]
