"""Flagged expressions are wrapped so that the program does what it did, and tells of each that it was evaluated."""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
from pathlib import Path
from typing import Any

import pytest

from torchdevlint.runtime.execute.instrument import WATCH, Flagged, flagged, instrumented, watch_name
from torchdevlint.runtime.execute.target import Region, Target

PROGRAM = """\
class Base:
    def __init__(self, *rest, start: int = 1 + 1, **more):
        self.rows, self.__hidden = [start, *rest], more

    def hidden(self):
        return self.__hidden


class Sum(Base):
    names = [each.upper() for each in ("a", "b")]

    def __init__(self, *rest):
        super().__init__(*rest, start=len(rest), **{"key": rest[0]})

    def total(self, scale=None):
        found = 0
        for number, row in enumerate(self.rows):
            found += row * 2 if scale is None else row * scale
            self.rows[number] += 1
            self.rows[-1] = found
        text = f"{found:>{4}} of {self.hidden()['key']!r}"
        return text, -found, self.rows[0:2:1], {(1, 2): 0}[1, 2], (lambda x: x + found)(3)


def used(value):
    match value:
        case {"a": first, **rest} if first > 0:
            return first, rest
        case [first, *_] | (first, _):
            return first
    return (seen := value) or not seen


def rows(n):
    yield from (i ** 2 for i in range(n) if i != 1)


print(Sum(3, 4).total(), Sum(5).total(scale=2), Sum.names)
print(used({"a": 1, "b": 2}), used([7, 8]), used(0), list(rows(4)), 1 < 2 <= 3 < 3)
"""


class Told:
    """What wrapped code calls, without torch: counts what ended."""

    def __init__(self) -> None:
        self.ended: dict[int, int] = {}
        self.operands = 0

    def begin(self, number: int) -> int:
        self.operands = 0
        return number

    def operand(self, _number: int, value: Any) -> Any:
        self.operands += 1
        return value

    def inside(self, _number: int, value: Any) -> Any:
        return value

    def method(self, _number: int, receiver: Any, name: str) -> Any:
        self.operands += 1
        return getattr(receiver, name)

    def done(self, number: int, value: Any) -> Any:
        self.ended[number] = self.ended.get(number, 0) + 1
        return value


def target(node: ast.AST, source: str = PROGRAM) -> Target:
    at = Region(node.lineno, node.col_offset + 1, node.end_lineno, node.end_col_offset + 1)  # type: ignore[attr-defined]
    return Target(Path("model.py"), "TDL003", at, (), source=source)


def output(tree: list[ast.stmt]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(tree, []), "model.py", "exec"), {"__name__": "model"})
    return printed.getvalue()


def wrapped(told: Flagged, body: list[ast.stmt], monkeypatch: pytest.MonkeyPatch) -> tuple[str, Told]:
    watch = Told()
    monkeypatch.setattr(builtins, WATCH, watch, raising=False)
    return output(instrumented(body, told)), watch


def test_whatever_is_flagged_the_program_does_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = ast.parse(PROGRAM)
    expected = output(tree.body)
    evaluated = 0
    for node in ast.walk(tree):
        if isinstance(node, (ast.expr, ast.AugAssign, ast.Assign)):
            got, watch = wrapped(flagged(target(node)), tree.body, monkeypatch)
            assert got == expected, ast.dump(node)
            evaluated += bool(watch.ended)
    assert evaluated > 100


@pytest.mark.parametrize(
    ("text", "marked", "times", "operands"),
    [
        ("print(1 if len('ab') == 2 else abs(-3))", "abs(-3)", 0, 2),
        ("print(abs(-3) if len('ab') == 2 else 1)", "abs(-3)", 1, 2),
        ("print([abs(n) for n in (-1, -2)])", "abs(n)", 2, 2),
        ("x = [1, 2]\nx[0] += 5\nprint(x)", "x[0] += 5", 1, 2),
        ("x = [1, 2]\nx[1] = 5\nprint(x)", "x[1] = 5", 1, 2),
        ("print('a-b'.replace('-', *['+'], count=1) if 0 else 'a'.join(['b']))", "'a'.join(['b'])", 1, 2),
        ("print({1: 2}[1], [1, 2, 3][0:2])", "[1, 2, 3][0:2]", 1, 3),
        ("print(dict(memory=True))", "memory=True", 1, 0),
    ],
)  # fmt: skip
def test_what_is_evaluated_is_told_and_nothing_else(
    text: str, marked: str, times: int, operands: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = text[: text.index(marked)].count("\n")
    column = text.split("\n")[row].index(marked) + 1
    at = Region(row + 1, column, row + 1, column + len(marked))
    told = flagged(Target(Path("model.py"), "TDL003", at, (), source=text))
    body = ast.parse(text).body
    got, watch = wrapped(told, body, monkeypatch)
    assert got == output(body)
    assert watch.ended == ({0: times} if times else {})
    assert told.operands == (operands,)
    assert watch.operands == (operands if times else 0)


def test_two_findings_in_one_file_are_wrapped_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "print(abs(min(3, -4)))"
    tree = ast.parse(text)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    watches = []
    body = tree.body
    for number, node in enumerate(calls):
        watches.append(Told())
        monkeypatch.setattr(builtins, watch_name(number), watches[-1], raising=False)
        body = instrumented(body, flagged(target(node, text)), watch_name(number))
    assert output(body) == "4\n"
    assert [watch.ended for watch in watches] == [{0: 1}] * 3


def test_one_of_several_watches_is_found_in_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """There Python changes names that only begin with two underscores."""
    text = "class Sum:\n    def total(self):\n        return abs(-4)\n\nprint(Sum().total())\n"
    (node,) = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Return)]
    watch = Told()
    monkeypatch.setattr(builtins, watch_name(0), watch, raising=False)
    assert output(instrumented(ast.parse(text).body, flagged(target(node.value, text)), watch_name(0))) == "4\n"
    assert watch.ended == {0: 1}


def test_lines_and_columns_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "x = 1\n\ny = (x +\n     None)\n"
    node = ast.parse(text).body[1].value  # type: ignore[attr-defined]
    monkeypatch.setattr(builtins, WATCH, Told(), raising=False)
    with pytest.raises(TypeError) as raised:
        output(instrumented(ast.parse(text).body, flagged(target(node, text))))
    assert raised.traceback[-1].lineno + 1 == 3
