"""Classes that a test defines for itself: where they are run, the text of the test says."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from torchdevlint.flow.programs.places import holds
from torchdevlint.flow.scope.programs import mentions_accelerators
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import nodes_in

_IS_CPU = regex(r"^[ \t]*(\w+)[ \t]*=[ \t]*(?:torch\.device\([ \t]*)?['\"]cpu['\"][ \t]*\)?[ \t]*$", re.MULTILINE)


def is_of_test_on_cpu(tree: ast.Module, lines: Sequence[str], line: int) -> bool:
    """Whether a line is in a class of a test function, and nothing in that has to do with accelerators."""
    classes = [each for each in nodes_in(tree, ast.ClassDef) if holds(each, line)]
    tests = [each for each in nodes_in(tree, ast.FunctionDef) if each.name.startswith("test") and holds(each, line)]
    test = next((each for each in tests if any(each.lineno < inner.lineno for inner in classes)), None)
    if test is None:
        return False
    text = "\n".join(lines[test.lineno - 1 : test.end_lineno])
    for name in _IS_CPU.findall(text):
        text = re.sub(rf"\b{re.escape(name)}\b", "", text)
    return not mentions_accelerators(text)
