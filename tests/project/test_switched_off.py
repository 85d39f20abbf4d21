"""Programs whose switch for CUDA is off in each run: nothing of them is on an accelerator, which is advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_on_accelerators import NET
from tests.project.test_ways import found, inside

__all__ = ["inside"]

OPTIONS = """import argparse
import torch

def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-cuda", action="store_true", default=True, help="disables CUDA")
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    args.cuda = not args.no_cuda and torch.cuda.is_available()
    return args
"""
RUNNER = """import torch
from net import Net

class Batches:
    def __init__(self, items, device):
        self.items = items
        self.device = device

    def to(self, device):
        self.items = self.items.to(device)

    def __iter__(self):
        for each in self.items:
            yield each.to(self.device)

class Runner:
    def __init__(self, args, device):
        self.args = args
        self.device = device
        self.net = Net().to(torch.float32)
        self.net.to(self.device)

    def batches(self, items):
        batches = Batches(items, device=self.device)
        batches.to(self.device)
        return batches

    def run(self, items):
        for batch in self.batches(items):
            print(self.net(batch))
            print(self.net.sample(batch))
        torch.save(self.net.state_dict(), "runs/net.pt")

    def again(self):
        self.net.load_state_dict(torch.load("runs/net.pt"))
"""
MAIN = """import torch
from options import get_args
from runner import Runner

def main():
    args = get_args()
    device = torch.device("cuda:0" if args.cuda else "cpu")
    runner = Runner(args, device)
    runner.again()
    runner.run(torch.ones(8, 4))

if __name__ == "__main__":
    main()
"""
FILES = {"options": OPTIONS, "net": NET, "runner": RUNNER, "main": MAIN}


def changed(tmp_path: Path, old: str = "", new: str = "", **files: str) -> list[str]:
    texts = {**FILES, **files}
    assert not old or any(old in each for each in texts.values())
    return found(
        application(tmp_path, **{name: text.replace(old, new) if old else text for name, text in texts.items()})
    )


def test_an_option_that_is_always_true(tmp_path: Path) -> None:
    assert changed(tmp_path) == []


OTHER = "add_argument('--cuda', dest='no_cuda', action='store_false')"
BOTH = ["net.py:TDL003", "runner.py:TDL201"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("default=True", "default=False", id="a switch"),
        pytest.param('action="store_true"', "type=bool", id="told by a text"),
        pytest.param("    args = parser", "    parser.set_defaults(no_cuda=False)\n    args = parser", id="set"),
        pytest.param("    args = parser", f"    parser.{OTHER}\n    args = parser", id="another option"),
        pytest.param("    args.cuda =", "    args.no_cuda = bool(input())\n    args.cuda =", id="asked"),
        pytest.param("    args.cuda =", "    vars(args).update(input())\n    args.cuda =", id="whatever"),
        pytest.param("not args.no_cuda and", "args.epochs > 9 or not args.no_cuda and", id="another reason"),
        pytest.param('"cuda:0" if args.cuda', '"cuda:0" if not args.cuda', id="the other way"),
        pytest.param("Runner(args, device)\n", "Runner(args, input())\n", id="another device"),
    ],
)  # fmt: skip
def test_what_may_be_on_keeps_the_findings(tmp_path: Path, old: str, new: str) -> None:
    assert changed(tmp_path, old, new) == BOTH


ANSWERED = """import torch
from runner import Runner

CUDA = torch.cuda.is_available()
CUDA = False

def choose(cuda):
    if cuda:
        return "cuda"
    return "cpu"

def main(cuda):
    runner = Runner(None, choose(cuda))
    if cuda:
        runner.net.cuda()
    runner.again()
    runner.run(torch.ones(8, 4))

if __name__ == "__main__":
    main(CUDA)
"""


def test_a_name_that_is_bound_anew_right_after_the_question(tmp_path: Path) -> None:
    assert changed(tmp_path, main=ANSWERED) == []
    names = "def name():\n    return str(Runner)\n\nprint(name())\nCUDA = False\n"
    assert changed(tmp_path, "CUDA = False\n", names, main=ANSWERED) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("CUDA = torch.cuda.is_available()\n", "", id="a setting"),
        pytest.param("CUDA = False\n", "CUDA = bool(input())\n", id="another question"),
        pytest.param("CUDA = False\n", "main(CUDA)\nCUDA = False\n", id="read in between"),
        pytest.param(
            "CUDA = False\n",
            "def start():\n    main(CUDA)\n\nstart()\nCUDA = False\n",
            id="read by what is called in between",
        ),
        pytest.param("CUDA = False\n", "if not input():\n    CUDA = False\n", id="in some runs"),
        pytest.param("    main(CUDA)\n", "    main(CUDA)\n    main(True)\n", id="another call"),
        pytest.param(
            "        runner.net.cuda()", "        pass\n    runner.net.to(input())", id="moved whatever is asked"
        ),
    ],
)
def test_a_name_that_may_be_another_keeps_the_findings(tmp_path: Path, old: str, new: str) -> None:
    assert changed(tmp_path, old, new, main=ANSWERED) == BOTH


def test_a_device_that_is_bound_anew(tmp_path: Path) -> None:
    bound = MAIN.replace("    runner = ", '    print("on", 8)\n    device = torch.device("cpu")\n    runner = ')
    options = OPTIONS.replace("default=True", "default=False")
    assert changed(tmp_path, main=bound, options=options) == []
    read = MAIN.replace(
        "    runner = ", '    runner = Runner(args, device)\n    device = torch.device("cpu")\n    runner = '
    )
    assert changed(tmp_path, main=read, options=options) == BOTH


def test_a_move_that_goes_after_a_tensor(tmp_path: Path) -> None:
    after = NET.replace(
        "        return self.layer(x) +",
        "        if x.is_cuda:\n            self.layer.cuda()\n        return self.layer(x) +",
    )
    assert after != NET
    assert changed(tmp_path, net=after) == []
    assert "net.py:TDL003" in changed(tmp_path, "default=True", "default=False", net=after)


SCRIPT = """import torch
from torch import nn

USE_CUDA = False

class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.scale = torch.ones(3)

    def forward(self, x):
        return self.layer(x) * self.scale

def draw():
    x = torch.rand(8, 3)
    if USE_CUDA:
        x = x.cuda()
    return x

net = Scaled()
if USE_CUDA:
    net = net.cuda()
print(net(draw()))
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("USE_CUDA = False", "USE_CUDA = False", False, id="off"),
        pytest.param("USE_CUDA = False", "USE_CUDA = torch.cuda.is_available()", True, id="asked"),
        pytest.param("USE_CUDA = False", "USE_CUDA = False\nUSE_CUDA |= bool(input())", True, id="set again"),
        pytest.param("USE_CUDA", "DEBUG", True, id="a name that says nothing of CUDA"),
        pytest.param("net = net.cuda()", "pass\nnet = net.cuda()", True, id="moved whatever it says"),
        pytest.param("import nn\n", "import nn\nfrom net import Net\n\nprint(Net())\n", True, id="of several files"),
    ],
)
def test_a_script_of_one_file_that_is_off(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    assert ("script.py:TDL101" in changed(tmp_path, script=SCRIPT.replace(old, new))) is is_found
