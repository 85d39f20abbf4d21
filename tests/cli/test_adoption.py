"""What lets a project with findings start now: `--add-noqa`, `--fail-on`, `--watch`, and how flags go together."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest
from msgspec.structs import replace

from tests.cli.test_check import BUG, lint, project
from tests.conftest import ROOT, not_as_root
from tests.report.samples import MOVE
from torchdevlint.cli.check_command import check
from torchdevlint.cli.conflicts import EXCLUSIVE, refuse_what_excludes_each_other
from torchdevlint.cli.noqa import add_comments
from torchdevlint.cli.refused import Misused
from torchdevlint.config import ConfigError, Settings, load
from torchdevlint.engine import check_paths
from torchdevlint.model import Severity
from torchdevlint.select import fails

__all__ = ["project"]

OLD = "x = torch.cuda.amp.autocast()\n"
ADVICE = ["--extend-select", "TDL504"]


class TestAddNoqa:
    def test_afterwards_a_run_is_clean_and_another_one_changes_nothing(self, project: Path) -> None:
        (project / "src" / "second.py").write_bytes(f"{BUG}{OLD}".replace("\n", "\r\n").encode())
        done = lint(project, "--add-noqa", *ADVICE)
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr == "note: silenced 3 findings in 2 files\n"
        assert (project / "src" / "bug.py").read_text() == f"{BUG.rstrip()}  # noqa: TDL201\n"
        data = (project / "src" / "second.py").read_bytes()
        assert data.endswith(b")  # noqa: TDL201\r\nx = torch.cuda.amp.autocast()  # noqa: TDL504\r\n")
        assert lint(project, *ADVICE).stdout == "No findings.\n"
        assert lint(project, "--add-noqa", *ADVICE).stderr == "note: silenced 0 findings in 0 files\n"
        assert (project / "src" / "second.py").read_bytes() == data

    def test_where_noqa_is_ignored_the_comments_are_of_this_project(self, project: Path) -> None:
        bug = project / "src" / "bug.py"
        bug.write_text(f"{BUG.rstrip()}  # noqa: E501\n# flake8: noqa\n")
        assert lint(project, "--add-noqa", "--ignore-noqa").stderr == "note: silenced 1 finding in 1 file\n"
        silenced = "  # noqa: E501  # torchdevlint: ignore[TDL201]\n# flake8: noqa\n"
        assert bug.read_text() == f"{BUG.rstrip()}{silenced}"
        assert lint(project, "--ignore-noqa").stdout == "No findings.\n"

    def test_what_no_comment_silences_is_told(self, project: Path) -> None:
        (project / "src" / "broken.py").write_text("def f(:\n")
        done = lint(project, "--add-noqa")
        assert done.returncode == 2
        assert "error: src/broken.py: no comment can silence TDL901 in line 1\n" in done.stderr
        assert (project / "src" / "broken.py").read_text() == "def f(:\n"
        assert "# noqa: TDL201" in (project / "src" / "bug.py").read_text()

    def test_a_file_that_has_changed_since_is_left_alone(self, tmp_path: Path) -> None:
        file = tmp_path / "a.py"
        file.write_text(BUG)
        run = check_paths([str(file)], Settings())
        file.write_text(f"\n{BUG}")
        after, _ = add_comments(run, Settings(), [])
        assert [one.message for one in after.problems] == [
            "no comments were added, since it has changed while it was linted"
        ]
        assert file.read_text() == f"\n{BUG}"
        file.unlink()
        after, _ = add_comments(run, Settings(), [])
        assert [one.message for one in after.problems] == ["no comments were added: No such file or directory"]

    @not_as_root
    def test_a_file_that_cannot_be_written_is_told(self, project: Path) -> None:
        (project / "src" / "bug.py").chmod(0o444)
        done = lint(project, "--add-noqa")
        assert (done.returncode, (project / "src" / "bug.py").read_text()) == (2, BUG)
        assert "src/bug.py: no comments were added: Permission denied" in done.stderr

    def test_what_is_in_a_baseline_stays_unless_its_line_gets_a_comment(self, project: Path) -> None:
        line = f"{BUG.rstrip()}, torch.cuda.amp.autocast()\n"
        (project / "src" / "bug.py").write_text(line)
        (project / "src" / "clean.py").write_text(BUG)
        lint(project, "--write-baseline", "known.json")
        assert lint(project, "--add-noqa", "--baseline", "known.json", *ADVICE).returncode == 0
        assert (project / "src" / "bug.py").read_text() == f"{line.rstrip()}  # noqa: TDL201,TDL504\n"
        assert (project / "src" / "clean.py").read_text() == BUG
        assert lint(project, "--baseline", "known.json", *ADVICE).stdout == "No findings.\n"

    def test_it_fixes_nothing(self, project: Path) -> None:
        (project / "torchdevlint.toml").write_text('fix = true\nextend-select = ["TDL504"]\n')
        (project / "src" / "bug.py").write_text(f"import torch\n{OLD}")
        assert lint(project, "--add-noqa").returncode == 0
        assert (project / "src" / "bug.py").read_text() == f"import torch\n{OLD.rstrip()}  # noqa: TDL504\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--add-noqa", "--fix"], "--add-noqa cannot be combined with --fix"),
        (["--watch", "-"], "--watch needs files, and `-` is none"),
    ],
)
def test_what_excludes_each_other(project: Path, arguments: list[str], said: str) -> None:
    done = lint(project, "check", *arguments, stdin="")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert (project / "src" / "bug.py").read_text() == BUG


@pytest.mark.parametrize("flag", EXCLUSIVE)
def test_each_flag_that_is_listed_is_one(flag: str) -> None:
    known = {parameter.name: False for parameter in check.params if isinstance(parameter, click.Option)}
    refuse_what_excludes_each_other((), known)
    for other in EXCLUSIVE[flag]:
        assert {flag, other} <= known.keys()
        with pytest.raises(Misused, match=f"^--{flag}".replace("_", "-")):
            refuse_what_excludes_each_other((), {**known, flag: True, other: True})


@pytest.mark.parametrize(
    ("threshold", "failing"),
    [("error", "E"), ("warning", "EW"), ("advice", "EWA"), ("never", "")],
)
def test_a_threshold_takes_in_what_is_worse(threshold: str, failing: str) -> None:
    settings = Settings(fail_on=threshold)
    assert not fails(settings, [])
    for severity in Severity:
        found = replace(MOVE, severity=severity)
        assert fails(settings, [found]) is (severity.name[0] in failing)
        assert fails(settings, [replace(MOVE, severity=Severity.ADVICE), found]) is (
            severity.name[0] in failing or threshold == "advice"
        )


@pytest.mark.parametrize(
    ("arguments", "configuration", "code"),
    [
        (["--fail-on", "error"], "", 0),
        (["--fail-on", "advice"], 'fail-on = "error"', 1),
        ([], 'fail-on = "error"\nseverity = { TDL201 = "error" }', 1),
        (["--fail-on", "never", "nosuch"], "", 2),
    ],
)
def test_fail_on(project: Path, arguments: list[str], configuration: str, code: int) -> None:
    (project / "torchdevlint.toml").write_text(f"{configuration}\n")
    done = lint(project, "check", "src", *arguments)
    assert done.returncode == code
    assert "TDL201" in done.stdout, "milder findings are reported all the same"


def test_fail_on_takes_no_other_word(tmp_path: Path) -> None:
    (tmp_path / "torchdevlint.toml").write_text('fail-on = "fatal"\n')
    with pytest.raises(ConfigError, match='`fail-on` must be one of error, warning, advice, never, not "fatal"'):
        load(tmp_path)


def test_fail_on_does_not_change_what_a_diff_exits_with(project: Path) -> None:
    (project / "src" / "bug.py").write_text(f"import torch\n{OLD}")
    assert lint(project, "check", "--diff", "--fail-on", "error", *ADVICE).returncode == 1


class TestWithFix:
    """What `--fix` leaves is what the other flags are about."""

    TEXT = f"{BUG}{OLD}"

    def row(self, project: Path, *arguments: str) -> list[str]:
        done = lint(project, "check", "--fix", "--output-format", "json", *ADVICE, *arguments)
        assert done.stderr == ""
        return [f"{row['code']} {row['severity']}" for row in json.loads(done.stdout)]

    def test_severities_and_files(self, project: Path) -> None:
        (project / "src" / "bug.py").write_text(self.TEXT)
        (project / "src" / "clean.py").write_text(f"import torch\n{OLD}")
        (project / "torchdevlint.toml").write_text(
            'severity = { TDL201 = "error" }\nper-file-ignores = { "clean.py" = ["TDL504"] }\n'
        )
        assert self.row(project) == ["TDL201 error"]
        assert (project / "src" / "clean.py").read_text() == f"import torch\n{OLD}", (
            "nothing is found, nothing is fixed"
        )
        assert "torch.amp.autocast" in (project / "src" / "bug.py").read_text()

    def test_statistics_count_what_is_left(self, project: Path) -> None:
        (project / "src" / "bug.py").write_text(self.TEXT)
        done = lint(project, "check", "--fix", "--statistics", *ADVICE)
        assert (done.returncode, done.stdout) == (1, "1  TDL201  load-without-map-location\n")

    def test_a_baseline_of_what_is_fixed_is_stale(self, project: Path) -> None:
        (project / "src" / "bug.py").write_text(self.TEXT)
        lint(project, "--write-baseline", "known.json", *ADVICE)
        done = lint(project, "check", "--fix", "--baseline", "known.json", *ADVICE)
        assert (done.returncode, done.stdout) == (0, "Fixed 1 finding; none is left.\n")
        assert "1 entry of known.json matches nothing any more" in done.stderr


@contextmanager
def watching(folder: Path, *arguments: str, stdout: int = subprocess.PIPE) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "torchdevlint", "--watch", "--output-format", "concise", *arguments]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    too_late = threading.Timer(60, process.kill)
    too_late.start()
    try:
        yield process
    finally:
        too_late.cancel()
        process.kill()
        process.wait()


@pytest.mark.skipif(os.name == "nt", reason="there is no such signal")
class TestWatch:
    def test_each_change_is_linted_until_it_is_interrupted(self, project: Path) -> None:
        (project / "src" / "bug.py").write_text("import torch\n")
        with watching(project, "src") as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline() == "No findings.\n"
            assert process.stderr.readline() == "watching for changes; Ctrl-C ends it\n"
            (project / "src" / "new.py").write_text(BUG)
            assert process.stdout.readline().startswith("src/new.py:3:9: TDL201 ")
            process.stderr.readline()
            (project / "torchdevlint.toml").write_text("selekt = []\n")
            assert "did you mean `select`?" in process.stderr.readline()
            process.stderr.readline()
            (project / "torchdevlint.toml").write_text('ignore = ["TDL201"]\nfix = true\n')
            assert "No findings.\n" in iter(process.stdout.readline, "")
            process.stderr.readline()
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=30)
            assert (process.returncode, out, err) == (130, "", "\ninterrupted\n")

    def test_what_it_fixes_itself_is_no_change(self, project: Path) -> None:
        file = project / "src" / "bug.py"
        file.write_text("import torch\n")
        with watching(project, "--fix", "--select", "TDL504", "src") as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline() == "No findings.\n"
            for number in range(2):
                process.stderr.readline()
                file.write_text(f"import torch\n\nnumber = {number}\n{OLD}")
                assert process.stdout.readline() == "Fixed 1 finding; none is left.\n"
                assert "torch.cuda.amp" not in file.read_text()
            process.stderr.readline()
            time.sleep(2)  # more than the pause between two looks
            os.killpg(process.pid, signal.SIGINT)
            assert process.communicate(timeout=30) == ("", "\ninterrupted\n"), "it has run once for each of our changes"

    def test_a_terminal_is_cleared_before_each_run(self, project: Path) -> None:
        pty = pytest.importorskip("pty")
        main, terminal = pty.openpty()
        with watching(project, "--quiet", "src/clean.py", stdout=terminal) as process:
            shown = b""
            (project / "src" / "clean.py").write_text(BUG)
            deadline = time.monotonic() + 30
            while b"TDL201" not in shown and time.monotonic() < deadline:
                shown += os.read(main, 1000)
            assert shown.startswith(b"\x1b[2J\x1b[1;1H")
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(timeout=30) == 130
        os.close(main)
        os.close(terminal)
