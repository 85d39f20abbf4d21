"""SARIF: what the standard requires of a log, what code scanning reads of it, fingerprints that stay."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.request import urlopen

import jsonschema
import pytest
from msgspec.structs import replace

from tests.report.samples import BROKEN, CELL, EMPTY, FACTORY, FILES, LOAD, MOVE, RUN, look
from torchdevlint import __version__
from torchdevlint.model import Applicability, Diagnostic, Edit, FileResult, Fix, Problem, Related, Run, Severity, Span
from torchdevlint.report import render
from torchdevlint.report.line_hash import line_hashes
from torchdevlint.report.sarif import render as render_with
from torchdevlint.report.sarif import uri
from torchdevlint.rules import all_rules

OFFICIAL = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
TEXT: dict[str, Any] = {"text!": str}
REGION: dict[str, Any] = {"startLine!": int, "startColumn!": int, "endLine!": int, "endColumn!": int}
LOCATION: dict[str, Any] = {
    "id": int,
    "message": TEXT,
    "physicalLocation!": {
        "artifactLocation!": {"uri!": str},
        "region": REGION,
    },
}
SHAPE: dict[str, Any] = {
    "$schema!": str,
    "version!": str,
    "runs!": [
        {
            "tool!": {
                "driver!": {
                    "name!": str,
                    "version!": str,
                    "informationUri!": str,
                    "rules!": [
                        {
                            "id!": str,
                            "name!": str,
                            "shortDescription!": TEXT,
                            "fullDescription!": TEXT,
                            "help!": {"text!": str, "markdown!": str},
                            "helpUri!": str,
                            "defaultConfiguration!": {"level!": str},
                        }
                    ],
                }
            },
            "invocations!": [
                {
                    "executionSuccessful!": bool,
                    "toolExecutionNotifications!": [
                        {
                            "level!": str,
                            "message!": TEXT,
                            "locations": [LOCATION],
                            "associatedRule": {"id!": str, "index!": int},
                        }
                    ],
                }
            ],
            "columnKind!": str,
            "results!": [
                {
                    "ruleId!": str,
                    "ruleIndex!": int,
                    "level!": str,
                    "message!": TEXT,
                    "locations!": [LOCATION],
                    "relatedLocations": [LOCATION],
                    "fixes": [
                        {
                            "description!": TEXT,
                            "artifactChanges!": [
                                {
                                    "artifactLocation!": {"uri!": str},
                                    "replacements!": [{"deletedRegion!": REGION, "insertedContent": TEXT}],
                                }
                            ],
                            "properties!": {"applicability!": str},
                        }
                    ],
                    "partialFingerprints": {"primaryLocationLineHash!": str},
                    "properties": Mapping,
                }
            ],
        }
    ],
}
"""The part of the standard's schema that is written: no other key is allowed, and those with ``!`` are required."""


def conform(value: Any, shape: Any, where: str = "log") -> None:
    if isinstance(shape, list):
        assert isinstance(value, list), where
        for index, item in enumerate(value):
            conform(item, shape[0], f"{where}[{index}]")
    elif isinstance(shape, dict):
        assert isinstance(value, dict), where
        assert value.keys() <= {key.rstrip("!") for key in shape}, where
        assert value.keys() >= {key.rstrip("!") for key in shape if key.endswith("!")}, where
        for key, below in shape.items():
            if key.rstrip("!") in value:
                conform(value[key.rstrip("!")], below, f"{where}.{key}")
    else:
        assert isinstance(value, shape), where
        assert value != "", f"{where}: code scanning refuses empty texts"


def log(run: Run = RUN, properties: Mapping[Diagnostic, Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """The only run of the log for `run`."""
    whole = json.loads(render_with(run, look(), properties), parse_constant=pytest.fail)
    conform(whole, SHAPE)
    assert whole["version"] == "2.1.0"
    (only,) = whole["runs"]
    assert only["columnKind"] == "unicodeCodePoints"
    rules = [rule["id"] for rule in only["tool"]["driver"]["rules"]]
    for result in only["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in {"error", "warning", "note"}
        assert len(result["locations"]) == 1
        numbers = [location["id"] for location in result.get("relatedLocations", ())]
        assert numbers == list(range(1, len(numbers) + 1))
    return dict(only)


def of(*diagnostics: Diagnostic) -> Run:
    return Run(tuple(FileResult(one.filename, (one,)) for one in diagnostics))


def test_the_log_is_what_the_format_writes() -> None:
    assert json.loads(render("sarif", RUN, look()))["runs"] == [log()]


def test_the_tool_and_every_rule_are_there_whatever_was_found() -> None:
    driver = log(EMPTY)["tool"]["driver"]
    assert driver == log()["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("torchdevlint", __version__)
    assert [rule["id"] for rule in driver["rules"]] == [rule.code for rule in all_rules()]
    levels = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.ADVICE: "note"}
    for shown, rule in zip(driver["rules"], all_rules(), strict=True):
        assert (shown["name"], shown["helpUri"]) == (rule.name, rule.url)
        assert shown["shortDescription"]["text"] == rule.summary
        assert shown["defaultConfiguration"] == {"level": levels[rule.severity]}
        assert "\n## Use instead\n```python\n" in shown["help"]["markdown"]


def test_the_texts_of_the_rules_fit_into_code_scanning() -> None:
    for rule in log(EMPTY)["tool"]["driver"]["rules"]:
        assert len(rule["name"]) <= 255
        assert len(rule["shortDescription"]["text"]) <= 1024
        assert len(rule["fullDescription"]["text"]) <= 1024, rule["id"]


def test_a_result() -> None:
    result = log()["results"][2]
    assert result == {
        "ruleId": "TDL003",
        "ruleIndex": [rule.code for rule in all_rules()].index("TDL003"),
        "level": "error",
        "message": {
            "text": "`torch.zeros` makes a tensor on the default device.\n"
            "At run time: RuntimeError: Input and hidden tensors are not at the same device\n"
            "Help: add `device=x.device`"
        },
        "locations": [place("src/model.py", 7, 18, 7, 47)],
        "relatedLocations": [
            {
                "id": 1,
                **place("src/model.py", 12, 16, 12, 35),
                "message": {"text": "meets the parameters of `self.rnn` here"},
            },
            {"id": 2, **place("src/model.py", 4, 20, 4, 32), "message": {"text": "the parameters are made here"}},
        ],
        "partialFingerprints": {"primaryLocationLineHash": line_hashes(FILES["src/model.py"], {7})[7]},
    }


def place(name: str, row: int, column: int, end_row: int, end_column: int) -> dict[str, Any]:
    region = {"startLine": row, "startColumn": column, "endLine": end_row, "endColumn": end_column}
    return {"physicalLocation": {"artifactLocation": {"uri": name}, "region": region}}


def test_fixes_that_may_be_applied_are_offered() -> None:
    results = log()["results"]
    assert ["fixes" in result for result in results] == [True, False, False], "one is only shown, one has none"
    assert results[0]["fixes"] == [
        {
            "description": {"text": "Assign the result"},
            "artifactChanges": [
                {
                    "artifactLocation": {"uri": "src/load.py"},
                    "replacements": [
                        {
                            "deletedRegion": {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1},
                            "insertedContent": {"text": "labels = "},
                        }
                    ],
                }
            ],
            "properties": {"applicability": "safe"},
        }
    ]
    removal = replace(MOVE, fix=Fix(Applicability.UNSAFE, "Remove it", (Edit("", Span(1, 1, 2, 1)),)))
    (fix,) = log(of(removal))["results"][0]["fixes"]
    assert fix["properties"] == {"applicability": "unsafe"}
    assert fix["artifactChanges"][0]["replacements"] == [
        {"deletedRegion": {"startLine": 1, "startColumn": 1, "endLine": 2, "endColumn": 1}}
    ]


def test_a_cell_has_no_lines_in_the_file() -> None:
    near = replace(CELL, related=(Related("here", CELL.filename, Span(2, 1, 2, 3), CELL.cell), *FACTORY.related))
    (result,) = log(of(near))["results"]
    assert result["message"]["text"].startswith("cell 3:1:1: the result of")
    assert "fixes" not in result
    assert "partialFingerprints" not in result
    places = [location["physicalLocation"] for location in (*result["locations"], *result["relatedLocations"])]
    assert ["region" in place for place in places] == [False, False, True, True]


@pytest.mark.network
def test_the_official_schema_accepts_every_log() -> None:
    """The schema is read where the standard keeps it, or where the variable SARIF_SCHEMA says."""
    with urlopen(os.environ.get("SARIF_SCHEMA", OFFICIAL)) as answer:
        schema = json.load(answer)
    validator = jsonschema.Draft4Validator(schema, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER)
    validator.check_schema(schema)
    related = replace(CELL, related=(Related("here", CELL.filename, Span(2, 1, 2, 3), CELL.cell),))
    odd = replace(MOVE, filename="a b\udcff.py", severity=Severity.ADVICE)
    raised = Problem("src/x.py", "internal error", "TDL003")
    for run in (RUN, EMPTY, BROKEN, of(related, odd), Run(problems=(raised, Problem(None, "no room")))):
        validator.validate(json.loads(render_with(run, look(), {LOAD: {"verdict": "confirmed"}})))
    broken = json.loads(render("sarif", RUN, look()))
    broken["runs"][0]["results"][0]["fixes"][0]["artifactChanges"][0]["replacements"] = []
    assert not validator.is_valid(broken)


def test_levels() -> None:
    found = [replace(LOAD, severity=severity) for severity in (Severity.ERROR, Severity.WARNING, Severity.ADVICE)]
    assert [result["level"] for result in log(of(*found))["results"]] == ["error", "warning", "note"]


def test_what_would_be_a_placeholder_or_a_link_in_a_message_is_text() -> None:
    told = replace(MOVE, message="`f({0: x})` and `layers[0](x)` of `y[1]`", symptom="", help="")
    message = log(of(told))["results"][0]["message"]["text"]
    assert message == r"`f({{0: x}})` and `layers\[0\](x)` of `y[1]`."


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("src/a b#c%?.py", "src/a%20b%23c%25%3F.py"),
        ("c:d.py", "c%3Ad.py"),
        ("日本.py", "%E6%97%A5%E6%9C%AC.py"),
        ("a\udcff.py", "a%FF.py"),
        ("../a.py", "../a.py"),
        ("-", "-"),
    ],
)
def test_file_names_are_uris(name: str, expected: str) -> None:
    (result,) = log(of(replace(MOVE, filename=name)))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == expected


def test_absolute_names_are_relative_where_they_can_be(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "a b"
    here.mkdir()
    monkeypatch.chdir(here)
    assert uri((here / "src" / "x.py").as_posix()) == "src/x.py"
    outside = uri((tmp_path / "a bc" / "x.py").as_posix())
    assert outside.startswith("file:///")
    assert outside.endswith("/a%20bc/x.py")


def test_problems_are_notifications_and_the_run_has_failed() -> None:
    assert log()["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]
    raised = Problem("src/x.py", "internal error: {a}", "TDL003")
    lost = Problem(None, "no room")
    (invocation,) = log(Run(BROKEN.results, (*BROKEN.problems, raised, lost)))["invocations"]
    assert not invocation["executionSuccessful"]
    assert invocation["toolExecutionNotifications"] == [
        {
            "level": "error",
            "message": {"text": "cannot be read"},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": "src/other.py"}}}],
        },
        {
            "level": "error",
            "message": {"text": "internal error: {{a}}"},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": "src/x.py"}}}],
            "associatedRule": {"id": "TDL003", "index": [rule.code for rule in all_rules()].index("TDL003")},
        },
        {"level": "error", "message": {"text": "no room"}},
    ]


def test_properties_of_a_finding() -> None:
    known = {"verdict": "confirmed", "observed": {"loss": float("nan"), "sizes": (1, 2.5)}, "example": None}
    results = log(properties={LOAD: known})["results"]
    assert ["properties" in result for result in results] == [False, True, False]
    assert results[1]["properties"] == {
        "verdict": "confirmed",
        "observed": {"loss": "nan", "sizes": [1, 2.5]},
        "example": None,
    }


def test_every_character_and_output_encoding_will_do() -> None:
    name = "a\udcff\u202e\U0001f525.py"
    text = render("sarif", of(replace(MOVE, filename=name, message=f"in {name}")), look())
    assert text.isascii()
    assert "\\udcff" not in re.sub(r"\\\\udcff", "", text), "half a character is no text"


class TestFingerprints:
    """Those of the action that uploads to code scanning; the values were compared with its own."""

    KNOWN = (
        ("", ["c129715d7a2bc9a3:1"]),
        (" a\nb\n  \t\tc\n d", ["271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"]),
        ("y" * 300 + "\n", ["cadd4b5b9d92c51c:1", "c129715d7a2bc9a3:1"]),
        ('s = "🔥"\n', ["36cc749102672397:1", "c129715d7a2bc9a3:1"]),
    )

    @pytest.mark.parametrize(("text", "expected"), KNOWN, ids=["empty", "blanks", "long", "surrogates"])
    def test_known_values(self, text: str, expected: list[str]) -> None:
        lines = text.split("\n")
        assert list(line_hashes(lines, range(1, len(lines) + 1)).values()) == expected

    def test_they_stay_when_lines_above_or_blanks_change(self) -> None:
        lines = FILES["src/model.py"]
        below = line_hashes(["import os", "", *lines], {9})[9]
        assert line_hashes(lines, {7})[7] == below
        assert line_hashes([line.replace("    ", "\t") for line in lines], {7})[7] == below
        assert line_hashes([*lines[:6], "changed", *lines[7:]], {7})[7] != below

    def test_equal_lines_are_counted(self) -> None:
        lines = ["x = torch.load('model.pt')"] * 9
        assert line_hashes(lines, {1})[1][:-1] == line_hashes(lines, {2})[2][:-1]
        assert [line_hashes(lines, {row})[row][-2:] for row in (1, 2, 3)] == [":1", ":2", ":3"]

    def test_a_result_whose_line_is_not_to_be_had_has_none(self) -> None:
        gone = replace(MOVE, filename="gone.py")
        beyond = replace(FACTORY, span=Span(99, 1, 99, 2))
        for result in log(of(gone, beyond))["results"]:
            assert "partialFingerprints" not in result
