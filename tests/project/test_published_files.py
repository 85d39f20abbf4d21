"""Files that are known to be published weights, or that no caller names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_writers import lint
from torchdevlint.model import Severity
from torchdevlint.project import tree

BACKBONE = """import torch
from torch import nn

class Backbone(nn.Module):
    def __init__(self, weights=""):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        if weights:
            self.load_state_dict(torch.load(weights))

def backbone(path=None):
    return Backbone(weights=path)
"""
TRAIN = """from backbone import backbone

# weights: https://example.org/models/wide50-0676ba61.pth
net = backbone("./weights/wide50.pth").cuda()
"""
SAVE = "import torch\n\ndef save(model):\n    torch.save(model.state_dict(), 'runs/wide50.pth')\n"


HOMES = """import pathlib
from paths import FROM

MINE = '/Users/anna/net.pt'
HOME = pathlib.Path('/home/anna/runs')
BELOW = HOME / 'kept'
OTHER = pathlib.Path('runs') / '/home/anna'
TWICE = '/home/anna/'
if not pathlib.Path(TWICE).exists():
    TWICE = 'runs/'
"""
NOT_GIVEN = "from backbone import backbone\n\nnet = backbone().cuda()\n"


def reported(root: Path, kept: Path | None = None) -> list[str]:
    """The files with findings that are reported by default, where those on published weights are not."""
    found = [each for each in lint(root, kept).diagnostics if each.severity is not Severity.ADVICE]
    return sorted(Path(each.filename).name for each in found)


def application(root: Path, **files: str) -> Path:
    for name, text in {"torchdevlint.toml": "", **files}.items():
        (root / (name if "." in name else f"{name}.py")).write_text(text)
    return root


CLASSIFIER = "Programming Language :: Python :: 3"


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tree.forget()


def test_all_callers_give_a_file_of_which_a_comment_says_the_address(tmp_path: Path) -> None:
    assert reported(application(tmp_path, backbone=BACKBONE, train=TRAIN)) == []


def test_one_caller_gives_a_file_of_unknown_origin(tmp_path: Path) -> None:
    other = "from backbone import backbone\n\nnet = backbone('./weights/best_model.pth').cuda()\n"
    assert reported(application(tmp_path, backbone=BACKBONE, train=TRAIN, test=other)) == ["backbone.py"]


def test_a_file_that_the_project_writes_itself_is_its_own(tmp_path: Path) -> None:
    assert reported(application(tmp_path, backbone=BACKBONE, train=TRAIN, save=SAVE)) == ["backbone.py"]


def test_no_caller_gives_a_path(tmp_path: Path) -> None:
    assert reported(application(tmp_path, backbone=BACKBONE, train=NOT_GIVEN)) == []


def test_what_a_caller_has_from_its_own_user_is_not_known(tmp_path: Path) -> None:
    train = "import sys\nfrom backbone import backbone\n\nnet = backbone(sys.argv[1]).cuda()\n"
    assert reported(application(tmp_path, backbone=BACKBONE, train=train)) == ["backbone.py"]


@pytest.mark.parametrize(
    "text", ["kinds = {'small': backbone}\n", "from backbone import backbone as small\n", "name = 'backbone'\n"]
)
def test_a_function_that_goes_by_other_ways_may_be_given_anything(tmp_path: Path, text: str) -> None:
    train = f"from backbone import backbone\n{text}\nnet = backbone().cuda()\n"
    assert reported(application(tmp_path, backbone=BACKBONE, train=train)) == ["backbone.py"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("setup.py", "from setuptools import setup\n\nsetup(name='backbone')\n"),
        ("pyproject.toml", f'[project]\nname = "backbone"\nclassifiers = ["{CLASSIFIER}"]\n'),
        ("setup.cfg", f"[metadata]\nname = backbone\nclassifiers = {CLASSIFIER}\n"),
    ],
)
def test_what_is_installed_has_callers_elsewhere(tmp_path: Path, name: str, text: str) -> None:
    assert reported(application(tmp_path, backbone=BACKBONE, train=NOT_GIVEN)) == []
    (tmp_path / name).write_text(text)
    tree.forget()
    assert reported(tmp_path) == ["backbone.py"]


def test_a_result_depends_on_whether_the_project_is_installed(tmp_path: Path) -> None:
    root, kept = application(tmp_path, backbone=BACKBONE, train=NOT_GIVEN), tmp_path / "kept"
    assert reported(root, kept) == []
    (root / "pyproject.toml").write_text(f'[project]\nname = "backbone"\nclassifiers = ["{CLASSIFIER}"]\n')
    tree.forget()
    assert reported(root, kept) == ["backbone.py"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("pyproject.toml", '[project]\nname = "backbone"\n'), ("setup.cfg", "[metadata]\nname = backbone\n")],
)
def test_what_is_installed_by_those_who_work_on_it_alone_has_all_callers_here(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    assert reported(application(tmp_path, backbone=BACKBONE, train=NOT_GIVEN)) == []


@pytest.mark.parametrize(
    "name",
    [
        "rgb_imagenet.pt",
        "mobilenet_v2.pth",
        "resnet34-pre.pth",
        "vgg16.pth",
        "wav2vec_large.pt",
        "WavLM-Base+.pt",
        "libri960_big.pt",
    ],
)
def test_names_of_published_models(tmp_path: Path, name: str) -> None:
    train = TRAIN.replace("# weights:", "#").replace("wide50.pth", name)
    assert reported(application(tmp_path, backbone=BACKBONE, train=train)) == []
    save = SAVE.replace("wide50.pth", name)
    assert reported(application(tmp_path, backbone=BACKBONE, train=train, save=save)) == ["backbone.py"]


@pytest.mark.parametrize("name", ["model.pt", "resnet.pth", "best_vgg16_epoch.pth", "wav2vec.pt", "library.pt"])
def test_names_of_ones_own_models(tmp_path: Path, name: str) -> None:
    train = TRAIN.replace("wide50.pth", name)
    assert reported(application(tmp_path, backbone=BACKBONE, train=train)) == ["backbone.py"]


@pytest.mark.parametrize(("check", "expected"), [("    check_sha1(path, HASH)\n", []), ("", ["backbone.py"])])
def test_a_file_that_is_downloaded_and_held_against_its_hash(tmp_path: Path, check: str, expected: list[str]) -> None:
    store = "from tools import HASH, check_sha1, download\n\ndef weights_of(name):\n    path = download(name)\n"
    backbone = "import torch\nfrom torch import nn\nfrom store import weights_of\n\ndef backbone(device):\n"
    backbone += "    net = nn.Linear(3, 3)\n    net.load_state_dict(torch.load(weights_of('resnet')))\n"
    backbone += "    return net.to(device)\n"
    assert reported(application(tmp_path, backbone=backbone, store=f"{store}{check}    return path\n")) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("'/home/anna/runs/net.pt'", []),
        ("MINE", []),
        (r"r'C:\Users\anna\net.pt'", []),
        ("'X:/models/net.pt'", []),
        ("os.path.join('X:/models', name)", []),
        ("f'/home/anna/{name}.pt'", []),
        ("'/home/anna/' + name", []),
        ("os.path.join(name, '/home/anna/net.pt')", ["net.py"]),
        ("'C:/models/net.pt'", ["net.py"]),
        ("'/data/home/net.pt'", ["net.py"]),
        ("'/home/net.pt'", ["net.py"]),
        ("MINE + name", []),
        ("f'{MINE}/{name}.pt'", []),
        ("HOME / name", []),
        ("str(pathlib.Path(BELOW, name))", []),
        ("OTHER / name", ["net.py"]),
        ("TWICE + name", ["net.py"]),
        ("folder + '/home/anna/net.pt'", ["net.py"]),
        ("FROM / name", ["net.py"]),
    ],
)
def test_a_whole_path_in_somebodys_home(tmp_path: Path, path: str, expected: list[str]) -> None:
    """Others cannot read it as it stands: it is advice."""
    text = f"import torch\n{HOMES}\ndef restore(net, name, folder='/home/anna'):\n    net.load(torch.load({path}))\n"
    assert reported(application(tmp_path, net=text)) == expected


EXPORTING = """import sys
import torch

net = torch.nn.Linear(3, 3)
net.load_state_dict(torch.load(sys.argv[1], map_location="cpu"))
torch.jit.script(net).save("vocoder.pt")
"""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("other", "print(3)", []),
        ("other", EXPORTING, []),
        ("other", EXPORTING.replace('"cpu"', 'torch.device("cpu")'), []),
        ("other", EXPORTING.replace(', map_location="cpu"', ""), ["main.py", "other.py"]),
        ("other", EXPORTING.replace('"cpu"', "sys.argv[2]"), ["main.py"]),
        ("other", EXPORTING.replace("Linear(3, 3)", "Linear(3, 3).to(sys.argv[2])"), ["main.py"]),
        ("other", "traced = torch.jit.trace(net.cuda(), x)", ["main.py"]),
        ("other.ipynb", '{"cells": [{"cell_type": "code", "source": ["torch.jit.script(net).save(x)"]}]}', ["main.py"]),
    ],
    ids=[
        "nothing",
        "loads to the CPU",
        "loads to that device",
        "loads to where it was",
        "loads to what is given",
        "moves",
        "traces",
        "a notebook",
    ],
)
def test_a_module_that_somebody_else_exported(tmp_path: Path, name: str, text: str, expected: list[str]) -> None:
    main = "import sys\nimport torch\n\nnet = torch.jit.load(sys.argv[1]).to(sys.argv[2])\nprint(net(torch.ones(3)))\n"
    assert reported(application(tmp_path, main=main, **{name: text})) == expected


@pytest.mark.parametrize(
    ("model", "main", "expected"),
    [
        ("", "", []),
        ("BATCH = torch.ones(3).cuda()\n", "", ["main.py"]),
        ("", "import export\n", ["main.py"]),
    ],
    ids=["a program on the CPU", "what it imports is not", "it is imported"],
)
def test_a_module_that_a_program_exports_on_the_cpu(tmp_path: Path, model: str, main: str, expected: list[str]) -> None:
    model = f"import torch\n\n{model}def build():\n    return torch.nn.Linear(3, 3)\n"
    export = "from model import build\n" + EXPORTING.replace("torch.nn.Linear(3, 3)", "build()")
    main += "import sys\nimport torch\n\nnet = torch.jit.load(sys.argv[1]).to(sys.argv[2])\nprint(net(torch.ones(3)))\n"
    assert reported(application(tmp_path, main=main, export=export, model=model)) == expected
