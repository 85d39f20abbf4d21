"""Which other files of a project write what is loaded, and results that depend on it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from torchdevlint.cache import Cache
from torchdevlint.config import Settings
from torchdevlint.engine import check_paths
from torchdevlint.model import Run
from torchdevlint.project import tree

READER = "import torch\n\ntables = torch.load('runs/tables.pt')\n"
OF_CPU = "import torch\n\ndef save(found):\n    torch.save({k: v.cpu() for k, v in found.items()}, f'{A}/tables.pt')\n"
OF_MODEL = "import torch\n\ndef save(model):\n    torch.save(model.state_dict(), 'other/tables.pt')\n"


def project(root: Path, **files: str) -> Path:
    (root / "pyproject.toml").write_text("")
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.with_suffix(".py") if not path.suffix else path).write_text(text)
    return root


def lint(root: Path, folder: Path | None = None, jobs: int = 1, select: tuple[str, ...] = ("TDL201",)) -> Run:
    files = [path.as_posix() for path in sorted(root.rglob("*.py"))]
    settings = Settings(root=root, select=select)
    if folder is None:
        return check_paths(files, settings, jobs=jobs)
    with Cache(folder) as cache:
        return check_paths(files, settings, jobs=jobs, cache=cache)


def reported(root: Path) -> list[str]:
    return sorted(Path(each.filename).name for each in lint(root).diagnostics)


def test_another_script_writes_from_the_cpu(tmp_path: Path) -> None:
    assert reported(project(tmp_path, read=READER)) == ["read.py"]
    assert reported(project(tmp_path, tools__write=OF_CPU)) == []


def test_one_writer_that_may_be_elsewhere_is_enough(tmp_path: Path) -> None:
    assert reported(project(tmp_path, a__read=READER, write=OF_CPU, z__train=OF_MODEL)) == ["read.py"]


def test_names_with_holes_are_held_against_each_other(tmp_path: Path) -> None:
    reader = "import torch\n\ndef read(k):\n    return torch.load(f'codes_k{k}.pt')\n"
    written_out = reader.replace("f'codes_k{k}.pt'", "'codes_k8.pt'")
    assert reported(project(tmp_path, read=reader, other=written_out)) == ["other.py", "read.py"]
    assert reported(project(tmp_path, write=OF_CPU.replace("tables.pt", "codes_k{SIZE}.pt"))) == []


def test_environments_and_hidden_folders_are_no_part_of_the_project(tmp_path: Path) -> None:
    root = project(tmp_path, read=READER)
    for folder in ("env/lib", ".old"):
        (root / folder).mkdir(parents=True)
        (root / folder / "write.py").write_text(OF_CPU)
    assert [each.filename for each in lint(root).diagnostics if each.filename.endswith("read.py")]


def test_too_many_files_are_not_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = project(tmp_path, read=READER, write=OF_CPU)
    monkeypatch.setattr(tree, "MOST_FILES", 1)
    assert reported(root) == ["read.py"]


@pytest.mark.parametrize("seed", range(3))
def test_kept_results_depend_on_who_writes(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    root, folder = tmp_path / "project", tmp_path / "cache"
    root.mkdir()
    project(root, a__read=READER, read=READER)
    found = set()
    for _ in range(25):
        path = root / choose.choice(("write.py", "a/write.py", "tools/train.py", "text.py"))
        if choose.random() < 0.4 and path.exists():
            path.unlink()
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(choose.choice((OF_CPU, OF_CPU, OF_CPU, OF_MODEL, "x = 1\n")))
        fresh = lint(root)
        assert lint(root, folder) == fresh
        assert lint(root, folder) == fresh
        found.add(len(fresh.diagnostics))
    assert found == {0, 2}


def test_order_and_processes_change_nothing(tmp_path: Path) -> None:
    root = project(tmp_path, a__read=READER, read=READER, write=OF_CPU, z__other=READER.replace("tables", "weights"))
    assert lint(root, jobs=2) == lint(root)


NET = "from torch import nn\n\nclass Net(nn.Module):\n    pass\n"
USE = "import torch\nfrom net import Net\n\nnet = Net()\nnet.load_state_dict(torch.load('runs/net.pt'))\n"
TRAIN = "import torch\nfrom net import Net\n\nnet = Net()\ntorch.save(net.state_dict(), 'runs/net.pt')\n"


def test_a_model_that_no_code_moves_is_saved_from_the_cpu(tmp_path: Path) -> None:
    assert reported(project(tmp_path, net=NET, train=TRAIN, use=USE)) == []


@pytest.mark.parametrize(
    "train",
    [
        TRAIN.replace("net = Net()", "net = Net().to('cuda')"),
        TRAIN.replace("net = Net()", "net = Net()\nnet.cuda()"),
        TRAIN.replace("net = Net()", "from helpers import fit\nnet = Net()\nfit(net)"),
        TRAIN.replace("net = Net()", "from helpers import make\nnet = make()"),
        "import torch\n\ndef save(net):\n    torch.save(net.state_dict(), 'runs/net.pt')\n",
    ],
)
def test_a_model_that_may_be_moved_is_saved_from_anywhere(tmp_path: Path, train: str) -> None:
    helpers = "def fit(net):\n    pass\n\ndef make():\n    return None\n"
    assert reported(project(tmp_path, net=NET, train=train, use=USE, helpers=helpers)) == ["use.py"]


WHOLE = f"{TRAIN.replace('from net import Net', 'from torch import nn')}".replace(".state_dict()", "")
WHOLE = WHOLE.replace("\n\nnet =", "\n\nclass Net(nn.Module):\n    pass\n\nnet =")
SEEN = "import torch\n\nnet = torch.load('runs/net.pt')\nprint(net(torch.ones(3)))\n"


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("net = Net()", "net = Net() if input() else torch.load('runs/net.pt')\nprint(net.parameters())", False),
        ("net = Net()", "net = Net().to(input())", True),
        ("net = Net()", "from helpers import fit\nnet = Net()\nfit(net)", True),
        ("net = Net()", "from helpers import make\nnet = make()", True),
        ("    pass", "    def __init__(self):\n        super().__init__()\n        self.cuda()", True),
    ],
)
def test_a_whole_model_that_no_code_moves(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    helpers = "def fit(net):\n    pass\n\ndef make():\n    return None\n"
    root = project(tmp_path, train=WHOLE.replace(old, new), use=SEEN, helpers=helpers)
    assert ("use.py" in reported(root)) is is_found


def test_a_model_that_moves_itself_is_saved_from_there(tmp_path: Path) -> None:
    net = f"{NET}    def __init__(self):\n        super().__init__()\n        self.cuda()\n"
    assert reported(project(tmp_path, net=net, train=TRAIN, use=USE)) == ["use.py"]


PAIR = """import torch

class Components:
    def __init__(self, mean):
        self.mean = mean

    def save(self, path):
        torch.save({"mean": self.mean.cpu()}, path)

    def load(self, path):
        self.mean = torch.load(path)["mean"]
"""


def test_a_class_reads_what_it_writes_under_the_same_path(tmp_path: Path) -> None:
    assert reported(project(tmp_path, components=PAIR)) == []


@pytest.mark.parametrize(("old", "new"), [(".cpu()", ".float()"), ("torch.load(path)", "torch.load(self.path)")])
def test_a_class_may_read_something_else_than_data_of_the_cpu(tmp_path: Path, old: str, new: str) -> None:
    assert reported(project(tmp_path, components=PAIR.replace(old, new))) == ["components.py"]


SETTINGS = """from pathlib import Path

RUNS = Path(__file__).parent / "runs"

class Names:
    CURVES = "curves.pt"

def curves_of(kind):
    if kind == "small":
        return RUNS / "small" / Names.CURVES
    return RUNS / "large" / Names.CURVES

def weights_of(kind):
    return RUNS / kind / "weights.pt"
"""
FIT = """import torch
from settings import curves_of, weights_of

def fit(net, batches, kind):
    net = net.to("cuda" if torch.cuda.is_available() else "cpu")
    curve = []
    for batch in batches:
        total = 0.0
        for each in batch:
            total += net(each).sum().item()
        curve.append(total / len(batch))
    torch.save(net.state_dict(), weights_of(kind))
    torch.save({"curve": curve}, curves_of(kind))
"""
PLOT = "import torch\nimport settings\n\ncurve = torch.load(settings.curves_of('small'))\n"


def test_paths_are_followed_through_what_other_files_define(tmp_path: Path) -> None:
    by_class = "import torch\nfrom settings import Names\n\ncurve = torch.load(f'runs/{Names.CURVES}')\n"
    written_out = "import torch\n\ncurve = torch.load('runs/curves.pt')\n"
    files = {"settings": SETTINGS, "fit": FIT, "plot": PLOT, "by_class": by_class, "written_out": written_out}
    assert reported(project(tmp_path, **files)) == []
    weights = PLOT.replace("curves_of", "weights_of")
    assert reported(project(tmp_path, weights=weights)) == ["weights.py"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (".item()", ""),
        ("weights_of(kind)", "curves_of(kind)"),
        ("weights_of(kind)", "where"),
        ("import curves_of", "import *\nfrom names import curves_of"),
    ],
)
def test_what_is_written_under_a_path_of_another_file_may_be_elsewhere(tmp_path: Path, old: str, new: str) -> None:
    assert reported(project(tmp_path, settings=SETTINGS, fit=FIT.replace(old, new), plot=PLOT)) == ["plot.py"]


PACK = """import numpy as np
import torch
from settings import BATCH, RUNS
from torch.utils.data import DataLoader, TensorDataset

def pack(kind, shuffle):
    rows = torch.tensor(np.load(RUNS / f"{kind}.npy")).double()
    if shuffle:
        name = f"{kind}_train_batches"
        rows = rows[torch.randperm(len(rows))]
    else:
        name = f"{kind}_test_batches"
    batches = DataLoader(TensorDataset(rows, rows), batch_size=BATCH, shuffle=shuffle)
    torch.save(batches, RUNS / f"{name}.pt")
"""
UNPACK = "import torch\nfrom settings import RUNS\n\nbatches = torch.load(RUNS / 'small_train_batches.pt')\n"


def test_batches_of_tensors_of_the_cpu_are_pickled(tmp_path: Path) -> None:
    assert reported(project(tmp_path, pack=PACK, unpack=UNPACK)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (".double()", ".to(DEVICE)"),
        ("TensorDataset(rows, rows)", "Rows(rows)"),
        ("import DataLoader, TensorDataset", "import TensorDataset\nfrom loading import DataLoader"),
        ("shuffle=shuffle", "sampler=sampler"),
        ("train_batches", "valid_batches"),
    ],
)
def test_batches_may_hold_what_is_elsewhere(tmp_path: Path, old: str, new: str) -> None:
    assert reported(project(tmp_path, pack=PACK.replace(old, new), unpack=UNPACK)) == ["unpack.py"]


def test_kept_results_depend_on_files_that_paths_come_from(tmp_path: Path) -> None:
    root, folder = tmp_path / "project", tmp_path / "cache"
    root.mkdir()
    project(root, settings=SETTINGS, fit=FIT, plot=PLOT)
    assert not lint(root, folder).diagnostics
    (root / "settings.py").write_text(SETTINGS.replace('"weights.pt"', '"curves.pt"'))
    assert lint(root, folder) == lint(root)
    assert lint(root, folder).diagnostics


FITS = """import torch
from torch import nn


class Fit:
    def __init__(self, folder):
        self.folder = folder
        self.net = nn.Linear(2, 3)

    def run(self, rows):
        self.net(rows)
        torch.save(self.net.state_dict(), self.folder + "/best.pt")

    def again(self):
        self.net.load_state_dict(torch.load(self.folder + "/best.pt"))
"""


def test_a_class_keeps_its_model_where_no_importer_moves_it(tmp_path: Path) -> None:
    program = "from fits import Fit\n\nfit = Fit('runs')\nfit.run([])\n"
    moving = program.replace("fit.run", "fit.net.to(place)\nfit.run")
    assert reported(project(tmp_path, fits=FITS, main=program)) == []
    assert reported(project(tmp_path, fits=FITS, main=program, other=moving)) == ["fits.py"]


def test_a_layer_that_is_moved_where_it_is(tmp_path: Path) -> None:
    train = "import torch\n\nnet = torch.nn.Linear(2, 2)\nnet.to(place)\ntorch.save([net], 'tables.pt')\n"
    assert reported(project(tmp_path, read=READER, train=train)) == ["read.py"]
    assert reported(project(tmp_path, train=train.replace("torch.save", "net.cpu()\ntorch.save"))) == []


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("folder + '.pz'", []),
        ("'m/a.pt'", []),
        ("folder + '.pt'", ["read.py"]),
        ("folder + '.tmp'", ["read.py"]),
        ("'tables.pt.tmp'", ["read.py"]),
    ],
)
def test_an_end_tells_files_apart(tmp_path: Path, path: str, lines: list[str]) -> None:
    other = f"\n\ndef keep(net, folder):\n    torch.save(net, {path})\n"
    assert reported(project(tmp_path, read=READER, write=OF_CPU + other)) == lines


def test_patterns_find_what_has_a_suffix_of_its_own(tmp_path: Path) -> None:
    imports = "import torch\nfrom glob import glob\n\n"
    found = imports + "for path in sorted(glob('runs/*.rows')):\n    print(torch.load(path))\n"
    first = imports + "paths = glob('runs/*.rows')\nprint(torch.load(paths[0]))\n"
    write = OF_CPU.replace("{A}/tables.pt", "{A}.rows")
    assert reported(project(tmp_path, found=found, first=first, write=write)) == []
    named = first.replace("*.rows", "val_*.net.rows")
    assert reported(project(tmp_path, first=named)) == []
    train = OF_MODEL.replace("tables.pt", "7.rows")
    assert reported(project(tmp_path, first=first, train=train)) == ["first.py", "found.py"]
    assert reported(project(tmp_path, train=write.replace(".rows", ".lines"))) == []
    assert reported(project(tmp_path, write=write.replace(".rows", ".lines"))) == ["first.py", "found.py"]


FILLS = """import torch
from storage import Storage

def resume(objects, path):
    saved = torch.load(path)
    for key, value in objects.items():
        value.load_state_dict(saved[key])
"""
KEEPS = "class Storage:\n    def load_state_dict(self, state_dict):\n        self.kept = state_dict\n"


@pytest.mark.parametrize(("storage", "sure"), [(KEEPS, "unsafe"), ("class Storage:\n    pass\n", "safe")])
def test_a_class_that_is_imported_may_keep_the_tensors_of_a_state_dict(tmp_path: Path, storage: str, sure: str) -> None:
    (tmp_path / "storage.py").write_text(storage)
    (tmp_path / "resume.py").write_text(FILLS)
    (found,) = lint(tmp_path).diagnostics
    assert found.fix is not None
    assert found.fix.applicability.value == sure
