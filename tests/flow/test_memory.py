"""An analysis leaves nothing behind that only the garbage collector could free."""

from __future__ import annotations

import ast
import gc
from pathlib import Path

import pytest

from torchdevlint.config import Settings
from torchdevlint.engine import check_file
from torchdevlint.project.modules import HELD, Library

PACKAGE = Path(__file__).parents[2] / "torchdevlint" / "runtime" / "simulated"


TEXTS = {
    "with_a_fix.py": """
import torch


def forward(x):
    x = x.cuda()
    return x + torch.zeros(2)
""",
    "of_another_framework.py": """
import jax
from tables import scale


def forward(x, torch_dtype):
    return scale(x.cuda().to(torch_dtype))
""",
    "tables.py": """
import torch


def scale(x):
    return x * 2
""",
}
"""What is not among these modules. The last one stays: the library gives no file up before there is another one."""


def test_trees_are_freed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else they pile up: the collector seldom comes by where much is alive, and memory grows without bounds."""
    monkeypatch.setattr(HELD, "library", Library(most_bytes=1))
    (tmp_path / "pyproject.toml").touch()
    files = sorted((PACKAGE / "tensors").glob("*.py"))
    copies = [tmp_path / file.name for file in files]
    for file, copy in zip(files, copies, strict=True):
        copy.write_text(file.read_text().replace("torchdevlint.runtime.simulated.tensors.", ""))
    for name, text in TEXTS.items():
        copies.append(tmp_path / name)
        copies[-1].write_text(text)
    check_file(str(copies[0]), Settings(root=tmp_path))
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        for copy in copies:
            assert not check_file(str(copy), Settings(root=tmp_path)).problems
        gc.collect()
        left = sum(isinstance(each, ast.Module) for each in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left
