"""A tensor that a Module keeps of an argument is advice where all who build one made it where they move the Module."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]

SCALED = """import torch
from torch import nn

class Scaled(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.size = factor.shape[-1]
        self.head = nn.Linear(3, 2)

    def forward(self, wanted):
        return self.head(wanted * self.factor[:, :3])
"""
MAIN = """import torch
from scaled import Scaled

def weights(values, device):
    return torch.tensor([values], device=device)

def build(device, other):
    {lines}
    return net

if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(build(device, "cpu")(torch.ones(2, 3, device=device)).mean().item())
"""
AT_ONCE = "net = Scaled(torch.tensor([[1.0, 1.0, 0.1]], device=device)).to(device)"
NAMED = "factor = torch.ones(1, 3).to(device)\n    net = Scaled(factor=factor)\n    net.to(device)"
MADE = "net = Scaled(weights([1.0, 0.5, 0.1], device)).to(device)"
IN_ARMS = f"""if other:
        factor = torch.zeros(1, 3, device=device)
        net = Scaled(factor).to(device)
    else:
        {AT_ONCE}"""
ON_HOST = AT_ONCE.replace(", device=device", "")
ELSEWHERE = AT_ONCE.replace("device=device", "device=other")
ONE_ON_HOST = IN_ARMS.replace("zeros(1, 3, device=device)", "zeros(1, 3)")
UNMOVED = AT_ONCE.replace(".to(device)", "")
LEFT = ["scaled.py:TDL101"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (AT_ONCE, []),
        (NAMED, []),
        (MADE, []),
        (IN_ARMS, []),
        (ON_HOST, LEFT),
        (ELSEWHERE, LEFT),
        (ONE_ON_HOST, LEFT),
        (UNMOVED, LEFT),
    ],
    ids=["at once", "by names", "by a function", "in arms", "on the host", "elsewhere", "one on the host", "unmoved"],
)
def test_a_tensor_that_is_given_to_a_module(tmp_path: Path, lines: str, expected: list[str]) -> None:
    root = application(tmp_path, scaled=SCALED, main=MAIN.format(lines=lines))
    assert [each for each in found(root) if "TDL101" in each] == expected
    assert found(root, "TDL101") == LEFT


TIED = """import torch
from torch import nn

class Head(nn.Module):
    def __init__(self, size: int, shared: torch.Tensor | None = None):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        if shared is not None:
            self.shared = shared
        else:
            self.shared = None

    def forward(self, wanted):
        return nn.functional.linear(self.norm(wanted), self.shared)
"""
WHOLE = """import torch
from torch import nn
from head import Head

class Net(nn.Module):
    def __init__(self, is_tied):
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.table = torch.ones(5, 3)
        self.head = HEAD

    def forward(self, wanted):
        if isinstance(self.head, Head):
            wanted = self.embed(wanted)
        return self.head(wanted)

if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(Net(True).to(device)(torch.arange(3, device=device)).sum().item())
"""


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("Head(3, self.embed.weight) if is_tied else Head(3)", []),
        ("Head(3, shared=nn.Parameter(torch.ones(5, 3)))", []),
        ("Head(3, self.embed.weight.detach())", ["head.py:TDL101"]),
        ("Head(3, self.table)", ["head.py:TDL101"]),
    ],
    ids=["the weight of a layer", "made there", "what is made of it", "a tensor"],
)
def test_a_parameter_that_is_given_to_a_module(tmp_path: Path, head: str, expected: list[str]) -> None:
    root = application(tmp_path, head=TIED, main=WHOLE.replace("HEAD", head))
    assert [each for each in found(root) if "head.py:TDL101" in each] == expected


BANK = """import torch

class Bank:
    def __init__(self, rows, device):
        self.vectors = torch.tensor(rows).to(device)
        self.names = [str(each) for each in rows]
"""
IN_BANK = "bank = Bank([[1.0, 0.5, 0.1]], {0})\n    net = Scaled(bank).to({1})"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(IN_BANK.format("device", "device"), [], id="told the same"),
        pytest.param(IN_BANK.format("other", "device"), LEFT, id="told another"),
        pytest.param(IN_BANK.format("'cpu'", "device"), LEFT, id="on the host"),
    ],
)
def test_a_part_of_what_is_given_to_a_module(tmp_path: Path, lines: str, expected: list[str]) -> None:
    kept = SCALED.replace("(self, factor)", "(self, bank)").replace("= factor.shape[-1]", "= len(bank.names)")
    kept = kept.replace("self.factor = factor", "self.factor = bank.vectors")
    kept = kept.replace("self.head(wanted * self.factor[:, :3])", "torch.matmul(self.factor, wanted.T)")
    main = MAIN.format(lines=lines).replace("import torch\n", "import torch\nfrom bank import Bank\n", 1)
    root = application(tmp_path, scaled=kept, bank=BANK, main=main)
    assert [each for each in found(root) if "TDL101" in each] == expected
    assert found(root, "TDL101") == LEFT


TUTORIAL = """import torch
from scaled import Scaled

def build(net, mean):
    scaled = Scaled(mean).to(device)
    return torch.nn.Sequential(scaled, net)

def run(net, mean):
    return build(net, mean)

if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    mean = torch.tensor([[0.5, 0.5, 0.5]]).to(device)
    print(run(torch.nn.ReLU(), mean)(torch.ones(2, 3, device=device)).mean().item())
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("", "", [], id="handed down"),
        pytest.param(".to(device)\n    print", "\n    print", LEFT, id="on the host"),
        pytest.param("print(run", "print(run(torch.nn.ReLU(), torch.ones(1, 3)), run", LEFT, id="once on the host"),
        pytest.param("build(net, mean)\n\n", "build(net, mean.cpu())\n\n", LEFT, id="brought back"),
        pytest.param("Scaled(mean).to(device)", "Scaled(mean)", LEFT, id="unmoved"),
    ],
)
def test_a_part_of_what_is_given_by_callers(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    """As the tutorial of styles keeps it: ``mean.clone().detach().view(-1, 3)``."""
    files = {"scaled": SCALED.replace("= factor\n", "= factor.clone().detach().view(-1, 3)\n")}
    root = application(tmp_path, **files, main=TUTORIAL.replace(old, new))
    assert found(root) == expected
    assert found(root, "TDL101") == LEFT
