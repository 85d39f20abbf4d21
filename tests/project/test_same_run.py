"""Files that the same run has saved, where its programs tell so in other functions, or by other objects and names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.project.test_application import application, notebook
from tests.project.test_ways import ASKING, found

SAVING = """import torch

def keep(state, filename="checkpoint_of_pretraining"):
    torch.save(state, filename)
"""
TWO_STEPS = """import torch
from helper import place
from saving import keep
from torch import nn

if __name__ == "__main__":
    net = nn.Linear(3, 3).to(place())
    best = 9.0
    for epoch in range(9):
        loss = net(torch.ones(3, device=place())).sum().item()
        if loss < best:
            best = loss
            keep(net.state_dict())
    net = nn.Linear(3, 3).to(place())
    net.load_state_dict(torch.load("./checkpoint_of_pretraining"))
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("keep(net.state_dict())", 'keep(net.state_dict(), "checkpoint_of_pretraining")', False),
        ("keep(net.state_dict())", 'keep(net.state_dict(), "checkpoint_of_finetuning")', True),
        ("            keep(net.state_dict())\n", "", True),
        ('torch.load("./checkpoint_of_pretraining")', 'torch.load("./checkpoint")', True),
    ],
    ids=["by default", "by its name", "another name", "nobody saves", "another file"],
)
def test_a_name_without_a_suffix_that_a_function_has_by_default(
    tmp_path: Path, old: str, new: str, is_found: bool
) -> None:
    root = application(tmp_path, helper=ASKING, saving=SAVING, main=TWO_STEPS.replace(old, new))
    assert ("main.py:TDL201" in found(root)) is is_found


EPOCHS = """import torch
from helper import place
from torch import nn

class Pool(nn.Module):
    def forward(self, main, others):
        return main + others

def train_epoch(epoch, net, config):
    if epoch != 0:
        path = f"models/{config['name']}.pth"
        net.load_state_dict(torch.load(path))
    return net(torch.ones(3, device=place())).sum()

def main(config):
    net = nn.Sequential(nn.Linear(3, 3), Pool()).to(place())
    path = f"models/{config['name']}.pth"
    for epoch in range(9):
        if train_epoch(epoch, net, config) < 1:
            torch.save(net.state_dict(), path)

if __name__ == "__main__":
    main({"name": "first"})
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ('.pth"\n    for', '.ckpt"\n    for', True),
        ("    for epoch", "    train_epoch(1, net, config)\n    for epoch", True),
        ("range(9)", '("one", "two")', True),
    ],
    ids=["another round", "another file", "before the loop", "a loop over names"],
)
def test_a_function_that_a_loop_calls_reads_what_the_loop_saves(
    tmp_path: Path, old: str, new: str, is_found: bool
) -> None:
    root = application(tmp_path, helper=ASKING, main=EPOCHS.replace(old, new))
    assert ("main.py:TDL201" in found(root)) is is_found


TESTED = """import torch
from helper import place
from torch import nn

class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, main, others):
        return self.layer(main) + others

def build():
    return Pool().to(place())

def train(net):
    for epoch in range(9):
        net(torch.ones(3, device=place()), 1)
    torch.save(net.state_dict(), "runs/best_pool.pth")

def test(net):
    net.load_state_dict(torch.load("runs/best_pool.pth"))

def main():
    net = build()
    train(net)
    test(net)

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("main, others):\n        return self.layer(main)", "x, others):\n        return self.main(x)", False),
        ("return self.layer(main) + others", "return self.main(self.layer(main), others)", False),
        ("    train(net)\n", "", True),
        ("net = build()\n", "net = build()\n    test(net)\n", True),
    ],
    ids=["a parameter", "a part of a module", "both", "nobody trains", "before the training"],
)
def test_what_is_called_like_a_function_leads_nowhere(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    text = TESTED.replace(old, new)
    assert ("main.py:TDL201" in found(application(tmp_path, helper=ASKING, main=text))) is is_found


ARCHITECTURE = """import os
import torch
from helper import place

class Architecture:
    def __init__(self, folder):
        self.folder = folder
        self.net = torch.nn.Linear(3, 3).to(place())

    def save_checkpoint(self, is_best):
        name = "checkpoint.pth.tar"
        if is_best:
            name = "model_best.pth.tar"
        torch.save(self.net.state_dict(), os.path.join(self.folder, name))

    def keep_best(self):
        best = torch.load(os.path.join(self.folder, "model_best.pth.tar"))
        self.net.load_state_dict(best)
"""
CREATING = """import sys
import kinds

def main():
    model = kinds.KINDS[sys.argv[1]]("runs")
    for epoch in range(9):
        model.save_checkpoint(epoch == 3)
    model.keep_best()

if __name__ == "__main__":
    main()
"""
KINDS = """from architecture import Architecture

KINDS = {"plain": Architecture}
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("        model.save_checkpoint(epoch == 3)\n", "        print(model)\n", True),
        ("model.save_checkpoint", "other = sys.argv\n        other.save_checkpoint", True),
    ],
    ids=["the same object", "nobody saves", "another object"],
)
def test_an_object_of_a_class_that_is_looked_up_saves_before(
    tmp_path: Path, old: str, new: str, is_found: bool
) -> None:
    text = CREATING.replace(old, new)
    root = application(tmp_path, helper=ASKING, architecture=ARCHITECTURE, kinds=KINDS, main=text)
    assert ("architecture.py:TDL201" in found(root)) is is_found


KEEPING = """import os
import torch

KEPT = []

def save_if_best(net, score):
    if not KEPT or score > max(KEPT)[0]:
        path = os.path.join("runs", f"model-{score:.4f}.pt")
        torch.save(net.state_dict(), path)
        KEPT.append((score, path))

def best_of_all():
    return max(KEPT)[1]
"""
ASKED = """import torch
from helper import place
from keeping import best_of_all, save_if_best
from torch import nn

def main():
    net = nn.Linear(3, 3).to(place())
    for epoch in range(9):
        save_if_best(net, net(torch.ones(3, device=place())).sum().item())
    best = best_of_all()
    net.load_state_dict(torch.load(best))

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("        save_if_best(net, net(torch.ones(3, device=place())).sum().item())\n", "        print(net)\n", True),
        ("best = best_of_all()", "best = place()", True),
    ],
    ids=["saved before", "nothing is saved", "asked of another file"],
)
def test_the_file_that_keeps_the_best_ones_is_asked_for_one(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    root = application(tmp_path, helper=ASKING, keeping=KEEPING, main=ASKED.replace(old, new))
    assert ("main.py:TDL201" in found(root)) is is_found


COPYING = """import os
import shutil
import torch
from helper import place
from torch import nn

def save_checkpoint(state, is_best, folder):
    filename = os.path.join(folder, "checkpoint.pth.tar")
    torch.save(state, filename)
    if is_best:
        shutil.copyfile(filename, os.path.join(folder, "model_best.pth.tar"))

def main(folder):
    net = nn.Linear(3, 3).to(place())
    for epoch in range(9):
        save_checkpoint(net.state_dict(), epoch == 3, folder)
    net.load_state_dict(torch.load(os.path.join(folder, "model_best.pth.tar")))

if __name__ == "__main__":
    main("runs")
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("shutil.copyfile(filename, ", "print(", True),
        ("        save_checkpoint(net.state_dict(), epoch == 3, folder)\n", "        print(net)\n", True),
    ],
    ids=["copied", "not copied", "not saved"],
)
def test_what_is_saved_is_copied_to_the_name_that_is_read(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    root = application(tmp_path, helper=ASKING, main=COPYING.replace(old, new))
    assert ("main.py:TDL201" in found(root)) is is_found


def test_each_round_of_a_program_reads_what_an_earlier_run_saved(tmp_path: Path) -> None:
    """Nothing keeps the first round from reading: what is there was saved by another run."""
    text = EPOCHS.replace("    if epoch != 0:\n", "    if config['resumes']:\n")
    assert "main.py:TDL201" in found(application(tmp_path, helper=ASKING, main=text))


STOPPING_CELL = """class EarlyStopping:
    def __init__(self, path="weights.pt"):
        self.path = path

    def __call__(self, loss, net):
        if loss < 1:
            torch.save(net.state_dict(), self.path)
        return loss < 0

    def restore(self, net):
        net.load_state_dict(torch.load(self.path))
"""
TRAINING_CELL = """stopping = EarlyStopping()
for epoch in range(9):
    if stopping(net(torch.ones(3, device=device)).sum().item(), net):
        stopping.restore(net)
        break
"""
BEGINNING_CELL = """import torch
device = "cuda" if torch.cuda.is_available() else "cpu"
net = torch.nn.Linear(3, 3).to(device)
"""


@pytest.mark.parametrize("pictures", [0, 3_000_000])
@pytest.mark.parametrize(("use", "is_found"), [(TRAINING_CELL, False), ("EarlyStopping().restore(net)\n", True)])
def test_a_notebook_is_read_however_large_it_is(tmp_path: Path, pictures: int, use: str, is_found: bool) -> None:
    root = application(tmp_path, helper=ASKING)
    written = json.loads(notebook(BEGINNING_CELL, STOPPING_CELL, use))
    written["cells"][-1]["outputs"] = [{"data": {"image/png": "A" * pictures}}]
    (root / "train.ipynb").write_text(json.dumps(written))
    assert ("train.ipynb:TDL201" in found(root)) is is_found


ALL_ON_CPU = """import sys
import torch
from torch import nn

def evaluate(name, net=None):
    if net is None:
        net = torch.load(name + ".model")
    return net(torch.ones(3)).sum()

def train(name, epochs):
    net, best = nn.Linear(3, 3), 9.0
    for epoch in range(epochs):
        loss = net(torch.ones(3)).sum()
        if loss < best:
            best = loss
            torch.save(net, name + ".model")

if __name__ == "__main__":
    if input("train?"):
        train("linear", 9)
    else:
        print(evaluate("linear"))
"""
OTHER_PROGRAM = "import torch\nfrom torch import nn\n\nnn.Linear(3, 3).cuda()(torch.ones(3).cuda()).sum().backward()\n"


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("nn.Linear(3, 3), 9.0", "nn.Linear(3, 3), 9.0  # .cuda(), out of memory", False),
        ("nn.Linear(3, 3), 9.0", "nn.Linear(3, 3).to(sys.argv[1]), 9.0", True),
        (
            '            torch.save(net, name + ".model")\n',
            "        nn.Linear(3, 3).load_state_dict(torch.load('x.pt'))\n",
            True,
        ),
        ('name + ".model")\n    return', 'name + ".ckpt")\n    return', True),
        ("import torch\n", "import torch\nfrom helper import place\n", False),
        ("import torch\n", "import torch\nfrom helper import place\ntorch.set_default_device(place())\n", True),
    ],
    ids=[
        "all on the CPU",
        "a comment",
        "a model on a device",
        "nobody saves",
        "another file",
        "it imports what chooses, for nothing",
        "it imports what chooses",
    ],
)
def test_a_program_without_accelerators_reads_what_it_saves(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    """Other programs of the project may be for CUDA; nobody imports this one, and it names no accelerator."""
    others = {f"other_{each}": OTHER_PROGRAM for each in ("a", "b", "c")}
    root = application(tmp_path, helper=ASKING, main=ALL_ON_CPU.replace(old, new, 1), **others)
    assert ("main.py:TDL201" in found(root)) is is_found


def test_a_file_that_a_program_on_the_cpu_reads_may_be_imported_by_one_on_cuda(tmp_path: Path) -> None:
    others = {f"other_{each}": OTHER_PROGRAM for each in ("a", "b", "c")}
    others["other_a"] = """import torch
from helper import place
from main import train, evaluate

torch.set_default_device(place())
if input("train?"):
    train("linear", 9)
else:
    print(evaluate("linear"))
"""
    root = application(tmp_path, helper=ASKING, main=ALL_ON_CPU, **others)
    assert "main.py:TDL201" in found(root)


NAMES = """import os

def name_of(params, experiment):
    return os.path.join("saved", experiment, str(params["stage"]))
"""
TRAINER = """import torch

def train(net, epoch, savename):
    net.train()
    torch.save(net.state_dict(), savename)
    return net
"""
STAGES = """import torch
from helper import place
from names import name_of
from torch import nn
from trainer import *

if __name__ == "__main__":
    params = {"stage": 0}
    net = nn.Linear(3, 3).to(place())
    for stage in range(2):
        if stage != 0:
            filename = name_of(params, experiment="distilled")
            net.load_state_dict(torch.load(filename))
        params["stage"] = stage
        savename = name_of(params, experiment="distilled")
        for epoch in range(10):
            net = train(net, epoch, savename=savename)
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("if stage != 0:", "if params:", True),
        ('savename = name_of(params, experiment="distilled")', 'savename = name_of(params, experiment="plain")', True),
        ("net = train(net, epoch, savename=savename)", "print(savename)", True),
    ],
    ids=["the round before", "in any round", "another name", "nobody saves"],
)
def test_a_stage_begins_with_what_the_round_before_has_saved(
    tmp_path: Path, old: str, new: str, is_found: bool
) -> None:
    root = application(tmp_path, helper=ASKING, names=NAMES, trainer=TRAINER, main=STAGES.replace(old, new))
    assert ("main.py:TDL201" in found(root)) is is_found


BEST_OF_ALL = """import os
import torch
from helper import place
from torch import nn

path_of = lambda epoch: f"runs/{place()}-{epoch}.pth"

def name_of(config, mode):
    return os.path.join(config["folder"], mode + str(config["stage"]))

def train(net, savename):
    if net(torch.ones(3, device=place())).sum() < 9:
        torch.save(net.state_dict(), savename)

def main(config):
    net = nn.Linear(3, 3).to(place())
    for epoch in range(9):
        net(torch.ones(3, device=place())).sum().backward()
        torch.save(net.state_dict(), path_of(epoch))
        torch.save(net.state_dict(), os.path.join(config["folder"], "best_loss.pth"))
        savename = name_of(config, "stage")
        train(net, savename=savename)
    READ
    savename = name_of(config, "last")
    train(net, savename=savename)

if __name__ == "__main__":
    main({"folder": "runs", "stage": 1})
"""


@pytest.mark.parametrize(
    ("read", "is_found"),
    [
        pytest.param("net.load_state_dict(torch.load(path_of(3)))", False, id="a lambda makes the path"),
        pytest.param("net.load_state_dict(torch.load(path_of(3) + '.old'))", True, id="another one than it makes"),
        pytest.param(
            "for run in range(3):\n"
            "        net.load_state_dict(torch.load(f'models/{place()}.pth'))\n"
            "        torch.save(net.state_dict(), path_of(run))",
            True,
            id="another path in its loop",
        ),
        pytest.param(
            "path = os.path.join(config['folder'], 'best_loss.pth')\n"
            "    if os.path.exists(path):\n"
            "        net.load_state_dict(torch.load(path))\n"
            "    path = 'another.pth'",
            False,
            id="the name is bound anew behind it",
        ),
        pytest.param(
            "path = os.path.join(config['folder'], 'best_loss.pth')\n"
            "    if config['stage']:\n"
            "        path = 'another.pth'\n"
            "    net.load_state_dict(torch.load(path))",
            True,
            id="the name may be bound anew before it",
        ),
        pytest.param(
            "net.load_state_dict(torch.load(name_of(config, 'stage')))", False, id="the same call made a saver's path"
        ),
        pytest.param("net.load_state_dict(torch.load(name_of(config, 'last')))", True, id="another call made it"),
    ],
)
def test_a_path_that_is_made_as_one_before(tmp_path: Path, read: str, is_found: bool) -> None:
    root = application(tmp_path, helper=ASKING, main=BEST_OF_ALL.replace("READ", read))
    assert ("main.py:TDL201" in found(root)) is is_found


HOOKS = """import torch
import pytorch_lightning as pl
from helper import place
from torch import nn

class Net(pl.LightningModule):
    def __init__(self, folder):
        super().__init__()
        self.folder, self.best = folder, 0.0
        self.inner = nn.Linear(3, 3)

    def validation_epoch_end(self, outputs):
        if outputs[0] > self.best:
            self.best = outputs[0]
            torch.save(self.inner.state_dict(), self.folder + "/best.pth")

    def on_train_end(self):
        self.inner.load_state_dict(torch.load(self.folder + "/best.pth"))
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("on_train_end", "training_epoch_end", False),
        ("on_train_end", "on_fit_start", True),
        ("on_train_end", "on_test_start", True),
        ("on_train_end", "back_to_the_best", True),
        ("validation_epoch_end", "keep", True),
        ('torch.load(self.folder + "/best.pth")', 'torch.load(self.folder + "/first.pth")', True),
        ("pl.LightningModule", "nn.Module", True),
    ],
)
def test_a_hook_reads_what_another_one_has_saved(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    """The class is picked by a name in a configuration, so that no program is seen to build it."""
    main = "import sys\nfrom hydra.utils import instantiate\nprint(instantiate({'_target_': sys.argv[1]}))\n"
    root = application(tmp_path, helper=ASKING, net=HOOKS.replace(old, new), main=main)
    (root / "model.yaml").write_text("_target_: net.Net\nfolder: models\n")
    assert ("net.py:TDL201" in found(root)) is is_found


KEPT = """import sys
import pytorch_lightning as pl
import torch
from helper import place
from keeping import Keeper
from net import Net
from pytorch_lightning.callbacks import ModelCheckpoint
from torch import nn

def main(loader):
    net = Net(nn.Linear(3, 3))
    checkpoint = ModelCheckpoint("models", monitor="val_loss")
    trainer = pl.Trainer(callbacks=[checkpoint], accelerator="gpu" if torch.cuda.is_available() else "cpu")
    trainer.fit(net, loader)
    net.load_state_dict(torch.load(checkpoint.best_model_path)["state_dict"])
    print(net.to(place()))

if __name__ == "__main__":
    main(sys.stdin)
"""
KEPT_NET = """import pytorch_lightning as pl

class Net(pl.LightningModule):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("checkpoint.best_model_path", "trainer.checkpoint_callback.best_model_path", False),
        ("    net.load", "    best = checkpoint.last_model_path\n    net.load", False),
        ("checkpoint.best_model_path", "checkpoint.dirpath", True),
        ('ModelCheckpoint("models"', 'Keeper("models"', True),
        ("checkpoint = ModelCheckpoint(", "checkpoint = input() or ModelCheckpoint(", True),
        ("    net.load", "    checkpoint = torch.load(sys.argv[1])\n    net.load", True),
    ],
)
def test_what_a_checkpoint_of_lightning_has_written(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    main = KEPT.replace(old, new)
    if "best = " in new:
        main = main.replace("torch.load(checkpoint.best_model_path)", "torch.load(best)")
    keeping = "class Keeper:\n    def __init__(self, folder, **options):\n        self.best_model_path = folder\n"
    root = application(tmp_path, helper=ASKING, net=KEPT_NET, main=main, keeping=keeping)
    assert ("main.py:TDL201" in found(root)) is is_found


FOLDED = """import os
import shutil
import torch
from helper import place
from torch import nn

def train(folder, name):
    def keep(net, is_best):
        path = os.path.join(folder, f"{name}.pth")
        torch.save(net.state_dict(), path)
        if is_best:
            shutil.copy(path, os.path.join(folder, f"{name}_best.pth"))

    net, best = nn.Linear(3, 3).to(place()), 9.0
    for epoch in range(9):
        loss = net(torch.ones(3, device=place())).sum().item()
        keep(net, loss < best)
        best = min(loss, best)
    net.load_state_dict(torch.load(os.path.join(folder, f"{name}_best.pth")))
    return net

if __name__ == "__main__":
    print(train("runs", "net"))
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="in the loop"),
        pytest.param("        keep(net, loss < best)\n", "", True, id="never called"),
        pytest.param("    def keep(", "    def other():\n      def keep(", True, id="within another one"),
        pytest.param("    return net", "    keep(net, True)\n    return net", False, id="afterwards as well"),
    ],
)
def test_a_function_within_the_one_that_reads_saves(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    code = FOLDED.replace(old, new) if old else FOLDED
    assert ("main.py:TDL201" in found(application(tmp_path, helper=ASKING, main=code))) is is_found


HANDED_ON = {
    "fitting": """import torch

def fit(net, x, path):
    for epoch in range(9):
        net(x).sum().backward()
    torch.save({"net": net.state_dict()}, path)
""",
    "attacking": """import torch

def attack(net, x, path):
    net.load_state_dict(torch.load(path)["net"])
    return net(x.to("cuda" if torch.cuda.is_available() else "cpu"))
""",
    "main": """import attacking
import fitting
import torch
from helper import place
from torch import nn

def main(x, path):
    net = nn.Linear(3, 3).to(place())
    fitting.fit(net, x, path)
    print(attacking.attack(net, x, path))

main(torch.ones(3, device=place()), "runs/digits.tar")
main(torch.ones(3, device=place()), "runs/letters.tar")
""",
}


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("    fitting.fit(net, x, path)\n", "", True),
        ("fitting.fit(net, x, path)", 'fitting.fit(net, x, "runs/others.tar")', True),
        ("fitting.fit(net, x, path)", "if x.sum() > 0:\n        fitting.fit(net, x, path)", True),
        ('"runs/letters.tar"', "input()", False),
    ],
    ids=["as it came", "nobody saves", "another file", "in one case", "from outside"],
)
def test_a_path_that_goes_through_two_functions(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    files = {name: text.replace(old, new) for name, text in HANDED_ON.items()}
    assert ("attacking.py:TDL201" in found(application(tmp_path, helper=ASKING, **files))) is is_found


FALLING_BACK = """import os
import torch
from helper import place
from torch import nn

def fit(net, name, folder):
    best, best_epoch = 9.0, 0
    for epoch in range(9):
        loss = net(torch.ones(3, device=place())).sum().item()
        if loss < best:
            best, best_epoch = loss, epoch + 1
            torch.save(net.state_dict(), os.path.join(folder, f"best_{name}_epoch_{epoch + 1}.pth"))
    path = os.path.join(folder, f"best_{name}_epoch_{best_epoch}.pth")
    if not os.path.exists(path):
        path = os.path.join(folder, f"kept_{best_epoch}.pth")
    if os.path.exists(path):
        net.load_state_dict(torch.load(path))
    return net

print(fit(nn.Linear(3, 3).to(place()), "small", "runs"))
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("    if not os.path.exists(path):\n", "    if not os.path.isfile(path) :\n", False),
        ("if not os.path.exists(path):", "if os.path.exists(folder):", True),
        ("if not os.path.exists(path):", "if not os.path.exists(folder):", True),
        ("if not os.path.exists(path):", "if name:", True),
        ('f"best_{name}_epoch_{best_epoch}.pth"', 'f"{name}_first_{best_epoch}.pth"', True),
    ],
    ids=["not there", "no file", "where it is", "another path", "in one case", "another name"],
)
def test_an_older_name_where_the_file_is_not_there(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    """What the run has saved is there, so that it reads nothing else."""
    root = application(tmp_path, helper=ASKING, main=FALLING_BACK.replace(old, new) if old else FALLING_BACK)
    assert ("main.py:TDL201" in found(root)) is is_found


BY_OPTION = """import argparse
import torch
from helper import place
from torch import nn

def keep(net, config, filepath):
    torch.save({"net": net.state_dict(), "config": config}, filepath)

def train(args):
    net = nn.Linear(3, 3).to(place())
    best = 9.0
    for epoch in range(9):
        loss = net(torch.ones(3, device=place())).sum()
        if loss < best:
            best = loss
            keep(net, args, args.filepath)

def test(args):
    saved = torch.load(args.filepath)
    net = nn.Linear(3, 3)
    net.load_state_dict(saved["net"])
    print(net.to(place()))

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--filepath", default="net.pt")
    parser.add_argument("--other", default="other.pt")
    args = parser.parse_args()
    train(args)
    test(args)
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("    train(args)\n", "", True),
        ("    train(args)\n", "    if args.filepath:\n        train(args)\n", True),
        ("keep(net, args, args.filepath)", "keep(net, args, args.other)", True),
        ("torch.save({", 'filepath = filepath + ".tmp"\n    torch.save({', True),
    ],
    ids=["trained", "not trained", "trained if asked", "another option", "another name"],
)
def test_an_option_that_is_given_to_what_saves(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    root = application(tmp_path, helper=ASKING, main=BY_OPTION.replace(old, new))
    assert ("main.py:TDL201" in found(root)) is is_found


SHARED = """import torch
from helper import place
from torch import nn

def train(args):
    net = nn.Linear(3, 3).to(place())
    for epoch in range(9):
        net(torch.ones(3, device=place())).sum().backward()
    torch.save(net.state_dict(), args.filepath)
"""
READING = """import argparse
import torch
from shared import train
from torch import nn

def generate(args):
    net = nn.Linear(3, 3)
    net.load_state_dict(torch.load(args.filepath))
    print(net)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--filepath", default="net.pt")
    parser.add_argument("--last")
    parser.add_argument("--best")
    args = parser.parse_args()
    train(args)
    generate(args)
"""


@pytest.mark.parametrize(
    ("name", "old", "new", "is_found"),
    [
        ("main", "", "", False),
        ("main", "    train(args)\n", "", True),
        ("shared", "args.filepath)", "args.last)", True),
        ("main", "torch.load(args.filepath)", "torch.load(args.best)", True),
    ],
    ids=["trained", "not trained", "another one is saved", "another one is read"],
)
def test_an_option_that_another_file_saves_to(tmp_path: Path, name: str, old: str, new: str, is_found: bool) -> None:
    files = {"shared": SHARED, "main": READING, "helper": ASKING}
    files[name] = files[name].replace(old, new)
    assert ("main.py:TDL201" in found(application(tmp_path, **files))) is is_found
