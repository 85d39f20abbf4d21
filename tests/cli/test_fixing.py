"""`torchdevlint check --fix` and its kin as a process."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.test_check import lint
from tests.conftest import not_as_root

OLD = "import torch\n\nx = torch.cuda.amp.autocast()\n"
NEW = 'import torch\n\nx = torch.amp.autocast("cuda")\n'
BUG = "state = torch.load('model.pt')\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A file with one safe fix, and one that is clean."""
    (tmp_path / "a.py").write_text(OLD)
    (tmp_path / "b.py").write_text("x = 1\n")
    (tmp_path / "torchdevlint.toml").write_text('extend-select = ["TDL504"]\n')
    return tmp_path


def fix(folder: Path, *arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
    return lint(folder, "check", "--output-format", "concise", *arguments, **options)


@pytest.mark.parametrize("more", [[], ["--no-cache"], ["--jobs", "2"]])
def test_fix(project: Path, more: list[str]) -> None:
    done = fix(project, "--fix", *more)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Fixed 1 finding; none is left.\n", "")
    assert (project / "a.py").read_text() == NEW
    assert fix(project, *more).stdout == "No findings.\n"


def test_what_is_left_is_reported(project: Path) -> None:
    (project / "a.py").write_text(OLD + BUG)
    done = fix(project, "--fix", "--show-fixes", "--unfixable", "TDL201")
    assert done.returncode == 1
    assert done.stdout.startswith("a.py:4:9: TDL201 ")
    assert "\nFound 1 warning left, and fixed 1.\n" in done.stdout
    assert done.stderr == "note: fixed in a.py: TDL504 (1)\n"


def test_without_fix_nothing_is_written(project: Path) -> None:
    done = fix(project)
    assert done.returncode == 1
    assert done.stdout.endswith("Found 1 piece of advice.\n[*] 1 fixable with `--fix`.\n")
    assert (project / "a.py").read_text() == OLD


def test_diff(project: Path) -> None:
    done = fix(project, "--diff")
    assert (done.returncode, done.stderr) == (1, "note: --fix would fix 1 finding\n")
    assert (project / "a.py").read_text() == OLD
    subprocess.run(["git", "apply", "-p0"], input=done.stdout, text=True, check=True, cwd=project)
    assert (project / "a.py").read_text() == NEW
    done = fix(project, "--diff")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "note: --fix would change nothing\n")


def test_diff_to_a_file(project: Path) -> None:
    assert fix(project, "--diff", "-o", "fixes.patch").stdout == ""
    assert "+x = torch.amp.autocast" in (project / "fixes.patch").read_text()


def test_fix_only(project: Path) -> None:
    (project / "a.py").write_text(OLD + BUG)
    done = fix(project, "--fix-only", "--unfixable", "TDL201")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "note: fixed 1 finding\n")
    assert (project / "a.py").read_text() == NEW + BUG


def test_standard_input_comes_out_fixed(project: Path) -> None:
    done = fix(project, "--fix", "-", stdin=OLD)
    assert (done.returncode, done.stdout, done.stderr) == (0, NEW, "Fixed 1 finding; none is left.\n")
    done = fix(project, "--fix", "-", stdin="x = 1\n")
    assert (done.returncode, done.stdout) == (0, "x = 1\n")


def test_the_configuration_says_so(project: Path) -> None:
    (project / "torchdevlint.toml").write_text('extend-select = ["TDL504"]\nfix = true\nunfixable = ["TDL504"]\n')
    assert fix(project).returncode == 1
    assert fix(project, "--no-fix").returncode == 1
    assert fix(project, "--fixable", "TDL504").returncode == 0
    (project / "torchdevlint.toml").write_text('unfixable = ["TDL0O1"]\n')
    refused = fix(project, "--select", "TDL504").stderr
    assert refused.startswith(f"error: {project / 'torchdevlint.toml'}: unknown code `TDL0O1` in `unfixable`; ")


@not_as_root
def test_a_file_that_may_not_be_written(project: Path) -> None:
    (project / "a.py").chmod(0o444)
    done = fix(project, "--fix")
    assert done.returncode == 2
    assert "a.py: cannot be fixed: Permission denied" in done.stderr
    assert done.stdout.startswith("a.py:3:5: TDL504 ")


def test_a_baseline_hides_what_is_left(project: Path) -> None:
    (project / "a.py").write_text(OLD + BUG)
    assert fix(project, "--write-baseline", "known.json").returncode == 0
    done = fix(project, "--fix", "--baseline", "known.json", "--unfixable", "TDL201")
    assert done.returncode == 0
    assert (project / "a.py").read_text() == NEW + BUG


def test_a_diff_is_no_baseline(project: Path) -> None:
    assert fix(project, "--diff", "--write-baseline", "known.json").returncode == 2


@pytest.mark.parametrize("flag", ["--fixable", "--unfixable"])
def test_an_unknown_code_is_refused(project: Path, flag: str) -> None:
    done = fix(project, "--fix", flag, "TDL999")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: unknown code `TDL999` in `{flag[2:]}`; ")
    assert (project / "a.py").read_text() == OLD


@pytest.mark.parametrize("flag", ["--fix", "--fix-only", "--add-noqa"])
def test_a_file_is_changed_once_under_all_of_its_names(project: Path, flag: str) -> None:
    (project / "link.py").symlink_to("a.py")
    done = fix(project, flag)
    assert (done.returncode, "error" in done.stderr) == (0, False)
    expected = NEW if flag.startswith("--fix") else OLD.rstrip() + "  # noqa: TDL504\n"
    assert (project / "a.py").read_text() == expected
    assert (project / "link.py").is_symlink()
