"""Containers of modules, of which a base or a class of another file tells something (TDL102)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_across_files import Files

BASE = """
    from torch import nn

    class Backbone(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.width = width
            self.extras = self.build()

        def build(self):
            raise NotImplementedError
"""
BELOW = """
    from torch import nn
    from base import Backbone

    class Small(Backbone):
        def build(self):
            layers = [nn.Linear(self.width, self.width) for _ in range(3)]
            return layers

        def forward(self, x):
            for layer in self.extras:
                x = layer(x)
            return x
"""
LAYERS = """
    from torch import nn

    class Conv(nn.Sequential):
        def __init__(self, width):
            super().__init__(nn.Linear(width, width), nn.ReLU())
"""
STACK = """
    from torch import nn
    from parts import layers

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.body = nn.Sequential(layers.Conv(width), nn.ReLU())

        def forward(self, x):
            return self.body(x)

    class Stack(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.blocks = [Block(width) for _ in range(3)]

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x
"""


@pytest.fixture
def project(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_a_list_that_a_method_returns_to_a_base_of_another_file(project: Files) -> None:
    assert project({"base.py": BASE, "below.py": BELOW})["below.py"] == {(7, "TDL102")}


def test_the_base_registers_it(project: Files) -> None:
    registers = BASE.replace("self.build()", "nn.ModuleList(self.build())")
    assert not project({"base.py": registers, "below.py": BELOW}).get("below.py")


def test_layers_of_a_module_that_is_imported_from_a_package(project: Files) -> None:
    files = {"parts/__init__.py": "", "parts/layers.py": LAYERS, "stack.py": STACK}
    assert project(files)["stack.py"] == {(15, "TDL102")}
    files["parts/layers.py"] = LAYERS.replace("nn.Linear(width, width)", "nn.Tanh()")
    assert not project(files).get("stack.py")
