"""Loads beside what a module of the project is asked for, and does not have: nobody ever came further."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside
from torchdevlint.project import tree

__all__ = ["inside"]

MAIN = """import argparse
import torch
import settings as cfg
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", "-r", action="store_true")
    args = parser.parse_args()
    net = nn.Linear(3, 3).to(device)
    if args.resume:
        net.load_state_dict(torch.load("net.pth"))
    print(net, cfg.rate, cfg.office)
    torch.save(net.state_dict(), "net.pth")

if __name__ == "__main__":
    main()
"""
OTHER = """import settings

print(settings.rate)
"""


def linted(tmp_path: Path, main: str = MAIN, settings: str = "rate = 0.1\n", **files: str) -> list[str]:
    return found(application(tmp_path, main=main, other=OTHER, settings=settings, **files))


def test_a_name_that_the_module_does_not_have(tmp_path: Path) -> None:
    assert linted(tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("rate = 0.1\n", "rate = 0.1\noffice = True\n", id="the module has it"),
        pytest.param("rate = 0.1\n", "from rich.more import *\nrate = 0.1\n", id="the module may have it"),
        pytest.param("rate = 0.1\n", "rate = 0.1\nglobals().update(more=1)\n", id="the module binds by text"),
        pytest.param("import settings as cfg\n", "from rich import cfg\n", id="of a library"),
        pytest.param("    print(", "    cfg = input()\n    print(", id="bound in the function"),
        pytest.param("cfg.office)", "getattr(cfg, 'office', 0))", id="asked for"),
        pytest.param("    net = nn", "    cfg.office = 1\n    net = nn", id="given from outside"),
        pytest.param("print(net, cfg", "if net is None:\n        print(net, cfg", id="on some ways"),
    ],
)
def test_a_name_that_may_be_there_keeps_the_finding(tmp_path: Path, old: str, new: str) -> None:
    assert linted(tmp_path, MAIN.replace(old, new), "rate = 0.1\n".replace(old, new)) == ["main.py:TDL201"]


def test_a_module_that_is_taken_from_its_package(tmp_path: Path) -> None:
    taken = MAIN.replace("import settings as cfg", "from kept import values as cfg")
    for each in (tmp_path, tmp_path / "two"):
        (each / "kept").mkdir(parents=True)
    assert linted(tmp_path, taken, **{"kept/__init__": "", "kept/values": "rate = 0.1\n"}) == []
    shadowed = "from rich.more import values\n"
    tree.forget()
    assert linted(tmp_path / "two", taken, **{"kept/__init__": shadowed, "kept/values": ""}) == ["main.py:TDL201"]
