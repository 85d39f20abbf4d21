"""A program that surely asks a GPU for something ends there without CUDA: what it does later hurts nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application, notebook
from tests.project.test_ways import ASKING, found, inside

__all__ = ["inside"]

CHOOSING = """import argparse
import torch
from torch import nn

def main(args):
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    ASKED
    net = nn.Linear(3, 3).cuda(device)
    print(net(torch.ones(2, 3, device=device)))

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--number", type=int, default=0)
    main(parser.parse_args())
"""


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("torch.cuda.set_device(args.number)", []),
        ("number = args.number\n    torch.cuda.set_device(number)", []),
        ("print(torch.cuda.get_device_name(0))", []),
        ("torch.cuda.ipc_collect()", []),
        ("torch.cuda.reset_peak_memory_stats()", []),
        ("torch.cuda.empty_cache()", ["main.py:TDL305"]),
        ("print(torch.cuda.memory_allocated())", ["main.py:TDL305"]),
        ("torch.cuda.manual_seed_all(1)", ["main.py:TDL305"]),
        ("none = -1\n    torch.cuda.set_device(none)", ["main.py:TDL305"]),
        ("torch.cuda.set_device(device)", ["main.py:TDL305", "main.py:TDL305"]),
        ("other = nn.Linear(3, 3).cuda()", ["main.py:TDL012", "main.py:TDL305"]),
        ("ask = lambda: torch.cuda.ipc_collect()", ["main.py:TDL305"]),
        ("if args.number > 1:\n        torch.cuda.set_device(args.number)", ["main.py:TDL305"]),
    ],
)
def test_cuda_with_a_device_that_may_be_the_cpu(tmp_path: Path, asked: str, expected: list[str]) -> None:
    """What gets the chosen device is the same mistake again, and ends nothing that was not to end."""
    root = application(tmp_path, helper=ASKING, main=CHOOSING.replace("ASKED", asked))
    assert found(root) == expected


def test_what_asks_behind_the_place_is_a_mistake_as_well(tmp_path: Path) -> None:
    later = CHOOSING.replace("    ASKED\n", "").replace("    print(", "    torch.cuda.ipc_collect()\n    print(")
    assert found(application(tmp_path, helper=ASKING, main=later)) == ["main.py:TDL305"]


CELLS = (
    "import torch\nfrom torch import nn\n",
    """def score(net, batches, device):
    return [net(batch.cuda()) - torch.ones(3, device=device) for batch in batches]
""",
    "torch.cuda.ASKED()\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n",
    """net = nn.Linear(3, 3)
net.load_state_dict(torch.load("best.pt"))
print(score(net.to(device), [torch.ones(2, 3)], device))
""",
)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("ipc_collect", []),
        ("init", []),
        ("empty_cache", ["look.ipynb:TDL012", "look.ipynb:TDL201"]),
    ],
)
def test_an_earlier_cell_asks(tmp_path: Path, asked: str, expected: list[str]) -> None:
    root = application(tmp_path, helper=ASKING)
    (root / "look.ipynb").write_text(notebook(*(each.replace("ASKED", asked) for each in CELLS)))
    assert found(root) == expected


def test_a_cell_that_asks_behind_the_others(tmp_path: Path) -> None:
    first, second, third, last = CELLS
    asking, choosing = third.replace("ASKED", "ipc_collect").splitlines(keepends=True)
    root = application(tmp_path, helper=ASKING)
    (root / "look.ipynb").write_text(notebook(first, second, choosing, last, asking))
    assert found(root) == ["look.ipynb:TDL012", "look.ipynb:TDL201"]


def test_an_option_for_the_device_leaves_the_literal(tmp_path: Path) -> None:
    """The program needs CUDA, but the tensors may be on another GPU than the current one."""
    first, second, _, last = CELLS
    choosing = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--device')\n"
    main = first + second + choosing + "torch.cuda.init()\ndevice = parser.parse_args().device\n" + last
    assert "main.py:TDL012" in found(application(tmp_path, helper=ASKING, main=main))


NUMBERED = """import argparse
import torch
from torch import nn

class Trainer:
    def __init__(self, gpu, is_spread):
        self.gpu = gpu
        self.net = nn.Linear(3, 3).to(self.gpu)
        if is_spread:
            self.net = nn.parallel.DistributedDataParallel(self.net, device_ids=[self.gpu])

    def restore(self, path):
        self.net.load_state_dict(torch.load(path))

def main(args):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(torch.ones(3, device=device), torch.ones(3).to(device))
    Trainer(GIVEN, args.spread).restore(args.path)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu", type=int, default=0)
    parser.add_argument("--spread", action="store_true")
    parser.add_argument("path")
    main(parser.parse_args())
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("", "", [], id="a number of a GPU"),
        pytest.param("def main(args):\n", "def main(args):\n    print(args.gpu == 0)\n", [], id="which is compared"),
        pytest.param("device_ids=[self.gpu]", "bucket_cap_mb=25", ["main.py:TDL201"], id="nothing says so"),
        pytest.param("gpu, is_spread):", "gpu=None, is_spread=0):", ["main.py:TDL201"], id="none by default"),
        pytest.param("        if is_spread", "        if self.gpu is not None", ["main.py:TDL201"], id="perhaps none"),
        pytest.param("        if is_spread", "        if self.gpu >= 0", ["main.py:TDL201"], id="perhaps -1"),
        pytest.param("self.gpu = gpu\n", "self.gpu = gpu if is_spread else 'cpu'\n", ["main.py:TDL201"], id="or CPU"),
    ],
)
def test_the_number_of_a_gpu(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    """`DistributedDataParallel` gets it in one case, so that it is the number of a GPU in all."""
    assert old in NUMBERED
    main = NUMBERED.replace(old, new) if old else NUMBERED
    assert found(application(tmp_path, helper=ASKING, main=main.replace("GIVEN", "args.gpu"))) == expected


RESUMING = """import torch
from torch import nn
from helper import place

class Trainer:
    def __init__(self, net, device):
        self.net = net.to(device)
        self.device = device

    def fit(self, batches):
        ASKED
        for batch, wanted in batches:
            loss = nn.functional.mse_loss(self.net(batch.to(self.device)), wanted.to(self.device))
            loss = loss.cuda()
            loss.backward()
            print(f"{loss}", loss.item())

def main(path, device, batches):
    device = device or torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = nn.Linear(3, 3)
    if path:
        net.load_state_dict(torch.load(path))
    trainer = Trainer(net, device)
    trainer.fit(batches)
"""
NAMED = """import argparse
import torch
from main import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--path")
    parser.add_argument("--device")
    args = parser.parse_args()
    main(args.path, args.device, [(torch.ones(2, 3), torch.ones(2, 3))])
"""


LOOP = "for number, batch in enumerate(batches):\n            "
BOTH = ["main.py:TDL012", "main.py:TDL201"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("print(torch.cuda.get_device_name(self.device))", []),
        ("print(f'{torch.cuda.get_device_properties(0).name}')", []),
        ("self.number = torch.cuda.current_device()", []),
        ("major, _ = torch.cuda.get_device_capability()", []),
        ("torch.cuda.synchronize()", []),
        (f"{LOOP}if batch is None:\n                continue\n            torch.cuda.synchronize()", []),
        (f"{LOOP}if number % 100 == 0:\n                torch.cuda.synchronize()", []),
        (f"{LOOP}if number % 100 == 99:\n                torch.cuda.synchronize()", BOTH),
        (f"{LOOP}if batch is None:\n                break\n            torch.cuda.synchronize()", BOTH),
        (f"{LOOP}continue\n            torch.cuda.synchronize()", BOTH),
        ("torch.cuda.synchronize(self.device)", BOTH),
        ("if self.device != 'cpu':\n            torch.cuda.synchronize()", BOTH),
        (
            "if self.device != 'cpu':\n            print(torch.cuda.get_device_name(0))",
            ["main.py:TDL012", "main.py:TDL201"],
        ),
        ("print(torch.cuda.is_available() and torch.cuda.get_device_name(0))", ["main.py:TDL012", "main.py:TDL201"]),
        ("torch.cuda.empty_cache()", ["main.py:TDL012", "main.py:TDL201"]),
    ],
)
def test_the_training_behind_a_load_says_which_gpu_it_has(tmp_path: Path, asked: str, expected: list[str]) -> None:
    """It raises without one, whatever it is asked for; a loss that only goes backward may be on another GPU."""
    root = application(tmp_path, helper=ASKING, main=RESUMING.replace("ASKED", asked), start=NAMED)
    assert found(root) == expected


@pytest.mark.parametrize(
    "read",
    ["total = loss + wanted.to(self.device).sum()", "self.net.losses.append(loss)", "kept = loss", "return loss"],
)
def test_a_loss_that_meets_others_keeps_its_device(tmp_path: Path, read: str) -> None:
    main = RESUMING.replace("ASKED", "print(torch.cuda.get_device_name(0))").replace(
        'print(f"{loss}", loss.item())', read
    )
    assert found(application(tmp_path, helper=ASKING, main=main, start=NAMED)) == ["main.py:TDL012"]


PICKING = """import argparse
import importlib
import torch

def main(args):
    device = torch.device("cuda:1" if torch.cuda.is_available() else "cpu")
    model = importlib.import_module(f"losses.{args.name}").Contextual(args.weights)
    print(model.to(device)(torch.ones(2, 3, device=device)))

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--name")
    parser.add_argument("--weights")
    main(parser.parse_args())
"""
CONTEXTUAL = """import torch
from torch import nn
IMPORT

class Contextual(nn.Module):
    def __init__(self, path):
        super().__init__()
        self.net = nn.Linear(3, 3)
        self.net.load_state_dict(torch.load(path))

    def forward(self, x):
        return self.net(x)
"""


@pytest.mark.parametrize(
    ("imported", "expected"),
    [
        ("import cupy", []),
        ("import resample_cuda", []),
        ("from resample import resample", []),
        ("import numpy", ["contextual.py:TDL201"]),
        ("try:\n    import resample_cuda\nexcept ImportError:\n    resample_cuda = None", ["contextual.py:TDL201"]),
        ("import other_cuda", ["contextual.py:TDL201"]),
    ],
)
def test_a_file_of_kernels_that_is_picked_by_a_name(tmp_path: Path, imported: str, expected: list[str]) -> None:
    """No program is seen to come to it, but none does without CUDA, and any GPU will do for a load."""
    root = application(tmp_path, helper=ASKING, main=PICKING, resample="from resample_cuda import resample\n")
    (root / "setup_kernels.py").write_text(
        "from setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\n\n"
        'setup(ext_modules=[CUDAExtension("resample_cuda", ["resample.cc", "resample_kernel.cu"])])\n'
    )
    (root / "losses").mkdir()
    (root / "losses" / "contextual.py").write_text(CONTEXTUAL.replace("IMPORT", imported))
    assert found(root) == expected


ASKED = """import sys
import torch
from torch import nn

def train(net, batches):
    for x in batches:
        if torch.cuda.is_available():
            x = x.cuda()
        total = torch.tensor(0.0).cuda()
        print(net(x).sum() + total)

def main(mode):
    if mode == "train":
        net = nn.Linear(3, 3)
        MOVED
        train(net, [torch.ones(2, 3)])
    elif mode == "help":
        print("train or help")

if __name__ == "__main__":
    main(sys.argv[1])
"""


@pytest.mark.parametrize(
    ("moved", "is_found"),
    [
        ("net = net.cuda()", False),
        ("print(net.cuda())", False),
        ("net = net.to('cuda')", False),
        ("net.train()", True),
        ("net = net.cuda() if torch.cuda.is_available() else net", True),
        ("net = net.cuda()\n        print(torch.cuda.is_available())", True),
        ("if len(sys.argv) > 2:\n            net.cuda()", True),
    ],
)
def test_a_move_beside_those_that_ask(tmp_path: Path, moved: str, is_found: bool) -> None:
    """The model was sent to CUDA before, where nobody asks: a move in a function that asks may be forgotten as well."""
    root = application(tmp_path, helper=ASKING, main=ASKED.replace("MOVED", moved))
    assert ("main.py:TDL012" in found(root)) is is_found


def test_a_move_beside_those_that_a_switch_decides(tmp_path: Path) -> None:
    """Whoever sets a switch wants to do without CUDA."""
    main = ASKED.replace("MOVED", "net = net.cuda()").replace("torch.cuda.is_available()", "use_cuda")
    main = main.replace("train(net, batches)", "train(net, batches, use_cuda)")
    main = main.replace("[torch.ones(2, 3)])", "[torch.ones(2, 3)], len(sys.argv) > 2)")
    assert "main.py:TDL012" in found(application(tmp_path, helper=ASKING, main=main))


READING = """import torch

def restore(net, path):
    net.load_state_dict(torch.load(path)["net"])
    print("from", path)

def means(path, number):
    return torch.load(path)[:number].detach().cuda()
"""
GOING_ON = """import torch
from loading import means, restore
from torch import nn

resumed = None
place = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 3).to(place)
print(net(torch.ones(2, 3, device=place)))
if resumed is not None:
    restore(net, resumed)
net.means = means("means.pt", 3)
torch.save({"net": net.state_dict()}, "net.pt")
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ('means("means.pt", 3)', "torch.ones(3).cuda()", True),
        ('net.means = means("means.pt", 3)', 'if resumed:\n    net.means = means("means.pt", 3)', True),
        ("(path, number):", "(path, number, device=None):", True),
        ("[:number].detach().cuda()", "[:number].to(torch.get_default_device())", True),
        ("import torch\n\ndef restore", "import torch\n\nhere = torch.cuda.is_available()\n\ndef restore", True),
    ],
    ids=["in a helper", "in the program", "under a test", "told a device", "no CUDA", "the file asks"],
)
def test_a_helper_right_after_a_load_sends_to_cuda(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    """The program chooses, but what it goes right on to does not. Where it names CUDA itself, that is a mistake."""
    files = {"loading": READING.replace(old, new), "main": GOING_ON.replace(old, new)}
    root = application(tmp_path, helper=ASKING, **files)
    assert ("loading.py:TDL201" in found(root)) is is_found


SENDING = """import torch

def to_torch(rows):
    return torch.tensor(rows).float().cuda()
"""
TESTING = """import torch
from sending import to_torch

def score(net, tasks, horizon):
    total = 0.0
    for number in range(len(tasks)):
        if len(tasks[number]) < horizon:
            print("too short")
            continue
        rows = to_torch(tasks[number])
        total += net(rows).sum().item()
    return total
"""
IN_LOOPS = (
    "import torch\nfrom torch import nn\nfrom testing import score as score_it\n",
    "device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')\n",
    """for trial in range(3):
    net = nn.Linear(3, 3).to(device)
    net.load_state_dict(torch.load(f"{trial}.pt"))
    for horizon in range(3):
        print(score_it(net, [[[1.0, 2.0, 3.0]]], horizon))
""",
)


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="some rounds are left out"),
        pytest.param("len(tasks[number]) < horizon", "tasks[number].device == net.device", True, id="by the device"),
        pytest.param("            continue", "            return total", True, id="it ends"),
        pytest.param("            continue", "            break", True, id="the loop ends"),
        pytest.param("rows = to_torch(tasks[number])", "rows = torch.tensor(tasks[number])", True, id="no helper"),
        pytest.param("(rows):", "(rows, device=None):", True, id="told a device"),
        pytest.param(
            "        print(score_it", "        if trial:\n            print(score_it", True, id="under a test"
        ),
    ],
)
def test_a_helper_behind_rounds_that_are_left_out(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    """A round that is left out because of what it is about is not the only one."""
    root = application(tmp_path, helper=ASKING, sending=SENDING.replace(old, new), testing=TESTING.replace(old, new))
    (root / "look.ipynb").write_text(notebook(*(each.replace(old, new) for each in IN_LOOPS)))
    assert ("look.ipynb:TDL201" in found(root)) is is_found


BESIDE = """import torch
from sending import to_torch
from torch import nn

def main(rows):
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    net = nn.Linear(3, 3).to(device)
    print(net(torch.ones(2, 3, device=device)))
    for epoch in range(3):
        task = torch.ones(2, 3).cuda()
        print(net(task) + to_torch(rows))

if __name__ == "__main__":
    main([1.0, 2.0, 3.0])
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="a helper"),
        pytest.param(" + to_torch(rows)", "", True, id="none"),
        pytest.param("float().cuda()", "float()", True, id="which sends nothing"),
        pytest.param("(rows):\n    return", "(rows):\n    device = 'cuda'\n    return", True, id="which says device"),
        pytest.param(" + to_torch(rows)", " if rows else to_torch(rows)", True, id="perhaps none"),
        pytest.param("def main(rows):", "use_cuda = False\n\ndef main(rows):", True, id="a switch"),
    ],
)
def test_a_literal_beside_a_choice_and_before_a_helper(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    """Whoever has no CUDA ends in the helper, which is in another file and chooses nothing."""
    root = application(tmp_path, helper=ASKING, sending=SENDING.replace(old, new), main=BESIDE.replace(old, new))
    assert ("main.py:TDL012" in found(root)) is is_found


SWITCH = """import torch
from torch import nn

class Weighing(nn.Module):
    def __init__(self):
        super().__init__()
        self.places = nn.Embedding(8, 3)

    def forward(self, x):
        return self.places(torch.arange(8).cuda()) * x

class Trainer:
    def __init__(self, settings):
        self.settings = settings

    def train(self):
        self.net = Weighing()
        if self.settings["use_cuda"]:
            self.net = self.net.cuda()
        x = torch.ones(8, 3)
        if self.settings["use_cuda"]:
            x = x.cuda()
        print(self.net(x))
"""
STARTING = """import argparse
import os
from weighing import Trainer

parser = argparse.ArgumentParser()
parser.add_argument("--gpu", default="1")
args = parser.parse_args()
os.environ["CUDA_VISIBLE_DEVICES"] = args.gpu
settings = {
    "use_cuda": True,
    "rate": 0.1,
}

if __name__ == "__main__":
    Trainer(settings).train()
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="on"),
        pytest.param('"use_cuda": True', '"use_cuda": False', True, id="off"),
        pytest.param('"use_cuda": True', '"use_cuda": args.gpu != ""', True, id="asked for"),
        pytest.param('"rate": 0.1,\n}', '"rate": 0.1,\n}\nsettings["use_cuda"] = args.gpu != ""', True, id="set later"),
        pytest.param('"1")\n', '"1")\nparser.add_argument("--use_cuda", type=bool)\n', True, id="an option"),
        pytest.param('self.settings["use_cuda"]', 'self.settings.get("use_cuda", False)', True, id="which may be left"),
    ],
)
def test_a_switch_that_is_an_entry_which_is_on(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    """All that is sent to CUDA is sent there in any case, and to the current GPU: `main.py` shows no other way."""
    files = {"weighing": SWITCH.replace(old, new), "main": STARTING.replace(old, new)}
    assert ("weighing.py:TDL012" in found(application(tmp_path, helper=ASKING, **files))) is is_found


def test_a_switch_that_is_in_a_configuration_as_well(tmp_path: Path) -> None:
    root = application(tmp_path, helper=ASKING, weighing=SWITCH, main=STARTING)
    (root / "settings.yaml").write_text("use_cuda: false\n")
    assert "weighing.py:TDL012" in found(root)
