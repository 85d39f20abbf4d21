"""Checkpoints that Ray Tune gives back to the trial which has saved them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import ASKING, found, inside

__all__ = ["inside"]

TUNING = """import os
import torch
from helper import place
from ray import tune
from torch import nn

def fit(config, checkpoint_dir=None):
    net = nn.Linear(3, 3).to(place())
    if checkpoint_dir:
        checkpoint = os.path.join(checkpoint_dir, "checkpoint")
        net.load_state_dict(torch.load(checkpoint))
    for epoch in range(3):
        with tune.checkpoint_dir(step=epoch) as checkpoint_dir:
            torch.save(net.state_dict(), os.path.join(checkpoint_dir, "checkpoint"))

if __name__ == "__main__":
    print(tune.run(fit, max_failures=2))
"""
ASKED = """import os
import torch
from helper import place
from ray import train, tune
from torch import nn

def fit(config):
    net = nn.Linear(3, 3).to(place())
    checkpoint = train.get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as folder:
            net.load_state_dict(torch.load(os.path.join(folder, "net.pt")))
    train.report({"loss": 3})

if __name__ == "__main__":
    print(tune.Tuner(fit).fit())
"""


@pytest.mark.parametrize(
    ("text", "old", "new", "is_found"),
    [
        (TUNING, "", "", False),
        (TUNING, "max_failures=2", "resume=True", True),
        (TUNING, "print(tune", 'fit({}, checkpoint_dir="runs/3")\n    print(tune', True),
        (TUNING, "tune.checkpoint_dir(step=epoch)", "os.scandir(config)", True),
        (TUNING, 'os.path.join(checkpoint_dir, "checkpoint")\n        net', 'config["path"]\n        net', True),
        (ASKED, "", "", False),
        (ASKED, "train.get_checkpoint()", 'config["checkpoint"]', True),
        (ASKED, 'os.path.join(folder, "net.pt")', 'config["weights"]', True),
    ],
    ids=["given", "resumed", "by hand", "no context", "another file", "asked for", "of somebody else", "other weights"],
)
def test_what_ray_gives(tmp_path: Path, text: str, old: str, new: str, is_found: bool) -> None:
    root = application(tmp_path, helper=ASKING, main=text.replace(old, new))
    assert ("main.py:TDL201" in found(root)) is is_found


def test_what_is_read_after_the_tuning(tmp_path: Path) -> None:
    """The best trial may have had a GPU where the program that reads has none."""
    later = """
    best = tune.run(fit).get_best_trial("loss").checkpoint.value
    net = nn.Linear(3, 3)
    net.load_state_dict(torch.load(os.path.join(best, "checkpoint")))
"""
    root = application(tmp_path, helper=ASKING, main=TUNING + later)
    assert found(root) == ["main.py:TDL201"]
