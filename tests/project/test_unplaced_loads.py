"""Loads of an application that are far from all that has to do with devices: advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

READER = """import torch

def backbone(net, path):
    state = torch.load(path)
    net.fill({name: each for name, each in state.items() if name in net.names})
    return net
"""
MAIN = """import sys
import torch
from reader import backbone
from nets import Net

if __name__ == "__main__":
    net = backbone(Net(), sys.argv[1])
    net.to("cuda" if torch.cuda.is_available() else "cpu")
    print(net(torch.ones(3)))
"""
TRAINING = """import sys
import torch
from torch import nn

if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = nn.Linear(3, 3).to(device)
    net(torch.ones(3, device=device)).sum().backward()
    torch.save(net.state_dict(), "runs/linear.pt")
"""
TRIAL = """import torch
from torch import nn
from data import shown

if __name__ == "__main__":
    net = nn.Linear(3, 3)
    net.load_state_dict(torch.load("runs/first.pt"))
    shown(net(torch.ones(3)))
"""
DATA = "def shown(x):\n    print(x)\n"
NETS = "class Net:\n    names = ()\n\n    def to(self, device):\n        return self\n"


def test_a_file_that_knows_nothing_of_devices(tmp_path: Path) -> None:
    root = application(tmp_path, reader=READER, main=MAIN, nets=NETS)
    assert found(root) == []
    assert found(root, "TDL201") == ["reader.py:TDL201"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return net\n", "    return net.to(net.place)\n"),
        ("    return net\n", "    return net if torch.cuda.is_available() else None\n"),
        ("    return net\n", "    torch.save(state, path + '.bak')\n    return net\n"),
        ("net.fill({name: each for name, each in state.items() if name in net.names})", "net.load_state_dict(state)"),
    ],
    ids=["it moves", "it asks", "it saves", "it only fills a model"],
)
def test_a_file_that_has_to_do_with_them(tmp_path: Path, old: str, new: str) -> None:
    assert old in READER
    root = application(tmp_path, reader=READER.replace(old, new), main=MAIN, nets=NETS)
    assert found(root) == ["reader.py:TDL201"]


@pytest.mark.parametrize(("name", "expected"), [("other", []), ("linear", ["reader.py:TDL201"])])
def test_a_file_that_is_written_where_a_device_is_chosen(tmp_path: Path, name: str, expected: list[str]) -> None:
    reader = READER.replace("torch.load(path)", f"torch.load(path + '/{name}.pt')")
    assert found(application(tmp_path, reader=reader, main=MAIN, nets=NETS, training=TRAINING)) == expected


def test_a_program_without_a_choice_beside_others_with_one(tmp_path: Path) -> None:
    root = application(tmp_path, trial=TRIAL, training=TRAINING, data=DATA)
    assert found(root) == []
    assert found(root, "TDL201") == ["trial.py:TDL201"]


@pytest.mark.parametrize(
    ("trial", "more", "is_found"),
    [
        (TRIAL.replace("from data import shown\n", "from elsewhere import shown\n"), "", True),
        (TRIAL.replace("from data import shown\n", "from elsewhere import shown\n"), "import trial\n", False),
        (TRIAL, "", False),
    ],
    ids=["alone", "imported", "importing"],
)
def test_what_only_lies_beside_a_file_says_nothing_of_it(tmp_path: Path, trial: str, more: str, is_found: bool) -> None:
    root = application(tmp_path, trial=trial, training=TRAINING, data=DATA, more=more)
    assert ("trial.py:TDL201" in found(root)) is is_found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("first", "linear"),
        ("net = nn.Linear(3, 3)\n", "net = nn.Linear(3, 3).to('cuda' if torch.cuda.is_available() else 'cpu')\n"),
        ("import torch\nfrom torch import nn\n", "import sys\nimport torch\nfrom torch import nn\n"),
    ],
    ids=["what was trained on a chosen device", "it chooses as well", "a tool for any file"],
)
def test_a_program_that_may_meet_what_another_has_written(tmp_path: Path, old: str, new: str) -> None:
    trial = TRIAL.replace(old, new)
    if "import sys" in new:
        trial = trial.replace('"runs/first.pt"', "sys.argv[1]")
    assert trial != TRIAL
    assert "trial.py:TDL201" in found(application(tmp_path, trial=trial, training=TRAINING, data=DATA))


@pytest.mark.parametrize(("name", "is_found"), [("first", False), ("linear", True)])
def test_a_project_whose_writers_choose_elsewhere(tmp_path: Path, name: str, is_found: bool) -> None:
    """What a program that knows no device reads was written by others that know none, unless one of them speaks."""
    chosen = '"cuda" if torch.cuda.is_available() else "cpu"'
    training = TRAINING.replace(f"    device = {chosen}\n", "").replace("import sys\n", "from helper import device\n")
    assert "is_available" not in training
    helper = f"import torch\n\ndevice = {chosen}\n"
    trial = TRIAL.replace("first", name)
    root = application(tmp_path, trial=trial, training=training, data=DATA, helper=helper)
    assert ("trial.py:TDL201" in found(root)) is is_found
