"""The formats that services read: gitlab, junit, rdjson, pylint, azure."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from tests.report.samples import BROKEN, CELL, EMPTY, FACTORY, FILES, LOAD, MOVE, RUN, look
from tests.report.samples import lines as lines_of
from torchdevlint.fix.splice import splice
from torchdevlint.model import Applicability, Diagnostic, Edit, FileResult, Fix, Problem, Run, Severity, Span
from torchdevlint.report import render

ODD = "a\udcff\ufffe\x1b[2J\U0001f525];,\n.py"


def of(*diagnostics: Diagnostic) -> Run:
    return Run(tuple(FileResult(one.filename, (one,)) for one in diagnostics))


@pytest.mark.parametrize("output_format", ["gitlab", "junit", "rdjson"])
def test_reports_are_ascii_whatever_is_in_the_source(output_format: str) -> None:
    text = render(output_format, of(replace(MOVE, filename=ODD, message=f"in {ODD}")), look())
    assert text.isascii()
    if output_format != "junit":
        assert "\\udcff" not in text.replace("\\\\udcff", ""), "half a character is no text"


class TestGitlab:
    def issues(self, run: Run, lines: dict[str, list[str]] | None = None) -> list[dict[str, Any]]:
        known = FILES if lines is None else lines
        found: list[dict[str, Any]] = json.loads(render("gitlab", run, look(lines=partial(lines_of, files=known))))
        return found

    def test_golden(self) -> None:
        issues = self.issues(RUN)
        fingerprints = [issue.pop("fingerprint") for issue in issues]
        assert issues == [
            {
                "description": "TDL001 the result of `labels.to(device)` is thrown away",
                "check_name": "unassigned-tensor-move",
                "severity": "critical",
                "location": {"path": "src/load.py", "lines": {"begin": 1, "end": 1}},
            },
            {
                "description": "TDL201 50% of all machines: no GPU,\nno luck",
                "check_name": "load-without-map-location",
                "severity": "major",
                "location": {"path": "src/load.py", "lines": {"begin": 2, "end": 4}},
            },
            {
                "description": "TDL003 `torch.zeros` makes a tensor on the default device",
                "check_name": "factory-in-forward",
                "severity": "critical",
                "location": {"path": "src/model.py", "lines": {"begin": 7, "end": 7}},
            },
        ]
        assert fingerprints[0] == "30ccfa47501a474ee5308835fe271edd917e7d68a73cde86f5ef60f70a504954"
        assert len(set(fingerprints)) == 3
        assert self.issues(EMPTY) == []

    def test_fingerprints_stay_when_lines_move_and_are_never_shared(self) -> None:
        line = "x.to(device); x.to(device)"
        first, second = replace(MOVE, filename="a.py"), replace(MOVE, filename="a.py", span=Span(1, 15, 1, 27))
        like = replace(first, span=Span(2, 1, 2, 13))
        issues = self.issues(Run((FileResult("a.py", (first, second, like)),)), {"a.py": [line, line, "y = 1"]})
        before = [issue["fingerprint"] for issue in issues]
        assert len(set(before)) == 3
        moved = [replace(one, span=replace(one.span, row=one.span.row + 2)) for one in (first, second, like)]
        lines = ["import os", "", line, line, "y = 1"]
        after = self.issues(Run((FileResult("a.py", tuple(moved)),)), {"a.py": lines})
        assert [issue["fingerprint"] for issue in after] == before

    def test_without_the_lines_findings_are_told_apart_as_well(self) -> None:
        twice = (MOVE, replace(MOVE, span=Span(9, 1, 9, 2)))
        issues = self.issues(Run((FileResult("src/load.py", twice),)), {})
        assert len({issue["fingerprint"] for issue in issues}) == 2

    def test_names_are_relative_to_the_repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "part").mkdir()
        monkeypatch.chdir(tmp_path / "part")
        monkeypatch.delenv("CI_PROJECT_DIR", raising=False)
        run = of(replace(MOVE, filename="a.py"), replace(MOVE, filename=f"{tmp_path.as_posix()}/part/b.py"))
        assert [issue["location"]["path"] for issue in self.issues(run)] == ["a.py", "b.py"]
        monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path))
        assert [issue["location"]["path"] for issue in self.issues(run)] == ["part/a.py", "part/b.py"]

    def test_a_cell_is_told(self) -> None:
        other = replace(CELL, cell=4)
        issues = self.issues(Run((FileResult(CELL.filename, (CELL, other)),)))
        assert issues[0]["description"].startswith("TDL001 cell 3:1:1: the result")
        assert issues[0]["location"]["lines"] == {"begin": 1, "end": 1}
        assert issues[0]["fingerprint"] != issues[1]["fingerprint"]
        (moved,) = self.issues(of(other), {"train.ipynb:4": FILES["train.ipynb:3"]})
        assert moved["fingerprint"] == issues[0]["fingerprint"], "a cell above it makes no difference"


JUNIT = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="torchdevlint" tests="4" failures="3" errors="0">
  <testsuite name="src/load.py" tests="2" failures="2" errors="0">
    <testcase name="TDL001 unassigned-tensor-move:1:1" classname="src/load.py" file="src/load.py" line="1">
      <failure type="error" message="the result of `labels.to(device)` is thrown away">src/load.py:1:1:
the result of `labels.to(device)` is thrown away.
Help: assign it</failure>
    </testcase>
    <testcase name="TDL201 load-without-map-location:2:7" classname="src/load.py" file="src/load.py" line="2">
      <failure type="warning" message="50% of all machines: no GPU,\\nno luck">src/load.py:2:7:
50% of all machines: no GPU,\\nno luck.
At run time: RuntimeError: Attempting to deserialize object on a CUDA device
Help: say `map_location="cpu"`</failure>
    </testcase>
  </testsuite>
  <testsuite name="src/model.py" tests="1" failures="1" errors="0">
    <testcase name="TDL003 factory-in-forward:7:18" classname="src/model.py" file="src/model.py" line="7">
      <failure type="error" message="`torch.zeros` makes a tensor on the default device">src/model.py:7:18:
`torch.zeros` makes a tensor on the default device.
At run time: RuntimeError: Input and hidden tensors are not at the same device
Help: add `device=x.device`</failure>
    </testcase>
  </testsuite>
  <testsuite name="src/other.py" tests="1" failures="0" errors="0">
    <testcase name="no findings" classname="src/other.py" file="src/other.py" />
  </testsuite>
</testsuites>
"""


class TestJunit:
    def test_golden(self) -> None:
        assert render("junit", RUN, look()) == JUNIT

    def test_problems_are_errors(self) -> None:
        run = Run(BROKEN.results, (*BROKEN.problems, Problem(None, "no room")))
        root = ElementTree.fromstring(render("junit", run, look()))
        assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "0", "2")
        errors = [(suite.get("name"), suite.find("testcase/error").get("message")) for suite in root]  # type: ignore[union-attr]
        assert errors == [("src/other.py", "cannot be read"), ("torchdevlint", "no room")]

    def test_what_xml_cannot_hold_is_escaped(self) -> None:
        told = "a\x00\x1b\ud800\ufffe <b> & ]]> \"'"
        root = ElementTree.fromstring(render("junit", of(replace(MOVE, filename=ODD, message=told)), look()))
        failure = root.find("testsuite/testcase/failure")
        assert failure is not None
        assert failure.get("message") == "a\\x00\\x1b\\ud800\\ufffe <b> & ]]> \"'"
        assert root[0].get("name") == "a\\udcff\\ufffe\\x1b[2J\U0001f525];,\\n.py"

    def test_nothing_checked_is_well_formed(self) -> None:
        root = ElementTree.fromstring(render("junit", Run(), look()))
        assert root.get("tests") == "0"


class TestRdjson:
    def diagnostics(self, run: Run, **lines: list[str]) -> list[dict[str, Any]]:
        known = {f"{name}.py": text for name, text in lines.items()} or FILES
        report = json.loads(render("rdjson", run, look(lines=partial(lines_of, files=known))))
        assert report["source"]["name"] == "torchdevlint"
        found: list[dict[str, Any]] = report["diagnostics"]
        return found

    def test_golden(self) -> None:
        move, load, _ = self.diagnostics(RUN)
        assert move == {
            "message": "the result of `labels.to(device)` is thrown away.\nHelp: assign it",
            "location": {"path": "src/load.py", "range": between(1, 1, 1, 18)},
            "severity": "ERROR",
            "code": {"value": "TDL001", "url": "https://example.org/TDL001/"},
            "suggestions": [{"range": between(1, 1, 1, 1), "text": "labels = "}],
        }
        assert load["severity"] == "WARNING"
        assert load["location"]["range"] == between(2, 7, 4, 2)
        assert "suggestions" not in load, "the fix is only to be shown"
        advice = replace(MOVE, severity=Severity.ADVICE)
        assert self.diagnostics(of(advice))[0]["severity"] == "INFO"

    def test_columns_count_bytes(self) -> None:
        found = replace(MOVE, filename="a.py", span=Span(1, 6, 1, 7), fix=None)
        (shown,) = self.diagnostics(of(found), a=["s = 'é🔥' + x"])
        assert shown["location"]["range"] == between(1, 6, 1, 8)

    def test_the_edits_of_a_fix_are_one_suggestion(self) -> None:
        lines = ["import os", "", "x.to(d)", "y = 1"]
        edits = (Edit("x = ", Span(3, 1, 3, 1)), Edit("\nimport sys", Span(1, 10, 1, 10)), Edit("e", Span(3, 6, 3, 7)))
        fix = Fix(Applicability.UNSAFE, "Do it", edits)
        (shown,) = self.diagnostics(of(replace(MOVE, filename="a.py", span=Span(3, 1, 3, 8), fix=fix)), a=lines)
        (suggestion,) = shown["suggestions"]
        assert suggestion == {"range": between(1, 10, 3, 7), "text": "\nimport sys\n\nx = x.to(e"}
        whole = Fix(fix.applicability, "", (Edit(suggestion["text"], Span(1, 10, 3, 7)),))
        text = "\n".join(lines)
        assert splice(text, [whole])[0] == splice(text, [fix])[0]

    def test_without_the_lines_only_rows_are_told(self) -> None:
        (shown,) = self.diagnostics(of(replace(MOVE, filename="gone.py")))
        assert shown["location"]["range"] == {"start": {"line": 1}, "end": {"line": 1}}
        assert "suggestions" not in shown

    def test_a_cell_has_no_lines_in_the_file(self) -> None:
        (shown,) = self.diagnostics(of(CELL))
        assert shown["location"] == {"path": "train.ipynb"}
        assert shown["message"].startswith("cell 3:1:1: the result")
        assert "suggestions" not in shown


def between(row: int, column: int, end_row: int, end_column: int) -> dict[str, dict[str, int]]:
    return {"start": {"line": row, "column": column}, "end": {"line": end_row, "column": end_column}}


PYLINT = """\
src/load.py:1: [TDL001] the result of `labels.to(device)` is thrown away
src/load.py:2: [TDL201] 50% of all machines: no GPU,\\nno luck
src/model.py:7: [TDL003] `torch.zeros` makes a tensor on the default device
"""


def test_pylint() -> None:
    assert render("pylint", RUN, look()) == PYLINT
    assert render("pylint", EMPTY, look()) == ""
    assert render("pylint", of(CELL), look()).startswith("train.ipynb:1: [TDL001] cell 3:1:1: the result of")
    assert render("pylint", of(replace(LOAD, filename="::error::x")), look()).startswith("./::error::x:2: ")


AZURE = """\
##vso[task.logissue type=error;sourcepath=src/load.py;linenumber=1;columnnumber=1;code=TDL001;]\
the result of `labels.to(device)` is thrown away.%0AHelp: assign it
##vso[task.logissue type=warning;sourcepath=src/load.py;linenumber=2;columnnumber=7;code=TDL201;]\
50%AZP25 of all machines: no GPU,\\nno luck.%0AAt run time: \
RuntimeError: Attempting to deserialize object on a CUDA device%0AHelp: say `map_location="cpu"`
##vso[task.logissue type=error;sourcepath=src/model.py;linenumber=7;columnnumber=18;code=TDL003;]\
`torch.zeros` makes a tensor on the default device.%0AAt run time: \
RuntimeError: Input and hidden tensors are not at the same device%0AHelp: add `device=x.device`
"""


def test_azure() -> None:
    assert render("azure", RUN, look()) == AZURE
    assert render("azure", EMPTY, look()) == ""


def test_azure_escapes_what_separates_properties() -> None:
    advice = replace(FACTORY, filename=ODD, severity=Severity.ADVICE)
    text = render("azure", of(advice), look())
    start = "##vso[task.logissue type=warning;sourcepath=a\\udcff\ufffe\\x1b[2J\U0001f525%5D%3B,\\n.py;linenumber=7;"
    assert text.startswith(start)
    assert text.count("\n") == 1
    assert "]cell 3:1:1: the result" in render("azure", of(CELL), look())


def test_github_tells_a_cell() -> None:
    text = render("github", of(CELL), look())
    assert "file=train.ipynb,line=1,col=1,endLine=1,endColumn=1::train.ipynb:cell 3:1:1: TDL001" in text
