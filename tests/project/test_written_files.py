"""Files that the function which reads them has written before, be it through an object or in a round of its loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import ASKING, found

STOPPING = """import torch

class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.stop = patience, None, False

    def __call__(self, loss, model, path):
        if self.best is None or loss < self.best:
            self.best = loss
            self.save_checkpoint(model, path)
        else:
            self.stop = True

    def save_checkpoint(self, model, path):
        torch.save(model.state_dict(), path + "/" + "checkpoint.pth")
"""
EXPERIMENT = """import os
import torch
from helper import place
from stopping import EarlyStopping
from torch import nn

class Experiment:
    def __init__(self, args):
        self.args = args
        self.model = nn.Linear(3, 3).to(place())

    def train(self, setting):
        path = os.path.join(self.args.checkpoints, setting)
        stopping = EarlyStopping(patience=3)
        for epoch in range(self.args.epochs):
            self.model.train()
            stopping(self.model(torch.ones(3, device=place())).sum().item(), self.model, path)
            if stopping.stop:
                break
        best = path + "/" + "checkpoint.pth"
        self.model.load_state_dict(torch.load(best))
        return self.model

    def test(self, setting):
        print(self.model.eval())
"""
RUN = """import argparse
from experiment import Experiment

if __name__ == "__main__":
    experiment = Experiment(argparse.ArgumentParser().parse_args())
    experiment.train("first")
    experiment.test("first")
"""


def test_what_an_early_stopping_has_written(tmp_path: Path) -> None:
    assert found(application(tmp_path, helper=ASKING, stopping=STOPPING, experiment=EXPERIMENT, main=RUN)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('best = path + "/" + "checkpoint.pth"', 'best = path + "/" + "first.pth"'),
        ("            stopping(self", "            print(self"),
    ],
    ids=["another file", "nobody calls it"],
)
def test_what_an_early_stopping_has_not_written(tmp_path: Path, old: str, new: str) -> None:
    text = EXPERIMENT.replace(old, new)
    root = application(tmp_path, helper=ASKING, stopping=STOPPING, experiment=text, main=RUN)
    assert "experiment.py:TDL201" in found(root)


@pytest.mark.parametrize(("trains", "expected"), [(True, []), (False, ["experiment.py:TDL201"])])
def test_what_another_method_reads_after_or_without_it(tmp_path: Path, trains: bool, expected: list[str]) -> None:
    reads = 'self.model.load_state_dict(torch.load(setting + "/checkpoint.pth"))'
    text = EXPERIMENT.replace("print(self.model.eval())", reads)
    main = RUN if trains else RUN.replace('    experiment.train("first")\n', "")
    assert found(application(tmp_path, helper=ASKING, stopping=STOPPING, experiment=text, main=main)) == expected


KEEPING = (
    STOPPING.replace("patience):", "patience, keep):")
    .replace("self.patience, self.best", "self.keep, self.patience, self.best")
    .replace('path + "/" + "checkpoint.pth"', "self.keep")
    .replace(", path)", ")")
)
KEPT = """import argparse
import os
import torch
from helper import place
from stopping import EarlyStopping
from torch import nn

def run(args, name):
    net = nn.Linear(3, 3).to(place())
    kept = os.path.join(args.folder, name)
    stopping = EarlyStopping(3, keep=kept)
    for epoch in range(args.epochs):
        loss = net(torch.ones(3, device=place())).sum().item()
        stopping(loss, net)
        if stopping.stop:
            break
    net.load_state_dict(torch.load(kept))
    return net

if __name__ == "__main__":
    run(argparse.ArgumentParser().parse_args(), "first")
"""


@pytest.mark.parametrize("stopping", [KEEPING, ""], ids=["of the project", "of a library"])
def test_what_an_object_writes_that_was_given_the_path(tmp_path: Path, stopping: str) -> None:
    files = {"helper": ASKING, "main": KEPT, **({"stopping": stopping} if stopping else {})}
    assert found(application(tmp_path, **files)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("keep=kept", 'keep="other.pt"'),
        ("        stopping(loss, net)\n", ""),
        ("    for epoch", "    if args.trains:\n      for epoch"),
    ],
    ids=["another path", "nobody calls it", "evaluated alone"],
)
def test_what_no_object_writes_that_was_given_the_path(tmp_path: Path, old: str, new: str) -> None:
    text = KEPT.replace(old, new)
    assert text != KEPT
    assert "main.py:TDL201" in found(application(tmp_path, helper=ASKING, stopping=KEEPING, main=text))


def test_what_is_not_known_to_save(tmp_path: Path) -> None:
    text = KEPT.replace("EarlyStopping", "Monitor")
    assert "main.py:TDL201" in found(application(tmp_path, helper=ASKING, main=text))


ROUNDS = """import torch
from helper import place
from torch import nn

def train(net, best):
    lowest = 9.0
    for epoch in range(9):
        if epoch in (3, 6):
            net.load_state_dict(torch.load("runs/best.pt"))
        loss = net(torch.ones(3, device=place())).sum().item()
        if loss < lowest:
            lowest = loss
            torch.save(net.state_dict(), "runs/best.pt")

if __name__ == "__main__":
    train(nn.Linear(3, 3).to(place()), 3)
"""


def test_what_another_round_has_written(tmp_path: Path) -> None:
    assert found(application(tmp_path, helper=ASKING, main=ROUNDS)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('torch.load("runs/best', 'torch.load("runs/first'),
        ("    lowest = 9.0\n", '    lowest = 9.0\n    net.load_state_dict(torch.load("runs/best.pt"))\n'),
    ],
    ids=["another file", "before the loop"],
)
def test_what_no_round_has_written(tmp_path: Path, old: str, new: str) -> None:
    assert found(application(tmp_path, helper=ASKING, main=ROUNDS.replace(old, new))) == ["main.py:TDL201"]


TOP = """import sys
import torch
from helper import place
from stopping import EarlyStopping
from torch import nn

for name in sys.argv[1:]:
    net = nn.Linear(3, 3).to(place())
    stopping = EarlyStopping(3, keep=name + "/best.pt")
    for epoch in range(9):
        stopping(net(torch.ones(3, device=place())).sum().item(), net)
    net.load_state_dict(torch.load(name + "/best.pt"))
    print(net)
"""


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ('name + "/best.pt"', []),
        ("stopping.keep", []),
        ('stopping.keep + ".copy"', []),
        ('name + "/first.pt"', ["main.py:TDL201"]),
        ('place() + "/best.pt"', ["main.py:TDL201"]),
    ],
    ids=["as it was given", "what it keeps", "beside what it keeps", "another name", "another folder"],
)
def test_a_path_that_is_written_down_twice(tmp_path: Path, read: str, expected: list[str]) -> None:
    text = TOP.replace('torch.load(name + "/best.pt")', f"torch.load({read})")
    assert found(application(tmp_path, helper=ASKING, stopping=KEEPING, main=text)) == expected


RESTORING = """import sys
import torch
from helper import place
from torch import nn

def restore(net, path):
    net.load_state_dict(torch.load(path))

def run(folder):
    net = nn.Linear(3, 3).to(place())
    best = folder + "/best.pt"
    lowest = 9.0
    for epoch in range(9):
        loss = net(torch.ones(3, device=place())).sum().item()
        if loss < lowest:
            lowest = loss
            torch.save(net.state_dict(), best)
        elif epoch > 6:
            restore(net, best)
    restore(net, best)
    print(net)

if __name__ == "__main__":
    run(sys.argv[1])
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("    restore(net, best)\n    print", "    restore(net, sys.argv[2])\n    print", True),
        ("    lowest = 9.0\n", "    lowest = 9.0\n    restore(net, best)\n", True),
        ("torch.save(net.state_dict(), best)", "torch.save(net.state_dict(), folder)", True),
        ("torch.save(net.state_dict(), best)", "net.save_best(loss, best)", False),
        ("    for epoch in range(9):", "    for epoch in range(9) if folder else ():", False),
        ("    for epoch in range(9):", "    if folder:\n      for epoch in range(9):", True),
    ],
    ids=["saved", "another path", "before the loop", "another file", "by a method", "in a loop", "in one arm"],
)
def test_a_function_reads_the_path_that_its_callers_have_saved_to(
    tmp_path: Path, old: str, new: str, is_found: bool
) -> None:
    root = application(tmp_path, helper=ASKING, main=RESTORING.replace(old, new))
    assert found(root) == (["main.py:TDL201"] if is_found else [])


def test_a_function_that_others_give_a_path(tmp_path: Path) -> None:
    other = "import sys\nfrom main import restore\n\nprint(restore(sys.argv[1], sys.argv[2]))\n"
    root = application(tmp_path, helper=ASKING, main=RESTORING, other=other)
    assert found(root) == ["main.py:TDL201"]


TRAINER = """
import os
import torch

class Trainer:
    def __init__(self, net, device, folder):
        self.net, self.device, self.folder = net.to(device), device, folder
        self.best = 9.0

    def run(self, loader):
        for x in loader:
            loss = self.net(x.to(self.device)).sum().item()
            if loss < self.best:
                self.save_model()
        self.load_model()
        return self.net

    def save_model(self):
        torch.save(self.net.state_dict(), os.path.join(self.folder, "best.pt"))

    def load_model(self):
        self.net.load_state_dict(torch.load(os.path.join(self.folder, "best.pt")))
"""
RUNS = """
import sys
import torch
from other import Trainer as Other
from trainer import Trainer
from helper import place

def main(kind):
    if kind == "one":
        trainer = Trainer(torch.nn.Linear(3, 3), place(), sys.argv[2])
        trainer.run([torch.ones(3)])
    else:
        trainer = Other(torch.nn.Linear(3, 3), place(), sys.argv[2])
        trainer.run([torch.ones(3)])

if __name__ == "__main__":
    main(sys.argv[1])
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("        for x in loader:", "        self.load_model()\n        for x in loader:", True),
        ("            if loss < self.best:\n                self.save_model()\n", "", True),
        ('"best.pt"))\n\n    def load', '"last.pt"))\n\n    def load', True),
        ("return self.net\n", "return self.net\n\n    def resume(self):\n        self.load_model()\n", True),
    ],
    ids=["saved", "read before", "never saved", "another file", "another method reads"],
)
def test_a_method_reads_what_its_object_has_saved(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    other = TRAINER.replace("best.pt", "other.pt")
    root = application(tmp_path, helper=ASKING, main=RUNS, trainer=TRAINER.replace(old, new), other=other)
    assert found(root) == (["trainer.py:TDL201"] if is_found else [])


def test_a_method_that_others_call_reads_what_they_have(tmp_path: Path) -> None:
    """So does the other class, as far as names tell: an object is asked for its method before anything is saved."""
    main = RUNS.replace("        trainer.run([torch.ones(3)])\n    else", "        trainer.load_model()\n    else")
    root = application(tmp_path, helper=ASKING, main=main, trainer=TRAINER, other=TRAINER.replace("best.pt", "o.pt"))
    assert found(root) == ["other.py:TDL201", "trainer.py:TDL201"]


KEEPER = """
import torch

class Keeper:
    def __init__(self, path="best.pt"):
        self.path, self.best = path, 9.0

    def __call__(self, loss, net):
        if loss < self.best:
            self.best = loss
            torch.save(net.state_dict(), self.path)

    def restore(self, net):
        net.load_state_dict(torch.load(self.path))
"""
FITS = """
import torch
from helper import place
from keeper import Keeper

def fit(net, loader, keeper):
    for x in loader:
        keeper(net(x.to(place())).sum().item(), net)
    keeper.restore(net)
    return net

if __name__ == "__main__":
    fit(torch.nn.Linear(3, 3).to(place()), [torch.ones(3)], Keeper())
"""


@pytest.mark.parametrize(
    ("file", "old", "new", "is_found"),
    [
        ("fits", "", "", False),
        ("fits", "    for x in", "    keeper.restore(net)\n    for x in", True),
        ("fits", "    keeper.restore(net)\n    return", "    Keeper('other.pt').restore(net)\n    return", True),
        ("fits", "    return net\n", "    return net\n\ndef shown(net, keeper):\n    keeper.restore(net)\n", True),
        ("keeper", "torch.save(net.state_dict(), self.path)", "torch.save(net.state_dict(), 'last.pt')", True),
    ],
    ids=["called", "before it is called", "another object", "in another function", "another file"],
)
def test_an_object_is_asked_for_what_it_was_called_to_save(
    tmp_path: Path, file: str, old: str, new: str, is_found: bool
) -> None:
    texts = {"fits": FITS, "keeper": KEEPER}
    texts[file] = texts[file].replace(old, new) if old else texts[file]
    assert found(application(tmp_path, helper=ASKING, **texts)) == (["keeper.py:TDL201"] if is_found else [])


FITTER = """import torch
from helper import place

class Fitter:
    def __init__(self, net):
        self.net = net.to(place())

    def fit(self, epochs):
        highest = 0.0
        for epoch in range(epochs):
            score = self.net(torch.ones(3, device=place())).sum().item()
            if score > highest:
                highest = score
                self.save("kept/best.pth")
        self.restore("best.pth")
        return self.net

    def save(self, path):
        torch.save(self.net.state_dict(), path)

    def restore(self, path):
        self.net.load_state_dict(torch.load(path))
"""
BEGUN = """from fitter import Fitter
from torch import nn

print(Fitter(nn.Linear(3, 3)).fit(9))
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="after the training"),
        pytest.param('"kept/best.pth"', '"last.pth"', True, id="another file"),
        pytest.param(
            "        highest = 0.0\n", '        self.restore("best.pth")\n        highest = 0.0\n', True, id="before"
        ),
        pytest.param(".fit(9)", ".fit(9), Fitter(nn.Linear(3, 3)).restore('best.pth')", True, id="from elsewhere"),
    ],
)
def test_a_method_reads_the_path_that_those_who_call_it_have_saved_to(
    tmp_path: Path, old: str, new: str, is_found: bool
) -> None:
    files = {"fitter": FITTER, "main": BEGUN}
    changed = {name: text.replace(old, new) if old else text for name, text in files.items()}
    assert not old or changed != files
    assert ("fitter.py:TDL201" in found(application(tmp_path, helper=ASKING, **changed))) is is_found
