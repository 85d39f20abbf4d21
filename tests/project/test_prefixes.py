"""The prefix of a wrapper, which another file takes off the keys where it reads what was saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_writers import project
from torchdevlint.config import Settings
from torchdevlint.engine import check_paths

TRAIN = """import torch
from torch import nn

net = nn.DataParallel(nn.Linear(3, 3)).cuda()
torch.save(net.state_dict(), "net.pt")
"""
READ = """import torch
from torch import nn

keys = torch.load("net.pt", map_location="cpu")
net = nn.Linear(3, 3)
net.load_state_dict({})
"""


def reported(root: Path) -> list[str]:
    files = [path.as_posix() for path in sorted(root.rglob("*.py"))]
    found = check_paths(files, Settings(root=root, select=("TDL202",)), jobs=1).diagnostics
    return sorted(Path(each.filename).name for each in found)


@pytest.mark.parametrize(
    "stripped",
    [
        "{k.replace('module.', ''): v for k, v in keys.items()}",
        "{k[7:]: v for k, v in keys.items()}",
        "{k[7:] if k.startswith('module') else k: v for k, v in keys.items()}",
        "{k.removeprefix('module.'): v for k, v in keys.items()}",
    ],
)
def test_the_reader_takes_the_prefix_off(tmp_path: Path, stripped: str) -> None:
    assert reported(project(tmp_path, train=TRAIN, read=READ.replace("{}", stripped))) == []


@pytest.mark.parametrize("taken", ["keys", "{k[6:]: v for k, v in keys.items()}", "keys['module']"])
def test_the_reader_takes_the_keys_as_they_are(tmp_path: Path, taken: str) -> None:
    assert reported(project(tmp_path, train=TRAIN, read=READ.replace("{}", taken))) == ["train.py"]


WRAPPING = READ.replace("{}", "keys").replace("nn.Linear(3, 3)", "nn.DataParallel(nn.Linear(3, 3))")


def test_all_readers_wrap_their_models_as_well(tmp_path: Path) -> None:
    root = project(tmp_path, train=TRAIN, read=WRAPPING)
    assert reported(root) == []
    (root / "serve.py").write_text(READ.replace("{}", "keys"))
    assert reported(root) == ["train.py"]


def test_a_reader_wraps_its_model_in_one_case(tmp_path: Path) -> None:
    asked = WRAPPING.replace("net = nn", "net = nn.Linear(3, 3)\nif torch.cuda.is_available():\n    net = nn")
    assert reported(project(tmp_path, train=TRAIN, read=asked)) == ["train.py"]


TWO = """import torch
from torch import nn

def evaluate(width):
    base = nn.Linear(3, 3)
    base.load_state_dict(torch.load("base.pt", map_location="cpu"))
    net = nn.Linear(3, 3)
    net = nn.DataParallel(net)
    keys = torch.load(f"nets/net_{width}.pt", map_location="cpu")
    net.load_state_dict(keys)
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("    net = nn.DataParallel(net)", "    if width:\n        net = nn.DataParallel(net)", ["train.py"]),
        ("nn.DataParallel(net)", "nn.DataParallel(net).cuda().eval()", []),
        ("    keys =", "    net = net.cuda()\n    keys =", []),
        ("    net = nn.DataParallel(net)\n", "    net = net.cuda()\n", ["train.py"]),
        ("    net = nn.DataParallel(net)\n", "", ["train.py"]),
        ("base.pt", "net_base.pt", ["train.py"]),
        ('"base.pt"', "width", ["train.py"]),
        ("net_{width}", "other_{width}", ["train.py"]),
        ("net.load_state_dict(keys)", "net.load_state_dict(dict(keys))", ["train.py"]),
    ],
)
def test_who_reads_files_of_that_name_wraps_the_model(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    """Another model of the same program, from another file, is not wrapped."""
    train = TRAIN.replace('"net.pt"', 'f"nets/net_{3}.pt"')
    assert reported(project(tmp_path, train=train, read=TWO.replace(old, new) if old else TWO)) == expected
