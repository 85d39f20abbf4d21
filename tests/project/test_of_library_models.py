"""Weights that fill a model of torchvision before its last layer is replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import ASKING, found

FEATURES = """from torch import nn
import torch
from torchvision.models.video import r2plus1d_18

class Features(nn.Module):
    def __init__(self, path=None):
        super().__init__()
        if path:
            net = r2plus1d_18(weights=None)
            net.load_state_dict(torch.load(path))
        else:
            net = r2plus1d_18(weights="DEFAULT")
        net.fc = nn.Identity()
        self.net = net
"""
MAIN = """import argparse
import torch
from features import Features
from helper import place

def main(args):
    net = Features(args.weights).to(place())
    net(torch.ones(3, device=place())).sum().backward()
    torch.save(net.state_dict(), args.output)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights")
    parser.add_argument("--output")
    main(parser.parse_args())
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("net.fc = nn.Identity()", "net.classifier[-1] = nn.Linear(3, 3)", False),
        ("        net.fc = nn.Identity()\n", "", True),
        ("net.fc = nn.Identity()", "net.stem = nn.Identity()", True),
        ("weights=None", "weights=None, num_classes=3", True),
        ("torch.load(path))", "torch.load(path), strict=False)", True),
        ("            net.load", "            net.fc = nn.Linear(3, 3)\n            net.load", True),
        ("from torchvision.models.video import", "from own import", True),
    ],
    ids=[
        "as it comes",
        "a part of it",
        "the layer is kept",
        "another layer",
        "classes of one's own",
        "other keys",
        "replaced before as well",
        "a model of one's own",
    ],
)
def test_the_last_layer_is_replaced(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    own = "from torch import nn\n\ndef r2plus1d_18(weights):\n    return nn.Sequential(nn.Linear(3, 3))\n"
    root = application(tmp_path, helper=ASKING, own=own, features=FEATURES.replace(old, new), main=MAIN)
    assert ("features.py:TDL201" in found(root)) is is_found
