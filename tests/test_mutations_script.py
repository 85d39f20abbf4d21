"""`scripts/mutations.py` makes changes that are programs, one operator each, and the same for the same seed."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from mutations import TESTS, TURNS, drawn, mutations  # noqa: E402

TEXT = """def f(é, b):
    if not é or b in (1, 2):
        return True
    return b if é < b else g(é)
"""


def test_each_kind_of_change() -> None:
    assert [(one.before, one.after) for one in mutations("m.py", TEXT)] == [
        ("not é", "(é)"),
        ("not é or b in (1, 2)", "(not é and b in (1, 2))"),
        ("b in (1, 2)", "(b not in (1, 2))"),
        ("True", "(False)"),
        ("b if é < b else g(é)", "(g(é) if é < b else b)"),
        ("é < b", "(é <= b)"),
    ]
    changed = mutations("m.py", TEXT)[-1].applied(TEXT)
    assert changed.splitlines()[3] == "    return b if (é <= b) else g(é)"


def test_what_is_drawn_parses_and_has_tests_that_are_there() -> None:
    chosen = drawn(20, 7)
    assert chosen == drawn(20, 7)
    assert len({one.path for one in chosen}) == 20
    for one in chosen:
        text = (ROOT / one.path).read_text(encoding="utf-8")
        assert ast.dump(ast.parse(one.applied(text))) != ast.dump(ast.parse(text)), str(one)
    assert set(TURNS) == set(TESTS)
    paths = [each for plan in TESTS.values() for arguments in plan for each in arguments if each.startswith("tests/")]
    assert [each for each in paths if not (ROOT / each).exists()] == []
