"""What is no file, or is one no longer, is a problem of one line, and everything else is linted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_check import lint
from torchdevlint import engine
from torchdevlint.config import Settings
from torchdevlint.flow import analyse as inference
from torchdevlint.model import Problem

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes and links that Windows does not have")

BUG = "import torch\n\nstate = torch.load('model.pt')\n"
CONCISE = ("check", "--quiet", "--output-format", "concise")


def test_a_pipe_that_is_named_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "bug.py").write_text(BUG)
    done = lint(tmp_path, *CONCISE, "pipe.py", "bug.py", "/dev/zero")
    assert done.returncode == 2
    assert "bug.py:3:9: TDL201" in done.stdout
    assert done.stderr.splitlines() == [
        "error: /dev/zero: cannot be read: not a regular file",
        "error: pipe.py: cannot be read: not a regular file",
    ]


@pytest.mark.parametrize("flag", ["--config", "--baseline"])
def test_a_pipe_for_a_configuration_or_a_baseline_is_refused(tmp_path: Path, flag: str) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "bug.py").write_text(BUG)
    done = lint(tmp_path, *CONCISE, flag, "pipe.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("pipe.toml: cannot be read: not a regular file\n")


def test_pipes_where_configuration_ignores_and_imports_are_looked_for(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    for name in ("pyproject.toml", "torchdevlint.toml", ".gitignore", "package/__init__.py", "package/other.py"):
        os.mkfifo(tmp_path / name)
    imports = "from package import a\nfrom package.other import b\nfrom . import other\nfrom .other import c\n"
    (package / "bug.py").write_text(imports + BUG)
    done = lint(tmp_path, *CONCISE, ".")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("package/bug.py:7:9: TDL201")


def test_files_that_vanish_and_change_during_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the first file is analysed, one goes, two become a folder and a pipe, and what others import goes too."""
    monkeypatch.chdir(tmp_path)
    gentle = inference.analyse

    def analyse(*arguments: Any) -> Any:
        if Path("other.py").exists():
            for name in ("other.py", "gone.py", "folder.py", "pipe.py"):
                Path(name).unlink()
            Path("folder.py").mkdir()
            os.mkfifo("pipe.py")
        return gentle(*arguments)

    monkeypatch.setattr("torchdevlint.flow.analyse.analyse", analyse)
    Path("other.py").write_text("import torch\n\n\ndef make():\n    return torch.zeros(2)\n")
    names = ["a.py", "folder.py", "gone.py", "pipe.py", "stays.py"]
    for name in names:
        Path(name).write_text(f"{BUG}from other import make\n\nif state:\n    x = make().cuda() + make()\n")
    run = engine.check_paths(names, Settings(root=tmp_path))
    assert run.problems == (
        Problem("folder.py", "cannot be read: Is a directory"),
        Problem("gone.py", "the file has vanished"),
        Problem("pipe.py", "cannot be read: not a regular file"),
    )
    assert [(one.filename, one.code) for one in run.diagnostics] == [("a.py", "TDL201"), ("stays.py", "TDL201")]
