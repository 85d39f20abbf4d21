"""The formats for programs: json, json-lines, github."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from tests.report.samples import EMPTY, FACTORY, LOAD, MOVE, RUN, look
from torchdevlint.model import Applicability, Edit, FileResult, Fix, Run, Severity, Span
from torchdevlint.report import FORMATS, TEXT, render, statistics
from torchdevlint.report.json import to_dict

KEYS = [
    "code", "name", "message", "severity", "filename", "cell", "location", "end_location", "noqa_row", "url", "symptom",
    "related", "fix",
]  # fmt: skip

MOVE_OBJECT = {
    "code": "TDL001",
    "name": "unassigned-tensor-move",
    "message": "the result of `labels.to(device)` is thrown away",
    "severity": "error",
    "filename": "src/load.py",
    "cell": None,
    "location": {"row": 1, "column": 1},
    "end_location": {"row": 1, "column": 18},
    "noqa_row": 1,
    "url": "https://example.org/TDL001/",
    "symptom": "",
    "related": [],
    "fix": {
        "applicability": "safe",
        "message": "Assign the result",
        "edits": [
            {"content": "labels = ", "location": {"row": 1, "column": 1}, "end_location": {"row": 1, "column": 1}}
        ],
    },
}


def test_json() -> None:
    rows = json.loads(render("json", RUN, look()))
    assert rows[0] == MOVE_OBJECT
    assert [row["code"] for row in rows] == ["TDL001", "TDL201", "TDL003"]
    assert all(list(row) == KEYS for row in rows)
    assert rows[2]["fix"] is None
    assert rows[2]["related"][0] == {
        "message": "meets the parameters of `self.rnn` here",
        "filename": "src/model.py",
        "location": {"row": 12, "column": 16},
        "end_location": {"row": 12, "column": 35},
    }


def test_json_lines_are_the_same_objects() -> None:
    lines = render("json-lines", RUN, look()).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(render("json", RUN, look()))


def test_nothing_found() -> None:
    assert render("json", EMPTY, look()) == "[]\n"
    assert render("json-lines", EMPTY, look()) == ""
    assert render("github", EMPTY, look()) == ""


def test_json_is_ascii_and_holds_no_half_of_a_character() -> None:
    name = "a\udcff\u202e\U0001f525.py"
    text = render("json", Run((FileResult(name, (replace(MOVE, filename=name),)),)), look())
    assert text.isascii()
    assert json.loads(text)[0]["filename"] == "a\\udcff\u202e\U0001f525.py"


GITHUB = """\
::error title=TDL001 unassigned-tensor-move,file=src/load.py,line=1,col=1,endLine=1,endColumn=18::\
src/load.py:1:1: TDL001 the result of `labels.to(device)` is thrown away%0AHelp: assign it
::warning title=TDL201 load-without-map-location,file=src/load.py,line=2,endLine=4::\
src/load.py:2:7: TDL201 50%25 of all machines: no GPU,\\nno luck%0AAt run time: \
RuntimeError: Attempting to deserialize object on a CUDA device%0AHelp: say `map_location="cpu"`
::error title=TDL003 factory-in-forward,file=src/model.py,line=7,col=18,endLine=7,endColumn=47::\
src/model.py:7:18: TDL003 `torch.zeros` makes a tensor on the default device%0AAt run time: \
RuntimeError: Input and hidden tensors are not at the same device%0AHelp: add `device=x.device`
"""


def test_github() -> None:
    assert render("github", RUN, look()) == GITHUB


def test_github_escapes_what_separates_properties() -> None:
    name = "c:/a,b%\n.py"
    advice = replace(FACTORY, filename=name, severity=Severity.ADVICE)
    text = render("github", Run((FileResult(name, (advice,)),)), look())
    assert text.startswith("::notice title=TDL003 factory-in-forward,file=c%3A/a%2Cb%25\\n.py,line=7,")
    assert text.count("\n") == 1


def test_statistics_as_objects() -> None:
    rows = [
        {"code": "TDL001", "name": "unassigned-tensor-move", "severity": "error", "count": 2},
        {"code": "TDL201", "name": "load-without-map-location", "severity": "warning", "count": 1},
    ]
    run = Run((FileResult("a", (MOVE, LOAD, MOVE)),))
    assert json.loads(statistics("json", run)) == rows
    assert [json.loads(line) for line in statistics("json-lines", run).splitlines()] == rows


@pytest.mark.parametrize("output_format", FORMATS)
def test_only_reports_for_people_have_a_summary_and_colours(output_format: str) -> None:
    text = render(output_format, RUN, look(color=True, verbose=True))
    assert ("Found 2 errors" in text) is (output_format in TEXT)
    assert ("\x1b" in text) is (output_format in TEXT)


def test_edits_are_in_the_order_of_the_file() -> None:
    edits = (
        Edit("d", Span(1, 1, 1, 2), 3),
        Edit("c", Span(2, 5, 2, 6), 2),
        Edit("b", Span(2, 1, 2, 2), 2),
        Edit("a", Span(1, 9, 1, 9), 2),
    )
    found = to_dict(replace(MOVE, fix=Fix(Applicability.SAFE, "Do it", edits)))
    assert [edit["content"] for edit in found["fix"]["edits"]] == ["a", "b", "c", "d"]
