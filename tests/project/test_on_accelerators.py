"""Tensors on the default device, where no program of an application has what they meet on an accelerator: advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.counted import calls_of
from tests.project.test_application import application
from tests.project.test_ways import ASKING, found
from torchdevlint.flow.programs.placed import worklist

NET = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x) + torch.ones(4)

    def sample(self, noise):
        return self.layer(noise) + torch.arange(4)

class Other(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)

    def sample(self, noise):
        return self.layer(noise)
"""
MAIN = """import torch
from helper import place
from net import Net, Other

def build(name):
    net = Net()
    return net

def main(loader):
    device = place()
    other = Other().to(device)
    net = build("net")
    for batch in loader:
        print(other(batch.to(device)).sum().item())
        print(other.sample(batch.to(device)).sum().item())
        net(batch)

if __name__ == "__main__":
    main(torch.utils.data.DataLoader(range(8)))
"""
MOVED = ('net = build("net")', 'net = build("net").to(device)')


def test_a_model_that_stays_on_the_cpu_beside_one_that_is_moved(tmp_path: Path) -> None:
    """Its method is called of the other model alone."""
    root = application(tmp_path, helper=ASKING, net=NET, main=MAIN)
    assert found(root) == []
    assert found(root, "TDL003", "TDL014") == ["net.py:TDL003", "net.py:TDL003"]


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        pytest.param(*MOVED, 2, id="moved where it is built"),
        pytest.param("    return net\n", "    return net.cuda()\n", 2, id="moved where it comes from"),
        pytest.param("    for batch", "    net.to(device)\n    for batch", 2, id="moved in place"),
        pytest.param('build("net")', 'torch.nn.DataParallel(build("net"))', 2, id="moved by a wrapper"),
        pytest.param(
            "    other = Other()", "    nets = {'net': Net}\n    other = nets['net']()", 2, id="out of a table"
        ),
        pytest.param('build("net")', "torch.nn.Sequential(build(1)).to(device)", 2, id="a part of what is moved"),
        pytest.param("net(batch)", "net(batch.to(device))", 1, id="what it is given"),
        pytest.param("net(batch)", "net.layer.cuda()\n        net.sample(batch)", 2, id="a layer of it"),
        pytest.param("net(batch)", "net(batch.to('cpu'))", 0, id="the CPU by name"),
        pytest.param("net(batch)", "net(other(batch.to(device)).cpu())", 0, id="brought back"),
        pytest.param('build("net")', "build(device)", 0, id="a device that nobody uses"),
        pytest.param(
            "net(batch)", "x = batch.to(device)\n        net(torch.rand(4, device=x.device))", 1, id="made beside it"
        ),
        pytest.param("net(batch)", "net(torch.rand(4, device=batch.device))", 0, id="made beside what nobody moves"),
        pytest.param(
            "net(batch)", "at = batch.to(device).device\n        net(batch.to(at))", 1, id="moved beside it, by a name"
        ),
        pytest.param("net(batch)", "at = batch.device\n        net(batch.exp().to(at))", 0, id="by a name, unmoved"),
        pytest.param("net(batch)", "net([build, batch.to(device)][1].exp())", 1, id="of what may be a function"),
        pytest.param("net(batch)", "net([build, batch][1].exp())", 0, id="the same of what nobody moves"),
    ],
)
def test_evidence_that_something_is_on_an_accelerator(tmp_path: Path, old: str, new: str, rows: int) -> None:
    main = MAIN.replace(old, new)
    assert main != MAIN
    root = application(tmp_path, helper=ASKING, net=NET, main=main)
    assert found(root).count("net.py:TDL003") == rows


KEEPING = """import torch
from torch import nn

class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = nn.Parameter(torch.ones(4))

    def forward(self, number):
        device = self.rows.device
        return self.rows * torch.tensor(number).to(device)
"""
BY_TABLE = [("from net", "from table import Table\nfrom net"), ("net(batch)", "net(table(3))")]


@pytest.mark.parametrize(
    ("more", "rows"),
    [
        pytest.param("table = Table()", 0, id="unmoved"),
        pytest.param("table = Table().to(device)", 1, id="moved"),
        pytest.param("table = Table()\n    table.device = device", 1, id="a device for an object"),
    ],
)
def test_what_is_moved_to_where_an_object_keeps_a_tensor(tmp_path: Path, more: str, rows: int) -> None:
    main = MAIN.replace("    for batch", f"    {more}\n    for batch")
    for old, new in BY_TABLE:
        main = main.replace(old, new)
    root = application(tmp_path, helper=ASKING, net=NET, table=KEEPING, main=main)
    assert found(root).count("net.py:TDL003") == rows


OTHERS = """import dataclasses

import torch
from elsewhere import Wrapper
from net import Net

class Kept(Wrapper):
    def __init__(self, layer):
        super().__init__(layer)
        self.layer = layer

class Under(Net):
    def __init__(self, layer):
        super().__init__(layer)

@dataclasses.dataclass
class Held:
    rows: torch.Tensor
"""


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        pytest.param("Kept(other)\n        net(batch)", 0, id="set by a class of its own"),
        pytest.param("net.layer = other.layer\n        net(batch)", 2, id="set from outside"),
        pytest.param("net(Held(batch.to(device)).rows)", 1, id="kept by what has no constructor"),
        pytest.param("net(Held(rows=batch.to(device)).rows)", 1, id="kept by its name"),
        pytest.param("net(Held(batch).rows)", 0, id="kept unmoved"),
    ],
)
def test_what_objects_keep_is_of_their_class(tmp_path: Path, asked: str, rows: int) -> None:
    """An attribute of one class is not that of another one, which is called the same."""
    main = MAIN.replace("from net", "from others import Held, Kept\nfrom net").replace("net(batch)", asked)
    root = application(tmp_path, helper=ASKING, net=NET, main=main, others=OTHERS)
    assert found(root).count("net.py:TDL003") == rows


@pytest.mark.parametrize(
    ("layer", "asked", "rows"),
    [
        pytest.param("nn.Sequential(first, nn.Linear(4, 4))", "Kept", 0, id="that of a base in a library"),
        pytest.param("nn.Sequential(first, nn.Linear(4, 4))", "Under", 2, id="that of a base in the project"),
        pytest.param("nn.Linear(first.width, 4)", "Under", 0, id="a layer of so many weights"),
    ],
)
def test_what_a_constructor_of_a_base_is_given(tmp_path: Path, layer: str, asked: str, rows: int) -> None:
    net = NET.replace("self):", "self, first):", 1).replace("nn.Linear(4, 4)", layer, 1)
    main = MAIN.replace("from net", "from others import Kept, Under\nfrom net").replace("= Net()", "= Net(name)")
    main = main.replace('"net"', "torch.nn.Identity()").replace("net(batch)", f"{asked}(other)\n        net(batch)")
    root = application(
        tmp_path, helper=ASKING, net=net, main=main, others=OTHERS.replace("        self.layer", "        self.kept")
    )
    assert found(root).count("net.py:TDL003") == rows


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        pytest.param(
            "other.py", "from net import Net\nfrom helper import place\nprint(Net().to(place()))\n", 1, id="program"
        ),
        pytest.param("other.py", "from net import Net\nprint(Net())\n", 0, id="a program of the CPU"),
        pytest.param("README.md", "```python\nfrom net import Net\n```\n", 0, id="people"),
        pytest.param("run.yaml", "model:\n  _target_: net.Net\n", 0, id="a configuration"),
        pytest.param("run.yaml", "model: Net\n", 0, id="a value of a configuration"),
        pytest.param("run.yaml", "Net: 3\n", 0, id="a key of a configuration"),
        pytest.param(
            "plug.py", "import importlib, sys\nprint(importlib.import_module(sys.argv[1]).Net)\n", 0, id="by a text"
        ),
    ],
)
def test_other_programs(tmp_path: Path, name: str, text: str, rows: int) -> None:
    """Whoever may come there by a text or a configuration is not seen to bring anything to an accelerator."""
    root = application(tmp_path, helper=ASKING, net=NET, main=MAIN)
    (root / name).write_text(text)
    assert found(root).count("net.py:TDL003") == rows
    assert found(root, "TDL003").count("net.py:TDL003") == 2


@pytest.mark.parametrize(("asked", "rows"), [("print(Net())", 2), ("", 0)], ids=["started itself", "imported alone"])
def test_a_program_that_nobody_follows(tmp_path: Path, asked: str, rows: int) -> None:
    """It imports what a text names: where it is the file itself, what it moves by name stands for evidence."""
    plug = f"\nif __name__ == '__main__':\n    import importlib\n    importlib.import_module(input())\n    {asked}\n"
    root = application(tmp_path, helper=ASKING, net=NET + plug * bool(asked), main=MAIN + plug * (not asked))
    assert found(root).count("net.py:TDL003") == rows


def test_data_are_not_moved_with_the_model_that_is_trained_on_them(tmp_path: Path) -> None:
    """A transform of a data set is a Module, and runs where its items are made."""
    data = """import torch
from net import Net

class Data(torch.utils.data.Dataset):
    def __init__(self):
        self.transform = Net()

    def __getitem__(self, index):
        return self.transform(torch.ones(4))
"""
    main = """import pytorch_lightning as pl
import torch
from data import Data
from helper import place
from net import Other

if __name__ == "__main__":
    pl.Trainer(accelerator="auto").fit(Other().to(place()), torch.utils.data.DataLoader(Data()))
"""
    root = application(tmp_path, helper=ASKING, net=NET, data=data, main=main)
    assert found(root) == []
    root = application(tmp_path, helper=ASKING, net=NET, data=data, main=main.replace("Other", "Net"))
    assert found(root) == ["net.py:TDL003"]


MASKS = """import torch

def others(labels: torch.Tensor):
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    return same & ~torch.eye(labels.shape[0], dtype=torch.bool)

def loss_fn(out, labels):
    return (others(labels) * out.sum()).sum()
"""
TRAINING = """import torch
from helper import place
from masks import loss_fn

def train(net, criterion, loader, device):
    for batch, labels in loader:
        batch, labels = batch.to(device), labels.to(device)
        criterion(net(batch), labels).backward()

if __name__ == "__main__":
    device = place()
    train(torch.nn.Linear(4, 4).to(device), loss_fn, [], device)
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["masks.py:TDL014"]),
        (", labels = batch.to(device), labels.to(device)", " = batch.to(device)", []),
    ],
    ids=["moved", "left where they are"],
)
def test_a_function_that_is_handed_on_as_a_loss(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    """It says nothing of devices, and no call by its name places what it is given: where its value goes tells."""
    root = application(tmp_path, helper=ASKING, masks=MASKS, main=TRAINING.replace(old, new))
    assert [each for each in found(root) if "masks" in each] == expected


TRAINED = """import pytorch_lightning as pl
from net import Net

class Trained(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def training_step(self, batch, index):
        return self.net(batch).sum() + self.net.sample(batch).sum()

    def train_dataloader(self):
        return [[0.0]]

if __name__ == "__main__":
    pl.Trainer(max_epochs=4, weights_summary=None).fit(Trained())
"""


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        pytest.param("", "", 0, id="before 2.0 it is the CPU"),
        pytest.param("weights_summary=None", "progress_bar_refresh_rate=20", 0, id="another argument of then"),
        pytest.param("weights_summary=None", "logger=False", 2, id="any release"),
        pytest.param("weights_summary=None", "weights_summary=None, gpus=1", 2, id="told so"),
        pytest.param("weights_summary=None", "weights_summary=None, **vars(pl)", 2, id="told elsewhere"),
        pytest.param("    pl.Tr", "    print(pl.Trainer(gpus=1))\n    pl.Tr", 2, id="another one is told so"),
        pytest.param("Trained())", "Trained().cuda())", 2, id="moved by the program"),
        pytest.param("import pytorch_lightning as pl", "import lightning.pytorch as pl", 0, id="its other name"),
        pytest.param(
            "    pl.Tr", "    pl.Trainer.from_argparse_args(vars(pl))\n    pl.Tr", 2, id="told on the command line"
        ),
    ],
)
def test_a_trainer_of_lightning_that_nothing_tells_to_use_a_gpu(tmp_path: Path, old: str, new: str, rows: int) -> None:
    """Its default became what is there with 2.0, which has not those arguments."""
    text = TRAINED.replace(old, new)
    assert text != TRAINED or not old
    root = application(tmp_path, helper=ASKING, net=NET, train=text)
    assert len(found(root)) == rows


def test_where_the_values_of_a_large_program_go_nobody_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it would take too long to follow them, the finding stays."""
    root = application(tmp_path, helper=ASKING, net=NET, main=MAIN)
    monkeypatch.setattr(worklist, "MOST_CALLS", 1)
    assert found(root) == ["net.py:TDL003", "net.py:TDL003"]


def test_a_link_more_of_a_chain_is_not_several_times_the_work(tmp_path: Path) -> None:
    """Each link asks what it is called of: twice or three times, and so does the one before."""

    def calls(links: int) -> int:
        root = application(tmp_path / str(links), helper=ASKING, net=NET, main=main(links))
        return calls_of(lambda: found(root))

    def main(links: int) -> str:
        return MAIN.replace("net(batch)", f"net(batch{'.sort(batch)[0].apply_()' * links})")

    (tmp_path / "4").mkdir()
    (tmp_path / "8").mkdir()
    assert calls(8) < 1.5 * calls(4)


KINDS = """import enum
import torch
from torch.utils.data import Dataset
from turning import turned

class Kind(enum.Enum):
    ROW = 1

class Rows(Dataset):
    def __init__(self, files):
        self.files = files

    def __getitem__(self, index):
        rows = {Kind(1): torch.load(self.files[index])}
        for kind in rows:
            rows[kind] = turned(rows[kind])
        return rows
"""
TURNING = """import torch

def turned(row):
    return torch.matmul(row.permute(1, 0), torch.eye(4))
"""
READING = """import torch
from helper import place
from kinds import Kind, Rows
from turning import turned

def main(files):
    device = place()
    for rows in torch.utils.data.DataLoader(Rows(files)):
        for kind in rows:
            rows[kind] = rows[kind].to(device)
        print(rows[Kind(1)].sum().item())

if __name__ == "__main__":
    main(["0.pt"])
"""


@pytest.mark.parametrize(
    ("name", "old", "new", "is_found"),
    [
        pytest.param("main", "", "", False, id="constants beside them"),
        pytest.param("kinds", "class Kind(enum.Enum):", "class Kind(dict):", True, id="something else beside them"),
        pytest.param("main", "rows[Kind(1)].sum()", "turned(rows[Kind(1)])", True, id="moved rows come there as well"),
    ],
)
def test_constants_hold_nothing_that_is_moved(tmp_path: Path, name: str, old: str, new: str, is_found: bool) -> None:
    files = {"main": READING, "kinds": KINDS, "turning": TURNING}
    assert old in files[name]
    root = application(
        tmp_path, helper=ASKING, **{**files, name: files[name].replace(old, new) if old else files[name]}
    )
    assert ("turning.py:TDL014" in found(root)) is is_found


HIDING = 'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "-1"\n'
SCORED = """import torch
from helper import place

{hiding}
device = place()
net = torch.nn.Linear(4, 4).to(device)
print(net(torch.ones(2, 4).to(device)).detach().numpy())
"""


@pytest.mark.parametrize(
    ("hiding", "expected"),
    [
        (HIDING, []),
        (HIDING.replace("-1", ""), []),
        (HIDING.replace("-1", "0"), ["score.py:TDL006"]),
        (f"{HIDING}if place:\n    os.environ['CUDA_VISIBLE_DEVICES'] = place()\n", ["score.py:TDL006"]),
        ("import os\nif os.name:\n    os.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n", ["score.py:TDL006"]),
        ("", ["score.py:TDL006"]),
    ],
)
def test_a_program_that_lets_cuda_see_no_gpu(tmp_path: Path, hiding: str, expected: list[str]) -> None:
    root = application(tmp_path, helper=ASKING, score=SCORED.format(hiding=hiding))
    assert [each for each in found(root) if "006" in each] == expected


def test_models_of_a_program_that_lets_cuda_see_no_gpu(tmp_path: Path) -> None:
    files = {"helper": ASKING, "net": NET}
    assert found(application(tmp_path, **files, main=MAIN.replace(*MOVED))) != []
    assert found(application(tmp_path, **files, main=HIDING + MAIN.replace(*MOVED))) == []
