"""SARIF 2.1.0, which GitHub's code scanning and other dashboards take in. Pure ASCII, whatever is in the source.

One run holds every rule, found or not, so that logs of one version differ in their results only. What code scanning
reads of it, and how long a text may be: https://docs.github.com/code-security/reference/code-scanning/sarif-files
The standard: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from torchdevlint import __version__
from torchdevlint.model import Diagnostic, Edit, FileResult, Fix, Problem, Severity, Span
from torchdevlint.patterns import regex
from torchdevlint.report.line_hash import line_hashes
from torchdevlint.report.places import below, offered, sentences, whole
from torchdevlint.rules import DOCS_URL, Rule, all_rules

if TYPE_CHECKING:
    from torchdevlint.model import Run
    from torchdevlint.report import Look

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.ADVICE: "note"}
Properties = Mapping[Diagnostic, Mapping[str, Any]]

_LINK = regex(r"\[([^][]*)\](?=\()")
_DRIVE = regex(r"[A-Za-z]:/")


def render(run: Run, look: Look, properties: Properties | None = None) -> str:
    """The log as text. `properties` is what else is known of a finding, such as a verdict: plain values by name."""
    return json.dumps(log(run, look, properties or {}), indent=2, allow_nan=False, default=str) + "\n"


def log(run: Run, look: Look, properties: Properties) -> dict[str, Any]:
    """The log as plain values."""
    driver = {
        "name": "torchdevlint",
        "version": __version__,
        "informationUri": DOCS_URL.removesuffix("rules"),
        "rules": [_rule(rule) for rule in all_rules()],
    }
    invocation = {
        "executionSuccessful": not run.problems,
        "toolExecutionNotifications": [_notification(problem) for problem in run.problems],
    }
    results = [result for file in run.results for result in _results(file, look, properties)]
    whole = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [whole]}


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": " ".join(rule.sections()["What it does"].split())},
        "help": {"text": rule.doc, "markdown": rule.doc},
        **({"helpUri": rule.url} if rule.url else {}),
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
    }


def _results(file: FileResult, look: Look, properties: Properties) -> Iterator[dict[str, Any]]:
    rows = {diagnostic.span.row for diagnostic in file.diagnostics if diagnostic.cell is None}
    hashes = line_hashes(look.lines(file.filename), rows) if rows else {}
    for diagnostic in file.diagnostics:
        result = _result(diagnostic)
        if diagnostic.cell is None and diagnostic.span.row in hashes:
            result["partialFingerprints"] = {"primaryLocationLineHash": hashes[diagnostic.span.row]}
        if diagnostic in properties:
            result["properties"] = _plain(properties[diagnostic])
        yield result


def _result(diagnostic: Diagnostic) -> dict[str, Any]:
    result = {
        **_rule_of(diagnostic.code),
        "level": LEVELS[diagnostic.severity],
        "message": _message("\n".join(sentences(diagnostic))),
        "locations": [_location(diagnostic.filename, diagnostic.span if diagnostic.cell is None else None)],
    }
    if diagnostic.related:
        result["relatedLocations"] = [
            {"id": number, **_location(related.filename, span), "message": _message(related.message)}
            for number, related in enumerate(diagnostic.related, start=1)
            for span in [related.span if related.cell is None else None]
        ]
    fix = offered(diagnostic)
    if fix is not None:
        result["fixes"] = [_fix(fix, diagnostic.filename)]
    return result


def _fix(fix: Fix, filename: str) -> dict[str, Any]:
    change = {
        "artifactLocation": {"uri": uri(filename)},
        "replacements": [_replacement(edit) for edit in fix.edits],
    }
    return {
        "description": _message(fix.message),
        "artifactChanges": [change],
        "properties": {"applicability": fix.applicability.value},
    }


def _replacement(edit: Edit) -> dict[str, Any]:
    replacement: dict[str, Any] = {"deletedRegion": _region(edit.span)}
    if edit.content:
        replacement["insertedContent"] = {"text": whole(edit.content)}
    return replacement


def _rule_of(code: str) -> dict[str, Any]:
    index = next(index for index, rule in enumerate(all_rules()) if rule.code == code)
    return {"ruleId": code, "ruleIndex": index}


def _message(text: str) -> dict[str, str]:
    """A message that reads `text`: braces would be placeholders in it, and ``[a](b)`` a link."""
    text = _LINK.sub(r"\\[\1\\]", text.replace("{", "{{").replace("}", "}}"))
    return {"text": whole(text)}


def _location(filename: str, span: Span | None) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri(filename)}}
    if span is not None:
        physical["region"] = _region(span)
    return {"physicalLocation": physical}


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.row,
        "startColumn": span.column,
        "endLine": span.end_row,
        "endColumn": span.end_column,
    }


def uri(filename: str) -> str:
    """The URI of a file, relative if it is in the current folder or was named so."""
    name = below(filename)
    windows = os.name == "nt"
    drive = windows and _DRIVE.match(name)
    path = quote(name.encode("utf-8", "surrogatepass" if windows else "surrogateescape"), safe="/:" if drive else "/")
    if drive:
        return f"file:///{path}"
    return f"file://{path}" if name.startswith("/") else path


def _notification(problem: Problem) -> dict[str, Any]:
    """What kept the tool from its job; a log with any does not hold everything that there is to find."""
    notification: dict[str, Any] = {"level": "error", "message": _message(problem.message)}
    if problem.filename is not None:
        notification["locations"] = [_location(problem.filename, None)]
    if problem.rule is not None:
        rule = _rule_of(problem.rule)
        notification["associatedRule"] = {"id": rule["ruleId"], "index": rule["ruleIndex"]}
    return notification


def _plain(value: Any) -> Any:
    """`value` as JSON can hold it, which knows neither nan nor infinity."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
