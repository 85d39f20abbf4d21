"""Loads of programs that assert CUDA, or leave where there is none: be it that those who call the code around do so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import ASKING, found, inside

__all__ = ["inside"]

MAIN = """import argparse
import sys
import torch
from helper import place
from torch import nn

def main(args):
    net = nn.Linear(3, 3)
    FIRST
    if args.weights:
        net.load_state_dict(torch.load(args.weights))
    print(net.to(place())(torch.ones(2, 3, device=place())))

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu", type=int)
    parser.add_argument("--weights")
    main(parser.parse_args())
"""


@pytest.mark.parametrize(
    ("first", "is_found"),
    [
        ("assert torch.cuda.is_available(), 'no CUDA'", False),
        ("assert args.weights and torch.cuda.is_available()", False),
        ("assert torch.cuda.is_available() or args.weights", True),
        ("if not torch.cuda.is_available():\n        raise RuntimeError", False),
        ("if not torch.cuda.is_available():\n        return print('no CUDA')", False),
        ("if not torch.cuda.is_available() or not args.weights:\n        sys.exit(1)", False),
        ("if not torch.cuda.device_count():\n        raise RuntimeError", False),
        ("assert torch.cuda.device_count() > 0", False),
        ("if not torch.cuda.is_available():\n        print('slow')", True),
        ("print(torch.cuda.is_available())", True),
        ("device = place()\n    if device == 'cpu':\n        raise ValueError", False),
        ("device = torch.device(place())\n    if device != torch.device('cuda:0'):\n        sys.exit(1)", False),
        ("device = place()\n    if device == 'cpu':\n        print('slow')", True),
        ("device = place()\n    if device != 'cuda':\n        print('slow')", True),
        ("if args.gpu is None:\n        return print('which GPU?')", True),
    ],
)
def test_what_comes_before_a_load(tmp_path: Path, first: str, is_found: bool) -> None:
    """A program that chooses, by its helper."""
    root = application(tmp_path, helper=ASKING, main=MAIN.replace("FIRST", first))
    assert ("main.py:TDL201" in found(root)) is is_found


ARMS = """import argparse
import torch
from torch import nn

def main(args):
    net = nn.Linear(3, 3)
    if args.number is not None:
        net.cuda(args.number)
    elif args.all:
        net = nn.DataParallel(net).cuda()
    else:
        LAST
    if args.weights:
        net.load_state_dict(torch.load(args.weights))
    for batch in args.batches:
        net(batch.to(args.device)).sum().backward()
    torch.save(net.state_dict(), args.weights)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--number", type=int)
    parser.add_argument("--device")
    parser.add_argument("--batches")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--weights")
    main(parser.parse_args())
"""


@pytest.mark.parametrize(
    ("last", "is_found"),
    [
        ("return print('choose a GPU')", False),
        ("raise ValueError('choose a GPU')", False),
        ("net = net.cuda()", False),
        ("print('choose a GPU')", True),
        ("pass", True),
    ],
)
def test_arms_that_do_not_lead_on(tmp_path: Path, last: str, is_found: bool) -> None:
    root = application(tmp_path, helper=ASKING, main=ARMS.replace("LAST", last))
    assert ("main.py:TDL201" in found(root)) is is_found


ENCODER = """import torch
from torch import nn

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def load(self, path):
        self.load_state_dict(torch.load(path))

class Pair(nn.Module):
    def read_both(self, path):
        self.first.load(path)
"""
MODEL = """import torch
from encoder import Encoder
from torch import nn

class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.encoder.load("encoder.pt")

class Model:
    def __init__(self):
        FIRST
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def fit(self, batches):
        self.net = Classifier().to(self.device)
        return [self.net(each.to(self.device)) for each in batches]
"""
CONSOLE = """import argparse
import importlib
from helper import place

def main():
    args = argparse.ArgumentParser().parse_args()
    made = getattr(importlib.import_module(args.module), args.name)()
    print(made.fit(args.batches), place())

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("first", "more", "is_found"),
    [
        ("assert torch.cuda.is_available()", "", False),
        ("print('a model')", "", True),
        ("assert torch.cuda.is_available()", "\ndef quick():\n    return Classifier()\n\nquick()\n", True),
        ("assert torch.cuda.is_available()", "\ndef quick(net):\n    net.read_both('both.pt')\n\nquick(3)\n", True),
    ],
    ids=["the class asserts", "it does not", "others call as well", "by another way"],
)
def test_classes_that_are_loaded_by_a_text(tmp_path: Path, first: str, more: str, is_found: bool) -> None:
    """No program is seen to come there, but all that calls the code does."""
    model = MODEL.replace("FIRST", first) + more
    root = application(tmp_path, helper=ASKING, encoder=ENCODER, model=model, console=CONSOLE)
    assert ("encoder.py:TDL201" in found(root)) is is_found


FEW = {
    "train": """import torch
from net import Net

class Train:
    def __init__(self, device):
        self.net = Net().to(device)

    def restore(self, path):
        self.net.load_state_dict(torch.load(path))
""",
    "net": """from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 3).cuda())
""",
    "main": """import torch
from train import Train

device = torch.device("cuda")
train = Train(device)
train.restore("net.pth")
print(train.net)
""",
}


@pytest.mark.parametrize(
    ("name", "old", "new", "is_found"),
    [
        ("main", "", "", False),
        ("net", ".cuda()", "", True),
        ("main", '"cuda")', '"cuda" if torch.cuda.is_available() else "cpu")', True),
        ("main", '"cuda")', '"cuda:1")', True),
    ],
    ids=["by the object", "by nothing", "chosen", "another GPU"],
)
def test_a_project_of_a_few_files(tmp_path: Path, name: str, old: str, new: str, is_found: bool) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "README.md").write_text("# Some code\n")
    for each, text in FEW.items():
        (tmp_path / f"{each}.py").write_text(text.replace(old, new) if each == name else text)
    assert ("train.py:TDL201" in found(tmp_path)) is is_found


LIGHTNING = """import argparse
import torch
from helper import place
from pytorch_lightning import Trainer
from nets import Net

def main(args):
    trainer = Trainer(gpus=NUMBER, max_epochs=3)
    net = Net()
    if args.weights:
        net.load_state_dict(torch.load(args.weights))
    trainer.fit(net)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights")
    parser.add_argument("--count")
    main(parser.parse_args())
"""


@pytest.mark.parametrize(
    ("number", "is_found"),
    [("-1", False), ("1", False), ("[0]", False), ("0", True), ("None", True), ("args.count", True)],
)
def test_a_trainer_for_all_gpus(tmp_path: Path, number: str, is_found: bool) -> None:
    nets = "from pytorch_lightning import LightningModule\n\nclass Net(LightningModule):\n    pass\n"
    root = application(tmp_path, helper=ASKING, nets=nets, main=LIGHTNING.replace("NUMBER", number))
    assert ("main.py:TDL201" in found(root)) is is_found


STARTED = """import argparse
import torch
from nets import Net

def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("-number", type=int, default=0)
    return parser.parse_args()

def main(args):
    for number in range(3):
        net = Net("weights.pt")
        net.to(torch.device(f"cuda:{args.number}"))
        print(net)

if __name__ == "__main__":
    args = BEGUN
    for number in range(2):
        main(args)
"""
NETS = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, path):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.load_state_dict(torch.load(path))
"""


@pytest.mark.parametrize(
    ("begun", "more", "is_found"),
    [
        ("options()", "", False),
        ("options()", "\nfrom helper import place\n\nprint(Net('w.pt').to(place()))\n", True),
    ],
    ids=["a program that takes options", "another one that chooses"],
)
def test_a_program_that_counts_and_takes_options(tmp_path: Path, begun: str, more: str, is_found: bool) -> None:
    """``range`` makes no tensor, as a trial would: it is a program, and needs CUDA after the load."""
    files = {"nets": NETS, "main": STARTED.replace("BEGUN", begun), "helper": ASKING}
    if more:
        files["other"] = f"from nets import Net{more}"
    assert ("nets.py:TDL201" in found(application(tmp_path, **files))) is is_found


LOADED = """import argparse
import torch
import steps
from steps import Steps
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def main(args):
    net, other = nn.Linear(3, 3), nn.Linear(3, 3)
    state = torch.load(args.weights)
    net.load_state_dict(state["net"])
    NEXT
    for x in torch.ones(2, 3):
        y = x.to(device) + torch.ones(3).to(device)
        print(net(y), torch.zeros(3).to(device), torch.eye(3).to(device))

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights")
    main(parser.parse_args())
"""
STEPS = """import torch

class Steps:
    def __init__(self, net, device):
        self.net = net
        self.device = device

    def run(self):
        for step in range(3):
            self.step(step)

    def step(self, step):
        self.net.cuda()
        print(step, self.device)

def track(net, path):
    device = "cuda"
    net.to(device)
    print(net, path)

def show(image, device):
    print(image.to("cuda"), device)
"""


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("if net is not None:\n        net = net.cuda()", False),
        ("steps.track(net, args.weights)", False),
        ("Steps(net, device).run()", False),
        ("net.to(device)", True),
        ("if other is not None:\n        other = other.cuda()", True),
        ("if args.weights:\n        net.cuda()", True),
        ("if other is not None:\n        net = net.to(device)", True),
        ("steps.show(torch.ones(3), device)", True),
        ("Steps(net, device)", True),
    ],
)
def test_what_is_loaded_goes_to_cuda(tmp_path: Path, line: str, is_found: bool) -> None:
    """The choice of a device is theory where the model goes to CUDA by name, right on from where its state is loaded.

    What else does may be the mistake.
    """
    main = LOADED.replace("NEXT", line)
    root = application(tmp_path, steps=STEPS, main=main)
    assert ("main.py:TDL201" in found(root)) is is_found
    assert "main.py:TDL201" in found(root, "TDL201")
