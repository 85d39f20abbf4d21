"""Lost moves of what is on the device already, before it was pickled too, or goes there in the next line: advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

HEAD = """import pickle
import torch
from helper import rows

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""
BATCHES = """
def batches(rows):
    found, answers = [], []
    for row in rows:
        x = torch.tensor(row, device=device)
        found.append(x)
        answers.append(x.sum().to(device=device))
    return found, answers
"""
ACCURACY = """
def accuracy(net, xs, ys):
    right = 0
    for x, y in zip(xs, ys):
        x.to(device)
        right += (net(x.to_dense()) == 1).sum().item()
    return right

net = torch.nn.Linear(3, 3).to(device)
"""
HELPER = "def rows():\n    return [[1.0, 2.0, 3.0]]\n"
RUN = """xs, ys = batches(rows())
kept = []
for at in range(len(xs)):
    kept.append(xs[at])
test = xs[:1]
print(accuracy(net, kept, ys), accuracy(net, test + kept, ys))
"""
LOST = ["main.py:TDL001"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("torch.tensor(row, device=device)", "torch.tensor(row)", LOST),
        ("torch.tensor(row, device=device)", "torch.tensor(row).to(torch.float32)", LOST),
        ("kept = []", "kept = [torch.ones(3)]", LOST),
        ("accuracy(net, test + kept, ys)", "accuracy(net, [torch.tensor(each) for each in rows()], ys)", LOST),
        ("accuracy(net, test + kept, ys)", "list(map(accuracy, [net], [xs], [ys]))", LOST),
        ("for x, y in zip(xs, ys)", "for n, (x, y) in enumerate(zip(xs, ys))", []),
        ("for x, y in zip(xs, ys)", "for y, x in zip(ys, xs)", []),
        ("return found, answers", "return found + [torch.ones(3)], answers", LOST),
    ],
    ids=["placed", "made on the CPU", "converted", "one of the CPU", "another caller", "handed on", "counted", "turned",
         "with another"],
)  # fmt: skip
def test_a_lost_move_of_what_callers_have_moved(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    main = HEAD + BATCHES + ACCURACY + RUN
    assert old in main
    root = application(tmp_path, helper=HELPER, main=main.replace(old, new) if old else main)
    assert found(root) == expected
    assert "main.py:TDL001" in found(root, "TDL001")


def test_a_lost_move_where_another_file_calls(tmp_path: Path) -> None:
    main = HEAD + BATCHES + ACCURACY + RUN
    other = "import torch\nfrom main import accuracy, net\n\nprint(accuracy(net, [torch.ones(3)], [1]))\n"
    assert found(application(tmp_path, helper=HELPER, main=main, other=other)) == LOST


WRITE = """xs, ys = batches(rows())
with open("xs.pkl", "wb") as file:
    pickle.dump(xs[1:], file)
"""
READ = """with open("xs.pkl", "rb") as file:
    xs = pickle.load(file)
print(accuracy(net, xs, [0] * len(xs)))
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("pickle.dump(xs[1:], file)", "pickle.dump([x.cpu() for x in xs], file)", LOST),
        ("pickle.dump(xs[1:], file)", "print(xs, file)", LOST),
        ("torch.tensor(row, device=device)", "torch.tensor(row)", LOST),
    ],
    ids=["moved before", "brought back", "not pickled", "made on the CPU"],
)
def test_a_lost_move_of_what_was_pickled(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    """`pickle` brings a tensor back to where it was; what nobody in the project has moved may be from anywhere."""
    writing = HEAD + BATCHES + WRITE
    assert old in writing
    changed = writing.replace(old, new) if old else writing
    root = application(tmp_path, helper=HELPER, writing=changed, main=HEAD + ACCURACY + READ)
    assert found(root) == expected
    assert "main.py:TDL001" in found(root, "TDL001")


LABELS = """
def train(net, loader, loss):
    total = 0
    for x, y in loader:
        y.to(device)
        out = net(x.to(device))
        {line}
        total += loss(out, y).item()
    return total

if __name__ == "__main__":
    data = torch.utils.data.TensorDataset(torch.tensor(rows()), torch.zeros(1))
    net = torch.nn.Linear(3, 3).to(device)
    print(train(net, torch.utils.data.DataLoader(data), torch.nn.CrossEntropyLoss()))
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("y = y.type(torch.LongTensor).to(device)", []),
        ("y = y.to(device)", []),
        ("y = y.long()", LOST),
        ("y = (y + out.sum()).to(device)", LOST),
        ("z = y.to(device)", LOST),
        ("if total: y = y.to(device)", LOST),
        ("print(y == out); y = y.to(device)", LOST),
    ],
    ids=["converted and moved", "moved", "converted", "calculated first", "another name", "perhaps", "read before"],
)
def test_a_lost_move_that_a_later_line_makes(tmp_path: Path, line: str, expected: list[str]) -> None:
    root = application(tmp_path, helper=HELPER, main=HEAD + LABELS.format(line=line))
    assert [each for each in found(root) if "TDL001" in each] == expected
    assert "main.py:TDL001" in found(root, "TDL001")
