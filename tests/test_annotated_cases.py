"""An annotation on an assignment changes no finding: ``self.x: Any = v`` binds what ``self.x = v`` does."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.casefile import Case, lint, read_cases, settings_for
from tests.conftest import HoldAll

RULES = sorted({case.rule for case in read_cases()})
LEAST = 1_500
"""So many cases have something to annotate, and more."""


def annotated(text: str) -> str:
    """The same program, each plain assignment to one name or attribute annotated, but for those in a class body."""
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    fields = [each for node in nodes if isinstance(node, ast.ClassDef) for each in node.body]
    shared = {name for node in nodes if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
    lines = text.split("\n")
    targets = [node.targets[0] for node in nodes if _is_plain(node) and node not in fields]  # type: ignore[attr-defined]
    for target in sorted(targets, key=lambda each: (each.end_lineno, each.end_col_offset), reverse=True):
        if not isinstance(target, ast.Name) or not (target.id in shared or target.id.startswith("__")):
            line = lines[target.end_lineno - 1].encode()
            lines[target.end_lineno - 1] = b': "Any"'.join(
                (line[: target.end_col_offset], line[target.end_col_offset :])
            ).decode()
    return "\n".join(lines)


def _is_plain(node: ast.AST) -> bool:
    one = isinstance(node, ast.Assign) and len(node.targets) == 1 and not isinstance(node.value, ast.Tuple)
    return one and isinstance(node.targets[0], (ast.Name, ast.Attribute))  # type: ignore[attr-defined]


@cache
def _texts(rule: str) -> dict[Case, str]:
    """The cases of a rule that have something to annotate, annotated; what Python cannot read has nothing."""
    texts = {case: annotated(case.code) for case in read_cases() if case.rule == rule and _is_read(case.code)}
    return {case: text for case, text in texts.items() if text != case.code}


def _is_read(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def test_most_cases_have_something_to_annotate() -> None:
    assert sum(len(_texts(rule)) for rule in RULES) > LEAST


def test_what_is_annotated() -> None:
    text = "class A:\n    x = 1\n\n    def f(self):\n        self.é = a = 2\n        self.b = 3\n        c, d = 4, 5\n"
    assert annotated(text) == text.replace("self.b =", 'self.b: "Any" =')


@pytest.mark.parametrize("rule", RULES)
def test_an_annotation_changes_no_finding(rule: str, hold_all: HoldAll) -> None:
    hold_all(_texts(rule), reported_as_wanted)


def reported_as_wanted(case: Case) -> None:
    text = _texts(case.rule)[case]
    found = {(each.span.row, each.code) for each in lint(text, settings_for(case.rule))}
    assert found == case.want, f"{case.file}:{case.row}: {text}"
