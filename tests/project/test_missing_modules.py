"""Modules that are nowhere in a project which they are asked of: nobody runs what imports them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import ASKING, found, run

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


LOADING = """IMPORTS
import torch

if __name__ == "__main__":
    net = torch.nn.Linear(3, 3).to("cuda" if torch.cuda.is_available() else "cpu")
    net.load_state_dict(torch.load("best.pt"))
    print(net)
"""
OTHERS = {
    "src/nets/layers.py": "SIZE = 3\n",
    "src/data/loader.py": "def load(): pass\n",
    "src/tools/sizes.py": "A = 1\n",
    "src/tools/tell.py": "if __name__ == '__main__':\n    print(1)\n",
}


def is_met(tmp_path: Path, imports: str, files: dict[str, str], main: str = "src/tools/main.py") -> bool:
    for name, text in {**OTHERS, **files, main: LOADING.replace("IMPORTS", imports)}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "README.md").write_text("Start the tools.\n")
    (tmp_path / ".git").mkdir(exist_ok=True)
    return f"{Path(main).name}:TDL201" in found(tmp_path)


@pytest.mark.parametrize(
    ("imports", "is_there"),
    [
        pytest.param("from src.nets.layers import SIZE", True, id="all is there"),
        pytest.param("from src.vq.models import create", False, id="no folder of that name"),
        pytest.param("import src.nets.blocks", False, id="no module of that name"),
        pytest.param("import src.nets.layers as layers", True, id="a module that is there"),
        pytest.param("from src.nets.layers import _size", False, id="a private name of a module alone"),
        pytest.param("try:\n    import src.vq\nexcept ImportError:\n    pass", True, id="tried"),
        pytest.param("import torch_vq.models", True, id="a library"),
        pytest.param("import sys\nsys.path.append('..')\nfrom src.vq.models import create", True, id="a longer path"),
    ],
)
def test_a_folder_of_folders(tmp_path: Path, imports: str, is_there: bool) -> None:
    assert is_met(tmp_path, imports, {}) is is_there


@pytest.mark.parametrize(
    ("name", "text", "is_there"),
    [
        pytest.param("run.sh", "export PYTHONPATH=.:$PYTHONPATH\n", False, id="the folder itself is on the path"),
        pytest.param("run.sh", "export PYTHONPATH=../vq\n", True, id="another one is"),
        pytest.param("setup.py", "BUILT = ['src/vq']\n", True, id="it is built"),
        pytest.param(".gitmodules", "[submodule]\n\tpath = src/vq\n", True, id="it is fetched"),
    ],
)
def test_what_may_bring_a_part(tmp_path: Path, name: str, text: str, is_there: bool) -> None:
    assert is_met(tmp_path, "import src.vq", {name: text}) is is_there


ALIASED = "from seg2d.nets.layers import SIZE\nfrom seg2d.data.loader import load\n"
RENAMED = {"nets/layers.py": "SIZE = 3\n", "data/loader.py": "def load(): pass\n", "data/more.py": "MORE = 1\n"}


@pytest.mark.parametrize(
    ("imports", "files", "is_there"),
    [
        pytest.param(ALIASED, {}, True, id="all is there"),
        pytest.param(ALIASED + "from seg2d.loss.dice import dice", {}, False, id="one is not"),
        pytest.param(ALIASED + "from seg2d.loss.dice import dice", {".gitignore": "loss/\n"}, True, id="not for git"),
        pytest.param(ALIASED + "import seg2d.loss", {"requirements.txt": "torch\nseg2d>=1\n"}, True, id="a library"),
        pytest.param("from seg2d.data.loader import load\nimport seg2d.loss", {}, True, id="a copy of one"),
        pytest.param(ALIASED.replace("SIZE", "SIZES") + "import seg2d.loss", {}, True, id="another module"),
        pytest.param(ALIASED + "import seg2d.loss", {"seg2d/readme.py": "A = 1\n"}, True, id="a package"),
    ],
)
def test_another_name_of_the_root(tmp_path: Path, imports: str, files: dict[str, str], is_there: bool) -> None:
    assert is_met(tmp_path, imports, {**RENAMED, **files}, "tools/main.py") is is_there


@pytest.mark.parametrize(
    ("change", "files", "is_there"),
    [
        pytest.param("", {}, False, id="the same file beside what it imports"),
        pytest.param("\n", {}, True, id="another file"),
        pytest.param("", {"run.sh": "export PYTHONPATH=../helpers/\n"}, False, id="another folder on the path"),
        pytest.param("", {"run.sh": "export PYTHONPATH=code\n"}, True, id="its folder on the path"),
        pytest.param("", {"cells.py": "SIZE = 3\n"}, True, id="it is there as well"),
    ],
)
def test_a_copy_beside_what_it_imports(tmp_path: Path, change: str, files: dict[str, str], is_there: bool) -> None:
    imports = "from cells import SIZE"
    copied = {"code/cells.py": "SIZE = 3\n", "code/start.py": LOADING.replace("IMPORTS", imports) + change, **files}
    is_met(tmp_path, imports, copied, "start.py")
    where = {Path(each.filename).parent.name for each in run(tmp_path).diagnostics if each.code == "TDL201"}
    assert where == {"code", *([tmp_path.name] if is_there else [])}
