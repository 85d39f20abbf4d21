"""A load whose files all programs of the project write from the CPU reads nothing else: advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import ASKING, found, inside

__all__ = ["inside"]

STORE = """import torch

class Modes:
    def __init__(self, device):
        self.device = device
        self.net, self.rank, self.steps = torch.nn.Linear(4, 4), 4, []

    def fit(self, x):
        self.steps.append(len(x))

    def save(self, path):
        torch.save({"net": self.net.state_dict(), "rank": self.rank, "steps": self.steps}, path)

    def load(self, path):
        held = torch.load(path)
        self.net.load_state_dict(held["net"])
        self.net.to(self.device)
"""
FIT = """import sys
import torch
from store import Modes

def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    modes = Modes(device)
    modes.fit(torch.ones(4, 4))
    modes.save(sys.argv[1])

if __name__ == "__main__":
    main()
"""
SHOW = """import sys
import torch
from store import Modes

def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    modes = Modes(device)
    modes.load(sys.argv[1])
    net = torch.nn.Linear(4, 4)
    net.load_state_dict(torch.load("state.pt")["state"])
    print(net.to(device), modes.rank)

if __name__ == "__main__":
    main()
"""
TRAIN = """import torch
from helper import place

def main(loader):
    net = torch.nn.Linear(4, 4)
    other = torch.nn.Linear(4, 4).to(place())
    for epoch, x in enumerate(loader):
        loss = net(x).sum()
        torch.save({"epoch": epoch, "loss": loss.item(), "state": net.state_dict()}, "state.pt")
        torch.save(other.state_dict(), "other.pt")

if __name__ == "__main__":
    main(torch.utils.data.DataLoader(range(8)))
"""


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        pytest.param("", "", "", [], id="never moved"),
        pytest.param("store", "self.steps.append(", "self.net.cuda()(", ["store.py:TDL201"], id="moved in use"),
        pytest.param("store", "append(len(x))", "append(x.to(self.device))", ["store.py:TDL201"], id="in a list"),
        pytest.param("store", "4, []", "torch.ones(4, device=self.device), []", ["store.py:TDL201"], id="in one entry"),
        pytest.param("train", "net = torch.nn.Linear(4, 4)", "net = torch.nn.Linear(4, 4).cuda()", ["show.py:TDL201"],
                     id="moved by name"),
        pytest.param("train", '"other.pt"', "place()", ["show.py:TDL201"], id="whatever is called so"),
        pytest.param("train", "    for epoch", "    net.to(place())\n    for epoch", ["show.py:TDL201"], id="moved"),
        pytest.param("train", "    main(", "    print(", ["show.py:TDL201"], id="no program comes there"),
    ],
)  # fmt: skip
def test_what_programs_save(tmp_path: Path, file: str, old: str, new: str, expected: list[str]) -> None:
    texts = {"helper": ASKING, "store": STORE, "fit": FIT, "show": SHOW, "train": TRAIN}
    if file:
        assert old in texts[file]
        texts[file] = texts[file].replace(old, new)
    assert [each for each in found(application(tmp_path, **texts)) if "TDL201" in each] == expected


SENT = """import json
import os
import torch
from helper import place

def fit(net):
    net = net.to(place())
    return net

def main(path):
    names = json.load(open("names.json"))
    net = torch.nn.Linear(4, 4)
    trained = fit(net).cpu()
    torch.save(trained.state_dict(), os.path.join(path, names["run"] + ".pth"))
    torch.save(torch.ones(4, device=place()), "data.pt")

if __name__ == "__main__":
    main("runs")
"""
RESTORING = """import json
import os
import torch
from helper import place

if __name__ == "__main__":
    names = json.load(open("names.json"))
    net = torch.nn.Linear(4, 4)
    net.load_state_dict(torch.load(os.path.join(names["runs"], names["run"] + ".pth")))
    print(net.to(place()))
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="sent to the CPU right before"),
        pytest.param(".cpu()", '.to("cpu")', False, id="by name"),
        pytest.param(".cpu()", "", True, id="not sent"),
        pytest.param("    torch.save(trained", "    trained.cuda()\n    torch.save(trained", True, id="moved after"),
        pytest.param("    trained = fit(net).cpu()", "    fit(net).cpu()\n    trained = fit(net)", True,
                     id="another one"),
        pytest.param('"data.pt"', 'path + ".pth"', True, id="another save under that name"),
    ],
)  # fmt: skip
def test_what_is_sent_to_the_cpu_before_it_is_saved(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    assert old in SENT
    root = application(tmp_path, helper=ASKING, main=SENT.replace(old, new) if old else SENT, show=RESTORING)
    assert [each for each in found(root) if "TDL201" in each] == ["show.py:TDL201"] * is_found


PARTS = """import sys
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"

class Files:
    @staticmethod
    def save(net, path):
        torch.save(net.state_dict(), path)

    @staticmethod
    def load(path):
        return torch.load(path)

class Pair(torch.nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

if __name__ == "__main__":
    net = Pair(torch.nn.Linear(4, 4))
    if sys.argv[1]:
        net.load_state_dict(Files.load(sys.argv[1]))
    print(net.to(device) if sys.argv[2] else net)
"""
WRITING = """import sys
import torch
from parts import Files, Pair

if __name__ == "__main__":
    net = Pair(torch.nn.Linear(4, 4))
    Files.save(net, sys.argv[1])
"""


@pytest.mark.parametrize(
    ("file", "old", "new", "is_found"),
    [
        pytest.param("", "", "", False, id="no part is moved"),
        pytest.param("parts", "self.encoder = encoder", "self.encoder = encoder.to(device)", True, id="a part is"),
        pytest.param("writing", "Files.save(net", "Files.save(net.cuda()", True, id="it is moved where it is given"),
        pytest.param("writing", "    Files.save", "    net.encoder.cuda()\n    Files.save", True, id="in place"),
        pytest.param("writing", "Files.save(net,", "torch.set_default_device('cuda') or Files.save(net,", True,
                     id="another default"),
    ],
)  # fmt: skip
def test_parts_of_what_programs_save(tmp_path: Path, file: str, old: str, new: str, is_found: bool) -> None:
    """A class without objects saves, for whoever calls it by its name."""
    texts = {"helper": ASKING, "parts": PARTS, "writing": WRITING}
    if file:
        assert old in texts[file]
        texts[file] = texts[file].replace(old, new)
    assert ("parts.py:TDL201" in found(application(tmp_path, **texts))) is is_found


FITTED = """import torch

name, rate = "river", 3
net = torch.nn.Linear(4, 4)
for step in range(9000):
    if step > 1000:
        torch.save(net.state_dict(), f"fits/{name}-%d/" % rate + f"{name}-%d.pkl" % step)
print("fitted")
"""
READING = """import torch

name, rate = "lake", 7
net = torch.nn.Linear(4, 4)
net.load_state_dict(torch.load(f"fits/{name}-{rate}/{name}-8000.pkl"))
print(net(torch.ones(4)))
"""


@pytest.mark.parametrize(
    ("where", "old", "new", "expected"),
    [
        ("fit", "", "", []),
        ("read", "-8000.pkl", "-last.pkl", []),
        ("read", "net.load_state_dict(torch.load(", "path = (", []),
        ("fit", "Linear(4, 4)", "Linear(4, 4).cuda()", ["read.py:TDL201"]),
        ("fit", '"fits/', '"other/', ["read.py:TDL201"]),
        ("fit", "-%d.pkl", "-%d.pth", ["read.py:TDL201"]),
        ("read", 'f"fits/{name}-{rate}/', '"" + input() + f"', ["read.py:TDL201"]),
    ],
)
def test_programs_that_put_a_path_together_alike(
    tmp_path: Path, where: str, old: str, new: str, expected: list[str]
) -> None:
    """What the names in it are set to is changed from one run to the next."""
    texts = {"fit": FITTED, "read": READING}
    texts[where] = texts[where].replace(old, new, 1) if old else texts[where]
    if new == "path = (":
        texts["read"] = texts["read"].replace('.pkl"))', '.pkl")\nnet.load_state_dict(torch.load(path))')
    assert found(application(tmp_path, **texts)) == expected


OPTIONS = """class Options:
    def __init__(self):
        self.net_device = "cpu"
        self.batch_device = "cpu"
"""
FITTER = """import torch
from options import Options

def brought(x, device="cpu"):
    return torch.as_tensor(x).to(bool).to(device)

class Fitter:
    def __init__(self, options: Options):
        self.options = options
        self.batch_device = options.batch_device
        self.net = torch.nn.Linear(4, 4)

    def fit(self, x):
        x = brought(x, self.batch_device)
        self.net.to(self.options.net_device)
        return self.net(x.float())

    def save(self):
        torch.save(self.net.state_dict(), "fits/current.pt")

    def load(self):
        self.net.load_state_dict(torch.load("fits/current.pt"))
"""
ON_CPU = """import torch
from fitter import Fitter
from options import Options

def main():
    fitter = Fitter(Options())
    fitter.load()
    fitter.fit(torch.ones(4))
    fitter.save()

if __name__ == "__main__":
    main()
"""
SEARCH = """import torch
from fitter import Fitter
from helper import place
from options import Options

def main():
    options = Options()
    options.net_device = place()
    return Fitter(options).fit(torch.ones(4))

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="the program that is on CUDA saves nothing"),
        pytest.param(
            "fit(torch.ones(4))\n\nif", "fit(torch.ones(4)), Fitter(options).save()\n\nif", True, id="it saves"
        ),
        pytest.param('net_device = "cpu"', "net_device = input()", True, id="set to what nobody knows"),
        pytest.param("Fitter(Options())", "Fitter(options_of(net_device='cuda'))", True, id="as a keyword"),
        pytest.param("Fitter(Options())", "Fitter(told(Options(), 'net-device'))", True, id="as an option"),
        pytest.param(
            "self.options = options\n",
            "self.options = options\n        vars(options).update(input())\n",
            True,
            id="whatever there is",
        ),
        pytest.param(".options.net_device", ".options.other_device", True, id="set by nobody"),
    ],
)
def test_devices_of_options_that_a_program_sets_to_the_cpu(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    files = {"options": OPTIONS, "fitter": FITTER, "main": ON_CPU, "search": SEARCH}
    changed = {name: text.replace(old, new) if old else text for name, text in files.items()}
    assert not old or changed != files
    assert ("fitter.py:TDL201" in found(application(tmp_path, helper=ASKING, **changed))) is is_found
