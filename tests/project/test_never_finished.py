"""Functions that end in an error on each way, of whatever project: nobody meets what they do with devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_ways import found, inside

__all__ = ["inside"]

LIBRARY = """import torch
from contextlib import suppress

def grid(x: torch.Tensor, corner=None):
    points = torch.zeros(3) + x.unsqueeze(0)
    BODY
    return points
"""
AROUND = """import torch

def outer():
    far = torch.max(ALPHAS)

    def inner(x: torch.Tensor):
        return torch.zeros(3) + x.unsqueeze(0)

    return inner
"""


def rows(root: Path, body: str, more: str = "") -> list[str]:
    (root / "pyproject.toml").write_text('[project]\nname = "grids"\nversion = "1"\n')
    for number in range(4):
        (root / f"part_{number}.py").write_text("from grids import grid\n")
    (root / "grids.py").write_text(LIBRARY.replace("BODY", body.replace("\n", "\n    ")) + more)
    return found(root)


@pytest.mark.parametrize(
    "body",
    [
        "far = torch.max(alphas)",
        "if hasattr(x, __call__):\n    x = x()",
        "for each in corners:\n    points += each",
        "if corner is None:\n    corner = alphas\nelse:\n    corner = corner * alphas",
        "with torch.no_grad():\n    points = points * alphas",
        "if points.isnan().any():\n    raise ValueError\npoints = points * alphas",
        "points = scaled(points)",
    ],
)
def test_what_reads_a_name_that_nothing_binds(tmp_path: Path, body: str) -> None:
    assert rows(tmp_path, body, "\ndef scaled(each):\n    return each * alphas\n") == []


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ("far = torch.max(alphas)", "\nalphas = 3\n"),
        ("far = torch.max(alphas)", "\ndef told():\n    global alphas\n    alphas = 4\n"),
        ("far = torch.max(alphas)", "\nfrom elsewhere import *\n"),
        ("far = torch.max(alphas)", "\ntry:\n    import alphas\nexcept ImportError:\n    pass\n"),
        ("far = torch.max(alphas)", "\nglobals().update(alphas=3)\n"),
        ("try:\n    far = torch.max(alphas)\nexcept NameError:\n    pass", ""),
        ("if corner is None:\n    return points\nfar = torch.max(alphas)", ""),
        ("if corner is None:\n    corner = alphas", ""),
        ("yield points\nfar = torch.max(alphas)", ""),
        ("far = lambda: torch.max(alphas)", ""),
        ("far = corner or alphas", ""),
        ("print(__file__, __name__)", ""),
    ],
)
def test_what_may_come_to_its_end(tmp_path: Path, body: str, more: str) -> None:
    assert rows(tmp_path, body, more) == ["grids.py:TDL014"]


def test_a_function_that_such_a_one_defines(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"part_{number}.py").write_text("from outer import outer\n")
    (tmp_path / "outer.py").write_text(AROUND.replace("ALPHAS", "alphas"))
    assert found(tmp_path) == []
    (tmp_path / "outer.py").write_text(AROUND.replace("ALPHAS", "torch.ones(3)"))
    assert found(tmp_path) == ["outer.py:TDL014"]


def test_a_piece_of_a_program(tmp_path: Path) -> None:
    """Nothing beside it has to do with it: what it reads is bound where it was taken from."""
    (tmp_path / "outer.py").write_text(AROUND.replace("ALPHAS", "alphas"))
    assert found(tmp_path) == ["outer.py:TDL014"]


def test_the_error_itself(tmp_path: Path) -> None:
    (tmp_path / "outer.py").write_text("import torch\n\ndef made():\n    return torch.zeros(3, device=cuda)\n")
    assert found(tmp_path) == ["outer.py:TDL303"]


CALLED = """import torch
from torch import nn
from helpers import *

def match(x: torch.Tensor):
    points = torch.zeros(3) + x.unsqueeze(0)
    return points

class Loss(nn.Module):
    def forward(self, x, device):
        BODY
"""


@pytest.mark.parametrize(
    ("body", "more", "expected"),
    [
        ("return match(Variable(x))", "", ["grids.py:TDL014"]),
        ("x = Variable(x)\n        return match(x)", "", []),
        ("x = match(x)\n        return Variable(x)", "", ["grids.py:TDL003"]),
        ("x = Variable(x)\n        return match(x)", "\ndef other(x):\n    return match(x)\n", ["grids.py:TDL003"]),
        ("x = Variable(x)\n        return x", "", ["grids.py:TDL014"]),
    ],
)
def test_what_is_called_after_such_a_name_alone(tmp_path: Path, body: str, more: str, expected: list[str]) -> None:
    (tmp_path / "helpers.py").write_text("import time\n")
    assert called(tmp_path, body, more) == expected


def test_a_star_that_binds_the_name(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("from torch.autograd import Variable\n")
    assert called(tmp_path, "x = Variable(x)\n        return match(x)") == ["grids.py:TDL003"]


def test_a_device_that_is_none_behind_such_a_name(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("import time\n")
    told = "return Variable(torch.LongTensor([0], device=device))"
    assert called(tmp_path, told) == ["grids.py:TDL014"]
    (tmp_path / "helpers.py").write_text("from torch.autograd import Variable\n")
    assert called(tmp_path, told) == ["grids.py:TDL014", "grids.py:TDL303"]


def called(root: Path, body: str, more: str = "") -> list[str]:
    (root / "pyproject.toml").write_text('[project]\nname = "grids"\nversion = "1"\n')
    for number in range(4):
        (root / f"part_{number}.py").write_text("from grids import Loss\n")
    (root / "grids.py").write_text(CALLED.replace("BODY", body) + more)
    return found(root)
