"""JUnit's XML, as Jenkins, GitLab, Azure and others read it: a suite for each file, a failed test for each finding.

A file without findings is a test that passed, and what kept the tool from its job is an error. Pure ASCII; what a
terminal must not be given, or XML 1.0 has no way to write, comes out as a Python escape.
Source: https://github.com/testmoapp/junitxml and https://www.w3.org/TR/xml/#charsets
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from torchdevlint.model import Diagnostic, Problem
from torchdevlint.patterns import regex
from torchdevlint.report.concise import place
from torchdevlint.report.places import sentences, span_in_file, told
from torchdevlint.report.terminal import escape

if TYPE_CHECKING:
    from torchdevlint.model import Run
    from torchdevlint.report import Look

_NO_XML = regex("[\ufffe\uffff]")
"""What `escape` lets through, and XML does not."""


def render(run: Run, _look: Look) -> str:
    files = {file.filename: [_test(diagnostic) for diagnostic in file.diagnostics] for file in run.results}
    for problem in run.problems:
        files.setdefault(problem.filename or "torchdevlint", []).append(_error(problem))
    root = Element("testsuites", {"name": "torchdevlint"})
    for filename, tests in files.items():
        suite = SubElement(root, "testsuite", {"name": _text(filename)})
        suite.extend(tests or [_testcase("no findings", filename)])
        _count(suite, suite)
    _count(root, root.iter("testcase"))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root).decode("ascii")}\n'


def _test(diagnostic: Diagnostic) -> Element:
    test = _testcase(f"{diagnostic.code} {diagnostic.name}{place(diagnostic)}".rstrip(":"), diagnostic.filename)
    test.set("line", str(span_in_file(diagnostic).row))
    failure = SubElement(test, "failure", {"type": diagnostic.severity.value, "message": _text(told(diagnostic))})
    failure.text = "\n".join(map(_text, [f"{diagnostic.filename}{place(diagnostic)}", *sentences(diagnostic)]))
    return test


def _error(problem: Problem) -> Element:
    test = _testcase("analysis", problem.filename or "torchdevlint")
    SubElement(test, "error", {"type": "error", "message": _text(problem.message)})
    return test


def _testcase(name: str, filename: str) -> Element:
    """A test; together with the name of its file, its own tells it from the others."""
    return Element("testcase", {"name": name, "classname": _text(filename), "file": _text(filename)})


def _count(element: Element, tests: Iterable[Element]) -> None:
    found = [test.find("*") for test in tests]
    element.set("tests", str(len(found)))
    for key, tag in (("failures", "failure"), ("errors", "error")):
        element.set(key, str(sum(one is not None and one.tag == tag for one in found)))


def _text(text: str) -> str:
    return _NO_XML.sub(lambda match: f"\\u{ord(match[0]):x}", escape(text))
