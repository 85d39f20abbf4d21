"""The tests on the way to what a slice runs: values with which the function leaves before, or takes another arm, are
none of its values. No torch.

Only tests are asked that need nothing but names and attributes, and the questions that Python and torch answer of a
value: `isinstance`, `hasattr`, `len`. Where a name is not there, nothing is known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any

from torchdevlint.runtime.execute.target import Region, blocks_of, dotted, statement_at

_QUESTIONS = frozenset({
    "isinstance", "issubclass", "hasattr", "getattr", "callable", "len", "type", "torch.is_tensor",
    "torch.is_floating_point", "torch.is_complex",
})  # fmt: skip
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


class PassedByError(Exception):
    """With these values the function does not come to what the slice runs."""


class Guards:
    """The tests of one body before and around `regions`."""

    def __init__(self, body: Sequence[ast.stmt], regions: Sequence[Region], path: str) -> None:
        wanted = {(id(test), truth): (test, truth) for region in regions for test, truth in _tests(body, region)}
        self._tests: list[tuple[CodeType, bool, int]] = [
            (compile(ast.fix_missing_locations(ast.Expression(test)), path, "eval"), truth, test.lineno)
            for test, truth in wanted.values()
            if _can_be_asked(test)
        ]

    def ask(self, namespace: dict[str, Any]) -> None:
        """Raises PassedByError where an answer leads elsewhere."""
        for code, wanted, row in self._tests:
            try:
                answer = bool(eval(code, namespace))  # noqa: S307 (the user's own test)
            except Exception:  # noqa: BLE001, S112 (what it asks for is not there)
                continue
            if answer is not wanted:
                raise PassedByError(f"what is run is a part of the program only, and line {row} leads elsewhere")


def _tests(body: Sequence[ast.stmt], region: Region) -> Iterator[tuple[ast.expr, bool]]:
    """Tests with the answer that leads to a region: of the arms that hold it, and of what may leave before it."""
    around = statement_at(body, region)
    block: Sequence[ast.stmt] = body
    for holder in around:
        for before in block:
            if before is holder:
                break
            if isinstance(before, ast.If) and not before.orelse and isinstance(before.body[-1], _LEAVES):
                yield before.test, False
        inner = next((each for each in blocks_of(holder) if any(one in around for one in each)), ())
        if isinstance(holder, ast.If) and inner:
            yield holder.test, inner is holder.body
        block = inner


def _can_be_asked(test: ast.expr) -> bool:
    """Whether a test runs nothing that may take long, or change something."""
    for node in ast.walk(test):
        if isinstance(node, ast.Call) and dotted(node.func) not in _QUESTIONS:
            return False
        if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Lambda)):
            return False
    return True
