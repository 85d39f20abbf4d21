"""Files that cannot be parsed: advice where nothing imports them and they have no word of torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside
from torchdevlint.project import tree

__all__ = ["inside"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"plot": "limits = [-,-]\n"}, []),
        ({"plot": "limits = [-,-]\n", "main": "from plot import limits\n"}, ["plot.py:TDL901"]),
        ({"plot": "import torch\nlimits = [-,-]\n"}, ["plot.py:TDL901"]),
        ({"tempCodeRunnerFile": "    import torch\nlimits = 1\n"}, []),
    ],
)
def test_what_nothing_imports(tmp_path: Path, files: dict[str, str], expected: list[str]) -> None:
    root = application(tmp_path, **files)
    (root / "README.md").write_text("# Plots\n")
    assert found(root) == expected
    assert [each for each in found(root, "TDL901") if each.endswith("TDL901")]


OLD_CALL = "import torch\n\n\ndef moved(x):\n    return x.cuda(async=True)\n"


@pytest.mark.parametrize(
    ("demand", "expected"),
    [
        ("torch==0.3.1", []),
        ("torch==0.4.0", []),
        ("torch==0.4.1", ["move.py:TDL901"]),
        ("torch", ["move.py:TDL901"]),
    ],
)
def test_async_is_a_name_for_the_torch_of_python_before_3_7(tmp_path: Path, demand: str, expected: list[str]) -> None:
    root = application(tmp_path, move=OLD_CALL, main="from move import moved\n")
    (root / "requirements.txt").write_text(f"{demand}\n")
    assert found(root) == expected


def test_another_error_beside_that_name(tmp_path: Path) -> None:
    root = application(tmp_path, move=f"{OLD_CALL}\n\ndef half(x:\n", main="from move import moved\n")
    (root / "requirements.txt").write_text("torch==0.3.1\n")
    assert found(root) == ["move.py:TDL901"]


@pytest.mark.parametrize(
    ("name", "expected"), [("README.md", []), ("Readme.md", []), ("NOTES.md", ["context.py:TDL901"])]
)
def test_what_can_be_read_about_may_stand_around_a_part(tmp_path: Path, name: str, expected: list[str]) -> None:
    """A part that is installed by itself has a root of its own, and the words for readers stand above it."""
    root = application(tmp_path, main="import sys\n")
    (root / name).write_text("# Prompts\n")
    (root / "setup.py").write_text("import setuptools\n")
    part = root / "parts"
    (part / "prompt").mkdir(parents=True)
    (part / "setup.py").write_text("import setuptools\n")
    for each in range(5):
        (part / f"module_{each}.py").write_text("import sys\n")
    (part / "prompt" / "context.py").write_text("def digest(path):\n")
    assert found(root) == expected


@pytest.mark.parametrize(
    ("folder", "importing", "is_found"),
    [("backup of nets", "", False), ("old", "import old.nets\n", True), ("bold", "", True)],
    ids=["put aside", "in use", "another word"],
)
def test_what_was_put_aside(tmp_path: Path, folder: str, importing: str, is_found: bool) -> None:
    root = application(tmp_path, main=f"import sys\n{importing}")
    (root / folder).mkdir()
    (root / folder / "nets.py").write_text("import torch\n\ndef half(x:\n    return x / 2\n")
    tree.forget()
    assert found(root) == (["nets.py:TDL901"] if is_found else [])


CELLS = """import os
import torch

!pip install -q torch-scatter
%matplotlib inline
files = !ls data

print(torch.ones(3))
"""
EXPORTED = "# Commented out IPython magic to ensure Python compatibility.\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"segment": CELLS}, []),
        ({"segment": "%%writefile net.py\n" + CELLS}, []),
        ({"segment": CELLS, "main": "import segment\n"}, ["segment.py:TDL901"]),
        ({"segment": CELLS + "print((\n"}, ["segment.py:TDL901"]),
        ({"segment": CELLS + EXPORTED}, ["segment.py:TDL901"]),
        ({"segment": "import torch\nprint(torch.ones(3\n"}, ["segment.py:TDL901"]),
    ],
)
def test_cells_of_a_notebook_that_were_saved_as_a_module(
    tmp_path: Path, files: dict[str, str], expected: list[str]
) -> None:
    assert found(application(tmp_path, **files)) == expected


BEGUN = """import torch
from torch import nn

class Pole(nn.Module):
    # the callbacks
    def build(self):

    def act(self, x):

    # the loss
    def loss(self, x):
        return torch.ones(3) - x
"""
LEFT = "import torch\n\nclass Split:\n    size = torch.ones(3)\n\n    def"


@pytest.mark.parametrize(
    ("pole", "main", "is_found"),
    [
        pytest.param(BEGUN, "", False, id="without bodies"),
        pytest.param(LEFT, "", False, id="without a name"),
        pytest.param(BEGUN, "from pole import Pole\n", True, id="imported"),
        pytest.param(f"{BEGUN}\nprint(Pole())\n", "", True, id="a program"),
        pytest.param(f"{BEGUN}\ndef half(x:\n    return x\n", "", True, id="another error"),
        pytest.param(
            BEGUN.replace("self):\n", "self):\n        pass\n").replace("(self, x):", "(self, x)"),
            "",
            True,
            id="no colon",
        ),
    ],
)
def test_what_was_begun_and_left(tmp_path: Path, pole: str, main: str, is_found: bool) -> None:
    """Its definitions have no bodies yet, and nobody imports it."""
    root = application(tmp_path, pole=pole, main=main)
    (root / "README.md").write_text("# Poles\n\npip install pole\n")
    assert ("pole.py:TDL901" in found(root)) is is_found
    assert "pole.py:TDL901" in found(root, "TDL901")


def test_what_was_begun_in_a_library(tmp_path: Path) -> None:
    root = application(tmp_path, pole=BEGUN, main="")
    (root / "README.md").write_text("# Poles\n\npip install pole\n")
    (root / "pyproject.toml").write_text('[project]\nname = "pole"\nclassifiers = []\n')
    assert "pole.py:TDL901" in found(root)


BROKEN = '''"""Layers without their context.

They are of an earlier draft.
"""
import torch
from torch import nn

SIZES = [3, 4]


class Plain(nn.Module):
    def forward(self, x):
        return x * torch.ones(3))
'''
MENDED = BROKEN.replace("ones(3))", "ones(3)")


@pytest.mark.parametrize(
    ("plain", "files", "is_found"),
    [
        pytest.param(BROKEN, {}, False, id="nothing says its name"),
        pytest.param(
            BROKEN, {"main": "from layers.whole import Net\n# from layers.plain import Plain\n"}, True, id="name"
        ),
        pytest.param(
            BROKEN, {"README.md": "# Nets\n\nThe class Plain of `plain.py` comes first.\n"}, True, id="read of"
        ),
        pytest.param(BROKEN, {"main": "print('layers')\n"}, True, id="none is imported"),
        pytest.param(f"{BROKEN}\nprint(Plain())\n", {}, True, id="a program"),
        pytest.param(f"{BROKEN}\nnet = Plain()\n", {}, True, id="builds something"),
        pytest.param(f"{BROKEN}\nss\n", {}, True, id="a stray word"),
        pytest.param("import torch\n\nSIZES = [3, 4\n", {}, True, id="defines nothing"),
        pytest.param(f"{BROKEN}\nSIZES = {{1: (2, int(3 * 4))}}\n", {}, False, id="a table"),
        pytest.param(f"{BROKEN}\nNETS = [Plain() for _ in range(3)]\n", {}, True, id="a list that is made"),
        pytest.param(f"<<<<<<< HEAD\n{MENDED}=======\n{MENDED}>>>>>>> a1b2c3\n", {}, False, id="two versions"),
        pytest.param(
            f"<<<<<<< HEAD\n{MENDED}=======\n{MENDED}>>>>>>> a1b2c3\nprint(Plain())\n", {}, True, id="of a program"
        ),
        pytest.param(BROKEN, {"README.md": ""}, False, id="with something to read"),
    ],
)
def test_a_broken_module_beside_others(tmp_path: Path, plain: str, files: dict[str, str], is_found: bool) -> None:
    """What only defines something is there to be imported, as what is beside it."""
    root = application(tmp_path, **{"main": "from layers.whole import Net\n", "README.md": "# Nets\n", **files})
    (root / "layers").mkdir()
    (root / "layers" / "whole.py").write_text("import torch\n\nclass Net(torch.nn.Module):\n    pass\n")
    (root / "layers" / "plain.py").write_text(plain)
    tree.forget()
    assert ("plain.py:TDL901" in found(root)) is is_found
    assert "plain.py:TDL901" in found(root, "TDL901")


@pytest.mark.parametrize(
    ("files", "is_found"),
    [
        pytest.param({}, False, id="only handed on"),
        pytest.param({"main": "from whole import Net\nimport lib\n"}, True, id="the outer package"),
        pytest.param(
            {"main": "from whole import Net\nfrom lib.layers.more import more\n"}, True, id="a part beside it"
        ),
        pytest.param(
            {"main": "from whole import Net\nimport importlib\nimportlib.import_module('lib')\n"}, True, id="text"
        ),
        pytest.param(
            {"lib/run": "from lib.layers import more\nif __name__ == '__main__':\n    more\n"}, True, id="program"
        ),
        pytest.param({"lib/run": "if __name__ == '__main__':\n    print(1)\n"}, False, id="another program"),
        pytest.param({"main": "import other\n", "whole": ""}, True, id="nothing else of torch"),
    ],
)
def test_a_broken_module_of_a_package_that_nobody_imports(
    tmp_path: Path, files: dict[str, str], is_found: bool
) -> None:
    """What packages hand on is for those who import them."""
    (tmp_path / "lib" / "layers").mkdir(parents=True)
    whole = "import torch\n\nclass Net(torch.nn.Module):\n    pass\n"
    root = application(
        tmp_path, **{"main": "from whole import Net\n", "whole": whole, "README.md": "# Nets\n", **files}
    )
    (root / "lib" / "__init__.py").write_text("from .layers import *\n")
    (root / "lib" / "layers" / "__init__.py").write_text("from .plain import Plain\n")
    (root / "lib" / "layers" / "more.py").write_text("def more():\n    pass\n")
    (root / "lib" / "layers" / "plain.py").write_text(BROKEN)
    tree.forget()
    assert ("plain.py:TDL901" in found(root)) is is_found
    assert "plain.py:TDL901" in found(root, "TDL901")
