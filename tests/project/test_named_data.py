"""Loads that an application calls data: advice, unless names, uses or the writer say something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

LOADING = """import torch
from elsewhere import CHECKPOINT, net, use

class Table:
    def __init__(self, folder):
        self.samples = torch.load(folder + "/first.pt")

    def graph(self, path):
        data_set = torch.load(path)
        print(len(data_set), data_set[0].x.to(self.samples[0]))
        return data_set
"""
MAIN = """import sys
import torch
from loading import Table
from helper import place

if __name__ == "__main__":
    table = Table(sys.argv[1])
    net = torch.nn.Linear(3, 3).to(place())
    print(net(table.graph(sys.argv[2]).to(place())))
"""
HELPER = "import torch\n\ndef place():\n    return 'cuda' if torch.cuda.is_available() else 'cpu'\n"


def test_what_is_called_data_is_advice(tmp_path: Path) -> None:
    root = application(tmp_path, helper=HELPER, loading=LOADING, main=MAIN)
    assert found(root) == []
    assert found(root, "TDL201") == ["loading.py:TDL201"] * 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("data_set = torch.load(path)", "data_set = torch.load(path)\n        net.load_state_dict(data_set)"),
        ("data_set = torch.load(path)", "data_set = torch.load(path)\n        net.load_state_dict(data_set['x'])"),
        ("data_set = torch.load(path)", "data_set = torch.load(path)\n        print(data_set(path))"),
        ("data_set = torch.load(path)", "data_set = torch.load(path)\n        data_set.eval()"),
        ("data_set = torch.load(path)", "data_set = torch.load(path)['state_dict']"),
        ("data_set = torch.load(path)", "data_set = torch.load(path)\n        self.table = data_set.cpu()"),
        ("data_set = torch.load(path)", "data_set = found = torch.load(path)\n        print(found['model'])"),
        ("data_set = torch.load(path)", "data_set = torch.load(path + CHECKPOINT)"),
        ("path):\n        data_set = torch.load(path)", "best_path):\n        data_set = torch.load(best_path)"),
        ('"/first.pt")', '"/first.pt")\n        self.samples.eval()'),
        ('"/first.pt")', '"/state.pt")'),
    ],
)
def test_what_is_a_model_as_well_is_none(tmp_path: Path, old: str, new: str) -> None:
    text = LOADING.replace(old, new)
    assert text != LOADING
    assert found(application(tmp_path, helper=HELPER, loading=text, main=MAIN)) == ["loading.py:TDL201"]


def test_a_name_for_the_file_and_what_it_holds(tmp_path: Path) -> None:
    text = LOADING.replace("data_set", "data").replace("path", "data")
    assert found(application(tmp_path, helper=HELPER, loading=text, main=MAIN)) == []


def test_names_that_say_nothing(tmp_path: Path) -> None:
    """What is given back may be used as a model there; what is kept shows how it is used."""
    text = LOADING.replace("self.samples", "self.x").replace("data_set", "found")
    root = application(tmp_path, helper=HELPER, loading=text, main=MAIN)
    assert found(root) == ["loading.py:TDL201"]
    (root / "loading.py").write_text(text.replace("return found", "return len(path)"))
    assert found(root) == []


@pytest.mark.parametrize("use", ["net.load_weights(found)", "found(path)", "found['encoder'].to(net.device)"])
def test_names_that_say_nothing_of_what_is_used_as_a_model(tmp_path: Path, use: str) -> None:
    text = LOADING.replace("data_set", "found").replace("return found", use)
    assert found(application(tmp_path, helper=HELPER, loading=text, main=MAIN)) == ["loading.py:TDL201"]


@pytest.mark.parametrize(
    ("owner", "expected"),
    [("self.vocab", []), ("self.encoder", ["loading.py:TDL201"]), ("self.text_part", ["loading.py:TDL201"])],
)
def test_whose_method_takes_what_is_loaded(tmp_path: Path, owner: str, expected: list[str]) -> None:
    text = LOADING.replace("data_set = torch.load(path)", f"{owner}.load_dict(torch.load(path))")
    used = "print(len(data_set), data_set[0].x.to(self.samples[0]))\n        return data_set"
    text = text.replace(used, "return self.x.to(use.place)")
    text = text.replace("class Table:", "class Table:\n    vocab = encoder = text_part = x = use()")
    text = text.replace("path", "vocab_file")
    assert found(application(tmp_path, helper=HELPER, loading=text, main=MAIN)) == expected


def test_a_function_that_is_called_after_models(tmp_path: Path) -> None:
    text = LOADING.replace("data_set", "found").replace("return found", "use(found)").replace("graph", "load_weights")
    main = MAIN.replace("graph", "load_weights")
    assert found(application(tmp_path, helper=HELPER, loading=text, main=main)) == ["loading.py:TDL201"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("[each.cpu() for each in rows]", []),
        ("count(names)", []),
        ("[each.to(device) for each in rows]", ["loading.py:TDL201"]),
        ("held", ["loading.py:TDL201"]),
        ("net.state_dict()", ["loading.py:TDL201"]),
    ],
)
def test_the_project_writes_it_out_of_what_it_moves(tmp_path: Path, written: str, expected: list[str]) -> None:
    more = "import torch\n\ndef save(rows, net, device):\n    held = rows.cuda()\n"
    more += f"    torch.save({written}, 'x/first.pt')\n"
    assert found(application(tmp_path, helper=HELPER, loading=LOADING, more=more, main=MAIN)) == expected


def test_a_package_has_users_elsewhere(tmp_path: Path) -> None:
    setup = "from setuptools import setup\n\nsetup(packages=['tables'], classifiers=['Topic :: Tables'])\n"
    root = application(tmp_path, setup=setup)
    (root / "tables").mkdir()
    application(root / "tables", __init__="", helper=HELPER, loading=LOADING, main=MAIN)
    assert found(root) == ["loading.py:TDL201"] * 2


SCRIPT = """import os
import torch
from helper import place

folder = "processed/"
for file in os.listdir(folder):
    data = torch.load(folder + file)
    data.label = 3 if data.y < 0.5 else 4
"""
TRAINING = "import torch\nfrom helper import place\n\nif __name__ == '__main__':\n    torch.ones(3, device=place())\n"


def test_a_script_that_only_runs_down(tmp_path: Path) -> None:
    """It has no main guard and speaks to nobody: it is one of the programs of an application all the same."""
    root = application(tmp_path, helper=HELPER, main=TRAINING, relabel=SCRIPT)
    assert found(root) == []
    assert found(root, "TDL201") == ["relabel.py:TDL201"]


@pytest.mark.parametrize(
    ("converted", "expected"), [("torch.float32", []), ("device", ["relabel.py:TDL201"])], ids=["a dtype", "a device"]
)
def test_what_is_converted_before_it_is_written(tmp_path: Path, converted: str, expected: list[str]) -> None:
    script = SCRIPT.replace("folder + file", "folder + 'data_static.pt'") + "print(data.y.to(place()))\n"
    writing = "import torch\nfrom helper import place\nfrom other import Data, edges\n\ndef write(folder, x, device):\n"
    writing += f"    labels = edges(x)\n    data = Data(x.float(), labels.to({converted}))\n"
    writing += "    torch.save(data, folder + 'data_static.pt')\n"
    root = application(tmp_path, helper=HELPER, main=TRAINING, relabel=script, writing=writing)
    assert found(root) == expected


PARAMETERS = """import sys
import torch
from helper import place

def options(folder):
    training_params = torch.load(folder + "/training_params.bin")
    args = training_params["training_args"]
    labels = training_params["label_list"]
    return args, labels

if __name__ == "__main__":
    args, labels = options(sys.argv[1])
    print(torch.ones(len(labels), device=place()), args)
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ('"label_list"', '"label_weights"', True),
        ("return args, labels", 'return args, labels, training_params["model"]', True),
        ("return args, labels", "return args, labels, training_params", True),
        ('"training_args"', '"training_net"', True),
    ],
    ids=["options and labels", "weights", "a model", "all of it", "no options"],
)
def test_options_are_all_that_is_taken_out(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    root = application(tmp_path, helper=HELPER, main=PARAMETERS.replace(old, new))
    assert ("main.py:TDL201" in found(root)) is is_found


SAMPLES = """import sys
import torch
from elsewhere import train
from helper import place

def main(path):
    device = place()
    images, labels = torch.load(path)
    found = []
    for each in range(3):
        found.extend(torch.load(f"{path}/{each}")[:4])
    train(images.to(device), found)

if __name__ == "__main__":
    main(sys.argv[1])
"""


@pytest.mark.parametrize(
    ("old", "new", "number"),
    [
        ("", "", 0),
        ("images, labels", "images, network", 1),
        ("images, labels = torch.load(path)", "images, other = torch.load(path)\n    other.eval()", 1),
        ("found", "networks", 1),
        ("found)", "found)\n    found.eval()", 1),
        ("found.extend(", "found.append(", 1),
    ],
    ids=["data", "named like a model", "used as one", "a list of models", "a list used as one", "one thing in a list"],
)
def test_what_is_unpacked_and_what_a_list_is_extended_by(tmp_path: Path, old: str, new: str, number: int) -> None:
    root = application(tmp_path, helper=HELPER, main=SAMPLES.replace(old, new))
    assert found(root) == ["main.py:TDL201"] * number


@pytest.mark.parametrize(
    ("name", "use", "is_found"),
    [
        ("args", "", False),
        ("opt", "", False),
        ("opt", "optimizer.load_state_dict(opt)", True),
        ("model_args", "", True),
        ("found", "", True),
    ],
)
def test_a_file_of_options(tmp_path: Path, name: str, use: str, is_found: bool) -> None:
    read = f"def read(path, optimizer=None):\n    {name} = torch.load(path)\n    {use or 'print()'}\n"
    read += f"    return {name}\n"
    main = f"import sys\nimport torch\nfrom helper import place\n\n\n{read}\n\nprint(read(sys.argv[1]), place())\n"
    assert ("main.py:TDL201" in found(application(tmp_path, helper=HELPER, main=main))) is is_found


@pytest.mark.parametrize(
    ("name", "is_found"), [("full_dataset", False), ("vocabulary", False), ("data", True), ("dataset_encoder", True)]
)
def test_a_data_set_whose_file_is_called_after_a_model(tmp_path: Path, name: str, is_found: bool) -> None:
    main = f"import torch\nfrom helper import place\n\n{name} = torch.load('graphs_of_state.pt')\n"
    main += f"print(place(), {name})\n"
    assert ("main.py:TDL201" in found(application(tmp_path, helper=HELPER, main=main))) is is_found
