"""Parts of what a Module of another file returns that are no tensors: keys, counts, texts, and lists of such."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_across_files import Files

LAYERS = """
    import torch
    from torch import nn

    class Nodes(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(3, 3)

        def forward(self, nodes):
            index, found = [], []
            for number, (key, info) in enumerate(nodes.items()):
                found.append(self.table(info))
                index.append(number)
            found, count, told = torch.stack(found), len(nodes), {"loss": info.sum().item()}
            if self.training:
                return index, found, count, told
            return [], found, 0, {}
"""
NET = """
    import numpy as np
    from layers import Nodes
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.nodes = Nodes()

        def forward(self, nodes):
            index, found, count, told = self.nodes(nodes)
            return np.argsort({})
"""


@pytest.mark.parametrize(
    ("old", "new", "read", "is_found"),
    [
        pytest.param("", "", "index", False, id="numbers of rounds"),
        pytest.param("", "", "count", False, id="a count"),
        pytest.param("", "", "told", False, id="what was told"),
        pytest.param("", "", "found", True, id="what the layer gave"),
        pytest.param("return [], found, 0, {}", "return found, found, 0, {}", "index", True, id="not in all returns"),
        pytest.param("append(number)", "append(info)", "index", True, id="a list of tensors"),
        pytest.param("len(nodes)", "info.float()", "count", True, id="a conversion"),
        pytest.param(".sum().item()", ".sum()", "told", True, id="a tensor in it"),
        pytest.param("if self", "count += info\n            if self", "count", True, id="a tensor is added"),
    ],
)
def test_parts_that_are_no_tensors(tmp_path: Path, old: str, new: str, read: str, is_found: bool) -> None:
    assert old in LAYERS
    layers = LAYERS.replace(old, new) if old else LAYERS
    found = Files(tmp_path)({"layers.py": layers, "net.py": NET.format(read)})
    assert found["net.py"] == ({(12, "TDL006")} if is_found else set())
