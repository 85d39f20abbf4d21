"""Loads followed by what asks an attribute that no object of the class has: nobody ever came further."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

FILTERS = """import torch
from torch import nn

class Known(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = nn.Linear(3, 3)

class Filter(Known):
    limit = 3

    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)

    def save(self):
        torch.save(self.state_dict(), "filter.pth")

    def forward(self, x):
        return self.net(x)

    def train_all(self, rows, resume):
        if resume:
            saved = torch.load("filter.pth")
            self.model.load_state_dict(saved["model"])
        return [self(each) for each in rows]
"""
MAIN = """import argparse
import torch
from filters import Filter

device = "cuda" if torch.cuda.is_available() else "cpu"
parser = argparse.ArgumentParser()
parser.add_argument("--resume", action="store_true")
filters = Filter().to(device)
filters.train_all([torch.ones(3, device=device)], parser.parse_args().resume)
filters.save()
"""
ASKED = 'self.model.load_state_dict(saved["model"])'


def test_an_attribute_that_nothing_gives_the_object(tmp_path: Path) -> None:
    root = application(tmp_path, filters=FILTERS, main=MAIN)
    assert found(root) == []
    assert found(root, "TDL201") == ["filters.py:TDL201"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("self.model(saved)", []),
        ("self.load_state_dict(saved)", ["filters.py:TDL201"]),
        ("self.save()", ["filters.py:TDL201"]),
        ("self.register_parameter('model', saved)", ["filters.py:TDL201"]),
    ],
    ids=["what it has not", "what Modules have", "its own method", "what registers"],
)
def test_an_attribute_that_is_called(tmp_path: Path, asked: str, expected: list[str]) -> None:
    assert found(application(tmp_path, filters=FILTERS.replace(ASKED, asked), main=MAIN)) == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.model", "self.net"),
        ("self.model", "self.kept"),
        ("self.model", "self._model"),
        ("self.model", "self.kept['model']"),
        ("self.model", "self.kept[0].model"),
        ("    limit = 3\n", "    limit = 3\n    model = nn.Linear(3, 3)\n"),
        ("    limit = 3\n", "    limit = 3\n\n    @property\n    def model(self):\n        return self.net\n"),
        ("        return self.net(x)", "        self.model = x\n        return self.net(x)"),
        ("        return self.net(x)", "        setattr(self, 'mo' + 'del', x)\n        return self.net(x)"),
        ("class Known(nn.Module)", "class Known(nn.Module, Base)"),
        (ASKED, f"if hasattr(self, 'model'):\n                {ASKED}"),
        (ASKED, f"try:\n                {ASKED}\n            except AttributeError:\n                pass"),
        (ASKED, f"if resume > 1:\n                {ASKED}"),
    ],
)
def test_what_the_object_may_have(tmp_path: Path, old: str, new: str) -> None:
    text = FILTERS.replace("import nn\n", "import nn\nfrom bases import Base\n") if "Base" in new else FILTERS
    assert found(application(tmp_path, filters=text.replace(old, new), main=MAIN)) == ["filters.py:TDL201"]


@pytest.mark.parametrize(
    "line",
    [
        "filters.model = filters.net\n",
        "Filter.model = torch.nn.Linear(3, 3)\n",
        "setattr(filters, 'model', filters.net)\n",
        "class Special(Filter):\n    pass\n",
    ],
)
def test_what_another_file_may_give_it(tmp_path: Path, line: str) -> None:
    main = MAIN.replace("filters.train_all", f"{line}filters.train_all")
    assert found(application(tmp_path, filters=FILTERS, main=main)) == ["filters.py:TDL201"]


def test_what_another_class_keeps_for_itself(tmp_path: Path) -> None:
    main = MAIN.replace("device =", "class Other:\n    def __init__(self):\n        self.model = 3\n\ndevice =", 1)
    assert found(application(tmp_path, filters=FILTERS, main=main)) == []
