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


ITERATED = """
import torch
from helper import rows

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

class Batches:
    def __init__(self, data, answers, size, place):
        self.data, self.answers = data, answers
        self.at, self.size = 0, size
        self.place = place

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= len(self.data):
            raise StopIteration
        chosen = slice(self.at, self.at + self.size)
        self.at += self.size
        return self.data[chosen].to(self.place), self.answers[chosen].to(self.place)

batches = Batches(torch.tensor(rows()), torch.ones(1), 4, device)

def fit(net):
    for batch in batches:
        x, y = batch
        y = y.unsqueeze(1).float()
        y.to(device)
        torch.nn.functional.mse_loss(net(x), y).backward()

fit(torch.nn.Linear(3, 1).to(device))
"""
GENERATOR = """    def __iter__(self):
        for x, y in zip(self.data, self.answers):
            yield x.to(device), y.to(device)
"""
HERE = """def moved(data):
    for x, y in data:
        yield x.to(device), y.to(device)

batches = moved([(torch.tensor(rows()), torch.ones(1))])
"""
BUILT = "batches = Batches(torch.tensor(rows()), torch.ones(1), 4, device)\n"
ITER = """    def __iter__(self):
        return self
"""
NEXT = ITERATED[ITERATED.index("    def __next__") : ITERATED.index("\nbatches = ")]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("", "", [], id="by the device that it keeps"),
        pytest.param(".to(self.place)", ".to(device)", [], id="in the same words"),
        pytest.param(ITER + "\n" + NEXT, GENERATOR, [], id="a generator"),
        pytest.param(BUILT, HERE, [], id="a generator of the file"),
        pytest.param("for batch in batches", "for batch in iter(batches)", [], id="asked for an iterator"),
        pytest.param(BUILT, HERE.replace("y.to(device)", "y"), LOST, id="a generator that moves the other part"),
        pytest.param("self.answers[chosen].to(self.place)", "self.answers[chosen]", LOST, id="the other part"),
        pytest.param("4, device)", "4, torch.device('cpu'))", LOST, id="another device"),
        pytest.param("self.place = place", "self.place = None", LOST, id="a device that it does not keep"),
    ],
)
def test_a_lost_move_of_what_an_own_iterator_gives(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    assert old in ITERATED
    main = ITERATED.replace(old, new) if old else ITERATED
    assert found(application(tmp_path, helper=HELPER, main=main)) == expected


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


POLICY = """
class Policy(torch.nn.Module):
    def __init__(self, size, mean):
        super().__init__()
        self.mean = mean.to(device)
        if size > 1:
            MADE
            self.spread.to(device)
        else:
            self.spread = torch.zeros(size, device=device)

    def forward(self, x):
        return (x - self.mean) * self.spread

if __name__ == "__main__":
    print(Policy(3, torch.ones(3))(torch.ones(3, device=device)))
"""


@pytest.mark.parametrize(
    ("made", "is_found"),
    [
        ("self.spread = torch.nn.Parameter(torch.zeros(size, device=device))", False),
        ("self.spread = torch.nn.Parameter(torch.ones(size).to(device).float())", False),
        ("self.spread = torch.nn.Parameter(torch.zeros(size, device=device))\n            print(size)", False),
        ("self.spread = torch.nn.Parameter(torch.zeros(size))", True),
        ("self.spread = torch.zeros(size, device='cpu')", True),
        ("self.spread = torch.zeros(size, device=device) + torch.ones(size)", True),
        ("self.spread = torch.zeros(size, device=device)\n            self.spread = torch.ones(size)", True),
        ("self.spread = torch.zeros(size, device=device)\n            device = mean.device", True),
    ],
)
def test_a_lost_move_of_what_was_just_made_there(tmp_path: Path, made: str, is_found: bool) -> None:
    """Be it in what others use: the lines right before are known whoever calls them."""
    root = application(tmp_path, helper=HELPER, main=HEAD + POLICY.replace("MADE", made))
    assert ("main.py:TDL001" in found(root)) is is_found
    assert "main.py:TDL001" in found(root, "TDL001")
