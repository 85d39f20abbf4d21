"""Factories of libraries that work on the default device: what they make is where all the rest is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

SOLID = """import torch

EMPTY = torch.zeros(3)

class Solid:
    def __init__(self, nodes: torch.Tensor):
        self.nodes = nodes
        self.moved = nodes + torch.zeros(3)

    def shifted(self, by: torch.Tensor):
        return by + EMPTY
"""
READING = """import torch

def read(path):
    device = torch.get_default_device()
    return torch.tensor([float(line) for line in open(path)], device=device)
"""
PACKAGE = '[project]\nname = "solids"\nversion = "1.0"\n[build-system]\nrequires = ["hatchling"]\n'


def findings(root: Path, reading: str) -> list[str]:
    application(root, solid=SOLID, reading=reading)
    (root / "pyproject.toml").write_text(PACKAGE)
    return found(root)


def test_what_a_library_on_the_default_device_makes(tmp_path: Path) -> None:
    """But for what it makes as it is imported, before anybody sets the default device."""
    assert findings(tmp_path, READING) == ["solid.py:TDL014"]
    assert findings(tmp_path, READING.replace("get_default_device()", "device('cpu')")) == ["solid.py:TDL014"] * 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def read(path):", "def read(path, device=None):"),
        ("torch.get_default_device()", "torch.get_default_dtype()"),
        ("torch.get_default_device()", "settings.get_default_device()"),
    ],
    ids=["who calls it may want another one", "a dtype", "of its own"],
)
def test_one_that_may_be_elsewhere_keeps_the_finding(tmp_path: Path, old: str, new: str) -> None:
    assert old in READING
    assert findings(tmp_path, READING.replace(old, new)) == ["solid.py:TDL014"] * 2
