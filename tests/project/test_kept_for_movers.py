"""Lost moves at the top level of a script, of what is only kept by objects that move what they read: advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

MAIN = """import torch
from helper import rows

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

labels = torch.tensor(rows())
print(labels.sum())
labels.to(device)


class Batches:
    def __init__(self, answers, size):
        self.answers = answers
        self.size = size
        self.order = torch.randperm(answers.shape[0])

    def all(self):
        for at in range(0, len(self.answers), self.size):
            chosen = self.order[at : at + self.size]
            yield self.answers[chosen].to(device)


batches = Batches(labels, size=4)
count = labels.unique().shape[0]
weight = torch.ones(3, device=device)


def run():
    labels = [each for each in batches.all()]
    for each in labels:
        print(each * weight)


run()
"""
HELPER = "def rows():\n    return [[1.0, 2.0, 3.0]]\n"
LOST = ["main.py:TDL001"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("", "", [], id="moved by the object"),
        pytest.param("Batches(labels, size=4)", "Batches(answers=labels, size=4)", [], id="by name"),
        pytest.param("self.answers[chosen].to(device)", "self.answers[chosen]", LOST, id="left by the object"),
        pytest.param("torch.randperm(answers.shape[0])", "torch.randperm(answers.shape[0], device=device)", LOST,
                     id="by an index on the device"),
        pytest.param("self.size = size", "self.size = answers.sum()", LOST, id="read by the constructor"),
        pytest.param("print(each * weight)", "print(each * weight, batches.answers * weight)", LOST,
                     id="asked of the object"),
        pytest.param("count = labels.unique().shape[0]", "count = labels.unique()", LOST, id="read beside"),
        pytest.param("    labels = [each for each in batches.all()]\n    for each in labels:",
                     "    for each in labels:", LOST, id="read by a function"),
        pytest.param("    labels = [each", "    global labels\n    labels = [each", LOST, id="bound by a function"),
    ],
)  # fmt: skip
def test_a_lost_move_of_what_an_object_moves(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    assert old in MAIN
    assert found(application(tmp_path, helper=HELPER, main=MAIN.replace(old, new) if old else MAIN)) == expected


def test_a_lost_move_of_what_another_file_imports(tmp_path: Path) -> None:
    other = "from main import labels, weight\n\nprint(labels * weight)\n"
    assert found(application(tmp_path, helper=HELPER, main=MAIN, other=other)) == LOST
