"""Loads in a module of helpers whose callers, in other files, have saved what is read there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

HELPERS = """import os
import time
import torch

def settings():
    return {"folder": "runs", "started": str(int(time.time()))}

def folder(cfg):
    return os.path.join(cfg["folder"], cfg["started"])

def keep(net, cfg):
    path = os.path.join(folder(cfg), "best_checkpoint")
    torch.save(net.state_dict(), path)
    return path

def restore(net, cfg):
    net.load_state_dict(torch.load(os.path.join(folder(cfg), "best_checkpoint")))
    return net

def bring(net, path):
    net.load_state_dict(torch.load(path))
    return net
"""
MAIN = """import torch
from torch import nn
from helpers import keep, restore, settings

device = "cuda" if torch.cuda.is_available() else "cpu"

def fit(net, cfg):
    best = 9.0
    for epoch in range(9):
        loss = net(torch.ones(3, 3, device=device)).sum().item()
        if loss < best:
            best = loss
            keep(net, cfg)
    return restore(net, cfg)

if __name__ == "__main__":
    cfg = settings()
    net = fit(nn.Linear(3, 3).to(device), cfg)
    fit(net, cfg)
"""
GIVEN = """import torch
from torch import nn
from helpers import bring, keep, settings

device = "cuda" if torch.cuda.is_available() else "cpu"

def fit(net, cfg):
    best, path = 9.0, None
    path = ""
    for epoch in range(9):
        loss = net(torch.ones(3, 3, device=device)).sum().item()
        if loss < best:
            best = loss
            path = keep(net, cfg)
    return bring(net, path)

if __name__ == "__main__":
    fit(nn.Linear(3, 3).to(device), settings())
"""
OTHERS = """import torch

def bring(net, path):
    net.load_state_dict(torch.load(path, map_location="cpu"))
    return net
"""
STAR = """import sys
from torch import nn
from others import *

bring(nn.Linear(3, 3), sys.argv[1])
"""


def _only(helpers: str, keeps: str) -> str:
    """The helpers without the load that is not asked for."""
    dropped = "def bring" if keeps == "restore" else "def restore"
    begin = helpers.index(dropped)
    end = helpers.find("\ndef ", begin)
    return helpers[:begin] + (helpers[end + 1 :] if end > 0 else "")


def test_what_is_imported_beside_the_load_leads_nowhere(tmp_path: Path) -> None:
    root = application(tmp_path, helpers=_only(HELPERS, "restore"), main=MAIN)
    assert found(root) == []
    assert found(root, "TDL201") == ["helpers.py:TDL201"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("            keep(net, cfg)\n", "            print(net)\n"),
        ("    cfg = settings()\n", "    cfg = settings()\n    restore(nn.Linear(3, 3), cfg)\n"),
        ("    best = 9.0\n", "    best = 9.0\n    if cfg['resume']:\n        restore(net, cfg)\n"),
    ],
)
def test_a_way_on_which_nothing_was_saved_keeps_the_finding(tmp_path: Path, old: str, new: str) -> None:
    assert old in MAIN
    root = application(tmp_path, helpers=_only(HELPERS, "restore"), main=MAIN.replace(old, new))
    assert found(root) == ["helpers.py:TDL201"]


def test_a_path_that_what_saves_has_given(tmp_path: Path) -> None:
    root = application(tmp_path, helpers=_only(HELPERS, "bring"), main=GIVEN, others=OTHERS, star=STAR)
    assert found(root) == []
    assert found(root, "TDL201") == ["helpers.py:TDL201"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('    path = ""\n', '    path = "runs/first"\n'),
        ("            path = keep(net, cfg)\n", "            path = cfg['folder']\n            keep(net, cfg)\n"),
        ("bring(net, path)", "bring(net, cfg['folder'])"),
        ("    fit(nn.L", "    bring(nn.Linear(3, 3), settings()['folder'])\n    fit(nn.L"),
    ],
)
def test_a_path_from_elsewhere_keeps_the_finding(tmp_path: Path, old: str, new: str) -> None:
    assert old in GIVEN
    root = application(tmp_path, helpers=_only(HELPERS, "bring"), main=GIVEN.replace(old, new))
    assert found(root) == ["helpers.py:TDL201"]


def test_a_star_that_may_bring_the_function_keeps_the_finding(tmp_path: Path) -> None:
    star = STAR.replace("from others import *", "from others import *\nfrom helpers import *")
    root = application(tmp_path, helpers=_only(HELPERS, "bring"), main=GIVEN, others=OTHERS, star=star)
    assert found(root) == ["helpers.py:TDL201"]
