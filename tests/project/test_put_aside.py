"""Folders of the past, by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_ways import run
from torchdevlint.project import tree
from torchdevlint.project.locate import root_around
from torchdevlint.project.put_aside import is_put_aside


@pytest.mark.parametrize("folder", ["old", "_archive", "legacy_code", "Depricated", "depr", "back of nets", "src.bak"])
def test_what_is_put_aside(folder: str) -> None:
    assert is_put_aside(f"project/{folder}/train.py")


@pytest.mark.parametrize(
    "folder", ["gold", "backbone", "background", "older_people", "copyist", "olds", "feedback", "depth"]
)
def test_what_only_looks_so(folder: str) -> None:
    assert not is_put_aside(f"project/{folder}/train.py")
    assert not is_put_aside(f"project/{folder}.py")


def test_a_project_within_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The outermost one is asked; a home that is a repository of its own is none."""
    inner = tmp_path / "archive" / "first"
    inner.mkdir(parents=True)
    (inner / "pyproject.toml").touch()
    assert root_around(str(inner)) == str(inner)
    (tmp_path / ".git").mkdir()
    tree.forget()
    assert root_around(str(inner)) == str(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert root_around(str(inner)) == str(inner)


@pytest.mark.parametrize(("folder", "expected"), [("archive", []), ("packages", ["TDL201"])])
def test_a_project_that_was_put_aside_as_a_whole(tmp_path: Path, folder: str, expected: list[str]) -> None:
    """Be it one that is published, which others may have from elsewhere."""
    inner = tmp_path / folder / "first"
    (inner / "first").mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (inner / "pyproject.toml").write_text("[project]\nname = 'first'\nclassifiers = []\n")
    (inner / "first" / "__init__.py").touch()
    (inner / "first" / "weights.py").write_text(
        "import torch\n\ndef restore(net, path):\n    net.load_state_dict(torch.load(path))\n"
    )
    tree.forget()
    assert [each.code for each in run(tmp_path).diagnostics] == expected


DRAFT = """import torch
from torch import nn
# from . import loader

class Model(nn.Module):
    def restore(self, path):
        self.load_state_dict(torch.load(path))

if __name__ == "__main__":
    batches = loader.batches(10)
    Model().restore("best.pt")
"""


@pytest.mark.parametrize(
    ("draft", "used", "expected"),
    [
        (DRAFT, "class Model: pass\n", []),
        (DRAFT.replace("# from", "from"), "class Model: pass\n", ["TDL201"]),
        (
            DRAFT.replace("if __name__", "def main():\n    return 1\n\nif main() and __name__"),
            "class Model: pass\n",
            ["TDL201"],
        ),
        (DRAFT, "class Net: pass\n", ["TDL201"]),
        (DRAFT, "from .draft import Model\n", ["TDL201"]),
    ],
)
def test_an_earlier_draft_of_a_module(tmp_path: Path, draft: str, used: str, expected: list[str]) -> None:
    """Be it in a library: nobody imports it, and what it tries itself reads a name that nothing binds."""
    (tmp_path / "setup.py").write_text(
        "from setuptools import setup\n\nsetup(name='nets', packages=['nets'], classifiers=[])\n"
    )
    package = tmp_path / "nets"
    package.mkdir()
    files = {
        "__init__": "",
        "draft": draft,
        "loader": "def batches(n): ...\n",
        "model": used,
        "main": "from . import model\n",
    }
    for name, text in files.items():
        (package / f"{name}.py").write_text(text)
    tree.forget()
    assert sorted(each.code for each in run(tmp_path).diagnostics) == expected
