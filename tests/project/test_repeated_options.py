"""Loads behind a parser that is given an option twice: ``argparse`` raises an ArgumentError, on every machine."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

OPTIONS = """import argparse

def common():
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--seed", type=int)
    return shared
"""
MAIN = """import argparse
import torch
from options import common
from rich import more
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"

def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", "-r", action="store_true")
    group = parser.add_argument_group("training")
    group.add_argument("--rate", type=float)
    args = parser.parse_args()
    return args

def main():
    args = parse()
    net = nn.Linear(3, 3).to(device)
    if args.resume:
        net.load_state_dict(torch.load("net.pth"))
    torch.save(net.state_dict(), "net.pth")

if __name__ == "__main__":
    main()
"""
REPORTED = ["main.py:TDL201"]
AGAIN = '.add_argument("-r")'
PARSED, MADE = "    args = parser.parse_args()\n", "argparse.ArgumentParser()"


def findings(root: Path, changes: dict[str, str]) -> list[str]:
    text = MAIN
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return found(application(root, options=OPTIONS, main=text))


@pytest.mark.parametrize(
    "changes",
    [
        {PARSED: f'    parser.add_argument("--resume")\n{PARSED}'},
        {PARSED: f'    parser.add_argument("--restart", "-r")\n{PARSED}'},
        {PARSED: f'    parser.add_argument("--rate")\n{PARSED}'},
        {PARSED: f'    group.add_argument("--resume")\n{PARSED}'},
        {PARSED: f"    if more:\n        group{AGAIN}\n    else:\n        parser{AGAIN}\n{PARSED}"},
        {PARSED: f'    parser.add_argument("--height", "-h")\n{PARSED}'},
        {MADE: "argparse.ArgumentParser(parents=[common()])", PARSED: f'    parser.add_argument("--seed")\n{PARSED}'},
        {MADE: "argparse.ArgumentParser(parents=[common(), common()])"},
        {f"    parser = {MADE}": f"    base = {MADE}\n    parser = argparse.ArgumentParser(parents=[base])"},
    ],
)
def test_a_parser_that_is_given_an_option_again(tmp_path: Path, changes: dict[str, str]) -> None:
    assert findings(tmp_path, changes) == []


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {PARSED: f'    parser.add_argument("--resumes", "-s")\n{PARSED}'},
        {PARSED: f'    parser.add_argument("resume", nargs="?")\n{PARSED}'},
        {PARSED: f'    if more:\n        parser.add_argument("-r")\n{PARSED}'},
        {PARSED: f'    for each in more:\n        parser.add_argument(each)\n    parser.add_argument("-s")\n{PARSED}'},
        {PARSED: f'    parser = {MADE}\n    parser.add_argument("--resume")\n{PARSED}'},
        {PARSED: f'    other = {MADE}\n    other.add_argument("--resume")\n{PARSED}'},
        {PARSED: f"    try:\n        parser{AGAIN}\n    except argparse.ArgumentError:\n        pass\n{PARSED}"},
        {
            MADE: 'argparse.ArgumentParser(conflict_handler="resolve")',
            PARSED: f'    parser.add_argument("-r")\n{PARSED}',
        },
        {MADE: "argparse.ArgumentParser(**more)", PARSED: f'    parser.add_argument("--rate")\n{PARSED}'},
        {MADE: "argparse.ArgumentParser(add_help=False)", PARSED: f'    parser.add_argument("-h")\n{PARSED}'},
        {MADE: "argparse.ArgumentParser(parents=[common()])"},
        {MADE: "more.ArgumentParser()", PARSED: f'    parser.add_argument("--rate")\n{PARSED}'},
    ],
)
def test_one_that_is_not_keeps_the_finding(tmp_path: Path, changes: dict[str, str]) -> None:
    assert findings(tmp_path, changes) == REPORTED


def test_argparse_says_so() -> None:
    parser = argparse.ArgumentParser()
    group = parser.add_argument_group("training")
    group.add_argument("--rate")
    with pytest.raises(argparse.ArgumentError, match="conflicting option string"):
        parser.add_argument("--rate")
    with pytest.raises(argparse.ArgumentError, match="conflicting option strings"):
        argparse.ArgumentParser(parents=[parser])
