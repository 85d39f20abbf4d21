"""Shapes of code on which the inference must not take time out of proportion to their length.

The work is counted in Python calls, so that the tests do not depend on the machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from .snippets import facts_of

CALLS_A_LINE = 3000


def work(text: str) -> int:
    """How many Python functions the inference calls for a file."""
    count = 0

    def profile(*_: object) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        facts_of(text)
    finally:
        sys.setprofile(before)
    return count


def functions_that_call_each_other(size: int) -> str:
    return "\n".join(
        f"def f{place}(x, y):\n"
        + "".join(f"    a{other} = f{other}(x, y)\n    b{other} = f{other}(y, x)\n" for other in range(size))
        + f"    return a{place}\n"
        for place in range(size)
    )


@pytest.mark.parametrize("shape", [functions_that_call_each_other])
def test_work_for_a_line_is_bounded(shape: Callable[[int], str]) -> None:
    for size in (4, 12):
        text = shape(size)
        assert work(text) / text.count("\n") < CALLS_A_LINE


def test_a_loop_over_its_own_variable_ends() -> None:
    assert (
        facts_of("""
        class Stack(nn.Module):
            def forward(self, x):
                for layer in layer:
                    x = layer(x)
                for one in other.parts:
                    for other in one.parts:
                        x = other(x)
                return x
    """)
        == []
    )
