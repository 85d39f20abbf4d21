"""Loads beside what reads an option that the command line of the program does not have: nobody ever came further."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

SETTINGS = """from rich.more import more

class Settings:
    def __init__(self, args, steps=3):
        self.args = args
        self.rate = args.rate
        self.dropout = args.dropout
        self.steps = steps
"""
MAIN = """import argparse
import torch
from rich.more import NAMES, add_more, common, configargparse, defaults, fill, merged, more, others
from torch import nn
from settings import Settings

device = "cuda" if torch.cuda.is_available() else "cpu"

def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", "-r", action="store_true")
    group = parser.add_argument_group("training")
    group.add_argument("--learning-rate", dest="rate", type=float)
    args = parser.parse_args()
    return args

def main():
    args = parse()
    settings = Settings(args)
    net = nn.Linear(3, 3).to(device)
    if args.resume:
        net.load_state_dict(torch.load("net.pth"))
    torch.save(net.state_dict(), "net.pth")

if __name__ == "__main__":
    main()
"""
OTHER = """import argparse
import torch
from torch import nn
from settings import Settings

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float)
parser.add_argument("--dropout", type=float)
print(Settings(parser.parse_args()).dropout)
"""


def test_an_option_that_the_parser_does_not_have(tmp_path: Path) -> None:
    root = application(tmp_path, settings=SETTINGS, main=MAIN, other=OTHER)
    assert found(root) == []
    assert found(root, "TDL201") == ["main.py:TDL201"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    settings = Settings(args)\n", "    print(args.dropout)\n"),
        ("    settings = Settings(args)\n", "    if args.dropout > 0:\n        print(args.rate)\n"),
        ("parser = argparse.ArgumentParser()", "parser = argparse.ArgumentParser('main')"),
        ("settings = Settings(args)", "print(args); settings = Settings(steps=3, args=args)"),
        ("settings = Settings(args)", "print(vars(args)); settings = Settings(args)"),
        ("settings = Settings(args)", "more.dump(args.__dict__); settings = Settings(args)"),
        ("    args = parse()\n", ""),
    ],
)
def test_it_is_read_wherever_the_options_come(tmp_path: Path, old: str, new: str) -> None:
    assert old in MAIN
    main = MAIN.replace(old, new)
    if "    args = parse()" not in main:  # all of the file's functions have them
        main = main.replace("def main", "args = parse()\n\ndef main")
    root = application(tmp_path, settings=SETTINGS, main=main, other=OTHER)
    assert found(root) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    group = ", '    parser.add_argument("--dropout", "-d")\n    group = '),
        ("    group = ", '    parser.add_argument("-d", dest="dropout")\n    group = '),
        ("    group = ", '    parser.add_argument("dropout")\n    group = '),
        ("    args = parser", "    group.add_argument('-d', '--dropout')\n    args = parser"),
        ("    args = parser", "    parser.set_defaults(dropout=0)\n    args = parser"),
        ("    args = parser", "    add_more(parser)\n    args = parser"),
        ("    args = parser", "    for each in NAMES:\n        parser.add_argument(each)\n    args = parser"),
        ("    args = parser.parse_args()\n", "    args = parser.parse_args(namespace=defaults)\n"),
        ("    return args", "    args.dropout = 0.5\n    return args"),
        ("    return args", "    fill(args)\n    return args"),
        ("ArgumentParser()", "ArgumentParser(parents=[common])"),
        ("argparse.ArgumentParser()", "configargparse.ArgumentParser()"),
        ("    args = parse()\n", "    args = parse()\n    args.dropout = 0.5\n"),
        ("    args = parse()\n", "    args = parse()\n    vars(args).update(more)\n"),
        ("    args = parse()\n", "    args = parse()\n    args = merged(args)\n"),
        ("    args = parse()\n", "    args = parse()\n    args.__dict__['dropout'] = 3\n"),
        ("    args = parse()\n", "    args = parse()\n    held = vars(args)\n    held['dropout'] = 3\n"),
        ("    args = parse()\n", "    args = parse()\n    more.update_all(more, vars(args))\n"),
        ("settings = Settings(args)", "settings = args.rate and Settings(args)"),
        ("settings = Settings(args)", "settings = Settings(others, args)"),
    ],
)
def test_what_may_have_the_option_keeps_the_finding(tmp_path: Path, old: str, new: str) -> None:
    assert old in MAIN
    root = application(tmp_path, settings=SETTINGS, main=MAIN.replace(old, new), other=OTHER)
    assert found(root) == ["main.py:TDL201"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("args.dropout", "getattr(args, 'dropout', 0.5)"),
        ("args.dropout", "args.dropout if args.rate else 0.5"),
        ("        self.dropout = args.dropout\n", "        if args.rate:\n            self.dropout = args.dropout\n"),
        ("        self.rate", "        args = more(args)\n        self.rate"),
        ("        self.rate", "        args.dropout = 0.5\n        self.rate"),
    ],
)
def test_what_may_not_read_the_option_keeps_the_finding(tmp_path: Path, old: str, new: str) -> None:
    assert old in SETTINGS
    root = application(tmp_path, settings=SETTINGS.replace(old, new), main=MAIN, other=OTHER)
    assert found(root) == ["main.py:TDL201"]
