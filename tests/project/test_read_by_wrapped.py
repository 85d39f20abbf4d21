"""A state dict with the prefix of a wrapper that only wrapped models are filled from: advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

TRAIN = """import os
import torch
from torch import nn
from nets import Net

def main(folder):
    net = nn.DataParallel(Net()).cuda()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    path = os.path.join(folder, "finest.pth")
    torch.save({"epoch": 1, "net": net.state_dict(),
                "optimizer": optimizer.state_dict()}, path)

if __name__ == "__main__":
    main("runs")
"""
NETS = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.layer.load_state_dict(torch.load("published_layer.pth", map_location="cpu"))

    def forward(self, x):
        return self.layer(x)
"""
TEST = """import sys
import torch
from torch import nn
from nets import Net

def main(name):
    net = Net().cuda()
    net = nn.DataParallel(net)
    saved = torch.load(f"runs/{name}.pth", map_location="cuda")
    net.load_state_dict(saved["net"])
    print(net(torch.ones(2, 3).cuda()))

if __name__ == "__main__":
    main(sys.argv[1])
"""
WRAP = "    net = nn.DataParallel(net)\n"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("nn.DataParallel(net)", "nn.parallel.DistributedDataParallel(net)", []),
        ("print(", 'torch.optim.SGD(net.parameters(), 0.1).load_state_dict(saved["optimizer"])\n    print(', []),
        ("nn.DataParallel(net)", "nn.DataParallel(net).cuda()", []),
        ("    saved =", "    net = net.cuda().eval()\n    saved =", []),
        (WRAP, "    net = net.cuda().eval()\n", ["train.py:TDL202"]),
        ("    net.load_state", "    if saved:\n        net.load_state", []),
        (WRAP, "", ["train.py:TDL202"]),
        (WRAP, "    if len(name) > 3:\n        net = nn.DataParallel(net)\n", ["train.py:TDL202"]),
        ("nn.DataParallel(net)", "torch.compile(net)", ["train.py:TDL202"]),
        ("print(", 'Net().load_state_dict(saved["net"])\n    print(', ["train.py:TDL202"]),
        (
            "    net.load",
            '    Net().load_state_dict(torch.load("runs/finest.pth")["net"])\n    net.load',
            ["train.py:TDL202"],
        ),
    ],
)
def test_who_reads_it(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    root = application(tmp_path, train=TRAIN, nets=NETS, test=TEST.replace(old, new, 1) if old else TEST)
    assert [each for each in found(root) if each.endswith("TDL202")] == expected


def test_what_is_wrapped_on_some_paths_alone(tmp_path: Path) -> None:
    train = TRAIN.replace(
        "nn.DataParallel(Net()).cuda()",
        "Net().cuda()\n    if torch.cuda.device_count() > 1:\n        net = nn.DataParallel(net)",
    )
    assert "train.py:TDL202" in found(application(tmp_path, train=train, nets=NETS, test=TEST))


def test_what_is_wrapped_on_each_path(tmp_path: Path) -> None:
    """By one wrapper or another: the keys have the prefix in any case."""
    train = TRAIN.replace(
        "net = nn.DataParallel(Net()).cuda()",
        "net = Net()\n    if torch.distributed.is_initialized():\n        net = DDP(net.cuda())\n    else:\n"
        "        net = nn.DataParallel(net).cuda()",
    ).replace("from nets", "from torch.nn.parallel import DistributedDataParallel as DDP\nfrom nets")
    assert "train.py:TDL202" not in found(application(tmp_path, train=train, nets=NETS, test=TEST))
    test = TEST.replace(WRAP, "")
    assert "train.py:TDL202" in found(application(tmp_path, train=train, nets=NETS, test=test))


@pytest.mark.parametrize(("wrap", "expected"), [(WRAP, []), ("", ["train.py:TDL202"])])
def test_a_script_that_reads_it_below_its_guard(tmp_path: Path, wrap: str, expected: list[str]) -> None:
    head, body = TEST.replace(WRAP, wrap).split("def main(name):\n")
    script = head + 'if __name__ == "__main__":\n    name = sys.argv[1]\n' + body.partition("\nif __name__")[0]
    root = application(tmp_path, train=TRAIN, nets=NETS, test=script)
    assert [each for each in found(root) if "TDL202" in each] == expected
