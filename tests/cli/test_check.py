"""`torchdevlint check` as a process: exit codes, options, bad input, streams."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked
from tests.conftest import ROOT, a_part
from tests.forked import python
from torchdevlint import __version__
from torchdevlint.report import FORMATS

BUG = "import torch\n\nstate = torch.load('model.pt')\n"
CLEAN = "import torch\n\nx = torch.zeros(2)\n"
LINE = "3:9: TDL201 "


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a finding in ``src/bug.py`` and none in ``src/clean.py``."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "bug.py").write_text(BUG)
    (tmp_path / "src" / "clean.py").write_text(CLEAN)
    return tmp_path


def lint(folder: Path, *arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
    done = python("-m", "torchdevlint", *arguments, cwd=folder, **options)
    assert "Traceback" not in done.stdout + done.stderr
    return done


def concise(folder: Path, *arguments: str) -> list[str]:
    done = lint(folder, "check", "--output-format", "concise", "--quiet", *arguments)
    assert done.stderr == ""
    return [re.sub(r"(TDL\d+) .*", r"\1", line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("arguments", [["src"], ["check", "src"], [], ["check"], ["--isolated", "src"], ["check", "."]])
def test_check_is_the_default_command_and_here_the_default_path(project: Path, arguments: list[str]) -> None:
    done = lint(project, *arguments)
    assert (done.returncode, done.stderr) == (1, "")
    assert "TDL201" in done.stdout
    assert "\nFound 1 warning.\n" in done.stdout


def test_a_command_wins_over_a_folder_of_its_name(project: Path) -> None:
    (project / "src").rename(project / "rule")
    assert lint(project, "rule").returncode == 2
    assert lint(project, "./rule").returncode == 1
    assert lint(project, "--", "rule").returncode == 1


def test_version_and_help(project: Path) -> None:
    done = lint(project, "--version")
    assert (done.returncode, done.stdout) == (0, f"torchdevlint {__version__}\n")
    for arguments in (["-h"], ["--help"], ["check", "-h"], ["rule", "--help"]):
        done = lint(project, *arguments)
        assert done.returncode == 0
        assert done.stdout.startswith("Usage: torchdevlint")


def test_exit_codes(project: Path) -> None:
    assert lint(project, "src/clean.py").returncode == 0
    assert lint(project, "src").returncode == 1
    assert lint(project, "--exit-zero", "src").returncode == 0
    assert lint(project, "src", "gone.py").returncode == 2
    assert lint(project, "--exit-zero", "src", "gone.py").returncode == 2, "2 wins over everything"


def test_a_missing_path_is_named_and_the_rest_is_linted(project: Path) -> None:
    done = lint(project, "nosuch/", "src", "--output-format", "concise")
    assert done.stderr == "error: nosuch: no such file or folder\n"
    assert f"src/bug.py:{LINE}" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--select", "NOPE9"], ["NOPE9", "select"]),
        (["--ignore", "TDL20,TDL9999"], ["TDL9999", "ignore"]),
        (["--extend-select", "TLD201"], ["TLD201", "TDL201"]),
        (["--select", "load-without-map-locaton"], ["TDL201"]),
        (["--per-file-ignores", "a.py:TDX"], ["TDX"]),
        (["--per-file-ignores", "a.py"], ["--per-file-ignores", "GLOB:CODES"]),
        (["--output-format", "xml"], ["xml", "concise"]),
        (["--outputformat", "json"], ["--output-format"]),
        (["--jobs", "-1"], ["--jobs"]),
        (["--config", "nosuch.toml"], ["nosuch.toml"]),
        (["--stdin-filename", "a.py"], ["--stdin-filename"]),
        (["--statistics", "--output-format", "github"], ["--statistics", "github"]),
        (["--statistics", "--output-format", "sarif"], ["--statistics", "sarif"]),
        (["--statistics", "--output-format", "junit"], ["--statistics", "junit"]),
        (["-", "src"], ["`-`"]),
    ],
)
def test_a_command_line_that_is_wrong_exits_2_and_says_why(
    project: Path, arguments: list[str], words: list[str]
) -> None:
    done = lint(project, "check", *arguments, *([] if "-" in arguments else ["src"]))
    assert (done.returncode, done.stdout) == (2, "")
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize("name", ["pyproject.toml", "torchdevlint.toml"])
def test_a_configuration_that_is_wrong_exits_2_and_names_the_nearest_key(project: Path, name: str) -> None:
    table = "[tool.torchdevlint]\n" if name == "pyproject.toml" else ""
    for text, word in (
        ("selekt = []\n", "`select`"),
        ('output-format = "ful"\n', "one of full,"),
        ("select = [\n", "TOML"),
    ):
        (project / name).write_text(table + text)
        done = lint(project, "src")
        assert (done.returncode, done.stdout) == (2, "")
        assert word in done.stderr
    assert lint(project, "--isolated", "src").returncode == 1


def test_flags_overrule_the_configuration(project: Path) -> None:
    (project / "torchdevlint.toml").write_text(
        'ignore = ["TDL201"]\noutput-format = "concise"\nexclude = ["clean.py"]\n'
    )
    assert lint(project, "src").stdout == "No findings.\n"
    assert f"src/bug.py:{LINE}" in lint(project, "src", "--select", "TDL2").stdout
    assert lint(project, "src", "--extend-select", "TDL2").returncode == 0, "ignore wins a longer match"
    assert lint(project, "src", "--select", "TDL2", "--output-format", "json").stdout.startswith("[")
    assert lint(project, "--show-files").stdout == "src/bug.py\n"
    assert lint(project, "--show-files", "--exclude", "bug.py").stdout == "src/clean.py\n"
    assert lint(project, "--show-files", "--extend-exclude", "bug.py").stdout == ""


def test_rules_can_be_chosen_for_files(project: Path) -> None:
    assert concise(project, "--select", "TDL0,TDL2") == ["src/bug.py:" + LINE.strip()]
    assert concise(project, "--select", "TDL0", "--select", "TDL3") == []
    assert concise(project, "--select", "ALL", "--ignore", "TDL201") == []
    assert concise(project, "--per-file-ignores", "src/*.py:TDL3,TDL201") == []
    assert concise(project, "--per-file-ignores", "other.py:TDL201,src/clean.py:TDL2") == ["src/bug.py:" + LINE.strip()]


@pytest.mark.parametrize("output_format", FORMATS)
def test_every_format_is_written(project: Path, output_format: str) -> None:
    done = lint(project, "check", "--output-format", output_format, "src")
    assert (done.returncode, done.stderr) == (1, "")
    assert "TDL201" in done.stdout
    file = project / "report"
    assert lint(project, "check", "--output-format", output_format, "-o", "report", "src").stdout == ""
    assert file.read_text() == done.stdout


def test_a_report_that_cannot_be_written_exits_2(project: Path) -> None:
    done = lint(project, "check", "-o", "no/such/folder", "src")
    assert done.returncode == 2
    assert "cannot write to no/such/folder" in done.stderr


def test_statistics(project: Path) -> None:
    (project / "src" / "second.py").write_text(BUG)
    done = lint(project, "check", "--statistics", "src")
    assert (done.returncode, done.stdout) == (1, "2  TDL201  load-without-map-location\n")
    rows = json.loads(lint(project, "check", "--statistics", "--output-format", "json", "src").stdout)
    assert rows == [{"code": "TDL201", "name": "load-without-map-location", "severity": "warning", "count": 2}]


def test_quiet_and_verbose(project: Path) -> None:
    done = lint(project, "check", "-q", "src/clean.py")
    assert (done.stdout, done.stderr) == ("", "")
    assert "(2 files checked)" in lint(project, "check", "-v", "src").stdout


def test_show_settings(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.torchdevlint]\nper-file-ignores = { "a.py" = ["TDL2"] }\n')
    done = lint(project, "check", "--show-settings", "--ignore", "TDL3", "--force-exclude")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[:2] == ["# what holds for .", f"# {project / 'pyproject.toml'}"]
    for line in (
        'per-file-ignores = { "a.py" = ["TDL2"] }',
        'ignore = ["TDL3"]',
        "force-exclude = true",
        "# select is not set",
    ):
        assert line in lines


class TestStdin:
    """`-` reads one file from standard input."""

    def test_its_name_is_that_of_the_findings_and_the_frame_shows_it(self, project: Path) -> None:
        done = lint(project, "check", "--stdin-filename", "./x.py", "-", stdin=BUG)
        assert done.returncode == 1
        assert "--> x.py:3:9\n" in done.stdout
        assert " 3 | state = torch.load('model.pt')\n" in done.stdout

    def test_without_a_name_it_is_a_dash(self, project: Path) -> None:
        done = lint(project, "-", "--output-format", "concise", stdin=BUG)
        assert done.stdout.startswith(f"-:{LINE}")
        assert lint(project, "-", stdin="").returncode == 0

    def test_what_is_ignored_for_its_name_is_ignored(self, project: Path) -> None:
        flags = ["--per-file-ignores", "x.py:TDL2", "--stdin-filename", "x.py", "-"]
        assert lint(project, "check", *flags, stdin=BUG).returncode == 0

    def test_excludes_hold_if_they_are_enforced(self, project: Path) -> None:
        flags = ["--exclude", "x.py", "--stdin-filename", "x.py", "-"]
        assert lint(project, "check", *flags, stdin=BUG).returncode == 1
        assert lint(project, "check", "--force-exclude", *flags, stdin=BUG).returncode == 0


def test_broken_files_are_findings_and_the_rest_is_linted(project: Path) -> None:
    bad = {
        "nul": b"x = '\0'\n",
        "encoding": b"# \xff\n",
        "cookie": b"# coding: klingon\n",
        "syntax": b"def f(:\n",
        "utf16": "x = 1\n".encode("utf-16"),
    }
    for name, data in bad.items():
        (project / f"{name}.py").write_bytes(data)
    (project / "empty.py").write_bytes(b"")
    done = lint(project, "check", "--output-format", "concise", ".")
    assert (done.returncode, done.stderr) == (1, "")
    lines = [line for line in done.stdout.splitlines() if ".py:" in line]
    for name in bad:
        assert any(line.startswith(f"{name}.py:1:") and " TDL901 " in line for line in lines)
    assert any(line.startswith(f"src/bug.py:{LINE}") for line in lines)
    assert len(lines) == len(bad) + 1
    assert lint(project, "check", ".").returncode == 1, "their frames can be shown"


def test_a_file_that_is_too_deep_is_one_clear_line(project: Path) -> None:
    (project / "deep.py").write_text("import torch\nx = " + "(" * 3000 + ")" * 3000 + "\n")
    done = lint(project, "check", "--output-format", "concise", ".")
    assert done.returncode == 2
    assert done.stderr == "error: deep.py: too deeply nested to be analysed\n"
    assert f"src/bug.py:{LINE}" in done.stdout


def test_names_that_are_no_text_do_no_harm(project: Path) -> None:
    name = os.fsdecode(b"src/\xff\x1b[2J.py")
    try:
        (project / name).write_text(BUG)
    except OSError:
        pytest.skip("this file system takes no such name")
    for output_format in FORMATS:
        done = lint(project, "check", "--output-format", output_format, "src")
        assert done.returncode == 1, done.stderr
        assert "\x1b" not in done.stdout


@pytest.mark.parametrize("encoding", a_part(["ascii", "latin-1", "utf-8"]))
def test_any_output_encoding_will_do(project: Path, encoding: str) -> None:
    (project / "src" / "bug.py").write_text("import torch\n\nx = torch.load('日本語')\n", encoding="utf-8")
    for output_format in FORMATS:
        with forked.Popen(
            [sys.executable, "-m", "torchdevlint", "check", "--output-format", output_format, "src"],
            cwd=project,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (1, b"")
        assert "torch.load".encode(encoding) in out or "TDL201".encode(encoding) in out


@pytest.mark.skipif(os.name == "nt", reason="there are no broken pipes on Windows")
def test_a_reader_that_goes_away_is_no_error(project: Path) -> None:
    (project / "src" / "bug.py").write_text(BUG * 600)
    command = f"{sys.executable} -m torchdevlint src 2>errors | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (project / "errors").read_text() == ""
    assert done.stdout.splitlines()[-1] == "1"


@pytest.mark.parametrize(
    ("arguments", "environment", "colored"),
    [
        ([], {}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_when_there_are_colours(
    project: Path, arguments: list[str], environment: dict[str, str], colored: bool
) -> None:
    done = lint(project, "check", *arguments, "src", "gone", **{"NO_COLOR": "", **environment})
    assert ("\x1b[" in done.stdout) is colored
    assert ("\x1b[" in done.stderr) is colored


def test_the_output_is_the_same_for_any_hash_seed_and_number_of_jobs(project: Path) -> None:
    for number in range(30):
        (project / "src" / f"m{number}.py").write_text(BUG)
    outputs = {
        lint(
            project, "check", "--jobs", str(seed + 1), "--output-format", "json", "src", PYTHONHASHSEED=str(seed)
        ).stdout
        for seed in range(3)
    }
    assert len(outputs) == 1
    rows = json.loads(outputs.pop())
    assert len(rows) == 31
    assert [row["filename"] for row in rows] == sorted(row["filename"] for row in rows)


@pytest.mark.parametrize("command", ["check", "clean"])
def test_a_configuration_is_not_named_and_ignored_at_once(tmp_path: Path, command: str) -> None:
    (tmp_path / "other.toml").write_text("")
    done = lint(tmp_path, command, "--isolated", "--config", "other.toml")
    assert done.returncode == 2
    assert "error: --isolated cannot be combined with a file for --config\n" in done.stderr


def test_an_output_format_that_is_none_is_refused_with_those_that_are(tmp_path: Path) -> None:
    (tmp_path / "torchdevlint.toml").write_text('output-format = "text"\n')
    done = lint(tmp_path, "check")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: `output-format` must be one of {', '.join(FORMATS)}, not `text`\n"
