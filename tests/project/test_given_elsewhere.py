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


LOADERS = """
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):
        def __init__(self, rows, device):
            self.rows = rows.to(device)

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, index):
            return self.rows[index].to("cuda")

    def loader(rows, device, pin_memory=True):
        return DataLoader(Rows(rows, device), pin_memory=pin_memory)
"""


@pytest.mark.parametrize(("given", "reported"), [("pin_memory=False", False), ("True", True), ("", True)])
def test_a_default_counts_where_some_call_leaves_it(project: Files, given: str, reported: bool) -> None:
    main = f"""
        import torch

        from loaders import loader

        if __name__ == "__main__":
            for batch in loader(torch.zeros(3, 3), "cuda", {given}):
                print(batch)
    """
    found = project({"loaders.py": LOADERS, "main.py": main, "README.md": "", "a.py": "", "b.py": "", "c.py": ""})
    assert {code for _, code in found["loaders.py"]} == ({"TDL309"} if reported else set())


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


NESTED = """
    from torch import nn

    class Block(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.attention = nn.MultiheadAttention(size, 1)

        def forward(self, x):
            return x + self.attention(x, x, x)[0]

    class Encoder(nn.Module):
        def __init__(self, size, count=2, device="cpu"):
            super().__init__()
            self.blocks = nn.ModuleList([Block(size) for _ in range(count)]).to(device)

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    class Model(nn.Module):
        def __init__(self, size, device="cpu"):
            super().__init__()
            self.encoder = Encoder(size, device=device)

        def forward(self, x):
            return self.encoder(x)
"""
BUILDING = """
    import torch
    from nets import Model

    if __name__ == "__main__":
        device = "cuda" if torch.cuda.is_available() else "cpu"
        model = Model(4GIVEN)
        print(model(torch.ones(3, 1, 4)))
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (", device=device", {(7, "TDL004")}),
        ("", set()),
        (', device="cpu"', set()),
    ],
    ids=["of the program", "none", "the CPU"],
)
def test_parts_of_parts_are_where_the_outermost_constructor_was_told(
    project: Files, given: str, expected: set[tuple[int, str]]
) -> None:
    """A list of blocks that a part moves to the device which it is handed on."""
    found = project({"nets.py": NESTED, "main.py": BUILDING.replace("GIVEN", given)})
    assert found == {"nets.py": set(), "main.py": expected}
