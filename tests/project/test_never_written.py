"""States of optimizers that a program would resume from, and that nothing writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found

NET = """from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
"""
TRAINING = """import argparse
import os
import torch
from net import Net

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default="")
    parser.add_argument("--no_cuda", action="store_true")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() and not args.no_cuda else "cpu")
    net = Net().to(device)
    optimizer = torch.optim.AdamW(net.parameters())
    if args.folder and os.path.isfile(os.path.join(args.folder, "optimizer.pt")):
        optimizer.load_state_dict(torch.load(os.path.join(args.folder, "optimizer.pt")))
    optimizer.step()
    torch.save(args, os.path.join(args.folder, "options.bin"))

if __name__ == "__main__":
    main()
"""
SAVING = """import torch
from torch import nn

def main():
    net = nn.Linear(3, 3).to("cuda" if torch.cuda.is_available() else "cpu")
    optimizer = torch.optim.AdamW(net.parameters())
    torch.save(optimizer.state_dict(), "optimizer.pt")

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ('torch.save(args, os.path.join(args.folder, "options.bin"))', 'torch.save(net, "weights.pt")', False),
        ("args, os.path.join", 'optimizer.state_dict(), os.path.join(args.folder, "optimizer.pt")) or (', True),
        ('args, os.path.join(args.folder, "options.bin")', 'net.state_dict(), args.folder + ".pt"', True),
        ('args.folder and os.path.isfile(os.path.join(args.folder, "optimizer.pt"))', "args.folder", True),
        ("        optimizer.load_state_dict(", "        net.load_state_dict(", True),
        ("from net import Net", "from net import Net\nfrom transformers import Trainer", True),
    ],
    ids=["nothing", "weights", "it does", "unknown names", "not asked for", "of a model", "by a library"],
)
def test_a_state_that_the_program_never_writes(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    """Weights may come from elsewhere; the state of an optimizer is of use to the program alone that saves it."""
    text = TRAINING.replace(old, new)
    assert is_found == (found(application(tmp_path, net=NET, main=text)) == ["main.py:TDL201"])


@pytest.mark.parametrize(("folder", "is_found"), [("", True), ("other", False)])
def test_another_program_writes_one(tmp_path: Path, folder: str, is_found: bool) -> None:
    """What lies beside it, or imports the same, may be the first stage; a program with nothing in common is not."""
    root = application(tmp_path, net=NET, main=TRAINING)
    (root / folder).mkdir(exist_ok=True)
    (root / folder / "__init__.py").touch()
    (root / folder / "first.py").write_text(SAVING)
    assert is_found == (found(root) == ["main.py:TDL201"])
    (root / "parts").mkdir()
    (root / "parts" / "__init__.py").touch()
    (root / "parts" / "net.py").write_text(NET)
    (root / "main.py").write_text(TRAINING.replace("from net import", "from parts.net import"))
    (root / folder / "first.py").write_text(
        SAVING.replace("import torch", "import torch\nfrom parts.net import Net", 1)
    )
    assert found(root) == ["main.py:TDL201"]
