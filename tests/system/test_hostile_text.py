"""Names, source and settings that try to talk to the terminal or to a CI runner: every output, every encoding."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked
from tests.conftest import ROOT
from torchdevlint.cli import main
from torchdevlint.report import FORMATS

pytestmark = pytest.mark.skipif(
    sys.platform in ("win32", "darwin"), reason="its file systems refuse names that are no text"
)

NAMES = (
    b"new\nline.py",
    b"a\n::error file=x::evil.py",
    b"::error file=x,line=1::evil.py",
    b" ::debug::.py",
    b"%0A%0d,:.py",
    b"title\x1b]0;evil\x07.py",
    b"\x7f\xc2\x9b31m.py",
    b"latin\xe9.py",
    "bidi\u202e\u2066.py".encode(),
    "hidden\u200b\u2028.py".encode(),
    "宽e\u0301.py".encode(),
    b"q'\"uo`te\\.py",
    b"tab\tcr\r.py",
    b"-dash.py",
    b"folder\xff\n/ .py",
)
EVIL = "torch.load('''\x1b[31m\x9b\u202e\u2066\u200b\t宽\n::error file=x::evil\n  ::debug::evil\n''')"
DANGEROUS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of such names; each file but one has a finding that shows such a line."""
    folder = tmp_path_factory.mktemp("hostile")
    for name in NAMES:
        path = folder / os.fsdecode(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"import torch\n\nstate = {EVIL}\n")
    (folder / os.fsdecode(b"\xff\n::error::.py")).write_text("def f(:  # \x1b[2J\n")
    return folder


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    with forked.Popen(
        [sys.executable, "-m", "torchdevlint", "check", "--no-cache", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def command_lines(output: str) -> list[str]:
    return [line for line in output.split("\n") if line.lstrip().startswith("::")]


@pytest.mark.parametrize("output_format", FORMATS)
def test_every_format(hostile: Path, output_format: str) -> None:
    encoding = {"full": "utf-8", "concise": "latin-1"}.get(output_format, "ascii")
    done = run(hostile, "--output-format", output_format, "--jobs", "2", ".", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (1, b"")
    text = done.stdout.decode(encoding)
    assert not DANGEROUS.search(text)
    if output_format == "github":
        command = re.compile(r"::(error|warning) title=TDL\d+ [\w-]+,file=[^:\n]*,line=\d+,[^:\n]*::[^\n]*\n")
        assert command.sub("", text) == ""
    else:
        assert not command_lines(text)
    if output_format in ("json", "sarif"):
        json.dumps(json.loads(text), ensure_ascii=False).encode()


def test_a_report_in_a_file_and_problems_on_stderr(hostile: Path) -> None:
    done = run(hostile, "-o", "report", "--color", "never", "gone\n::error::\x1b.py", ".", LC_ALL="C", PYTHONUTF8="0")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"error: gone\\n::error::\\x1b.py: no such file or folder\n"
    report = (hostile / "report").read_text(encoding="utf-8")
    assert "\nFound 1 error and 15 warnings.\n" in report
    assert not DANGEROUS.search(report)
    assert not command_lines(report)


@pytest.fixture
def here(hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folder in which the test stands."""
    monkeypatch.chdir(shutil.copytree(hostile, tmp_path / "copy", symlinks=True))
    return Path.cwd()


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit):
        main(["check", "--no-cache", *arguments])
    output, errors = capsys.readouterr()
    assert "internal error" not in errors
    assert not DANGEROUS.search(output + errors)
    assert not command_lines(output + errors)
    return errors or output


@pytest.mark.parametrize(
    "line",
    [
        r'"a\n::error::\u001b[2J\u202e" = 1',
        r'select = ["\n::error::\u001b[2J\u202e"]',
        r'select = "\n::error::\u001b[2J\u202e"',
        r'output-format = "\n::error::\u001b[2J\u202e"',
        r'baseline = "\n::error::\u001b[2J\u202e"',
        r'exclude = ["!\n::error::\u001b[2J\u202e", "!"]',
        r'per-file-ignores = {"\n::error::\u001b[2J\u202e" = ["x"]}',
        r'severity = {"\n::error::\u001b[2J\u202e" = "error"}',
        r"= \u001b",
    ],
)
def test_a_hostile_configuration(here: Path, capsys: pytest.CaptureFixture[str], line: str) -> None:
    (here / "torchdevlint.toml").write_text(line)
    assert said(capsys, ".").startswith("error: ")
    said(capsys, "--show-settings")


def test_hostile_arguments(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\n::error::\x1b[2J\u202e"
    for flag in ("--select", "--output-format", "--config", "--baseline", "--per-file-ignores", f"--{evil}", "--jobs"):
        assert "error: " in said(capsys, flag, evil)
    assert "cannot write to" in said(capsys, "-o", f"nowhere/{evil}", ".")


def test_names_that_are_listed_and_a_baseline_that_is_written(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "--show-files", ".").count("\n") == len(NAMES) + 1
    said(capsys, "--write-baseline", "base\n::error::\x1b.json", ".")
    assert Path("base\n::error::\x1b.json").read_bytes().isascii()
    assert said(capsys, "--baseline", "base\n::error::\x1b.json", ".") == "No findings.\n"
