"""Loads from a folder to which a project saves models that it has sent to the CPU: advice, whatever the file's name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

PLACE = "import torch\n\ndef place():\n    return 'cuda' if torch.cuda.is_available() else 'cpu'\n"
COLLECTING = """import sys
import torch
from helper import place

def collect(folder, pattern, before):
    nets = []
    for number in range(9):
        net = torch.nn.Linear(3, 3).to(place())
        net(torch.ones(3, device=place())).sum().backward()
        net.cpu()
        weights = net.state_dict()
        nets.append((weights, number))
    if before:
        nets.extend(torch.load(f"{folder}/{before}"))
    target = f"{folder}/{pattern.format(len(nets))}"
    torch.save(nets, target)

if __name__ == "__main__":
    collect(*sys.argv[1:])
"""
WRITING = """import os
import sys
import torch
from helper import place

def fit(results, name):
    net = torch.nn.Linear(3, 3).to(place())
    net(torch.ones(3, device=place())).sum().backward()
    net = net.cpu()
    parts = {"net": net.state_dict(), "name": name}
    torch.save(parts, os.path.join(results, "weights", f"{name}_final.pt"))

if __name__ == "__main__":
    fit(*sys.argv[1:])
"""
READING = """import sys
from pathlib import Path
import torch
from helper import place

def restore(folder, name):
    parts = torch.load(Path(folder) / "weights" / f"{name}.pt")
    net = torch.nn.Linear(3, 3).to(place())
    net.load_state_dict(parts["net"])
    return net

if __name__ == "__main__":
    print(restore(*sys.argv[1:]))
"""


def test_what_one_function_saves_and_reads_again(tmp_path: Path) -> None:
    root = application(tmp_path, helper=PLACE, collecting=COLLECTING)
    assert found(root) == []
    assert found(root, "TDL201") == ["collecting.py:TDL201"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        net.cpu()\n", ""),
        ("        net.cpu()\n", "        net.cpu()\n        net.to(place())\n"),
        ("append((weights, number))", "append((weights, torch.ones(3).to(place())))"),
        ("append((weights, number))", "append((weights, place()))"),
        ("nets.append((weights, number))", "nets.append(number)"),
        ('torch.load(f"{folder}/{before}")', 'torch.load(f"{folder}/{before}.first")'),
    ],
)
def test_what_is_saved_from_elsewhere_or_to_another_place(tmp_path: Path, old: str, new: str) -> None:
    text = COLLECTING.replace(old, new).replace("len(nets))}", "len(nets))}.last")
    assert text != COLLECTING
    assert found(application(tmp_path, helper=PLACE, collecting=text)) == ["collecting.py:TDL201"]


def test_a_folder_that_is_written_down(tmp_path: Path) -> None:
    assert found(application(tmp_path, helper=PLACE, writing=WRITING, reading=READING)) == []


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("writing", "    net = net.cpu()\n", ""),
        ("writing", "    net = net.cpu()\n", "    other = net.cpu()\n    net = other.to(place())\n"),
        ("writing", "final.pt", "final.pth"),
        ("writing", '"name": name', '"optimizer": torch.optim.SGD(net.parameters(), 0.1).state_dict()'),
    ],
)
def test_a_folder_with_what_may_be_elsewhere(tmp_path: Path, name: str, old: str, new: str) -> None:
    files = {"writing": WRITING, "reading": READING}
    assert old in files[name]
    files[name] = files[name].replace(old, new)
    assert found(application(tmp_path, helper=PLACE, **files)) == ["reading.py:TDL201"]


def test_another_program_saves_there_from_the_gpu(tmp_path: Path) -> None:
    other = WRITING.replace("    net = net.cpu()\n", "").replace("_final", "_first")
    root = application(tmp_path, helper=PLACE, writing=WRITING, reading=READING, other=other)
    assert found(root) == ["reading.py:TDL201"]


SAVING = """import torch
from helper import place

class Trainer:
    def __init__(self, nets, ids):
        self.nets = [net.to(place()) for net in nets]

    def save(self, folder, epoch):
        for name in self.nets:
            net = getattr(self, name)
            torch.save(net.cpu().state_dict(), f"{folder}/{epoch}_{name}.pth")
            net.to(place())
"""
LOADING = """import sys
import torch
from helper import place
from saving import Trainer

def restore(net, path):
    net.load_state_dict(torch.load(path))
    return net.to(place())

if __name__ == "__main__":
    print(restore(torch.nn.Linear(3, 3), sys.argv[1]), Trainer([], 1).save("a", 1))
"""


@pytest.mark.parametrize(
    ("name", "old", "new", "count"),
    [
        pytest.param("saving", "", "", 0, id="all that it saves"),
        pytest.param(
            "saving",
            "            net.to",
            "            torch.save(net, 'net.pth')\n            net.to",
            1,
            id="another file",
        ),
        pytest.param("loading", "import sys", "import sys\nimport pytorch_lightning", 1, id="a library that saves"),
        pytest.param(
            "loading", "import sys", "import sys\nfrom transformers import AutoTokenizer", 0, id="its tokenizer"
        ),
        pytest.param(
            "loading",
            "import sys",
            "import sys\nfrom transformers import (\n    AutoTokenizer,\n    BertConfig as Config,\n)",
            0,
            id="its tokenizer and options",
        ),
        pytest.param(
            "loading",
            "import sys",
            "import sys\nfrom transformers import (AutoTokenizer,\n    Trainer)",
            1,
            id="its tokenizer and what saves",
        ),
        pytest.param("loading", "import sys", "import sys\nTITLE = 'accelerate'", 0, id="the word of one"),
        pytest.param("loading", "torch.load(path)", "torch.load(path + '.tar')", 1, id="a name that none has"),
        pytest.param("loading", "torch.load(path)", "torch.load(path + '.pth')", 0, id="a name that one may have"),
    ],
)
def test_a_project_that_brings_all_back_that_it_saves(
    tmp_path: Path, name: str, old: str, new: str, count: int
) -> None:
    """The path of what is read is whatever the user says."""
    files = {"saving": SAVING, "loading": LOADING}
    files[name] = files[name].replace(old, new)
    root = application(tmp_path, helper=PLACE, **files)
    assert found(root) == ["loading.py:TDL201"] * count


def test_a_notebook_that_saves_as_well(tmp_path: Path) -> None:
    root = application(tmp_path, helper=PLACE, saving=SAVING, loading=LOADING)
    cell = {"cell_type": "code", "source": "torch.save(net.state_dict(), 'net.pth')", "metadata": {}, "outputs": []}
    (root / "trial.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}))
    assert found(root) == ["loading.py:TDL201"]


STATE = "{key: each.detach().cpu() for key, each in net.state_dict().items()}"
PAIRS = "OrderedDict([(key, each.cpu()) for key, each in net.state_dict().items()])"


@pytest.mark.parametrize(
    ("saved", "count"),
    [
        pytest.param(STATE, 0, id="each tensor of a state"),
        pytest.param(PAIRS, 0, id="in pairs"),
        pytest.param(f"{{'net': {STATE}, 'epoch': epoch}}", 0, id="beside what may be a number"),
        pytest.param(STATE.replace(".cpu()", ""), 1, id="where it was"),
        pytest.param("net.cpu()", 0, id="the model as a whole"),
        pytest.param(
            "{'net': net.cpu().state_dict(), 'loss': net.bias.sum().item(), 'random': torch.get_rng_state()}",
            0,
            id="beside numbers",
        ),
        pytest.param("{'net': net.cpu().state_dict(), 'loss': net.bias.sum()}", 1, id="beside a sum"),
        pytest.param("{'rows': net.weight.cpu().clone(), 'name': 'first'}", 0, id="tensors alone"),
        pytest.param("{'rows': net.weight.cpu(), 'more': self.more}", 1, id="beside another thing"),
        pytest.param(
            "{'rows': net.weight.cpu(), 'more': [each for each in self.more()]}", 1, id="beside other tensors"
        ),
    ],
)
def test_what_is_brought_back_one_by_one(tmp_path: Path, saved: str, count: int) -> None:
    saving = SAVING.replace("import torch\n", "import torch\nfrom collections import OrderedDict\n")
    saving = saving.replace("net.cpu().state_dict()", saved)
    assert found(application(tmp_path, helper=PLACE, saving=saving, loading=LOADING)) == ["loading.py:TDL201"] * count


def test_a_state_that_is_brought_back_under_its_own_name(tmp_path: Path) -> None:
    lines = "            net = net.state_dict()\n            net = {key: each.cpu() for key, each in net.items()}\n"
    saving = SAVING.replace("            torch.save(net.cpu().state_dict(),", f"{lines}            torch.save(net,")
    saving = saving.replace("            net.to(place())\n", "")
    root = application(tmp_path, helper=PLACE, saving=saving, loading=LOADING)
    assert found(root) == []
    (root / "saving.py").write_text(saving.replace("each.cpu()", "each"))
    assert found(root) == ["loading.py:TDL201"]


KEEPING = """import torch

def keep(net, path):
    torch.save(net.to("cpu"), path)

def bring(path):
    return torch.load(path, weights_only=False)
"""
KEEPER = """import sys
import torch
from helper import place
from keeping import bring, keep

net = torch.nn.Linear(3, 3).to(place())
keep(net, sys.argv[1])
"""
BRINGER = """import sys
from helper import place
from keeping import bring

net = bring(sys.argv[1]).to(place())
"""
OTHER_SAVE = "import torch\n\ntorch.save(torch.nn.Linear(3, 3).cuda().state_dict(), 'other.pth')\n"


def test_what_saves_beside_the_load_to_a_path_that_it_is_given(tmp_path: Path) -> None:
    root = application(tmp_path, helper=PLACE, keeping=KEEPING, keeper=KEEPER, bringer=BRINGER, other=OTHER_SAVE)
    assert found(root) == []
    assert found(root, "TDL201") == ["keeping.py:TDL201"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('net.to("cpu")', "net"),
        ('net.to("cpu"), path)', 'net.to("cpu"), f"{path}.pth")'),
        ("def keep(net, path):\n", "def keep(net, path):\n    path = path or 'net.pth'\n"),
        ("def bring(path):\n", "def keep_best(net, path):\n    torch.save(net, path)\n\ndef bring(path):\n"),
        ("def bring(path):\n    return torch.load(path,", "def bring(name):\n    return torch.load(name,"),
    ],
)
def test_what_is_not_all_brought_back_there_keeps_the_finding(tmp_path: Path, old: str, new: str) -> None:
    assert old in KEEPING
    changed = KEEPING.replace(old, new)
    root = application(tmp_path, helper=PLACE, keeping=changed, keeper=KEEPER, bringer=BRINGER, other=OTHER_SAVE)
    assert found(root) == ["keeping.py:TDL201"]


def test_who_saves_otherwise_keeps_the_finding(tmp_path: Path) -> None:
    keeper = KEEPER + "torch.save(net, sys.argv[2])\n"
    root = application(tmp_path, helper=PLACE, keeping=KEEPING, keeper=keeper, bringer=BRINGER, other=OTHER_SAVE)
    assert found(root) == ["keeping.py:TDL201"]


EXAMPLES = """import torch
from helper import place

def show(net, images, folder):
    maps = net(images.to(place()))
    examples = {"images": images.cpu(), "maps": torch.clamp(maps.cpu(), 0, 1)}
    torch.save(examples, folder / "shown_images.pt")

def keep(net, path):
    torch.save(net.state_dict(), path)
"""
VIEWER = """import sys
from pathlib import Path
import torch
from helper import place

net = torch.nn.Linear(3, 3).to(place())
for folder in Path(sys.argv[1]).iterdir():
    shown = torch.load(folder / "shown_images.pt")
    print(net(shown["images"].to(place())))
"""


def test_what_saves_under_a_name_that_is_written_down(tmp_path: Path) -> None:
    root = application(tmp_path, helper=PLACE, examples=EXAMPLES, viewer=VIEWER, other=OTHER_SAVE)
    assert found(root) == []
    assert found(root, "TDL201") == ["viewer.py:TDL201"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("torch.clamp(maps.cpu(), 0, 1)", "torch.clamp(maps, 0, 1)"),
        ("torch.clamp(maps.cpu(), 0, 1)", "torch.bmm(net.weight, maps.cpu())"),
        ("def keep(net, path):\n", 'def keep(net, path="shown_images.pt"):\n'),
        ("state_dict(), path)", 'state_dict(), f"{path}_images.pt")'),
    ],
)
def test_what_else_may_be_of_that_name_keeps_the_finding(tmp_path: Path, old: str, new: str) -> None:
    assert old in EXAMPLES
    changed = EXAMPLES.replace(old, new)
    root = application(tmp_path, helper=PLACE, examples=changed, viewer=VIEWER, other=OTHER_SAVE)
    assert found(root) == ["viewer.py:TDL201"]


WHOLE = """import torch
from helper import place

def fit(net, prefix, epochs):
    net = net.to(place())
    for epoch in range(epochs):
        net.train()
        net(torch.ones(3, device=place())).sum().backward()
        net.cpu()
        torch.save(net, prefix + f"_{epoch}.sav")
        net.to(place())
"""
TRYING = """import sys
import torch
from helper import place
from whole import fit

if __name__ == "__main__":
    if sys.argv[2:]:
        fit(torch.nn.Linear(3, 3), *sys.argv[2:])
    print(torch.load(sys.argv[1]).to(place())(torch.ones(3, device=place())))
"""


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        pytest.param("", "", 0, id="a whole model"),
        pytest.param("        net.cpu()\n", "        net = net.cpu()\n", 0, id="under its name again"),
        pytest.param("        net.cpu()\n", "", 1, id="not sent"),
        pytest.param("        net.cpu()\n", "        net.cpu()\n        net.to(place())\n", 1, id="moved again"),
        pytest.param("        net.train()\n", "        net.rows = torch.ones(3, device=place())\n", 1,
                     id="with a tensor of its own that stays"),
    ],
)  # fmt: skip
def test_a_model_that_is_sent_to_the_cpu_and_saved_whole(tmp_path: Path, old: str, new: str, count: int) -> None:
    assert old in WHOLE
    root = application(tmp_path, helper=PLACE, whole=WHOLE.replace(old, new) if old else WHOLE, trying=TRYING)
    assert found(root) == ["trying.py:TDL201"] * count


STATES = """import sys
from collections import OrderedDict
import torch
from helper import place

def fit(path):
    net = torch.nn.Linear(3, 3).to(place())
    net(torch.ones(3, device=place())).sum().backward()
    state = net.state_dict()
    BROUGHT
    torch.save(state, f"{path}/last.pth")

if __name__ == "__main__":
    fit(sys.argv[1])
"""
RESTORING = """import sys
import torch
from helper import place

def restore(path):
    net = torch.nn.Linear(3, 3).to(place())
    net.load_state_dict(torch.load(f"{path}/last.pth"))
    return net

if __name__ == "__main__":
    print(restore(sys.argv[1]))
"""


@pytest.mark.parametrize(
    ("brought", "is_found"),
    [
        ("state = OrderedDict([[key, value.cpu()] for key, value in state.items()])", False),
        ("state = OrderedDict([(key, value.cpu()) for key, value in state.items()])", False),
        ("for key, value in state.items():\n        state[key] = value", True),
        ("for key, value in state.items():\n        state['last'] = value.cpu()", True),
        ("for key, value in net.state_dict().items():\n        print(key, value.cpu())", True),
        ("state = OrderedDict([[key.cpu(), value] for key, value in state.items()])", True),
    ],
)
def test_each_entry_of_a_state_is_brought_back(tmp_path: Path, brought: str, is_found: bool) -> None:
    root = application(tmp_path, helper=PLACE, states=STATES.replace("BROUGHT", brought), restoring=RESTORING, a="")
    assert ("restoring.py:TDL201" in found(root)) is is_found
    assert found(root, "TDL201") == ["restoring.py:TDL201"]
