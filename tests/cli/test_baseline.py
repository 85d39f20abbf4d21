"""`check --baseline` and `--write-baseline` as processes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.forked import python

LOAD = "state = torch.load('model.pt')\n"
BUG = f"import torch\n\n{LOAD}"
CLEAN = "import torch\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a finding in ``src/a.py`` and in ``src/b.py`` each, both in ``known.json``."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text(BUG)
    (tmp_path / "src" / "b.py").write_text(BUG)
    done = check(tmp_path, "--write-baseline", "known.json", "src")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "note: 2 findings written to known.json: 2 new, 0 stale removed\n"
    return tmp_path


def check(folder: Path, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    done = python("-m", "torchdevlint", "check", "--output-format", "concise", *arguments, cwd=folder, stdin=stdin)
    assert "Traceback" not in done.stdout + done.stderr
    return done


def entries(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "known.json").read_text())["findings"]
    return found


def test_what_is_known_is_hidden_and_what_is_new_is_reported(project: Path) -> None:
    done = check(project, "--baseline", "known.json", "src")
    assert (done.returncode, done.stdout, done.stderr) == (0, "No findings.\n", "")
    (project / "src" / "a.py").write_text(f"import os\nimport torch\n\n{LOAD}other = torch.load('x')\n")
    done = check(project, "--baseline", "known.json", "src")
    assert done.returncode == 1
    assert [line.split(" ")[0] for line in done.stdout.splitlines() if ".py:" in line] == ["src/a.py:5:9:"]


@pytest.mark.parametrize("where", ["src", "."])
def test_it_does_not_matter_where_it_is_run(project: Path, where: str) -> None:
    done = check(project / where, "--baseline", str(project / "known.json"), ".")
    assert (done.returncode, done.stdout, done.stderr) == (0, "No findings.\n", "")


def test_the_configuration_names_it_relative_to_itself(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.torchdevlint]\nbaseline = "known.json"\n')
    for folder in (project, project / "src"):
        assert check(folder, ".").returncode == 0
        assert check(folder, "--isolated", ".").returncode == 1
    assert 'baseline = "known.json"' in check(project, "--show-settings").stdout
    empty = project / "empty.json"
    empty.write_text('{"version": 1, "findings": []}')
    assert check(project, "--baseline", "empty.json", "src").returncode == 1, "a flag overrides the configuration"
    assert check(project / "src", "--write-baseline", "new.json", ".").returncode == 0
    assert len(json.loads((project / "src" / "new.json").read_text())["findings"]) == 2, "it hides nothing from writing"


@pytest.mark.parametrize("output_format", ["json", "sarif", "github", "full"])
def test_it_holds_in_every_format(project: Path, output_format: str) -> None:
    (project / "src" / "b.py").write_text(BUG + "z = torch.load('new')\n")
    done = check(project, "--baseline", "known.json", "--output-format", output_format, "src")
    assert done.returncode == 1
    assert "src/b.py" in done.stdout
    assert "src/a.py" not in done.stdout


def test_stale_entries_are_told_and_removed(project: Path) -> None:
    (project / "src" / "a.py").write_text(CLEAN)
    (project / "src" / "b.py").unlink()
    done = check(project, "--baseline", "known.json", "src")
    assert (done.returncode, done.stdout) == (0, "No findings.\n")
    assert done.stderr == (
        "note: 2 entries of known.json match nothing any more; --write-baseline removes what is stale\n"
    )
    assert check(project, "-q", "--baseline", "known.json", "src").stderr == ""
    assert f"note: nothing matches src/a.py: TDL201 {LOAD}" in check(project, "-v", "--baseline", "known.json").stderr
    assert check(project, "--write-baseline", "known.json", "src").returncode == 0
    assert entries(project) == []


def test_what_was_not_looked_at_is_not_stale(project: Path) -> None:
    (project / "src" / "b.py").write_text("import torch\n\ndef f(:\n" + LOAD)
    (project / "src" / "a.py").write_text(CLEAN)
    for arguments in (["src/b.py"], ["--select", "TDL0", "src"], ["--per-file-ignores", "src/a.py:TDL2", "src"]):
        assert check(project, "--baseline", "known.json", *arguments).stderr == ""
    assert check(project, "--write-baseline", "known.json", "--select", "TDL0,TDL9", "src").returncode == 0
    assert [(entry["path"], entry["code"]) for entry in entries(project)] == [
        ("src/a.py", "TDL201"),
        ("src/b.py", "TDL201"),
        ("src/b.py", "TDL901"),
    ]


def test_reasons_survive_writing(project: Path) -> None:
    text = (project / "known.json").read_text().replace('"number": 1\n', '"number": 1,\n      "reason": "later"\n', 1)
    (project / "known.json").write_text(text)
    (project / "src" / "a.py").write_text("\n" + BUG)
    check(project, "--write-baseline", "known.json", "src")
    assert (project / "known.json").read_text() == text


def test_standard_input_has_a_name(project: Path) -> None:
    flags = ["--baseline", "known.json", "--stdin-filename"]
    assert check(project, *flags, "src/a.py", "-", stdin="\n" + BUG).returncode == 0
    assert check(project, *flags, "src/c.py", "-", stdin=BUG).returncode == 1


def test_a_problem_wins_and_the_baseline_is_written_all_the_same(project: Path) -> None:
    (project / "known.json").unlink()
    done = check(project, "--write-baseline", "known.json", "src", "gone.py")
    assert (done.returncode, len(entries(project))) == (2, 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--baseline", "none.json"], "error: none.json: there is no such baseline; --write-baseline writes one"),
        (["--baseline", "src/a.py"], "error: src/a.py: not a baseline, since it is no JSON: "),
        (["--write-baseline", "src/a.py"], "error: src/a.py: not a baseline, since it is no JSON: "),
        (["--write-baseline", "no/such/x.json"], "error: no/such/x.json: cannot be written: "),
        (["--baseline", "old.json"], "error: old.json: a baseline of version 0; this release reads version 1"),
        (["--write-baseline", "old.json"], "error: old.json: a baseline of version 0; this release reads version 1"),
    ],
)
def test_what_is_no_baseline_exits_2_in_one_line_and_is_not_touched(
    project: Path, arguments: list[str], words: str
) -> None:
    (project / "old.json").write_text('{"version": 0, "findings": []}')
    done = check(project, *arguments, "src")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(words)
    assert done.stderr.count("\n") == 1
    assert (project / "src" / "a.py").read_text() == BUG


def test_reading_and_writing_at_once_is_refused(project: Path) -> None:
    done = check(project, "--baseline", "known.json", "--write-baseline", "new.json", "src")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--write-baseline" in done.stderr
    assert not (project / "new.json").exists()
