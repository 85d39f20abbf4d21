"""What the programs of an application do on each way to a load, or to a literal device: in other files as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application, notebook
from torchdevlint.config import Settings
from torchdevlint.engine import check_paths
from torchdevlint.model import Run
from torchdevlint.project import tree

LOADING = """import torch

def restore(net, path):
    net.load_state_dict(torch.load(path))
"""
ASKING = """import torch

def place():
    return "cuda" if torch.cuda.is_available() else "cpu"
"""
TRAINER = """import torch
from loading import restore

class Trainer:
    def __init__(self, net, args):
        self.net = net.cuda()
        self.args = args

    def resume(self):
        restore(self.net, self.args.weights)

    def fit(self):
        for epoch in range(3):
            if epoch > 1:
                torch.save(self.net.state_dict(), "best_model.pt")
"""
MAIN = """import argparse
from torch import nn
from helper import place
from trainer import Trainer

def main():
    args = argparse.ArgumentParser().parse_args()
    trainer = Trainer(nn.Linear(3, 3), args)
    trainer.resume()
    trainer.fit()

if __name__ == "__main__":
    main()
"""
CHOOSING = "self.net = net.to('cuda' if torch.cuda.is_available() else 'cpu')"


def found(root: Path, *asked: str) -> list[str]:
    tree.forget()
    return sorted(f"{Path(each.filename).name}:{each.code}" for each in run(root, *asked).diagnostics)


def run(root: Path, *asked: str) -> Run:
    files = [path.as_posix() for suffix in ("py", "ipynb") for path in sorted(root.rglob(f"*.{suffix}"))]
    return check_paths(files, Settings(root=root, select=asked or None))


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_constructor_of_another_file_sends_the_model_to_cuda(tmp_path: Path) -> None:
    """A helper that asks for CUDA does not help there; who asks for the rule is told all the same."""
    root = application(tmp_path, helper=ASKING, loading=LOADING, trainer=TRAINER, main=MAIN)
    assert found(root) == []
    assert found(root, "TDL201") == ["loading.py:TDL201"]
    assert [each.unasked for each in run(root).results if each.unasked] == [("TDL201",)]
    (root / "trainer.py").write_text(TRAINER.replace("self.net = net.cuda()", CHOOSING))
    assert found(root) == ["loading.py:TDL201"]


GIVING = """import torch

class Trainer:
    def __init__(self, net, folder):
        self.net = net
        self.best = folder + "/best.pt"

    def fit(self):
        for epoch in range(9):
            if epoch % 2:
                self.write(epoch)
        return {"best": self.best, "epochs": 9}

    def write(self, epoch):
        torch.save(self.net.state_dict(), self.best)
"""
READING = """import sys
import torch
from giving import Trainer
from helper import place

def main():
    net = torch.nn.Linear(3, 3).to(place())
    trainer = Trainer(net, sys.argv[1])
    result = trainer.fit()
    net.load_state_dict(torch.load(result["best"]))

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", 0),
        ('result["best"]', "result.best", 0),
        ("result = trainer.fit()\n", "result = sys.argv\n    trainer.fit()\n", 1),
        ("result = trainer.fit()\n", "result = trainer.fit()\n    result = result or sys.argv\n", 1),
        ('result["best"]', "sys.argv[2]", 1),
        ("self.write(epoch)", "print(epoch)", 1),
    ],
)
def test_a_path_that_is_given_by_what_saves(tmp_path: Path, old: str, new: str, expected: int) -> None:
    giving, reading = (each.replace(old, new) if old else each for each in (GIVING, READING))
    root = application(tmp_path, helper=ASKING, giving=giving, reading=reading)
    assert found(root) == ["reading.py:TDL201"] * expected


def test_each_of_several_processes_reads_the_file_to_the_first_gpu(tmp_path: Path) -> None:
    several = "def setup(local_rank):\n    torch.cuda.set_device(local_rank)\n"
    root = application(tmp_path, helper=ASKING, loading=f"{LOADING}\n{several}", trainer=TRAINER, main=MAIN)
    assert found(root) == []  # it is copied, and let go
    kept = LOADING.replace("net.load_state_dict(torch.load(path))", "net.state = torch.load(path)")
    (root / "loading.py").write_text(f"{kept}\n{several}")
    tree.forget()
    assert found(root) == ["loading.py:TDL201"]


CATCHING = "    try:\n        trainer.net.cuda()\n    except OSError:\n        pass\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("    trainer.net.to(Places.DEVICE)\n", []),
        ("    torch.cuda.set_device(args.gpu)\n", []),
        ("    if args.fast:\n        trainer.net.cuda()\n    else:\n        trainer.net.to('cuda:1')\n", []),
        ("    if args.fast:\n        trainer.net.cuda()\n", ["loading.py:TDL201"]),
        ("    if args.only:\n        return\n    trainer.net.cuda()\n", ["loading.py:TDL201"]),
        ("    trainer.net.to(Places.OTHER)\n", ["loading.py:TDL201"]),
        ("    trainer.net.to(args.device)\n", ["loading.py:TDL201"]),
        ("    lambda: trainer.net.cuda()\n", ["loading.py:TDL201"]),
        ("    try:\n        trainer.net.cuda()\n    except Exception:\n        pass\n", ["loading.py:TDL201"]),
        ("    try:\n        trainer.net.cuda()\n    except Exception:\n        trainer.net.cuda(args.gpu)\n", []),
        (f"{CATCHING}    except Exception:\n        trainer.net.cuda(args.gpu)\n", ["loading.py:TDL201"]),
    ],
)
def test_what_comes_after_the_load_surely_needs_cuda(tmp_path: Path, line: str, expected: list[str]) -> None:
    places = "import sys\n\nclass Places:\n    DEVICE = 'cuda'\n    OTHER = 'cuda' if len(sys.argv) > 1 else 'cpu'\n"
    main = MAIN.replace("    trainer.fit()\n", line).replace("import argparse\n", "import argparse\nimport torch\n")
    main = main.replace("from trainer", "from places import Places\nfrom trainer")
    trainer = TRAINER.replace("self.net = net.cuda()", CHOOSING)
    root = application(tmp_path, helper=ASKING, loading=LOADING, trainer=trainer, main=main, places=places)
    assert found(root) == expected


def test_a_program_that_chooses_a_device_names_cuda_later_by_mistake(tmp_path: Path) -> None:
    """Before the load it is no mistake that anybody could get past."""
    choosing = "    trainer = Trainer(nn.Linear(3, 3), args)\n    trainer.net.to('cuda' if args.fast else 'cpu')\n"
    main = MAIN.replace("    trainer = Trainer(nn.Linear(3, 3), args)\n", choosing)
    later = main.replace("    trainer.fit()\n", "    trainer.net.cuda()\n")
    before = main.replace("    trainer.resume()\n", "    trainer.net.cuda()\n    trainer.resume()\n")
    files = {"helper": ASKING, "loading": LOADING, "trainer": TRAINER.replace("self.net = net.cuda()", CHOOSING)}
    assert found(application(tmp_path, **files, main=later)) == ["loading.py:TDL201"]
    assert found(application(tmp_path, **files, main=before)) == []


def test_another_program_reads_the_file_elsewhere(tmp_path: Path) -> None:
    demo = "import helper\nfrom torch import nn\nfrom loading import restore\n\nnet = nn.Linear(3, 3)\n"
    demo += "restore(net, 'a.pt')\nprint(net.to(helper.place()))\n"
    root = application(tmp_path, helper=ASKING, loading=LOADING, trainer=TRAINER, main=MAIN, demo=demo)
    assert found(root) == ["loading.py:TDL201"]


LIGHTNING = """import pytorch_lightning as pl
from helper import place
from module import Net

net = Net(place())
net.restore()
pl.Trainer(accelerator="gpu").fit(net)
"""
NET = """import torch
import pytorch_lightning as pl

class Net(pl.LightningModule):
    def __init__(self, device):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def restore(self):
        self.layer.load_state_dict(torch.load("weights.pt"))
"""


def test_a_trainer_of_lightning_for_gpus(tmp_path: Path) -> None:
    root = application(tmp_path, helper=ASKING, module=NET, main=LIGHTNING)
    assert found(root) == []
    (root / "main.py").write_text(LIGHTNING.replace('"gpu"', '"auto"'))
    assert found(root) == ["module.py:TDL201"]


WRITING = """import argparse
import torch
from helper import place

def train(net):
    for epoch in range(3):
        if epoch > 1:
            torch.save(net.state_dict(), "runs/best_model.pt")

def evaluate(net):
    net.load_state_dict(torch.load("runs/best_model.pt"))

def main(args):
    net = torch.nn.Linear(3, 3).to(place())
    train(net)
    evaluate(net)
    print(net)

if __name__ == "__main__":
    main(argparse.ArgumentParser().parse_args())
"""


WITHIN = """import torch
from helper import place

class Model:
    def __init__(self, net):
        self.net = net.cuda()

    def resume(self, path):
        self.net.load_state_dict(torch.load(path))

def build(net, path):
    net = torch.nn.DataParallel(net.cuda())
    net.load_state_dict(torch.load(path))
    return net
"""
STARTS = """import sys
import torch
import within

def start(kind):
    net = getattr(within, kind)(torch.nn.Linear(3, 3))
    return net.resume(sys.argv[1]) if kind == "Model" else net

if __name__ == "__main__":
    print(start(sys.argv[2]), torch.ones(3).to(within.place()))
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", 0),
        ("self.net = net.cuda()", "self.net = net.to(place())", 1),
        ("net.cuda())\n    net.load", "net.to(place()))\n    net.load", 1),
        ("    def resume(self, path):", "    @classmethod\n    def resume(self, path):", 1),
        ("self.net = net.cuda()", "self.net = net\n        if torch.cuda.is_available():\n            net.cuda()", 1),
    ],
    ids=["both need CUDA", "one chooses", "the other does", "no object is there", "one asks"],
)
def test_what_needs_cuda_where_the_place_is(tmp_path: Path, old: str, new: str, expected: int) -> None:
    """How a program comes to a function, or to an object, need not be known: it does so with CUDA alone."""
    text = WITHIN.replace(old, new) if old else WITHIN
    root = application(tmp_path, helper=ASKING, within=text, main=STARTS)
    assert found(root) == ["within.py:TDL201"] * expected


SETTLED = """import torch
from helper import place
from torch import nn

class CFG:
    SIZE = 3
    DEVICE = torch.device("cuda:4")

net = nn.Linear(CFG.SIZE, 3).to(CFG.DEVICE)
net.load_state_dict(torch.load("best.pt"))
print(net(torch.ones(3, device=CFG.DEVICE)))
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("\nnet = ", "\nCFG.DEVICE = place()\nnet = ", ["main.py:TDL201"]),
        ('torch.device("cuda:4")', "torch.device(place())", ["main.py:TDL201"]),
    ],
    ids=["settled", "set again", "chosen"],
)
def test_a_class_of_constants_says_where_all_is(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    main = SETTLED.replace(old, new) if old else SETTLED
    assert found(application(tmp_path, helper=ASKING, main=main, other="import helper\nprint(1)\n")) == expected


def test_the_best_model_is_read_again_after_training(tmp_path: Path) -> None:
    assert found(application(tmp_path, helper=ASKING, main=WRITING)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    train(net)\n    evaluate(net)\n", "    evaluate(net)\n    train(net)\n"),
        ("    train(net)\n", "    if args.train:\n        train(net)\n"),
        ('torch.load("runs/best', 'torch.load("runs/first'),
        ("    train(net)\n", "    if args.resume:\n        evaluate(net)\n    train(net)\n"),
    ],
)
def test_a_file_of_an_earlier_run_may_be_read(tmp_path: Path, old: str, new: str) -> None:
    assert found(application(tmp_path, helper=ASKING, main=WRITING.replace(old, new))) == ["main.py:TDL201"]


RUNS = """import os
from torch import nn

class Run:
    path = str

    def __init__(self, folder):
        self.path = os.path.join(folder, "net_{}.pt")
        self.net = nn.Linear(3, 3)
"""
TRAINING = """import torch
from helper import place
from runs import Run

class Training(Run):
    def train(self):
        net = self.net.to(place())
        net.train()
        for epoch in range(3):
            if epoch > 1:
                torch.save(net.state_dict(), self.path.format("best"))
        self.prune()

    def prune(self):
        self.net.load_state_dict(torch.load(self.path.format("best")))

if __name__ == "__main__":
    training = Training("runs")
    training.train()
"""


def test_the_base_of_a_class_says_where_its_files_are(tmp_path: Path) -> None:
    assert found(application(tmp_path, helper=ASKING, runs=RUNS, main=TRAINING)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('path.format("best")))', 'path.format("best").replace("runs", "old")))'),
        ("    training.train()\n", "    training.prune()\n    training.train()\n"),
        ("from runs import Run", "from elsewhere import Run"),
    ],
)
def test_a_file_that_no_base_names(tmp_path: Path, old: str, new: str) -> None:
    text = TRAINING.replace(old, new)
    assert text != TRAINING
    assert found(application(tmp_path, helper=ASKING, runs=RUNS, main=text)) == ["main.py:TDL201"]


def test_a_notebook_that_chooses_no_device_is_of_its_machine(tmp_path: Path) -> None:
    cells = ("import torch\nfrom torch import nn\n", "net = nn.Linear(3, 3)\nnet.load_state_dict(torch.load('a.pt'))\n")
    root = application(tmp_path, helper=ASKING)
    (root / "look.ipynb").write_text(notebook(*cells, "net.cuda()\n"))
    assert found(root) == []
    (root / "look.ipynb").write_text(notebook(*cells, "net.to('cuda' if torch.cuda.is_available() else 'cpu')\n"))
    assert found(root) == ["look.ipynb:TDL201"]


def test_a_file_that_nothing_runs_or_imports_is_left_over(tmp_path: Path) -> None:
    root = application(tmp_path, helper=ASKING, module=NET, main=LIGHTNING, old=LOADING)
    assert found(root) == []
    (root / "README.md").write_text("`python -c 'import old'`\n")
    assert found(root) == ["old.py:TDL201"]


CHAIN = {
    "kept": "from torch import nn\n\nclass Kept(nn.Module):\n    pass\n",
    "inner": LOADING,
    "outer": "from inner import *\n\nclass Outer:\n    def load(self):\n        restore(self, input())\n",
    "main": "from helper import place\nfrom kept import Kept\n\nprint(Kept().to(place()).inner)\n",
}


@pytest.mark.parametrize(
    ("file", "more", "expected"),
    [
        ("kept", "# from outer import Outer\n", []),
        ("kept", "KEYS = {'outer', 'inner.weight'}\n", []),
        ("kept", "from outer import Outer\nOuter().load()\n", ["inner.py:TDL201"]),
        ("outer", "from helper import place\nprint(place())\nOuter().load()\n", ["inner.py:TDL201"]),
        ("kept", "PATH = 'nets/outer.py'\n", ["inner.py:TDL201"]),
        ("kept", "import importlib\nOuter = importlib.import_module('outer').Outer\n", ["inner.py:TDL201"]),
    ],
    ids=["a comment", "other texts", "imported", "run", "a path", "loaded by its name"],
)
def test_a_file_that_only_files_import_which_nothing_runs(
    tmp_path: Path, file: str, more: str, expected: list[str]
) -> None:
    """An attribute, or a text, that has the name of such a file is not the file, where nothing loads files by texts."""
    texts = CHAIN | {file: CHAIN[file] + more}
    assert found(application(tmp_path, helper=ASKING, module=NET, **texts)) == expected


VERSION = """import torch
from torch import nn

class Encoder(nn.Module):
    def load(self):
        self.load_state_dict(torch.load("encoder.pt"))

class Decoder(nn.Module):
    pass
"""
USING = """from helper import place
from current import Decoder, Encoder

Encoder().to(place()).load()
print(Decoder())
"""


def test_another_version_of_a_file_that_is_imported_is_left_over(tmp_path: Path) -> None:
    root = application(tmp_path, helper=ASKING, module=NET, main=USING, current=VERSION)
    (root / "tried").mkdir()
    (root / "tried" / "second.py").write_text(VERSION)
    assert found(root) == ["current.py:TDL201"]
    (root / "tried" / "second.py").write_text(VERSION.replace("class Decoder", "class Reader"))
    assert found(root) == ["current.py:TDL201", "second.py:TDL201"]


SKETCH = """

if __name__ == "__main__":
    x = torch.rand(3, 5)
    layer = nn.Linear(5, 10)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
    for i in range(5):
        loss = layer(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
LOADER = """
import importlib.util

def load_code(path):
    spec = importlib.util.spec_from_file_location("", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["current.py:TDL201"]),
        ("layer(x)", "Encoder().load(x)", ["current.py:TDL201", "second.py:TDL201"]),
        ("x = torch.rand(3, 5)", "x = eval('Encoder')().load()", ["current.py:TDL201", "second.py:TDL201"]),
        ("x = torch.rand(3, 5)", "x = place(5)", ["current.py:TDL201", "second.py:TDL201"]),
    ],
    ids=["of torch", "of its own class", "looked up", "of another file"],
)
def test_a_file_that_nobody_imports_tries_something_of_torch(
    tmp_path: Path, old: str, new: str, expected: list[str]
) -> None:
    """What trains is a program, but not of what the file defines, if it reads nothing of that.

    Where files are loaded by their paths, programs are not followed.
    """
    second = VERSION.replace("class Decoder", "class Reader")
    root = application(tmp_path, helper=ASKING + LOADER, module=NET, main=USING, current=VERSION)
    (root / "second.py").write_text(f"from helper import place\n{second}{SKETCH.replace(old, new)}")
    assert found(root) == expected


LAYERS = """import torch
from torch import nn

class Attention(nn.Module):
    def forward(self, x):
        return x * torch.arange(x.shape[1]).cuda()
"""
ENTRY = """from helper import place
from layers import Attention

def main():
    net = Attention()
    net.cuda()
    print(net)

if __name__ == "__main__":
    main()
"""


def test_a_literal_device_where_all_programs_need_cuda(tmp_path: Path) -> None:
    root = application(tmp_path, helper=ASKING, layers=LAYERS, main=ENTRY)
    assert found(root) == []
    (root / "main.py").write_text(ENTRY.replace("net.cuda()", "net.to(place())"))
    assert found(root) == ["layers.py:TDL012"]


@pytest.mark.parametrize(
    ("moved", "expected"),
    [
        ("net.cuda() if args.one else torch.nn.DataParallel(net).cuda()", []),
        ("net.cuda() if args.one else net", ["loading.py:TDL201"]),
        ("net.cuda() if args.one else torch.nn.DataParallel(net)", ["loading.py:TDL201"]),
    ],
)
def test_a_model_goes_to_cuda_in_both_cases(tmp_path: Path, moved: str, expected: list[str]) -> None:
    trainer = TRAINER.replace("net.cuda()", moved)
    assert found(application(tmp_path, helper=ASKING, loading=LOADING, trainer=trainer, main=MAIN)) == expected
