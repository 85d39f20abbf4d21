"""The pre-commit hook: its declaration, and the real thing in a repository of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

HOOKS = ROOT / ".pre-commit-hooks.yaml"
BUGGY = "import torch\n\nstate = torch.load('model.pt')\n"


def test_the_hook_passes_files_to_the_linter_once() -> None:
    text = HOOKS.read_text(encoding="utf-8")
    assert "entry: torchdevlint check --force-exclude\n" in text
    assert "require_serial: true\n" in text
    assert "types_or: [python, pyi]\n" in text


def git(*arguments: str, cwd: Path) -> None:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.mark.network
def test_the_hook_runs_for_real(tmp_path: Path) -> None:
    hooks = tmp_path / "torchdevlint"
    hooks.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, hooks)
    shutil.copytree(ROOT / "torchdevlint", hooks / "torchdevlint", ignore=shutil.ignore_patterns("__pycache__"))
    git("init", "--quiet", cwd=hooks)
    git("add", "--all", cwd=hooks)
    git("commit", "--quiet", "--message", "the hook", cwd=hooks)

    project = tmp_path / "project"
    (project / "vendor").mkdir(parents=True)
    git("init", "--quiet", cwd=project)
    (project / "train.py").write_text(BUGGY)
    (project / "vendor" / "copied.py").write_text(BUGGY)
    (project / "notes.md").write_text("```python\n" + BUGGY + "```\n")
    (project / "pyproject.toml").write_text('[tool.torchdevlint]\nextend-exclude = ["vendor"]\n')
    git("add", "--all", cwd=project)

    def hook() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", "try-repo", str(hooks), "torchdevlint", "--all-files", "--verbose"],
            cwd=project,
            env={**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "pre-commit"), "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    done = hook()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "train.py:3:" in done.stdout
    assert "TDL201" in done.stdout
    assert "copied.py" not in done.stdout
    assert "notes.md" not in done.stdout

    (project / "train.py").write_text(BUGGY.replace("'model.pt'", "'model.pt', map_location='cpu'"))
    git("add", "--all", cwd=project)
    done = hook()
    assert done.returncode == 0, done.stdout + done.stderr
