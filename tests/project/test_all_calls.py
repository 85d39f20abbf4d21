"""Calls that a name alone does not tell: for derived classes, under another name, of a method by a text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_options_off import MAIN, RENDERING
from tests.project.test_ways import ASKING, found


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param("0.0", [], id="what holds by default"),
        pytest.param("0.5", ["rendering.py:TDL014"], id="another one"),
        pytest.param("NOISE", ["rendering.py:TDL014"], id="a setting"),
    ],
)
def test_a_program_that_says_what_holds_by_default(tmp_path: Path, given: str, expected: list[str]) -> None:
    """Whoever writes down the default, and a call that leaves it out, say the same."""
    call = f"from helper import place\nfrom rendering import render\n\nNOISE = 0.0\nrender(place(), noise={given})\n"
    root = application(tmp_path, helper=ASKING, rendering=RENDERING, main=MAIN, other=call)
    assert found(root) == expected


@pytest.mark.parametrize(
    ("imported", "call", "expected"),
    [
        pytest.param("rendering", "Small(3)", [], id="leaves it off"),
        pytest.param("rendering", "Small(3, tuned=True)", ["rendering.py:TDL003"], id="turns it on"),
        pytest.param("rendering", "list(map(Small, x))", ["rendering.py:TDL003"] * 2, id="hands it on"),
        pytest.param("others", "Small(3, tuned=True)", [], id="another class"),
    ],
)
def test_a_class_under_another_name(tmp_path: Path, imported: str, call: str, expected: list[str]) -> None:
    other = f'from {imported} import Net as Small\n\ndef build(x) -> "Small":\n    return {call}\n'
    others = "class Net:\n    def __init__(self, width, tuned):\n        self.width = width\n"
    root = application(tmp_path, helper=ASKING, rendering=RENDERING, main=MAIN, building=other, others=others)
    assert found(root) == expected


DERIVED = """from rendering import Net

class Wide(Net):
    def __init__(self, pooled=True, tuned=False):
        super().__init__(9, pooled, tuned=False)

class Wider(Wide):
    pass

def build() -> Net:
    return Wider(pooled=True)
"""
BUILDING = MAIN.replace("    density", "    build()\n    density").replace(
    "from rend", "from building import build\nfrom rend"
)


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("Wide(Net)", "Wide(Net)", False, id="left off"),
        pytest.param("pooled, tuned=False)\n\n", "pooled, tuned=True)\n\n", True, id="turned on"),
        pytest.param("pooled, tuned=False)\n\n", "pooled, tuned)\n\n", False, id="handed on, and left off"),
        pytest.param("Wide(Net)", "Wide(Net, Mixin)", True, id="with another base"),
        pytest.param("super().__init__(9", "Net.__init__(self, 9", True, id="by its name"),
    ],
)
def test_what_a_derived_class_gives_its_base(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    assert old in DERIVED
    derived = DERIVED.replace(old, new)
    root = application(tmp_path, helper=ASKING, rendering=RENDERING, main=BUILDING, building=derived)
    assert ("rendering.py:TDL003" in found(root)) is is_found


def test_what_a_derived_class_is_given_for_its_base(tmp_path: Path) -> None:
    handing = DERIVED.replace("pooled, tuned=False)\n\n", "pooled, tuned)\n\n").replace(
        "Wider(p", "Wider(tuned=True, p"
    )
    root = application(tmp_path, helper=ASKING, rendering=RENDERING, main=BUILDING, building=handing)
    assert found(root) == ["rendering.py:TDL003"]


TRAINER = """import torch

class Trainer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def test(self, rows, part, path=None):
        rows = self.layer(rows)
        if path is not None:
            rows = rows + torch.arange(3)
        return rows.relu()
"""
LOADING = """import argparse
from helper import place
from trainer import Trainer

def main(args):
    trainer = Trainer().to(place())
    trainer.test(args.rows.to(place()), "val")
    if args.part == "test":
        trainer.test(args.rows.to(place()), args.part)

if __name__ == "__main__":
    main(argparse.ArgumentParser().parse_args())
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="texts of that name"),
        pytest.param("    trainer.test(", "    getattr(trainer, args.part)(", True, id="a text that may be its name"),
        pytest.param("    main(arg", "    print(Trainer.test)\n    main(arg", True, id="read for something else"),
        pytest.param("args.part)", "args.part, args.path)", True, id="given a path"),
    ],
)
def test_a_method_of_whose_name_there_are_texts(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    assert old in LOADING
    main = LOADING.replace(old, new) if old else LOADING
    root = application(tmp_path, helper=ASKING, rendering=RENDERING, main=MAIN, trainer=TRAINER, trying=main)
    assert ("trainer.py:TDL003" in found(root)) is is_found
