"""Applications and files that name CUDA nearly everywhere: what a machine without it would meet is advice."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside
from torchdevlint.flow.programs.texts.cuda_habit import Named, named_in

__all__ = ["inside"]

MAIN = """import sys
import torch
from loading import read
from nets import Net, Loss

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if __name__ == "__main__":
    net = Net()
    read(net, sys.argv[1])
    x = torch.ones(3, 3, device=device)
    print(Loss()(net(x), x))
"""
LOADING = "import torch\n\ndef read(net, path):\n    net.load_state_dict(torch.load(path))\n"
NETS = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3).cuda()
        self.b = nn.Linear(3, 3).to("cuda")
        self.scale = torch.ones(3, device="cuda")

    def forward(self, x):
        return self.b(self.a(x.cuda()) * self.scale)

class Loss(nn.Module):
    def forward(self, x, y):
        mask = torch.cuda.FloatTensor(x.shape).fill_(1)
        weights = torch.ones(3).cuda()
        return ((x - y) * mask * weights).sum()
"""
HERE = "DEVICE = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
CHOSEN = "    net.to(device)\n    y = torch.ones(3, 3, device=device)\n"


def test_what_is_written_for_cuda(tmp_path: Path) -> None:
    """The device is chosen once, and CUDA is named six times: neither the load nor the loss is what hurts."""
    root = application(tmp_path, main=MAIN, loading=LOADING, nets=NETS)
    assert found(root) == []
    assert found(root, "TDL201") == ["loading.py:TDL201"]
    assert "nets.py:TDL012" in found(root, "TDL012")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("main", "    read(", CHOSEN + "    read("),
        ("main", "torch.device(", "torch.device('cuda:1') if len(sys.argv) > 2 else torch.device("),
        ("nets", ".cuda()", ".to(DEVICE)"),
        ("nets", 'to("cuda")', "to(choose())"),
        ("loading", "\n\ndef read(net, path):\n", "\n\n" + HERE + "\ndef read(net, path):\n    net.to(DEVICE)\n"),
    ],
    ids=["chosen elsewhere", "several GPUs", "a constant", "chosen as often", "the file chooses"],
)
def test_a_load_in_code_that_chooses(tmp_path: Path, name: str, old: str, new: str) -> None:
    files = {"main": MAIN, "loading": LOADING, "nets": NETS}
    files[name] = files[name].replace(old, new)
    assert "loading.py:TDL201" in found(application(tmp_path, **files))


def test_a_file_for_cuda_beside_several_gpus(tmp_path: Path) -> None:
    """Each of its six places ignores which GPU it is; whoever wants another one changes them all."""
    main = MAIN.replace("torch.device(", "torch.device('cuda:1') if len(sys.argv) > 2 else torch.device(")
    root = application(tmp_path, main=main, loading=LOADING, nets=NETS)
    assert "nets.py:TDL012" not in found(root)
    assert "nets.py:TDL012" in found(root, "TDL012")


GRID = "\ndef grid(x: torch.Tensor):\n    return torch.zeros(3, device=x.get_device()) + x\n"


@pytest.mark.parametrize(("new", "is_found"), [(".cuda()", False), (".to(DEVICE)", True)], ids=["CUDA", "chosen"])
def test_the_number_of_a_gpu(tmp_path: Path, new: str, is_found: bool) -> None:
    """It is no device on the CPU alone, where code for CUDA never is."""
    main = MAIN.replace("print(Loss()(net(x), x))", "print(Loss()(net(grid(x)), x))")
    main = main.replace("import Net, Loss", "import Net, Loss, grid")
    root = application(tmp_path, main=main, loading=LOADING, nets=NETS.replace(".cuda()", new) + GRID)
    assert ("nets.py:TDL304" in found(root)) is is_found


def test_one_place_that_ignores_its_device(tmp_path: Path) -> None:
    """In a file that names CUDA here alone, it is this place that keeps the program from the CPU."""
    loss = NETS[: NETS.index("class Net")] + NETS[NETS.index("class Loss") :]
    net = "import torch\nfrom torch import nn\n\nNet = lambda: nn.Linear(3, 3).to(DEVICE)\n"
    main = MAIN.replace("from nets import Net, Loss", "from nets import Loss\nfrom net import Net")
    root = application(tmp_path, main=main, loading=LOADING, nets=loss, net=net)
    assert [each for each in found(root) if each == "nets.py:TDL012"] != []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x.cuda(); y.to('cuda:0'); z = torch.zeros(3, device='cuda'); torch.cuda.LongTensor(3)", Named(4, 0)),
        ("if use_cuda:\n    x = x.cuda()\nelse:\n    x = x.to('cuda')", Named(0, 2)),
        ("x = x.cuda() if args.gpu else x", Named(0, 1)),
        ("if rounds > 3:\n    x = x.cuda()", Named(1, 0)),
        ("x.to(device); x.to(args.device); torch.zeros(3, device=self.device)", Named(0, 3)),
        ("device = torch.device('cuda')\nx.to(device)", Named(1, 0)),
        ("def f(device):\n    x.to(device)\ndevice = 'cuda'", Named(0, 1)),
        ("class C:\n    D = torch.device('cuda:0')\nx.to(C.D)", Named(1, 0)),
        ("x.to('cpu'); x.cpu(); x.to(y.device); x.to(torch.float32); torch.cuda.synchronize()", Named(0, 0)),
    ],
)
def test_what_names_a_place(text: str, expected: Named) -> None:
    assert named_in([ast.parse(text)]) == expected
