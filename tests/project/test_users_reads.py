"""What NumPy reads in code that others use: nobody is seen to put it on an accelerator, or to keep it on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside, run
from torchdevlint.project import tree

__all__ = ["inside"]

METRIC = """import torch
from torch import Tensor

def spread(features: Tensor, scale):
    return features.numpy().std() * scale

def first(wave):
    return wave.transpose(0, 1).numpy()[0]

class Calculator:
    def __init__(self, potential):
        self.potential = potential

    def energy(self, atoms):
        energies, forces = self.potential(atoms)
        return energies.detach().numpy()
"""
CLASSES = """from pathlib import Path

import numpy as np
import torch

def write_image(path, image):
    if isinstance(image, np.ndarray):
        np.save(path, image)
    elif isinstance(image, (str, Path)):
        np.save(path, np.load(image))
    elif isinstance(image, torch.Tensor):
        np.save(path, image.numpy())

def flattened(values):
    if type(values) == torch.Tensor:
        values = values.numpy()
    return values.reshape(-1)

def of_a_text(values, text):
    if isinstance(text, str):
        return values.numpy()

def asked(values):
    if type(values.device) is torch.device and values.device.type == "cpu":
        return values.numpy()
"""
DATA = """import numpy as np
import torch

class IndexedDatasetBuilder:
    def __init__(self, path):
        self.file, self.sizes = open(path, "wb"), []

    def add_item(self, tensor):
        self.file.write(np.array(tensor.numpy(), dtype=np.int32))
        self.sizes.extend(tensor.size())

class EmbeddingDatasetWriter:
    def __init__(self, path):
        self.file = open(path, "wb")

    def write(self, tensor):
        self.file.write(np.array(tensor.numpy(), dtype=np.float32))
"""
NEAR_MISSES = """import torch
from helpers import load

def labels_stay(outputs, labels):
    return outputs.detach().cpu().numpy(), labels.numpy()

def lengths_stay(lengths):
    return lengths.numpy().max()

def asked(wave):
    if wave.is_cuda:
        wave = wave.cpu()
    return wave.numpy()

def on_the_host(wave):
    assert wave.device == torch.device("cpu")
    return wave.numpy()

def from_elsewhere(image):
    return torch.tensor(image.numpy() / 255)

def of_a_model_here(x):
    model = torch.nn.Linear(3, 3)
    return model(torch.ones(3)).detach().numpy()

def made_of_arrays(array):
    found = load(torch.from_numpy(array))
    return found.detach().numpy()

def moved(net, x):
    out = net(x)
    out = out.to("cpu")
    return out.detach().numpy()
"""


@pytest.mark.parametrize(
    ("text", "rows"),
    [(METRIC, {5, 8, 16}), (CLASSES, {12, 16}), (DATA, {17}), (NEAR_MISSES, set())],
    ids=["read", "classes are tested", "data sets are built", "near misses"],
)
def test_a_library_has_users_on_accelerators(tmp_path: Path, text: str, rows: set[int]) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "metrics"\nversion = "1"\n')
    package = tmp_path / "metrics"
    package.mkdir()
    (package / "__init__.py").write_text("from metrics.spread import *\n")
    (package / "spread.py").write_text(text)
    tree.forget()
    assert {each.span.row for each in run(tmp_path, "TDL006").diagnostics} == rows


def test_a_test_has_no_users(tmp_path: Path) -> None:
    """What it measures is where it made it."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "metrics"\nversion = "1"\n')
    text = "import metrics\n\ndef measured():\n    return metrics.of(metrics.State()).detach().numpy()\n"
    for folder, expected in (("tests", 0), ("metrics", 1)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "measured.py").write_text("import torch\n" + text)
        tree.forget()
        assert len(run(tmp_path / folder).diagnostics) == expected


def test_an_application_sees_all_that_call(tmp_path: Path) -> None:
    main = "import torch\nfrom metric import spread\n\nprint(spread(torch.ones(3), 2))\n"
    assert not found(application(tmp_path, main=main, metric=METRIC), "TDL006")


FLATTEN = """\
import torch

def {0}(sequence):
    flat = [p.contiguous().view(-1) for p in sequence]
    return torch.cat(flat) if len(flat) > 0 else torch.tensor([])
"""


@pytest.mark.parametrize(
    ("name", "other", "expected"),
    [
        ("_flatten", "def _flatten(x):\n    return x\n\nprint(_flatten(1))\n", set()),  # another one of that name
        ("_flatten", "from metrics.flat import _flatten\n\ndef flat(model):\n    return _flatten(model)\n", {5}),
        ("flatten", "", {5}),
    ],
    ids=["private and unread", "private and read", "public"],
)
def test_what_is_private_in_a_library_and_read_by_nothing(
    tmp_path: Path, name: str, other: str, expected: set[int]
) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "metrics"\nversion = "1"\n')
    package = tmp_path / "metrics"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "flat.py").write_text(FLATTEN.format(name))
    (package / "other.py").write_text(other)
    tree.forget()
    assert {each.span.row for each in run(tmp_path).diagnostics} == {5}  # of a few files, others may be elsewhere
    for number in range(4):
        (package / f"part_{number}.py").write_text("")
    tree.forget()
    assert {each.span.row for each in run(tmp_path).diagnostics} == expected
