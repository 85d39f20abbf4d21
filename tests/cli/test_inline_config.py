"""`--config 'key = value'`, and `--exit-non-zero-on-fix`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.forked import python

LOAD = "import torch\n\nstate = torch.load('model.pt')\n"
OLD = "import torch\n\nscaler = torch.cuda.amp.GradScaler()\n"
"""A finding of TDL504, which has a safe fix."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("a.py", "sub/b.py"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(LOAD)
    return tmp_path


def lint(*arguments: str) -> subprocess.CompletedProcess[str]:
    done = python("-m", "torchdevlint", "check", "--output-format", "pylint", *arguments, cwd=Path.cwd())
    assert "Traceback" not in done.stderr
    return done


def settings(*arguments: str) -> list[str]:
    return lint("--show-settings", *arguments).stdout.splitlines()


class TestInline:
    def test_wins_over_files_and_gives_way_to_flags(self, folder: Path) -> None:
        (folder / "torchdevlint.toml").write_text('fail-on = "never"\ntarget-torch = "2.2"\n')
        (folder / "sub" / "torchdevlint.toml").write_text('target-torch = "2.3"\npreview = true\n')
        assert lint(".").returncode == 0
        assert lint(".", "--config", 'fail-on = "warning"').returncode == 1
        assert lint(".", "--config", 'fail-on = "warning"', "--fail-on", "never").returncode == 0
        lines = settings("--config", 'target-torch = "2.4"', "sub/b.py")
        assert {'target-torch = "2.4"', "preview = true"} <= set(lines)
        other = folder / "other.toml"
        other.write_text('target-torch = "2.1"\nforce-exclude = true\n')
        lines = settings("--config", 'target-torch = "2.4"', "--config", "other.toml", "a.py")
        assert {'target-torch = "2.4"', "force-exclude = true"} <= set(lines)
        assert 'target-torch = "2.4"' in settings("--isolated", "--config", 'target-torch = "2.4"')

    def test_is_laid_over_as_a_file_is_over_what_it_extends(self, folder: Path) -> None:
        (folder / "torchdevlint.toml").write_text('select = ["TDL2"]\nignore = ["TDL201"]\nextend-exclude = ["old"]\n')
        lines = settings("--config", 'ignore = ["TDL202"]', "--config", 'extend-exclude = ["gen"]\nverify.timeout = 5')
        wanted = {'ignore = ["TDL201", "TDL202"]', 'extend-exclude = ["old", "gen"]', "verify.timeout = 5.0"}
        assert wanted <= set(lines)
        assert lint("--config", 'select = ["TDL201"]', ".").stdout.count("TDL201") == 2

    def test_patterns_and_paths_are_relative_to_the_current_folder(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (folder / "torchdevlint.toml").write_text("")
        monkeypatch.chdir(folder / "sub")
        assert lint("..", "--config", 'exclude = ["./b.py"]').stdout.splitlines()[0].startswith("../a.py")
        lint("--config", 'cache-dir = "kept"', ".")
        assert (folder / "sub" / "kept" / "results.sqlite").is_file()
        done = python("-m", "torchdevlint", "clean", "--config", 'cache-dir = "kept"', cwd=Path.cwd())
        assert done.stderr == f"removed {folder / 'sub' / 'kept'}\n"

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ("strict.toml", "`strict.toml` is neither a file nor a setting such as `preview = true`"),
            ("", "`` is neither a file nor a setting such as `preview = true`"),
            ("selekt = 1", "unknown key `selekt`; did you mean `select`?"),
            ("preview = 1", "`preview` must be a boolean, not 1"),
            ('extend = "a.toml"', '`extend` is for files; `--config "a.toml"` takes that file for all'),
            ('required-version = ">=99"', '`required-version` is ">=99", and this is torchdevlint '),
        ],
    )
    def test_what_cannot_be_used_is_one_line(self, given: str, said: str) -> None:
        for command in ("check", "clean"):
            done = python("-m", "torchdevlint", command, "--config", given, cwd=Path.cwd())
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr.startswith(f"error: --config: {said}"), command
            assert done.stderr.count("\n") == 1

    def test_more_errors(self, folder: Path) -> None:
        error = lint("--config", "fail-on = error").stderr
        assert error.startswith("error: --config: invalid TOML: ")
        assert error.endswith('in `fail-on = error`; strings are in quotes, as in `fail-on = "error"`\n')
        for name in ("a.toml", "b.toml"):
            (folder / name).write_text("")
        error = lint("--config", "a.toml", "--config", "b.toml").stderr
        assert error.endswith("error: --config takes one file, and there are 2: a.toml, b.toml\n")
        assert "error: unknown code `TDL4711` in `select`" in lint("--config", 'select = ["TDL4711"]').stderr
        error = lint("--isolated", "--config", "a.toml").stderr
        assert error.endswith("error: --isolated cannot be combined with a file for --config\n")


def test_what_was_fixed_can_be_a_failure(folder: Path) -> None:
    flags = ("--select", "TDL504", "a.py", "--fix")
    for expected, more in ((0, ()), (1, ("--exit-non-zero-on-fix",)), (1, ("--exit-non-zero-on-fix", "--fix-only"))):
        (folder / "a.py").write_text(OLD)
        assert lint(*flags, *more).returncode == expected
        assert "torch.cuda.amp" not in (folder / "a.py").read_text()
    assert lint(*flags, "--exit-non-zero-on-fix").returncode == 0, "there was nothing to fix any more"
    (folder / "a.py").write_text(OLD)
    assert lint(*flags, "--exit-non-zero-on-fix", "--exit-zero").returncode == 0
