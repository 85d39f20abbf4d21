"""A hunt as SARIF 2.1.0: one result for each bug, with its script, and where the operand was made."""

from __future__ import annotations

import json
from typing import Any

from torchdevlint import __version__
from torchdevlint.report.places import whole
from torchdevlint.report.sarif import SCHEMA, uri
from torchdevlint.runtime.hunt.findings import Bug, Hunt, Place
from torchdevlint.runtime.hunt.report import CODE, NAME, message, place_of

_RULE = {
    "id": CODE,
    "name": NAME,
    "shortDescription": {"text": "What runs on the CPU and fails, or gives another result, on an accelerator."},
    "defaultConfiguration": {"level": "error"},
}


def render(hunt: Hunt) -> str:
    """The log as text."""
    driver = {"name": "torchdevlint", "version": __version__, "rules": [_RULE]}
    notes = [
        {"level": "note", "message": {"text": whole(f"{name}: {why}")}} for name, why in sorted(hunt.failed.items())
    ]
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
        "columnKind": "unicodeCodePoints",
        "results": [_result(bug) for bug in hunt.bugs],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(bug: Bug) -> dict[str, Any]:
    failure = bug.failure
    result: dict[str, Any] = {
        "ruleId": CODE,
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": whole(message(bug).replace("{", "{{").replace("}", "}}"))},
        "locations": [_location(place_of(bug))],
        "properties": {
            "target": failure.target.name,
            "mode": failure.mode,
            "script": failure.script,
            "rule": None if bug.rule is None else bug.rule.code,
        },
    }
    if failure.origin is not None:
        told = {"text": whole(f"made here: {failure.operand}")}
        result["relatedLocations"] = [{"id": 1, **_location(failure.origin), "message": told}]
    return result


def _location(place: Place) -> dict[str, Any]:
    physical = {"artifactLocation": {"uri": uri(place.filename)}, "region": {"startLine": place.line}}
    return {"physicalLocation": physical}
