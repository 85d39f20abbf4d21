"""Modules of another file that give a buffer of the CPU, into which a decoder puts its steps (TDL004, TDL006)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_across_files import Files


@pytest.fixture
def project(tmp_path: Path) -> Files:
    return Files(tmp_path)


NET = """
    import torch
    from torch import nn

    class Decoder(nn.Module):
        def __init__(self, size, steps):
            super().__init__()
            self.cell = nn.GRUCell(size, size)
            self.steps = steps

        def forward(self, x, hidden):
            outputs = torch.zeros(self.steps, x.shape[0], x.shape[1])
            for step in range(self.steps):
                hidden = self.cell(x, hidden)
                outputs[step] = hidden
            return outputs

    class Seq2Seq(nn.Module):
        def __init__(self, size, steps):
            super().__init__()
            self.decoder = Decoder(size, steps)

        def forward(self, x):
            outputs = self.decoder(x, x)
            return outputs[1:]

    def build(name, *sizes):
        return globals()[name](*sizes)
    """
MAIN = """
    import torch
    import net

    def main(config, loader):
        model = getattr(net, config.name)(4, 3)
        if config.gpus > 1:
            model = torch.nn.DataParallel(model)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = model.to(device)
        found = torch.FloatTensor([])
        for x in loader:
            outputs = model(x.to(device))
            found = torch.cat([found, outputs], dim=1)
        return found.numpy()
    """
IMPORT, MAKE = "import net\n", "getattr(net, config.name)(4, 3)"
WRAP = """        if config.gpus > 1:
            model = torch.nn.DataParallel(model)
"""
MADE = [
    (IMPORT, MAKE),
    ("import net as architectures\n", "getattr(architectures, config.name)(4, 3)"),
    ("from net import build\n", "build(config.name, 4, 3)"),
    ("from net import Seq2Seq\n", "{'seq2seq': Seq2Seq}[config.name](4, 3)"),
    ("from net import Seq2Seq\n", "Seq2Seq(4, 3)"),
]


@pytest.mark.parametrize(("imported", "made"), MADE)
@pytest.mark.parametrize("wrapped", [WRAP, ""])
def test_what_such_a_model_gives_is_on_the_cpu(project: Files, imported: str, made: str, wrapped: str) -> None:
    main = MAIN.replace(IMPORT, imported).replace(MAKE, made).replace(WRAP, wrapped)
    assert project({"net.py": NET, "main.py": main})["main.py"] == set()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x.shape[1])", "x.shape[1], device=x.device)"),
        ("x.shape[1])", "x.shape[1]).to(x.device)"),
        ("return outputs[1:]", "return outputs[1:].to(x.device)"),
        ("return outputs[1:]", "return self.decoder.cell(x)"),
    ],
)
@pytest.mark.parametrize(("imported", "made"), MADE)
def test_what_is_made_or_brought_where_the_input_is(
    project: Files, imported: str, made: str, old: str, new: str
) -> None:
    main = MAIN.replace(IMPORT, imported).replace(MAKE, made)
    found = project({"net.py": NET.replace(old, new), "main.py": main})["main.py"]
    assert {code for _, code in found} == {"TDL004", "TDL006"}
