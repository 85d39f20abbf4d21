"""What functions of other files are given, and give: decorators between, and devices that they choose."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_across_files import Files


@pytest.fixture
def project(tmp_path: Path) -> Files:
    return Files(tmp_path)


NETS = """
    from functools import wraps

    import torch
    from torch import nn

    from decorators import on_the_model

    def to_own_device(function):
        @wraps(function)
        def moved(self, *args, **kwargs):
            args, kwargs = move((args, kwargs), self.device)
            return function(self, *args, **kwargs)

        return moved

    def logged(level):
        def decorate(function):
            @wraps(function)
            def called(*args, **kwargs):
                print(level)
                return function(*args, **kwargs)

            return called

        return decorate

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(3, 4)

        DECORATOR
        def forward(self, x):
            return self.emb(x)
"""
DECORATORS = """
    def on_the_model(function):
        def moved(self, x):
            return function(self, x.to(self.device))

        return moved
"""
MAIN = """
    import torch

    from nets import Net

    net = Net().to("cuda")
    print(net(torch.randint(0, 3, (2,))))
"""


@pytest.mark.parametrize("decorator", ["@to_own_device", "@on_the_model"])
def test_a_decorator_may_move_what_a_method_is_given(project: Files, decorator: str) -> None:
    files = {"nets.py": NETS.replace("DECORATOR", decorator), "decorators.py": DECORATORS, "main.py": MAIN}
    assert project(files)["main.py"] == set()


@pytest.mark.parametrize("decorator", ["", "@logged('info')", "@torch.no_grad()"])
def test_a_decorator_that_hands_on_what_it_gets_changes_nothing(project: Files, decorator: str) -> None:
    files = {"nets.py": NETS.replace("DECORATOR", decorator), "decorators.py": DECORATORS, "main.py": MAIN}
    assert project(files)["main.py"] == {(6, "TDL004")}


TOOLS = """
    import torch

    def device_of(module):
        found = list(module.parameters())
        return torch.device("cpu") if not found else found[0].device

    def width(encoder):
        return encoder(torch.zeros(1, 3, device=DEVICE)).shape[-1]
"""
ENCODER = """
    from torch import nn

    from tools import width

    class Encoder(nn.Module):
        def __init__(self, count):
            super().__init__()
            self.layers = nn.Sequential(*[nn.Linear(3, 3) for _ in range(count)])

        def forward(self, x):
            return self.layers(x)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = Encoder(3)
            self.width = width(self.encoder)

        def forward(self, x):
            return self.encoder(x)
"""


def test_a_device_that_another_file_chooses_is_none_of_them(project: Files) -> None:
    found = project({"tools.py": TOOLS.replace("DEVICE", "device_of(encoder)"), "encoder.py": ENCODER})
    assert found["encoder.py"] == set()


SYNTH = """
    import torch
    from torch import nn

    from base import Base

    class Synth(Base):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def numbers(self, count):
            return torch.arange(count, device=self.device)
"""


def test_an_object_that_is_tried_where_it_was_made_is_nowhere_else(project: Files) -> None:
    tried = """
        import torch

        from synth import Synth

        def test_numbers():
            assert torch.all(Synth().numbers(3) == torch.tensor([0, 1, 2]))
    """
    assert project({"synth.py": SYNTH, "test_synth.py": tried})["test_synth.py"] == set()
