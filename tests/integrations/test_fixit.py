"""Fixit reports what `check` finds, at the same places, and applies the fixes that replace one node."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import libcst as cst
import pytest

from tests.conftest import ROOT
from torchdevlint.libcst.replacing import replacement

pytest.importorskip("fixit", reason="the extra `fixit` is not installed")

LINTED = """\
import torch
from torch import nn
model = nn.Linear(4, 2)
model.load_state_dict(torch.load(  # why
    "model.pt",
))
"""
FIXED = LINTED.replace('"model.pt",', '"model.pt", map_location="cpu",')
CONFIG = '[tool.fixit]\nroot = true\nenable = ["torchdevlint.integrations.fixit"]\ndisable = ["fixit.rules"]\n'


def fixit(*arguments: str, cwd: Path) -> tuple[int, str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "fixit", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(CONFIG)
    (tmp_path / "train.py").write_text(LINTED)
    return tmp_path


@pytest.mark.slow
def test_findings_are_reported_and_fixed(place: Path) -> None:
    status, said = fixit("lint", "train.py", cwd=place)
    assert status != 0
    assert "train.py@4:22 TDL201: `torch.load` without `map_location` reads tensors back" in said
    assert "(has autofix)" in said
    fixit("fix", "-a", "train.py", cwd=place)
    assert (place / "train.py").read_text() == FIXED
    assert fixit("lint", "train.py", cwd=place)[0] == 0


@pytest.mark.slow
def test_comments_and_settings_hold(place: Path) -> None:
    (place / "pyproject.toml").write_text(CONFIG + '[tool.torchdevlint]\nextend-exclude = ["excluded.py"]\n')
    line = "import torch\nfrom nets import net\nnet.load_state_dict(torch.load('m.pt'))"
    comments = {"a": "# lint-fixme: TDL201", "b": "# torchdevlint: ignore[TDL201]", "c": "# noqa: TDL201"}
    (place / "train.py").unlink()
    (place / "excluded.py").write_text(line + "\n")
    for name, comment in comments.items():
        (place / f"{name}.py").write_text(f"{line}  {comment}\n")
    status, said = fixit("lint", ".", cwd=place)
    assert status == 0, said
    (place / "d.py").write_text(f"{line}  # lint-fixme: TDL001\n")
    status, said = fixit("lint", ".", cwd=place)
    assert status != 0
    assert "d.py@3:20 TDL201" in said


@pytest.mark.parametrize(
    ("old", "new", "replaced", "by"),
    [
        ("f(a)\n", "f(a, b)\n", "f(a)", "f(a, b)"),
        ("if x:\n    y = f(g(a))  # c\n", "if x:\n    y = f(g(b))  # c\n", "a", "b"),
        ("x.cuda()\n", "x = x.cuda()\n", "x.cuda()", "x = x.cuda()"),
        ("f(a, b)\n", "f(c, d)\n", "f(a, b)", "f(c, d)"),
    ],
)
def test_the_smallest_node_is_replaced(old: str, new: str, replaced: str, by: str) -> None:
    module = cst.parse_module(old)
    pair = replacement(module, cst.parse_module(new))
    assert pair is not None
    assert tuple(module.code_for_node(node) for node in pair) == (replaced, by)
    assert module.deep_replace(*pair).code == new  # type: ignore[attr-defined]


@pytest.mark.parametrize(("old", "new"), [("a\n", "a\n"), ("a\nb\n", "c\nd\n"), ("a\n", "import x\na\n")])
def test_what_changes_no_statement_or_several_has_no_replacement(old: str, new: str) -> None:
    assert replacement(cst.parse_module(old), cst.parse_module(new)) is None
