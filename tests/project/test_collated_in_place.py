"""Batches of a loader that another file builds are advice where all loaders of the project collate on a device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

TRAINER = """import torch
from torch import nn

class Trainer:
    def __init__(self, model, train_loader, device):
        self.model = model.to(device)
        self.train_loader = train_loader

    def run(self):
        for x, y in self.train_loader:
            nn.functional.cross_entropy(self.model(x), y).backward()
"""
COLLATE = """import torch

class Collator:
    def __init__(self, device):
        self.device = device

    def __call__(self, samples):
        x, y = zip(*samples)
        return torch.tensor(x, device=self.device), torch.tensor(y, device=self.device)
"""
MAIN = """import torch
from torch import nn
from torch.utils.data import DataLoader
from trainer import Trainer
from collate import Collator

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
rows = [([1.0, 2.0], 1)] * 10
collator = Collator(device)
loader = DataLoader(rows, batch_size=2, collate_fn=collator)
Trainer(nn.Linear(2, 2), loader, device).run()
"""
LEFT = ["trainer.py:TDL005"]
PLAIN = "from torch.utils.data import DataLoader\n\nprint(len(DataLoader([1, 2])))\n"


@pytest.mark.parametrize(
    ("old", "new", "other", "expected"),
    [
        pytest.param("", "", "", [], id="by an object"),
        pytest.param("=collator)", "=lambda rows: collate(rows, device))", "", [], id="by a function"),
        pytest.param(", collate_fn=collator", "", "", LEFT, id="by default"),
        pytest.param("Collator(device)", "Collator('cpu')", "", LEFT, id="on the host"),
        pytest.param("", "", PLAIN, LEFT, id="beside another loader"),
    ],
)
def test_batches_of_a_loader_of_another_file(
    tmp_path: Path, old: str, new: str, other: str, expected: list[str]
) -> None:
    main = MAIN.replace(old, new) if old else MAIN
    root = application(tmp_path, trainer=TRAINER, collate=COLLATE, main=main, other=other)
    assert found(root) == expected
    assert found(root, "TDL005") == LEFT


DATA = """import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, rows, device):
        self.rows = torch.tensor(rows).to(device)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index], 1

def loader_of(rows, device):
    return DataLoader(Rows(rows, device), batch_size=2)
"""
BUILDING = """import torch
from torch import nn
from data import loader_of
from trainer import Trainer

where = torch.device("cuda" if torch.cuda.is_available() else "cpu")
Trainer(nn.Linear(2, 2), loader_of([[1.0, 2.0]] * 10, where), where).run()
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("", "", [], id="a data set places its rows"),
        pytest.param(".to(device)", "", LEFT, id="no data set places anything"),
        pytest.param(".to(device)", ".to('cpu')", LEFT, id="on the host"),
        pytest.param(".to(device)", ".to(torch.float32)", LEFT, id="a dtype"),
    ],
)
def test_rows_of_a_data_set_of_another_file(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    data = DATA.replace(old, new) if old else DATA
    root = application(tmp_path, trainer=TRAINER, data=data, main=BUILDING, other="A = 1\n")
    assert found(root) == expected


USING = """import torch
from torch.utils.data import DataLoader
from warping import DEVICE

def test(rows, model=None):
    model = model.to(DEVICE)
    model.eval()
    for batch in DataLoader(rows):
        x = torch.reshape(batch["x"], (3, 3)).to(DEVICE)
        pose = torch.reshape(batch["pose"], (3, 3))
        out = model(x, pose)
        print(out.sum().item())
"""
STEREO = """import torch
from torch import nn
from warping import warped

class Stereo(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x, pose):
        return warped(self.layer(x), pose)
"""
WARPING = """import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def warped(maps, pose):
    return maps * pose[0].to(DEVICE)
"""
TESTING = """from stereo import Stereo
from using import test

test([1, 2], Stereo())
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="a function that it is handed on to moves a part"),
        pytest.param("pose[0].to(DEVICE)", "pose[0]", True, id="nothing moves it"),
        pytest.param("pose[0].to(DEVICE)", "pose[0].to(maps.dtype)", True, id="a dtype"),
    ],
)
def test_what_a_model_of_another_file_moves(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    warping = WARPING.replace(old, new) if old else WARPING
    root = application(tmp_path, using=USING, stereo=STEREO, warping=warping, main=TESTING, other="A = 1\n")
    assert ("using.py:TDL005" in found(root)) is is_found


KEYED = """import torch
from torch import nn
from torch.utils.data import DataLoader

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def test(rows, name):
    model = getattr(__import__(name), name)().to(DEVICE)
    for batch in DataLoader(rows):
        y = batch["y"].to(DEVICE)
        out = model(batch["user"])
        print(nn.functional.cross_entropy(out, y).item())
"""
USER = """import torch
from torch import nn

class user_net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, user):
        device = next(self.parameters()).device
        return self.layer(user.to(device))
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="it is moved"),
        pytest.param("user.to(device)", "user", True, id="nothing moves it"),
        pytest.param("forward(self, user)", "forward(self, item, user=None)", False, id="as one of two"),
        pytest.param("user", "item", False, id="under another name"),
    ],
)
def test_a_part_that_a_model_moves_by_its_key(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    net = USER.replace(old, new) if old else USER
    root = application(tmp_path, using=KEYED, user_net=net, main="from using import test\n\ntest([1], 'user_net')\n")
    assert ("using.py:TDL005" in found(root)) is is_found


STEP = """import torch

def run(model, train_loader, device):
    model.to(device)
    for batch in train_loader:
        model(batch["x"], batch["rows"]).sum().backward()

def run_part(model, train_loader, device):
    model.to(device)
    for batch in train_loader:
        model(batch["x"].to(device), batch["mask"]).sum().backward()
"""
MOVING = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.device = device
        self.fc = nn.Linear(2, 2)

    def forward(self, features, counts):
        return self.fc(features.to(self.device)) + counts
"""
OF_TWO = ["step.py:TDL005", "step.py:TDL005"]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        pytest.param(MOVING, OF_TWO[:1], id="as models of the project do"),
        pytest.param(MOVING.replace(".to(self.device)", ""), OF_TWO, id="as no model does"),
    ],
)
def test_a_model_that_is_not_known_may_bring_what_it_gets(tmp_path: Path, model: str, expected: list[str]) -> None:
    root = application(tmp_path, step=STEP, net=model, main="from step import run, run_part\n\nprint(run, run_part)\n")
    assert found(root) == expected
    assert found(root, "TDL005") == OF_TWO
