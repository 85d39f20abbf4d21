"""Rounds of a loop: a second one is run where it would find something else than the first, and not otherwise."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from tests.flow.snippets import mixed
from torchdevlint.flow.scope.loop_rounds import Loop, bound_first_in, filled_in


def loop(text: str) -> Loop:
    found = ast.parse(dedent(text)).body[0]
    assert isinstance(found, (ast.For, ast.While))
    return found


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("for x in y:\n    kept.append(x)", {"kept"}),
        ("for x in y:\n    kept[x] = f(x)", {"kept"}),
        ("for x in y:\n    kept.append(x)\n    print(len(kept))", set()),
        ("for x in y:\n    last = kept.append(x)", set()),
        ("for x in y:\n    kept.append(kept)", set()),
        ("for x in y:\n    kept += [x]", set()),
        ("while kept:\n    kept.append(1)", set()),
    ],
)
def test_what_a_loop_only_fills(text: str, filled: set[str]) -> None:
    assert filled_in(loop(text)) == filled


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("for x, (y, z) in w:\n    pass", {"x", "y", "z"}),
        ("for x in w:\n    y = f(x)\n    g(y)", {"x", "y"}),
        ("for x in w:\n    g(y)\n    y = f(x)", {"x"}),
        ("for x in w:\n    y = f(y)", {"x"}),
        ("for x in w:\n    if x:\n        y = f(x)\n    g(y)", {"x"}),
        ("for x in w:\n    def g():\n        return y\n    y = f(x)", {"x"}),
        ("while y:\n    y = f()\n    z = y", {"z"}),
    ],
)
def test_what_each_round_binds_before_it_reads_it(text: str, bound: set[str]) -> None:
    assert bound_first_in(loop(text)) == bound


def test_what_the_first_round_leaves_is_found_by_the_second() -> None:
    """`h` is on the CPU in the second round, where it was moved before the loop."""
    source = """
        def run(x, steps):
            h = torch.zeros(3, device="cuda")
            seen = []
            for _ in range(steps):
                y = h + torch.zeros(3, device="cuda")
                seen.append(y)
                h = torch.zeros(3)
            return seen
    """
    assert mixed(source) == ["h"]


def test_nobody_knows_how_long_a_list_is_that_a_loop_fills() -> None:
    """One round puts one item into it: nothing follows from there being one."""
    source = """
        def run(x, steps):
            kept = []
            for _ in range(steps):
                kept.append(torch.zeros(3))
            first, *rest = kept
            if len(kept) == 1:
                return torch.zeros(3)
            return torch.ones(3, device="cuda") + kept[-1]
    """
    assert mixed(source) == ["kept[-1]"]
