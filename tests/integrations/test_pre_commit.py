"""The pre-commit hooks: their declaration, and the real thing in a repository of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT
from tests.integrations.test_ci import PLACE, examples

HOOKS = ROOT / ".pre-commit-hooks.yaml"
BUGGY = "import torch\n\nstate = torch.load('model.pt')\n"


def test_the_hooks_pass_files_to_the_linter_once() -> None:
    report, fix = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))
    assert (report["id"], fix["id"]) == ("torchdevlint", "torchdevlint-fix")
    assert fix["args"] == ["--fix"]
    for hook in (report, fix):
        assert hook["entry"] == "torchdevlint check --force-exclude"
        assert hook["require_serial"] is True
    assert report["types_or"] == fix["types_or"]


def git(*arguments: str, cwd: Path) -> None:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.mark.network
def test_the_hooks_run_for_real(tmp_path: Path) -> None:
    hooks = tmp_path / "torchdevlint"
    hooks.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, hooks)
    shutil.copytree(ROOT / "torchdevlint", hooks / "torchdevlint", ignore=shutil.ignore_patterns("__pycache__"))
    git("init", "--quiet", cwd=hooks)
    git("add", "--all", cwd=hooks)
    git("commit", "--quiet", "--message", "the hook", cwd=hooks)

    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=hooks, capture_output=True, text=True, check=True).stdout
    project = tmp_path / "project"
    (project / "vendor").mkdir(parents=True)
    git("init", "--quiet", cwd=project)
    (project / "train.py").write_text(BUGGY)
    (project / "vendor" / "copied.py").write_text(BUGGY)
    (project / "notes.md").write_text("```python\n" + BUGGY + "```\n")
    (project / "pyproject.toml").write_text(
        '[tool.torchdevlint]\nextend-exclude = ["vendor"]\nextend-select = ["TDL504"]\n'
    )
    (example,) = (block for name, block in examples() if name == ".pre-commit-config.yaml")
    example = example.replace(PLACE, str(hooks)).replace("a tag or commit of it", commit.strip())
    (project / ".pre-commit-config.yaml").write_text(example)
    git("add", "--all", cwd=project)

    def hook(name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", name, "--all-files", "--verbose"],
            cwd=project,
            env={**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "pre-commit"), "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    done = hook("torchdevlint")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "train.py:3:" in done.stdout
    assert "TDL201" in done.stdout
    assert "copied.py" not in done.stdout
    assert "notes.md" not in done.stdout

    (project / "train.py").write_text("import torch\n\nx = torch.cuda.amp.autocast()\n")
    git("add", "--all", cwd=project)
    done = hook("torchdevlint-fix")
    assert done.returncode == 1, "pre-commit fails for a file that has changed"
    assert "files were modified by this hook" in done.stdout
    assert (project / "train.py").read_text() == 'import torch\n\nx = torch.amp.autocast("cuda")\n'
    git("add", "--all", cwd=project)
    for name in ("torchdevlint-fix", "torchdevlint"):
        done = hook(name)
        assert done.returncode == 0, done.stdout + done.stderr
