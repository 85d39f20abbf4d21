"""The formats for people: full, concise, grouped, the summary, the statistics."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.report.samples import BROKEN, EMPTY, FACTORY, LOAD, MOVE, RUN, look
from torchdevlint.model import Diagnostic, FileResult, Related, Run, Severity, Span
from torchdevlint.report import TEXT, render, statistics
from torchdevlint.report.terminal import width

FULL = """\
error[TDL001] unassigned-tensor-move: [*] the result of `labels.to(device)` is thrown away
  --> src/load.py:1:1
   |
 1 | labels.to(device)
   | ^^^^^^^^^^^^^^^^^
 2 | net = torch.load(
 3 |     path,
   |
   = help: assign it

warning[TDL201] load-without-map-location: 50% of all machines: no GPU,\\nno luck
  --> src/load.py:2:7
   |
 1 |   labels.to(device)
 2 |   net = torch.load(
   |  _______^
 3 | |     path,
 4 | | )
   | |_^
   |
   = at run time: RuntimeError: Attempting to deserialize object on a CUDA device
   = help: say `map_location="cpu"`

error[TDL003] factory-in-forward: `torch.zeros` makes a tensor on the default device
  --> src/model.py:7:18
   |
 4 |         self.rnn = nn.GRU(4, 8)
   |                    ------------ the parameters are made here
 5 |
 6 |     def forward(self, x):
 7 |         hidden = torch.zeros(1, x.shape[1], 8)
   |                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
 8 |         scale = x.std()
 9 |         x = x / scale
...
12 |         return self.rnn(x, hidden)
   |                ------------------- meets the parameters of `self.rnn` here
   |
   = at run time: RuntimeError: Input and hidden tensors are not at the same device
   = help: add `device=x.device`

Found 2 errors and 1 warning.
[*] 1 fixable with `--fix`.
"""

CONCISE = """\
src/load.py:1:1: TDL001 [*] the result of `labels.to(device)` is thrown away
src/load.py:2:7: TDL201 50% of all machines: no GPU,\\nno luck
src/model.py:7:18: TDL003 `torch.zeros` makes a tensor on the default device
Found 2 errors and 1 warning.
[*] 1 fixable with `--fix`.
"""

GROUPED = """\
src/load.py:
  1:1  TDL001  [*] the result of `labels.to(device)` is thrown away
  2:7  TDL201  50% of all machines: no GPU,\\nno luck

src/model.py:
  7:18  TDL003  `torch.zeros` makes a tensor on the default device

Found 2 errors and 1 warning.
[*] 1 fixable with `--fix`.
"""

SILENCED = Run((FileResult("src/load.py", silenced=2), FileResult("::src/other.py", silenced=1)))
BEHIND = "`# flake8: noqa` silences 3 findings in 2 files; `--ignore-noqa` shows what it silences.\n"
NAMED = "  src/load.py (2)\n  ./::src/other.py (1)\n"

LEFT_OUT = Run((FileResult("src/load.py", unasked=("TDL201", "TDL201")), FileResult("b.py", unasked=("TDL201",))))
HARDLY = "3 more findings of TDL201 can hardly hurt anybody; `--extend-select TDL201` shows what is left out.\n"

OF_PYTHON_2 = Run((FileResult("old.py", unread=True), FileResult("b.py")))

ONE_FIXABLE = "[*] 1 fixable with `--fix`.\n"


@pytest.mark.parametrize(("output_format", "text"), [("full", FULL), ("concise", CONCISE), ("grouped", GROUPED)])
def test_the_whole_report(output_format: str, text: str) -> None:
    assert render(output_format, RUN, look()) == text


@pytest.mark.parametrize("output_format", sorted(TEXT))
def test_colours_change_nothing_but_colours(output_format: str) -> None:
    import re

    colored = render(output_format, RUN, look(color=True))
    assert "\x1b[1;31m" in colored
    assert "\x1b[1;33m" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == render(output_format, RUN, look())


def test_a_terminal_wraps_sentences_and_leaves_the_frame_alone() -> None:
    run = run_of(replace(FACTORY, related=()))
    lines = render("full", run, look(width=50)).splitlines()
    assert max(map(len, lines)) <= 50
    assert lines[:2] == ["error[TDL003] factory-in-forward: `torch.zeros`", "  makes a tensor on the default device"]
    assert lines[-6:-2] == [
        "   = at run time: RuntimeError: Input and hidden",
        "                  tensors are not at the same",
        "                  device",
        "   = help: add `device=x.device`",
    ]


def test_without_its_file_a_finding_still_says_everything() -> None:
    away = Related("made here", "gone.py", Span(3, 2, 3, 4))
    run = run_of(replace(FACTORY, filename="gone.py", related=(away,)))
    assert render("full", run, look(quiet=True)).splitlines() == [
        "error[TDL003] factory-in-forward: `torch.zeros` makes a tensor on the default device",
        "  --> gone.py:7:18",
        "  ::: gone.py:3:2 made here",
        "   |",
        "   = at run time: RuntimeError: Input and hidden tensors are not at the same device",
        "   = help: add `device=x.device`",
        "",
    ]


def test_a_related_place_in_another_file_gets_a_frame_of_its_own() -> None:
    there = Related("the model is moved here", "src/model.py", Span(3, 9, 3, 27))
    text = render("full", run_of(replace(MOVE, related=(there,))), look())
    assert (
        "  ::: src/model.py:3:9\n"
        "   |\n"
        " 3 |         super().__init__()\n"
        "   |         ------------------ the model is moved here\n"
    ) in text


def test_what_would_confuse_a_terminal_is_escaped() -> None:
    evil = replace(MOVE, filename="a\x1b[2J\u202e\udcff.py", message="`x\u2066\r`")
    for output_format in TEXT:
        text = render(output_format, run_of(evil), look())
        assert "a\\x1b[2J\\u202e\\udcff.py" in text
        assert "`x\\u2066\\r`" in text
        text.encode()


@pytest.mark.parametrize("filename", ["::error file=a,line=1::b.py", " ::debug::/b.py"])
def test_no_line_starts_like_a_command_of_a_ci_runner(filename: str) -> None:
    """Source: TryParseV2 in https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs."""
    evil = replace(MOVE, filename=filename, message="`x`\n::error::y", help="so:\n  ::error::z\n")
    for output_format in TEXT:
        text = render(output_format, run_of(evil), look())
        assert filename in text
        assert not [line for line in text.split("\n") if line.lstrip().startswith("::")]


def test_what_is_drawn_over_the_character_before_it_takes_no_cell() -> None:
    assert [width(text) for text in ("ab", "e\u0301", "\u2764\ufe0f", "1\ufe0f\u20e3", "宽", "ｗ")] == [
        2,
        1,
        1,
        1,
        2,
        2,
    ]


SUMMARIES = {
    "nothing": (EMPTY, {}, "No findings.\n"),
    "nothing, verbose": (EMPTY, {"verbose": True}, "No findings. (1 file checked)\n"),
    "nothing, quiet": (EMPTY, {"quiet": True}, ""),
    "no file": (Run(), {}, "No Python files were found here.\n"),
    "a problem": (BROKEN, {}, "Found nothing in what could be checked.\n"),
    "silenced files": (SILENCED, {}, f"No findings.\n{BEHIND}"),
    "their names": (SILENCED, {"verbose": True}, f"No findings. (2 files checked)\n{BEHIND}{NAMED}"),
    "advice of a graver rule": (LEFT_OUT, {}, f"No findings.\n{HARDLY}"),
    "advice of a graver rule, by file": (
        LEFT_OUT, {"verbose": True}, f"No findings. (2 files checked)\n{HARDLY}  src/load.py (2)\n  b.py (1)\n"
    ),
    "files for Python 2": (
        OF_PYTHON_2, {}, "No findings.\n1 file could not be checked, which no Python of today has to run.\n"
    ),
    "verbose": (Run((FileResult("a", (MOVE,)),)), {"verbose": True}, f"Found 1 error (1 file checked).\n{ONE_FIXABLE}"),
}


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_summary_says_what_is_known(name: str) -> None:
    run, changes, text = SUMMARIES[name]
    assert render("concise", run, look(**changes)).endswith(text)
    assert render("concise", run, look(**changes)).count("\n") == text.count("\n") + len(run.diagnostics)


def test_findings_that_are_alike_are_counted_together_and_all_listed() -> None:
    places = [replace(MOVE, span=Span(row, 1, row, 18)) for row in range(1, 38)]
    text = render("concise", run_of(*places, FACTORY), look())
    assert text.count("TDL001 [*] the result") == 37
    said = "37 are alike: TDL001 the result of `labels.to(device)` is thrown away\n"
    where = "  in src/load.py line 1, src/load.py line 2, src/load.py line 3, ...\n"
    assert f"Found 38 errors.\n{said}{where}[*] 37 fixable" in text
    assert "alike" not in render("concise", run_of(*places[:9], FACTORY), look())


def test_three_severities_are_counted_apart() -> None:
    run = run_of(FACTORY, MOVE, LOAD, replace(MOVE, severity=Severity.ADVICE))
    assert render("concise", run, look()).endswith(
        "\nFound 2 errors, 1 warning and 1 piece of advice.\n[*] 2 fixable with `--fix`.\n"
    )


def test_statistics_put_the_most_frequent_first() -> None:
    run = run_of(*[FACTORY] * 10, LOAD, MOVE)
    assert statistics("full", run) == (
        "10  TDL003  factory-in-forward\n"
        " 1  TDL001  unassigned-tensor-move\n"
        " 1  TDL201  load-without-map-location\n"
    )  # fmt: skip
    assert statistics("full", EMPTY) == ""


def run_of(*diagnostics: Diagnostic) -> Run:
    return Run((FileResult(diagnostics[0].filename, diagnostics),))
