"""Files that say nothing of PyTorch, and have it from other files of their project."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchdevlint.cache import Cache
from torchdevlint.config import Settings
from torchdevlint.engine import check_file, check_paths

HELPERS = """import torch
from torch import nn
class Base(nn.Module):
    pass
class Loader:
    @classmethod
    def read(cls, path):
        return torch.load(path)
def mask(n):
    return torch.ones(n)
def there(n):
    return torch.ones(n, device="cuda")
def name():
    return "a"
"""
SUM = "x = mask(3) + there(3)\n"


def found(root: Path, files: dict[str, str]) -> list[str]:
    for name, text in {"pyproject.toml": "", "helpers.py": HELPERS, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return [each.code for each in check_file(str(root / "main.py"), Settings()).diagnostics]


@pytest.mark.parametrize(
    ("main", "files"),
    [
        (f"from helpers import mask, there\n{SUM}", {}),
        (f"from helpers import *\n{SUM}", {}),
        ("import helpers\nx = helpers.mask(3) + helpers.there(3)\n", {}),
        ("import package.deep as p\nx = p.mask(3) + p.there(3)\n", {"package/deep.py": HELPERS}),
        (f"from package import mask, there\n{SUM}",
         {"package/deep.py": HELPERS, "package/__init__.py": "from .deep import *\n"}),
        (f"from other import mask, there\n{SUM}", {"other.py": "from helpers import *\n"}),
        (f"from other import mask, there\n{SUM}",
         {"other.py": "import helpers\nmask, there = helpers.mask, helpers.there\n"}),
        ("def f():\n    from helpers import mask, there\n    return mask(3) + there(3)\n", {}),
    ],
)  # fmt: skip
def test_what_is_made_by_a_helper_is_seen(tmp_path: Path, main: str, files: dict[str, str]) -> None:
    assert found(tmp_path, {"main.py": main, **files}) == ["TDL004"]


def test_methods_of_classes_elsewhere_are_seen(tmp_path: Path) -> None:
    main = "from other import Reader\nclass Own(Reader):\n    def get(self, path):\n        return self.read(path)\n"
    other = "import helpers\nclass Reader(helpers.Loader):\n    pass\n"
    with_torch = found(tmp_path, {"main.py": f"import torch\n{main}", "other.py": other})
    assert found(tmp_path, {"main.py": main, "other.py": other}) == with_torch


@pytest.mark.parametrize(
    "main",
    [
        "from helpers import name\nname()\n",
        "import os\nimport helpers\nhelpers.name()\n",
        "from missing import x\nx()\n",
    ],
)
def test_files_without_anything_of_it_are_not_analysed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, main: str
) -> None:
    monkeypatch.setattr("torchdevlint.engine._reports", None)
    assert found(tmp_path, {"main.py": main}) == []
    assert not check_file(str(tmp_path / "main.py"), Settings()).problems


def test_what_was_turned_away_is_looked_at_again_when_its_imports_change(tmp_path: Path) -> None:
    root, settings = tmp_path / "project", Settings()
    files = {
        "main.py": f"from other import mask, there\n{SUM}",
        "other.py": "def mask(n):\n    return n\n\n\nthere = mask\n",
    }
    assert found(root, files) == []
    for text, codes in ((files["other.py"], []), ("from helpers import mask, there\n", ["TDL004"]), ("", [])):
        (root / "other.py").write_text(text)
        with Cache(tmp_path / "cache") as cache:
            run = check_paths([str(root / "main.py")], settings, cache=cache)
        assert [each.code for each in run.diagnostics] == codes


@pytest.mark.parametrize(("beside", "codes"), [((), []), (("_C/__init__.pyi",), ["TDL014"])])
def test_a_package_that_is_called_torch_has_tensors_of_its_own(
    tmp_path: Path, beside: tuple[str, ...], codes: list[str]
) -> None:
    """PyTorch itself comes with its C++."""
    functional = "import torch\n\n\ndef noisy(x: torch.Tensor):\n    return x.to(x.device) + torch.rand(x.shape)\n"
    files = {"torch/__init__.py": "class Tensor: ...\n", "torch/nn/functional.py": functional, "setup.py": "setup()\n"}
    for name, text in {**files, **{f"torch/{each}": "" for each in beside}}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    result = check_file(str(tmp_path / "torch/nn/functional.py"), Settings())
    assert [each.code for each in result.diagnostics] == codes


@pytest.mark.parametrize(("around", "codes"), [((), []), (("grids/__init__.py",), ["TDL014"])])
def test_a_part_of_a_package_may_be_called_torch(tmp_path: Path, around: tuple[str, ...], codes: list[str]) -> None:
    """``grids.torch`` is imported by that name, and what it imports as `torch` is PyTorch."""
    noisy = "import torch\n\n\ndef noisy(x: torch.Tensor):\n    return x.to(x.device) + torch.rand(x.shape)\n"
    files = {
        "grids/torch/__init__.py": "from .noise import noisy\n",
        "grids/torch/noise.py": noisy,
        "setup.py": "setup()\n",
    }
    for name, text in {**files, **dict.fromkeys(around, "")}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    result = check_file(str(tmp_path / "grids/torch/noise.py"), Settings())
    assert [each.code for each in result.diagnostics] == codes
