"""A batch that stays is advice where all callers of a function wrap the model in what scatters its inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

TRAINING = """from torch import nn

def train_epoch(loader, model, device):
    model.train()
    for inputs, targets in loader:
        targets = targets.to(device, non_blocking=True)
        outputs = model(inputs)
        nn.functional.cross_entropy(outputs, targets).backward()
"""
WRAPPING = """import torch
from torch import nn

def make_parallel(model, is_distributed, device):
    if is_distributed:
        if device.type == "cuda" and device.index is not None:
            torch.cuda.set_device(device)
            model.to(device)
            model = nn.parallel.DistributedDataParallel(model, device_ids=[device])
        else:
            model.to(device)
            model = nn.parallel.DistributedDataParallel(model)
    elif device.type == "cuda":
        model = nn.DataParallel(model, device_ids=None).cuda()
    return model
"""
MAIN = """import torch
from torch import nn
from torch.utils.data import DataLoader
from training import train_epoch
from wrapping import make_parallel

def main(is_distributed, resumed):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(2, 2)
    if resumed:
        model = torch.load("model.pt", map_location="cpu")
    model = make_parallel(model, is_distributed, device)
    loader = DataLoader([([1.0, 2.0], 1)] * 10, batch_size=2)
    train_epoch(loader, model, device)

if __name__ == "__main__":
    main(False, False)
"""
LEFT = ["training.py:TDL005"]
PLAIN = MAIN.replace("make_parallel(model, is_distributed, device)", "model.to(device)")


def left(root: Path) -> list[str]:
    return [each for each in found(root) if each in LEFT]


@pytest.mark.parametrize(
    ("old", "new", "other", "expected"),
    [
        pytest.param("", "", "", [], id="by a function"),
        pytest.param(
            "make_parallel(model, is_distributed, device)", "nn.DataParallel(model).to(device)", "", [], id="here"
        ),
        pytest.param("make_parallel(model, is_distributed, device)", "model.to(device)", "", LEFT, id="by nothing"),
        pytest.param("    model = make", "    if resumed:\n        model = make", "", LEFT, id="in some case"),
        pytest.param("loader, model,", "loader, model.module,", "", LEFT, id="what is inside of it"),
        pytest.param("", "", PLAIN, LEFT, id="another program does not"),
    ],
)
def test_who_wraps_the_model(tmp_path: Path, old: str, new: str, other: str, expected: list[str]) -> None:
    root = application(
        tmp_path, training=TRAINING, wrapping=WRAPPING, main=MAIN.replace(old, new), other=other or "print(1)\n"
    )
    assert left(root) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("    elif", "    if", [], id="one after the other"),
        pytest.param(", device_ids=[device]", "", LEFT, id="of a process, which moves no inputs"),
        pytest.param('elif device.type == "cuda"', "elif model.training", LEFT, id="if something else says so"),
    ],
)
def test_what_a_function_wraps(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    root = application(tmp_path, training=TRAINING, wrapping=WRAPPING.replace(old, new), main=MAIN, other="print(1)\n")
    assert left(root) == expected
