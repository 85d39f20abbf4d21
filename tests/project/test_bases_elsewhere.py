"""Classes below a base of another file: what its constructor keeps is kept for each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_across_files import Files

BASE = """
    from torch.utils.data import DataLoader

    class Base:
        def __init__(self, model, data, device):
            self.device = device
            self.model = model.to(device)
            self.loader = DataLoader(data)
"""
BELOW = """
    from base import Base

    class First(Base):
        def train(self):
            for x, y in self.loader:
                print(self.model(x.to(self.device)))

    class Second(Base):
        def evaluate(self):
            for x, y in self.loader:
                print(self.model(x))

    def main(model, data, device):
        First(model, data, device).train()
        Second(model, data, device).evaluate()
"""


@pytest.fixture
def project(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_what_a_base_keeps_is_kept_for_the_second_class_below_it_as_well(project: Files) -> None:
    assert project({"base.py": BASE, "below.py": BELOW})["below.py"] == {(11, "TDL005")}


def test_near_misses(project: Files) -> None:
    stays = BASE.replace("model.to(device)", "model")
    moved = BELOW.replace("self.model(x))", "self.model(x.to(self.device)))")
    assert not project({"base.py": stays, "below.py": BELOW}).get("below.py")
    assert not project({"base.py": BASE, "below.py": moved}).get("below.py")
