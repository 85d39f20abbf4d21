"""Which files of a project import a module, and what tells that one of them has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchdevlint.project import tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "deep.py").write_text("x = 1\n")
    tree.forget()
    return tmp_path


def importers(root: Path) -> list[str]:
    tree.forget()
    found = tree.importers(str(root / "package" / "deep.py"))
    assert found is not None
    return [Path(each).name for each in found]


@pytest.mark.parametrize(
    "text",
    [
        "import package.deep\n",
        "import os, package.deep as d\n",
        "from package import deep\n",
        "from package import (  # all\n    other,\n    deep as d,  # this one\n)\n",
        "from package import \\\n    deep\n",
        "from package.deep import x\n",
        "def late():\n    from package.deep import x\n    return x\n",
        "if 1:\r\n\timport package.deep\r\n",
    ],
)
def test_imports_of_all_forms(root: Path, text: str) -> None:
    (root / "user.py").write_text(text, newline="")
    assert importers(root) == ["user.py"]


@pytest.mark.parametrize("text", ["from . import deep\n", "from .deep import x\n", "from .deep import *\n"])
def test_relative_imports(root: Path, text: str) -> None:
    (root / "package" / "beside.py").write_text(text)
    assert importers(root) == ["beside.py"]


@pytest.mark.parametrize(
    "text",
    ["import deep\n", "from sys import deep\n", "# import package.deep\n", "x = 'deep'\n", "import package.deeper"],
)
def test_what_leads_elsewhere(root: Path, text: str) -> None:
    (root / "user.py").write_text(text)
    assert importers(root) == []


def test_folders_that_hold_no_code_of_the_project_are_left_out(root: Path) -> None:
    for folder in (".hidden", "build", "venv", "node_modules"):
        (root / folder).mkdir()
        (root / folder / "user.py").write_text("import package.deep\n")
    assert importers(root) == []


def test_a_project_with_too_many_files_is_not_looked_through(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MOST_FILES", 1)
    (root / "user.py").write_text("import package.deep\n")
    tree.forget()
    assert tree.importers(str(root / "package" / "deep.py")) is None


def test_folders_of_data_do_not_hide_the_code_beside_them(root: Path) -> None:
    """A data set with a folder for each of its samples lies beside the code."""
    for number in range(3100):
        (root / "data" / str(number)).mkdir(parents=True)
    (root / "user.py").write_text("import package.deep\n")
    assert importers(root) == ["user.py"]


def test_the_stamp_changes_with_every_file(root: Path) -> None:
    home = str(root / "package" / "deep.py")
    seen = {tree.stamp(home)}
    for change in ("x = 1\n", "x = 12\n"):
        (root / "user.py").write_text(change)
        tree.forget()
        seen.add(tree.stamp(home))
    (root / "user.py").unlink()
    tree.forget()
    assert len(seen) == 3
    assert tree.stamp(home) in seen
