"""Fixes against the torch that a project asks for: none where it has not what the fix writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.casefile import lint, read_cases, settings_for
from torchdevlint.config import Settings
from torchdevlint.engine import check_paths
from torchdevlint.flow.knowledge.releases import SINCE
from torchdevlint.model import Diagnostic

FACTORY = """\
from torch import nn
import torch


class Scaled(nn.Module):
    def __init__(self):
        super(Scaled, self).__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        offset = torch.zeros(3)
        return self.layer(x) + offset
"""
BUFFER = """\
import torch
from torch import nn


class Shifted(nn.Module):
    def __init__(self):
        super().__init__()
        self.offset = torch.arange(4)

    def forward(self, x):
        return x + self.offset
"""
OLD = {"requirements.txt": "numpy\ntorch==0.3.1\n"}


def found(tmp_path: Path, code: str, files: dict[str, str]) -> Diagnostic:
    for name, text in {"setup.cfg": "", **files}.items():
        (tmp_path / name).write_text(text)
    path = tmp_path / "model.py"
    path.write_text(code)
    (only,) = check_paths([str(path)], Settings()).diagnostics
    return only


@pytest.mark.parametrize(
    "files",
    [
        OLD,
        {"requirements.txt": "torch==0.3.1.post2  # of Python 2\n"},
        {"requirements.txt": "https://download.pytorch.org/whl/cu80/torch-0.3.1-cp27-cp27mu-linux_x86_64.whl\n"},
        {"setup.py": "from setuptools import setup\nsetup(name='m', install_requires=['torch>=0.2,<0.4'])\n"},
        {"environment.yml": "dependencies:\n  - pytorch=0.3.1=py36_cuda9\n"},
        {"pyproject.toml": '[tool.poetry.dependencies]\ntorch = "^0.3.0"\n'},
        {"README.md": "Needs PyTorch 0.3 and Python 2.7.\n"},
    ],
)
def test_an_old_release_has_no_device(tmp_path: Path, files: dict[str, str]) -> None:
    one = found(tmp_path, FACTORY, files)
    assert one.fix is None
    assert f"since 0.4, and {next(iter(files))} asks for torch" in one.help


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"requirements.txt": "torch\n"},
        {"requirements.txt": "torch==1.5.0\ntorchvision==0.2\n"},
        {"requirements.txt": "torch>=0.4\n"},
        {"requirements.txt": "# torch==0.3.1\ntorch>=1.0\n"},
        {"requirements.txt": "pytorch-lightning==0.3\n"},
        {"requirements.txt": "torch==0.3.1\n", "environment.yml": "dependencies:\n  - pytorch>=1.0\n"},
        {"requirements.txt": "torch\n", "README.md": "Needs PyTorch 0.3+.\n"},
        {"README.md": "PyTorch 0.3 or newer\n"},
        {"README.md": "Written with PyTorch 0.3, runs with PyTorch 1.4.\n"},
    ],
)
def test_a_newer_one_has(tmp_path: Path, files: dict[str, str]) -> None:
    one = found(tmp_path, FACTORY, files)
    assert one.fix is not None
    assert "there is no fix" not in one.help


def test_a_demand_that_the_file_itself_has_left_behind(tmp_path: Path) -> None:
    assert found(tmp_path, f"{FACTORY}\n\nHERE = torch.device('cpu')\n", OLD).fix is not None


def test_what_only_some_releases_have_is_not_safe(tmp_path: Path) -> None:
    assert found(tmp_path, FACTORY, {"requirements.txt": "torch>=1.0\n"}).fix.applicability == "safe"  # type: ignore[union-attr]
    assert found(tmp_path, FACTORY, {"requirements.txt": "torch>=0.3\n"}).fix.applicability == "unsafe"  # type: ignore[union-attr]


@pytest.mark.parametrize(("demand", "there"), [("torch==1.5.1", False), ("torch==1.6.0", True), ("torch<1.6", False)])
def test_buffers_that_are_not_saved_came_later(tmp_path: Path, demand: str, there: bool) -> None:
    one = found(tmp_path, BUFFER, {"requirements.txt": demand})
    assert (one.fix is not None) is there
    assert ("since 1.6" in one.help) is not there


AS_OLD_AS_TORCH = frozenset(
    """
    cpu cuda float long double detach mean state_dict load_state_dict module register_buffer ModuleList ParameterList
    is_available current_accelerator Generator data grad parameters weight next getattr eval str map join
    environ unwrap_model type cuda is_cuda
    """.split()
)
"""What fixes call, and torch, or Python, has always had; or what stands in the table under a longer name."""


@pytest.mark.slow
def test_the_table_has_all_that_the_fixes_of_all_cases_write() -> None:
    """No name of an attribute, a call or an argument that the code did not say and no line of the table finds."""
    unknown: dict[str, str] = {}
    for case in read_cases():
        for one in lint(case.code, settings_for(case.rule)) if case.want else ():
            for edit in one.fix.edits if one.fix and one.code < "TDL900" else ():
                bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", edit.content)
                words = re.findall(r"(?<=\.)[^\W\d]\w*|[^\W\d]\w*(?=\(|=[^=])", bare)
                known = any(each.written.search(edit.content) for each in SINCE)
                for word in words:
                    if word not in case.code and word not in AS_OLD_AS_TORCH and not known:
                        unknown[word] = f"{one.code}: {edit.content}"
    assert not unknown
