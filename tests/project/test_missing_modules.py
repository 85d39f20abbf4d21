"""Modules of names that only a project's own have, and that are nowhere in it: nobody runs what imports them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import ASKING, found

MAIN = """import torch
from helper import place
from helper_functions import *

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x) + torch.arange(3)

if __name__ == "__main__":
    print(Net().to(place())(torch.ones(3, 3).to(place())))
"""


def is_found(tmp_path: Path, *, others: dict[str, str] | None = None, main: str = MAIN) -> bool:
    root = application(tmp_path, helper=ASKING, main=main, a="A = 1\n", b="B = 1\n", c="C = 1\n")
    for name, text in (others or {}).items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    assert "main.py:TDL003" in found(root, "TDL003")
    return "main.py:TDL003" in found(root)


def test_a_module_that_is_nowhere(tmp_path: Path) -> None:
    assert not is_found(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("tools/helper_functions.py", "SIZE = 3\n", id="it is in another folder"),
        pytest.param("helper_functions/README.md", "Nothing.\n", id="a folder without code"),
        pytest.param("README.md", "Download helper_functions.py first.\n", id="a document says where it is"),
        pytest.param("README.md", "git clone https://example.org/a/helper_functions\n", id="another repository"),
        pytest.param("setup.py", "BUILT = ['csrc/helper_functions']\n", id="it is built"),
        pytest.param(".gitmodules", "[submodule]\n\tpath = parts/helper_functions\n", id="it is fetched"),
        pytest.param("start.py", "import sys\nsys.path.append('..')\nimport main\n", id="a longer path of modules"),
    ],
)
def test_a_module_that_may_be_somewhere(tmp_path: Path, name: str, text: str) -> None:
    assert is_found(tmp_path, others={name: text}) is (name != "helper_functions/README.md")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("from helper_functions", "from helper_kit", id="a name that a library may have"),
        pytest.param("from helper_functions", "from config", id="what its users write"),
        pytest.param("from helper_functions import *", "try: from utils import *\nexcept: pass", id="tried"),
    ],
)
def test_what_may_be_installed(tmp_path: Path, old: str, new: str) -> None:
    assert is_found(tmp_path, main=MAIN.replace(old, new))
