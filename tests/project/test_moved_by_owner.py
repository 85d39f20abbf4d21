"""Inputs that an object sends to the current GPU, for a model of another file: where its class puts the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import written
from tests.project.test_ways import found, inside

__all__ = ["inside"]

NET = """import torch.nn as nn
from torchvision.models import resnet50


class Net(nn.Module):
    def __init__(self, config, vocab):
        super().__init__()
        self.kind = config["kind"]
        if self.kind == "resnet50":
            self.encoder = resnet50(pretrained=True)
        elif self.kind == "custom":
            self.encoder = nn.Linear(3, 3)
        else:
            raise ValueError("Invalid model type")
        self.embedding = nn.Embedding(3, 3)
        self.norm = nn.BatchNorm1d(3)

    def forward(self, images, captions, lengths, teacher_forcing=False):
        encoded = self.norm(self.encoder(images))
        return encoded + self.embedding(captions)


def get_model(config, vocab):
    return Net(config, vocab)
"""
MAIN = """import torch
from net import get_model


class Experiment:
    def __init__(self, config, vocab, loader):
        self.model = get_model(config, vocab)
        self.loader = loader
        self.start()

    def start(self):
        if torch.cuda.is_available():
            self.model = self.model.cuda().float()

    def loss(self, images: torch.Tensor, captions: torch.Tensor, lengths: list, teacher_forcing=True):
        return self.model(images, captions, lengths, teacher_forcing=teacher_forcing)

    def train(self):
        for i, (images, targets, lengths, ids) in enumerate(self.loader):
            if torch.cuda.is_available():
                images = images.cuda()
                targets = targets.cuda()
            self.loss(images, targets, lengths)
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("", "", [], id="the class moves the model"),
        pytest.param("self.model = self.model.cuda().float()", "self.model.cuda()", [], id="it does so in place"),
        pytest.param(
            "self.model = self.model.cuda().float()",
            "self.other = torch.ones(3).cuda()",
            ["main.py:TDL012"],
            id="it moves something else",
        ),
        pytest.param(
            "self.model = self.model.cuda().float()",
            "self.model = self.model.to(self.device)",
            ["main.py:TDL012"],
            id="it moves the model elsewhere",
        ),
    ],
)
def test_a_model_that_the_class_sends_there_too(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    reported = found(written(tmp_path, net=NET, main=MAIN.replace(old, new)))
    assert [each for each in reported if each.endswith("TDL012")] == expected
