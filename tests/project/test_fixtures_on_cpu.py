"""Models that tests have as fixtures: advice where no test speaks of accelerators, be it those of a library."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_published_files import application as written
from tests.project.test_ways import found, inside

__all__ = ["inside"]

CONFTEST = """import pytest
import torch
from torch import nn

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(3, 4)

    def forward(self, x):
        return self.rnn(x, torch.zeros(1, x.shape[1], 4))

class Other(nn.Module):
    def forward(self, x):
        return x if x.is_cuda else x + 1

@pytest.fixture
def tagger():
    return Tagger()
"""
TEST = "def test_sizes(tagger):\n    assert tagger(torch.ones(2, 2, 3))[0].shape == (2, 2, 4)\n"
FOUND = ["conftest.py:TDL003"]


def rows(root: Path, conftest: str, test: str, name: str = "conftest") -> list[str]:
    (root / "pyproject.toml").write_text('[project]\nname = "sizes"\nversion = "1"\n')
    (root / "tests").mkdir(exist_ok=True)
    written(root / "tests", **{name: conftest, "test_sizes": f"import torch\n\n{test}"})
    return found(root)


@pytest.mark.parametrize(
    ("conftest", "test", "expected"),
    [
        pytest.param(CONFTEST, TEST, [], id="on the CPU"),
        pytest.param(CONFTEST, TEST.replace("tagger(torch", "tagger.cuda()(torch"), FOUND, id="a test moves it"),
        pytest.param(CONFTEST, TEST.replace("(tagger", "(tagger, device"), FOUND, id="a test has a device"),
        pytest.param(CONFTEST.replace("return Tagger()", "return Tagger().to(PLACE)"), TEST, FOUND, id="so has it"),
    ],
)
def test_a_model_of_conftest(tmp_path: Path, conftest: str, test: str, expected: list[str]) -> None:
    assert [each for each in rows(tmp_path, conftest, test) if "conftest" in each] == expected


def test_a_model_that_is_no_fixture(tmp_path: Path) -> None:
    """What lies beside the tests may be for others as well."""
    assert rows(tmp_path, CONFTEST, TEST, "nets") == ["nets.py:TDL003"]


@pytest.mark.parametrize(("test", "is_found"), [(f"from helper import place\n\n{TEST}", True), (TEST, False)])
def test_what_tests_import(tmp_path: Path, test: str, is_found: bool) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "helper.py").write_text("def place(net):\n    return net.cuda()\n")
    assert ("conftest.py:TDL003" in rows(tmp_path, CONFTEST, test)) is is_found
