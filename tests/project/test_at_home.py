"""What hurts nobody who runs the programs of an application is advice: what shows that, and what keeps a finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application, notebook, written
from tests.project.test_ways import found, inside
from torchdevlint.project import tree

__all__ = ["inside"]

LAYERS = """import torch
from torch import nn

class Used(nn.Module):
    def forward(self, x, device):
        return x.to(device) * torch.ones(3, device="cuda")

class Left(nn.Module):
    def forward(self, x, device):
        return x.to(device) * torch.ones(3, device="cuda")

def make_left():
    return Left()
"""
MAIN = """import torch
from layers import Used, make_left

device = "cuda" if torch.cuda.is_available() else "cpu"
net = Used().to(device)
print(net(torch.ones(3, device=device), device))
"""
BOTH = ["layers.py:TDL012", "layers.py:TDL012"]
METRIC = """import torch

def spread(x: torch.Tensor):
    return (x - torch.ones(3)).abs()
"""
TABLE = """import argparse
import torch
from metric import spread
from net import Net
from reading import rows

def report():
    print(spread(rows("results.csv")))

def main():
    argparse.ArgumentParser().parse_args()
    Net().train()
    report()

if __name__ == "__main__":
    main()
"""
NET = """import torch

class Net:
    def train(self):
        print(torch.ones(3, device="cuda" if torch.cuda.is_available() else "cpu"))
"""
READING = "import torch\nfrom tables import parse\n\ndef rows(path):\n    return parse(path)\n"


NOISE = """import torch
from torch import nn

class Noise(nn.Module):
    def forward(self, x):
        return x + torch.ones(3)
"""
TRIAL = "import torch\n\nif __name__ == '__main__':\n    print(torch.ones(3))\n"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("part_0.py", "import torch\n", ["noise.py:TDL003"]),
        ("part_0.py", "import part_1\n", []),
        (".gitignore", "", []),
        ("README.md", "# Attention\n", []),
        ("requirements.txt", "torch\n", []),
    ],
)
def test_files_that_have_nothing_to_do_with_each_other_are_no_project(
    tmp_path: Path, name: str, text: str, expected: list[str]
) -> None:
    """Somebody's folder of scripts: that none of them needs a layer does not say that nobody does."""
    root = application(tmp_path, noise=NOISE, trial=TRIAL)
    (root / ".gitignore").unlink()
    (root / name).write_text(text)
    assert found(root) == expected


def test_what_no_program_builds(tmp_path: Path) -> None:
    """`make_left` is imported and called by nobody, so neither is what it calls."""
    root = application(tmp_path, layers=LAYERS, main=MAIN)
    assert found(root) == BOTH[:1]
    assert found(root, "TDL012") == BOTH
    (root / "main.py").write_text(MAIN + "print(make_left())\n")
    assert found(root) == BOTH


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("class Left", "@register\nclass Left"),
        ("import torch\n", "import torch\nTABLE = [make() for make in [lambda: Left()]]\n"),
        ("Left()\n", "Left()\n\nif __name__ == '__main__':\n    import sys\n    Left()(sys.argv.parse_args())\n"),
    ],
    ids=["registered", "called where it is imported", "a program"],
)
def test_what_may_be_built_otherwise(tmp_path: Path, old: str, new: str) -> None:
    assert found(application(tmp_path, layers=LAYERS.replace(old, new), main=MAIN)) == BOTH


def test_what_only_a_trial_builds(tmp_path: Path) -> None:
    """No program needs what the file tries of its own, be it on an accelerator that the class names."""
    trial = "\nif __name__ == '__main__':\n    print(Left()(torch.ones(3)))\n"
    assert found(application(tmp_path, layers=LAYERS + trial, main=MAIN)) == BOTH[:1]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.yaml", "model: Left\n"),
        ("README.md", "`from layers import make_left`\n"),
        ("choose.py", "NAME = 'Left'\n"),
        ("plugins.py", "import importlib\nprint(importlib.import_module('layers'))\n"),
        ("plugins.py", "import importlib, sys\nprint(importlib.import_module(sys.argv[1]))\n"),
        ("plugins.py", "import importlib, sys\nprint(importlib.import_module('lay' + sys.argv[1]))\n"),
        ("plugins.py", "import importlib, sys\nprint(importlib.import_module('.' + sys.argv[1], __package__))\n"),
        ("plugins.py", "from importlib import import_module as load\nprint(load('layers'))\n"),
        ("plugins.py", "import importlib\nprint(map(importlib.import_module, ['layers']))\n"),
        ("plugins.py", "import runpy, sys\nrunpy.run_path(sys.argv[1])\n"),
    ],
)
def test_what_may_be_found_by_its_name(tmp_path: Path, name: str, text: str) -> None:
    root = application(tmp_path, layers=LAYERS, main=MAIN)
    (root / name).write_text(text)
    assert found(root) == BOTH


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plugins.py", "import importlib, sys\nprint(importlib.import_module(f'data.{sys.argv[1]}'))\n"),
        ("plugins.py", "import importlib\nprint(importlib.import_module('torch.cuda'))\n"),
        ("names.py", "from layers import Left, make_left\n\n__all__ = ['Left', 'make_left']\n"),
        ("other.py", "class Left:\n    pass\n\ndef make_left():\n    return Left()\n\nmake_left()\n"),
        ("using.py", "import layers\nfrom nets import make_left\nprint(make_left(), layers.make())\n"),
    ],
)
def test_what_names_another_thing(tmp_path: Path, name: str, text: str) -> None:
    """A text that begins otherwise, a list of names for importers, and the same names of another file."""
    root = application(tmp_path, layers=LAYERS, main=MAIN, nets="def make_left():\n    return 1\n")
    (root / name).write_text(text)
    tree.forget()
    assert found(root) == BOTH[:1]


@pytest.mark.parametrize(
    "text",
    [
        "from names import make_left\nprint(make_left())\n",
        "import layers\nfrom nets import make_left\nprint(make_left(), layers.make_left())\n",
        "from layers import make_left\nfrom nets import make_left as other\nprint(make_left(), other())\n",
        "try:\n    from nets import make_left\nexcept OSError:\n    from layers import make_left\nprint(make_left())\n",
    ],
    ids=["handed on", "of the module", "of both", "of either"],
)
def test_names_that_several_files_define(tmp_path: Path, text: str) -> None:
    names = "from layers import make_left\n\n__all__ = ['make_left']\n"
    root = application(tmp_path, layers=LAYERS, main=MAIN, nets="def make_left():\n    return 1\n", names=names)
    (root / "using.py").write_text(text)
    tree.forget()
    assert found(root) == BOTH


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ("import layers\nprint(getattr(layers, name))\n", True),
        ("import layers as nets\nprint(nets.__dict__[name]())\n", True),
        ("import layers\nprint(eval(f'layers.{name}')())\n", True),
        ("from layers import *\nprint(globals()[name]())\n", True),
        ("from layers import *\nprint(eval('Le' + name)())\n", True),
        ("from layers import *\nprint(eval('Left()'))\n", True),
        ("from nets import *\nprint(vars()[name])\n", True),
        ("from layers import __dict__ as known\nprint(known[name]())\n", True),
        ("import layers, inspect\nprint(inspect.getmembers(layers))\n", True),
        ("import layers, torchvision\nprint(torchvision.models.__dict__[name]())\n", False),
        ("import layers\nfrom torch import nn\nprint(eval(f'nn.{name}')())\n", False),
        ("import layers\nprint(eval(name))\n", False),
        ("from layers import *\nprint(eval(f'Net{name}')())\n", False),
        ("from layers import *\nprint('best' in globals())\n", False),
        ("from layers import *\ndef describe(size):\n    return locals()[name]\n", False),
        ("import layers\nprint(layers.__dict__['Used'])\n", False),
        ("from layers import *\nfrom metrics import eval\nprint(eval(net))\n", False),
        ("from layers import *\n# eval(name)\nprint(net.eval())\n", False),
    ],
)
def test_names_that_are_looked_up_where_they_may_mean_it(tmp_path: Path, code: str, is_found: bool) -> None:
    """`getattr(models, name)` is what `models` binds, and `eval(text)` what the file does that says so."""
    root = application(tmp_path, layers=LAYERS, main=MAIN, choose=code, nets="from layers import *\n")
    assert found(root) == (BOTH if is_found else BOTH[:1])


GONE = """import torch
from nets.core import build

if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    found = torch.ones(3, device=device)
    print(build, found.numpy())
"""


@pytest.mark.parametrize(
    ("core", "parts", "expected"),
    [
        ("from nets.parts import build\n", "build = None\n", 1),
        ("from nets.parts import build\n", "from nets.gone import build\n", 0),
        ("from .parts import build\n", "from .gone import build\n", 0),
        ("from .parts import build\n", "try:\n    from .gone import build\nexcept ImportError:\n    build = None\n", 1),
        ("def build(net):\n    from .parts import build\n    return net\n", "from .gone import build\n", 1),
    ],
)
def test_what_a_program_imports_ends_at_its_imports(tmp_path: Path, core: str, parts: str, expected: int) -> None:
    root = application(tmp_path, report=GONE)
    (root / "nets").mkdir()
    for name, text in {"__init__": "", "core": core, "parts": parts}.items():
        (root / "nets" / f"{name}.py").write_text(text)
    assert found(root) == ["report.py:TDL006"] * expected
    assert found(root, "TDL006") == ["report.py:TDL006"]


@pytest.mark.parametrize(("folder", "times"), [("my-net", 1), ("my_nets", 2), ("other-net", 2)])
def test_a_copy_that_nobody_can_import(tmp_path: Path, folder: str, times: int) -> None:
    """A folder with a hyphen is no package; the one that is like it has all that is in it."""
    for name in ("my_net", folder):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
        (tmp_path / name / "layers.py").write_text(LAYERS)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "my-net"\n')
    assert found(tmp_path) == BOTH * times


def test_a_notebook_imports_all_names_and_says_none(tmp_path: Path) -> None:
    cell = '{"cells": [{"cell_type": "code", "source": ["from layers import *\\nprint(Used)"]}]}'
    root = application(tmp_path, layers=LAYERS, main=MAIN, **{"try.ipynb": cell})
    assert found(root) == BOTH[:1]
    (root / "try.ipynb").write_text(cell.replace("(Used)", "(make_left())"))
    assert found(root) == BOTH


def test_a_package_hands_all_names_on(tmp_path: Path) -> None:
    """It says none of them, and `main` does not say where they are from."""
    root = application(tmp_path, layers=LAYERS, nets="from layers import *\n", main=MAIN.replace("layers", "nets"))
    assert found(root) == BOTH[:1]
    (root / "main.py").write_text(MAIN.replace("layers", "nets") + "print(make_left())\n")
    assert found(root) == BOTH


def test_nothing_that_leads_to_a_helper_speaks_of_devices(tmp_path: Path) -> None:
    """Code that was run was run on a GPU: what would mix devices there has tensors of the CPU, or nobody calls it."""
    root = application(tmp_path, metric=METRIC, net=NET, reading=READING, main=TABLE)
    assert found(root) == []
    assert found(root, "TDL014") == ["metric.py:TDL014"]
    (root / "main.py").write_text(TABLE.replace("    report()", '    report()\n    print(Net(device="cuda"))'))
    assert found(root) == []  # what a program does beside a call says nothing of what the call gives


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("main.py", "report()\n\n", "print(spread(torch.zeros(3).cuda()))\n\n"),
        ("reading.py", "parse(path)", "torch.zeros(3).cuda()"),
    ],
    ids=["its caller", "what its caller calls"],
)
def test_a_helper_beside_code_that_knows_devices(tmp_path: Path, name: str, old: str, new: str) -> None:
    root = application(tmp_path, metric=METRIC, net=NET, reading=READING, main=TABLE)
    (root / name).write_text((root / name).read_text().replace(old, new))
    assert found(root) == ["metric.py:TDL014"]


READ = """import torch

def spread(x: torch.Tensor):
    return x.detach().numpy().std()
"""
OF_MODULE = """import torch
from torch import nn

class Metric(nn.Module):
    def spread(self, x: torch.Tensor):
        return (x - torch.ones(3)).abs()

spread = Metric().spread
"""
OF_FUNCTION = """import torch

class Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, wide=True):
        if wide:
            return torch.tensor(x[1:].detach().numpy().std())
        return x

spread = Spread.apply
"""


def test_inputs_of_a_function_that_reads_them(tmp_path: Path) -> None:
    """Who calls `apply` is not followed; but each run on a GPU would have ended there."""
    root = application(tmp_path, metric=OF_FUNCTION, net=NET, reading=READING, main=TABLE)
    assert (found(root), found(root, "TDL006")) == ([], ["metric.py:TDL006"])


@pytest.mark.parametrize(("metric", "code"), [(READ, "TDL006"), (OF_MODULE, "TDL014")], ids=["read", "a method"])
def test_arguments_that_are_read_or_meet_in_a_method(tmp_path: Path, metric: str, code: str) -> None:
    root = application(tmp_path, metric=metric, net=NET, reading=READING, main=TABLE)
    assert found(root) == []
    assert found(root, code) == [f"metric.py:{code}"]
    (root / "main.py").write_text(TABLE.replace("report()\n\n", "print(spread(torch.zeros(3).cuda()))\n\n"))
    assert found(root) == [f"metric.py:{code}"]


REPORT = """import torch
from metric import spread
from net import Net
from reading import rows

def report():
    Net().train()
    print(spread(rows("results.csv")))
"""
BY_NAME = "import importlib\nimport sys\n\nimportlib.import_module(sys.argv[1]).report()\n"


@pytest.mark.parametrize(
    ("main", "old", "new", "expected"),
    [
        (BY_NAME, "", "", []),
        ("import sys\n\nprint(sys.argv[1])\n", "", "", ["metric.py:TDL014"]),
        (BY_NAME, 'rows("results.csv")', "torch.zeros(3).cuda()", ["metric.py:TDL014"]),
    ],
    ids=["by name", "by nobody", "with a tensor of CUDA"],
)
def test_a_helper_of_files_that_programs_come_to_by_name(
    tmp_path: Path, main: str, old: str, new: str, expected: list[str]
) -> None:
    """No import leads from the program to `report`; it is no library for all that."""
    files = {"metric": METRIC, "net": NET, "reading": READING, "report": REPORT.replace(old, new), "main": main}
    root = application(tmp_path, **files)
    assert found(root) == expected
    assert found(root, "TDL014") == ["metric.py:TDL014"]


SETUP = "from setuptools import find_packages, setup\n\nsetup(name='spreads', packages=find_packages())\n"


@pytest.mark.parametrize(
    ("name", "text", "is_found"),
    [
        ("README.md", "pip install -e .\n", False),
        ("README.md", "pip install -U spreads\n", True),
        ("README.md", "!pip install -qU git+https://example.org/someone/Spreads.git@v1\n", True),
        ("README.md", "conda install -c conda-forge spreads\n", True),
        ("README.md", "conda install -c conda-forge other-spreads\n", False),
        ("README.md", "pip install git+https://example.org/someone/transformers\n", False),
        ("setup.py", SETUP.replace("name=", "classifiers=['Topic :: Software'], name="), True),
        ("PKG-INFO", "Name: spreads\n", True),
    ],
    ids=[
        "for itself",
        "installed by name",
        "from its repository",
        "by another manager",
        "another by that",
        "from another",
        "published",
        "downloaded",
    ],
)
def test_what_is_installed_for_itself_has_no_users_elsewhere(
    tmp_path: Path, name: str, text: str, is_found: bool
) -> None:
    package = tmp_path / "spreads"
    package.mkdir()
    application(package, __init__="", metric=METRIC, net=NET, reading=READING)
    main = TABLE.replace("from ", "from spreads.")
    root = application(tmp_path, main=main, setup=SETUP)
    (root / name).write_text(text)
    tree.forget()
    assert found(root) == (["metric.py:TDL014"] if is_found else [])


@pytest.mark.parametrize(
    ("shown", "is_found"),
    [
        ("pip install -e .\nSee https://pytorch.org/docs\n", False),
        ("[![version](https://img.shields.io/pypi/v/spreads)]\n", True),
        ("Documentation: https://spreads.readthedocs.io\n", True),
        ("Documentation: https://readthedocs.org/projects/spreads/\n", True),
        ("Docstrings as in https://sphinxcontrib-napoleon.readthedocs.io/en/latest/\n", False),
        ("It needs [rates](https://pypi.org/project/rates/)\n", False),
        ("[Try it](https://colab.research.google.com/drive/1GIr)\n", True),
        ("[Try it](https://colab.research.google.com/github/someone/spreads/blob/main/try.ipynb)\n", False),
    ],
    ids=[
        "for itself",
        "on an index",
        "documented",
        "documented under its name",
        "pages of another",
        "another on an index",
        "used elsewhere",
        "its own notebook",
    ],
)
def test_classifiers_alone_bring_no_users(tmp_path: Path, shown: str, is_found: bool) -> None:
    """A declaration is often copied whole: those who read of the project are told whether it is for them."""
    package = tmp_path / "spreads"
    package.mkdir()
    application(package, __init__="", metric=METRIC, net=NET, reading=READING)
    declared = SETUP.replace("name=", "classifiers=['Topic :: Software'], name=")
    root = application(tmp_path, main=TABLE.replace("from ", "from spreads."), setup=declared)
    (root / "README.md").write_text(shown)
    tree.forget()
    assert found(root) == (["metric.py:TDL014"] if is_found else [])


LISTING = """from distutils.core import setup

def below(package_dir, folder):
    return [folder, package_dir]

setup(name="spreads", packages=["rates"], scripts=below(".", "spreads"), classifiers=["Topic :: Software"])
"""


@pytest.mark.parametrize(
    ("setup", "is_found"),
    [
        (LISTING, False),
        (LISTING.replace('["rates"]', '["rates", "spreads"]'), True),
        (LISTING.replace("packages=", "package_dir={'rates': 'spreads'}, packages="), True),
    ],
    ids=["another package", "listed", "in another folder"],
)
def test_a_list_of_packages_says_what_is_installed(tmp_path: Path, setup: str, is_found: bool) -> None:
    """A folder that the declaration names elsewhere, as one of scripts or data, is no package of it."""
    package = tmp_path / "spreads"
    package.mkdir()
    application(package, __init__="", metric=METRIC, net=NET, reading=READING)
    root = application(tmp_path, main=TABLE.replace("from ", "from spreads."), setup=setup)
    tree.forget()
    assert found(root) == (["metric.py:TDL014"] if is_found else [])


def test_a_package_without_anything_beside_it_has_users_elsewhere(tmp_path: Path) -> None:
    """Neither scripts nor a word for readers, nor what would declare something: it was installed."""
    package = tmp_path / "spreads"
    package.mkdir()
    table = TABLE.replace("from ", "from .")
    application(package, __init__="", metric=METRIC, net=NET, reading=READING, table=table)
    (package / "torchdevlint.toml").unlink()
    assert found(tmp_path) == ["metric.py:TDL014"]
    (tmp_path / "README.md").write_text("# Spreads\n")
    tree.forget()
    assert found(tmp_path) == []


BY_RANK = """import torch.distributed as dist

def spread(model):
    return model.cuda(dist.get_rank())
"""
MEETING = """import os
import torch
import torch.multiprocessing as mp
from spread import spread

def work(rank, world):
    os.environ["MASTER_ADDR"] = "localhost"
    torch.distributed.init_process_group("nccl", rank=rank, world_size=world)
    spread(torch.nn.Linear(2, 2))

if __name__ == "__main__":
    mp.spawn(work, args=(torch.cuda.device_count(),), nprocs=torch.cuda.device_count())
"""


@pytest.mark.parametrize(("address", "expected"), [("localhost", []), ("10.0.0.1", ["spread.py:TDL404"])])
def test_ranks_of_processes_that_meet_on_one_machine(tmp_path: Path, address: str, expected: list[str]) -> None:
    main = MEETING.replace("localhost", address)
    root = application(tmp_path, spread=BY_RANK, reading=READING, main=main)
    assert found(root) == expected
    assert found(root, "TDL404") == ["spread.py:TDL404"]


ASKED = """import torch

def masked(x):
    mask = torch.arange(x.shape[1])
    if x.is_cuda:
        mask = mask.cuda()
    return x * mask
"""


LAUNCHED = """import torch
from spread import spread

if __name__ == "__main__":
    torch.distributed.init_process_group("nccl")
    spread(torch.nn.Linear(2, 2))
"""


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("torchrun --standalone --nproc_per_node 2 \\\n  main.py\n", []),
        ("torchrun --nnodes=1 --nproc_per_node 2 main.py\n", []),
        ("python -m torch.distributed.launch --nnodes 1 main.py --ddp\n", []),
        ("torchrun --nproc_per_node 2 main.py\n", ["spread.py:TDL404"]),
        ("torchrun --nnodes=1:4 main.py\n", ["spread.py:TDL404"]),
        ("torchrun --standalone main.py\ntorchrun --nnodes 2 main.py\n", ["spread.py:TDL404"]),
        ("torchrun --standalone other.py\necho main\n", ["spread.py:TDL404"]),
    ],
    ids=["alone", "one", "one, as of old", "not said", "as many as come", "two machines once", "another program"],
)
def test_programs_that_are_launched_for_one_machine_alone(tmp_path: Path, script: str, expected: list[str]) -> None:
    root = application(tmp_path, spread=BY_RANK, main=LAUNCHED)
    (root / "run.sh").write_text(script)
    tree.forget()
    assert found(root) == expected


WRAPPED = """import torch
from layers import Used

if __name__ == "__main__":
    net = torch.nn.DataParallel(Used()).cuda()
    torch.save(net.state_dict(), "net.pt")
"""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("other.py", "", []),
        ("other.py", "def restore(net, path):\n    net.load_state_dict(read(path))\n", ["main.py:TDL202"]),
        ("README.md", "Use `Used.load_from_checkpoint`.\n", ["main.py:TDL202"]),
        ("other.py", "tokens = Tokens.from_pretrained('org/small-1.5', use_fast=True)\n", []),
        ("look.yaml", 'tokens: Tokens.from_pretrained(\\"small\\")\n', []),
        ("other.py", "def restore(path):\n    return Used.from_pretrained(path)\n", ["main.py:TDL202"]),
        ("other.py", "net = Used.from_pretrained('./nets')\n", ["main.py:TDL202"]),
        ("other.py", "net = Used.from_pretrained('net.pt')\n", ["main.py:TDL202"]),
    ],
)
def test_a_prefix_in_files_that_nothing_reads(tmp_path: Path, name: str, text: str, expected: list[str]) -> None:
    root = application(tmp_path, layers="import torch\n\nclass Used(torch.nn.Linear):\n    pass\n", main=WRAPPED)
    (root / name).write_text(text)
    tree.forget()
    assert found(root) == expected
    assert found(root, "TDL202") == ["main.py:TDL202"]


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        pytest.param('net.load_state_dict(torch.load("layers.pth"))', False, id="another file"),
        pytest.param('net.load_state_dict(torch.load("net.pt"))', True, id="the file"),
        pytest.param("net.load_state_dict(torch.load(path))", True, id="any file"),
        pytest.param('saved = torch.load(f"{path}.pt")\n    net.load_state_dict(saved)', True, id="perhaps the file"),
        pytest.param("net.load_state_dict(model_zoo.load_url(path))", False, id="from an address"),
        pytest.param("state = other.state_dict()\n    net.load_state_dict(state)", False, id="from another model"),
        pytest.param("net.load_state_dict(averaged(path))", False, id="from a function of the project"),
        pytest.param("net.load_state_dict(fetched(path))", True, id="from a function of others"),
        pytest.param("net.load_state_dict(json.load(path))", False, id="from a file of another kind"),
        pytest.param("net.load_state_dict(fabric.load(path))", True, id="by a method of others"),
        pytest.param("net.load_state_dict(other)\n    return torch.load", True, id="by what is handed on"),
        pytest.param("from torch import load as read\n    net.load_state_dict(read(path))", True, id="by another name"),
        pytest.param("other(net, checkpoint_path=path).load_state_dict({})", True, id="by a library"),
    ],
)
def test_a_prefix_in_a_file_beside_others_that_are_read(tmp_path: Path, text: str, is_found: bool) -> None:
    reading = "import json\nimport torch\nfrom torch.utils import model_zoo\n\n"
    reading += f"def fill(net, other, path):\n    {text}\n"
    reading += "\ndef averaged(parts):\n    return {name: sum(values) for name, values in parts.items()}\n"
    layers = "import torch\n\nclass Used(torch.nn.Linear):\n    pass\n"
    root = application(tmp_path, layers=layers, main=WRAPPED, reading=reading)
    assert ("main.py:TDL202" in found(root)) is is_found


@pytest.mark.parametrize("text", ["Run `torch.load` on net.pt.\n", "Then call `net.load_state_dict`.\n"])
def test_a_prefix_in_a_file_that_a_document_says_how_to_read(tmp_path: Path, text: str) -> None:
    reading = "import torch\n\ndef fill(net):\n    net.load_state_dict(torch.load('layers.pth'))\n"
    layers = "import torch\n\nclass Used(torch.nn.Linear):\n    pass\n"
    root = application(tmp_path, layers=layers, main=WRAPPED, reading=reading)
    (root / "README.md").write_text(text)
    tree.forget()
    assert "main.py:TDL202" in found(root)


def test_a_program_that_counts_the_gpus_of_several_machines_is_for_them(tmp_path: Path) -> None:
    counting = LAUNCHED + "    print(torch.distributed.get_rank() % torch.cuda.device_count())\n"
    root = application(tmp_path, spread=BY_RANK, main=counting)
    (root / "run.sh").write_text("torchrun --nnodes=1 --nproc_per_node 2 main.py\n")
    tree.forget()
    assert found(root) == ["spread.py:TDL404"]


def test_a_question_for_cuda_leaves_only_another_gpu(tmp_path: Path) -> None:
    main = "import torch\nfrom masks import masked\nuse_cuda = torch.cuda.is_available()\n"
    root = application(tmp_path, masks=ASKED, main=main + "print(masked(torch.ones(2, 3)))\n")
    assert found(root) == []
    (root / "main.py").write_text(main + "print(masked(torch.ones(2, 3, device='cuda:1')))\n")
    assert found(root) == ["masks.py:TDL012"]


WINDOW = """import sys
from masks import Masked
from widgets import Application, Window

class Main(Window):
    def __init__(self):
        super().__init__()
        self.button.pressed.connect(self.show)

    def show(self):
        print(Masked().cuda()(self.picture.cuda()))

if __name__ == "__main__":
    window = Main()
    sys.exit(Application(sys.argv).run(window))
"""
MASKED = """import torch
from torch import nn

class Masked(nn.Module):
    def forward(self, x):
        return x * torch.arange(x.shape[1]).cuda()
"""


def test_a_program_that_names_nothing_but_cuda(tmp_path: Path) -> None:
    """What calls `show` is not known, but nothing that leads there sends anything elsewhere; one that does suffices."""
    wide = "import torch\n\ndef spread(n):\n    return torch.ones(n, device='cuda:1')\n"
    window = WINDOW.replace("import sys\n", "import sys\nimport wide\n")
    root = application(tmp_path, masks=MASKED, main=window, wide=wide)
    assert found(root) == []
    (root / "main.py").write_text(window.replace("picture.cuda()", "picture.to(self.place)"))
    assert found(root) == ["masks.py:TDL012"]


LOST = """import torch
from camera import make, read

class Score:
    def __init__(self, model):
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = model.to(self.device)

    def score(self, frame):
        return self.model(self.tensor_of(frame).to(self.device))

    def tensor_of(self, frame):
        found = torch.from_numpy(frame)
        found.to(self.device)
        return found

if __name__ == "__main__":
    print(Score(make()).score(read()))
"""


def test_a_lost_move_that_all_callers_make_up_for(tmp_path: Path) -> None:
    root = application(tmp_path, score=LOST)
    assert found(root) == []
    assert found(root, "TDL001") == ["score.py:TDL001"]
    (root / "score.py").write_text(LOST.replace("(frame).to(self.device)", "(frame)"))
    assert "score.py:TDL001" in found(root)


CONVERTED = """import torch
from camera import read

def prepare(frame: torch.Tensor, place):
    frame.to(torch.float32)
    return frame.to(place)

if __name__ == "__main__":
    print(prepare(read(), "cuda" if torch.cuda.is_available() else "cpu").unsqueeze(0))
"""


def test_a_lost_conversion_places_nothing(tmp_path: Path) -> None:
    """What makes data of an application mostly gives the dtype that is asked for; the place is another matter."""
    root = application(tmp_path, score=CONVERTED)
    assert found(root) == []
    assert found(root, "TDL001") == ["score.py:TDL001"]
    (root / "score.py").write_text(CONVERTED.partition("if __name__")[0])
    (root / "main.py").write_text("import importlib\n\nprint(importlib.import_module('score').prepare)\n")
    assert found(root) == []
    (root / "main.py").unlink()
    moved = CONVERTED.replace("return frame.to(place)", "return frame").replace("torch.float32", "place")
    (root / "score.py").write_text(moved)
    assert found(root) == ["score.py:TDL001"]


SPAWNING = """import argparse
import torch.multiprocessing as mp
from helper import place
from loading import restore
from model import net

def worker(rank, net):
    net.cuda()

def main():
    args = argparse.ArgumentParser().parse_args()
    restore(net, args.path)
    mp.spawn(worker, (net,))

if __name__ == "__main__":
    main()
"""


def test_a_worker_that_is_spawned_runs(tmp_path: Path) -> None:
    loading = "import torch\n\ndef restore(net, path):\n    net.load_state_dict(torch.load(path))\n"
    helper = "import torch\n\ndef place():\n    return 'cuda' if torch.cuda.is_available() else 'cpu'\n"
    model = "from nets import make\nnet = make()\n"
    root = application(tmp_path, helper=helper, loading=loading, main=SPAWNING, model=model)
    assert found(root) == []
    (root / "main.py").write_text(SPAWNING.replace("net.cuda()", "net.to(place())"))
    assert found(root) == ["loading.py:TDL201"]


GIVEN = """import torch
from torch import nn

class Real(nn.Module):
    def __init__(self, shape):
        super(Real, self).__init__()
        self.label = torch.ones(shape).cuda()

    def forward(self, x):
        return (x - self.label).abs().mean()
"""


def test_objects_that_are_all_sent_to_cuda_where_they_are_made(tmp_path: Path) -> None:
    """Whatever the program chooses for others; one that goes where that is keeps the finding."""
    main = "import torch\nfrom given import Real\nplace = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
    main += "real = Real(3).cuda()\nprint(real(torch.ones(3, device=place)))\n"
    root = application(tmp_path, given=GIVEN, main=main)
    assert "given.py:TDL012" not in found(root)
    assert "given.py:TDL012" in found(root, "TDL012")
    (root / "main.py").write_text(main + "Real(4).to(place)\n")
    assert "given.py:TDL012" in found(root)


MASKS = """import torch
from pictures import resize
from torch import nn

class Mask(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor, masks: torch.Tensor, old):
        kept = [resize(masks[i].squeeze(0).numpy()) for i in range(3)]
        return self.fc(x), kept
"""
MASKING = """import torch
from masks import Mask

net = Mask().to("cuda" if torch.cuda.is_available() else "cpu")
print(net)
"""


def test_forward_reads_with_numpy_what_it_is_given(tmp_path: Path) -> None:
    """Each run with the model on a GPU would end there: whoever ran it gave masks of the CPU."""
    root = application(tmp_path, masks=MASKS, main=MASKING)
    assert found(root) == []
    assert found(root, "TDL006") == ["masks.py:TDL006"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("masks[i].squeeze(0)", "self.fc(masks[i])"),
        ("        kept = [", "        if old:\n            return x, [masks.squeeze(0).numpy()]\n        kept = ["),
        ("masks[i].squeeze(0)", "masks[i].to(x.device)"),
    ],
)
def test_forward_reads_with_numpy_what_it_makes_or_in_one_case(tmp_path: Path, old: str, new: str) -> None:
    root = application(tmp_path, masks=MASKS.replace(old, new), main=MASKING)
    assert found(root) == ["masks.py:TDL006"]


FILTERING = """import torch
from smooth import smooth
from helper import place

net = torch.nn.Linear(3, 3)
net.load_state_dict(torch.load("net.pt"))
print(smooth(net.to(place())))
"""


@pytest.mark.parametrize(
    ("smooth", "expected"),
    [
        ("import cupy\n", []),
        ("from pynvrtc.compiler import Program\n", []),
        ("try:\n    import cupy\nexcept ImportError:\n    cupy = None\n", ["main.py:TDL201"]),
        ("def smooth(net):\n    import cupy\n", ["main.py:TDL201"]),
        ("import numpy\n", ["main.py:TDL201"]),
    ],
)
def test_a_program_imports_a_library_for_cuda_alone(tmp_path: Path, smooth: str, expected: list[str]) -> None:
    helper = "import torch\n\ndef place():\n    return 'cuda' if torch.cuda.is_available() else 'cpu'\n"
    assert found(application(tmp_path, helper=helper, smooth=f"smooth = None\n{smooth}", main=FILTERING)) == expected


GATHERING = """import torch
from _kernels import gather

def gathered(features, index):
    rows = torch.cuda.FloatTensor(index.shape[0], features.shape[1]).zero_()
    gather(features, index, rows)
    return rows
"""
CHOOSING = """import argparse
import torch
from gathering import gathered

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda:1")
device = torch.device(parser.parse_args().device)
print(gathered(torch.ones(3, 3, device=device), torch.zeros(3, dtype=torch.long, device=device)))
"""


def test_a_buffer_of_a_kernel_is_advice(tmp_path: Path) -> None:
    """It is launched on the current GPU as often as not; of a few files, nobody knows what they are for."""
    (tmp_path / "few").mkdir()
    assert found(written(tmp_path / "few", gathering=GATHERING, main=CHOOSING)) == ["gathering.py:TDL012"]
    (tmp_path / "many").mkdir()
    root = application(tmp_path / "many", gathering=GATHERING, main=CHOOSING)
    assert found(root) == []
    assert found(root, "TDL012") == ["gathering.py:TDL012"]


KERNELS = """from setuptools import setup
from torch.utils.cpp_extension import CUDAExtension

setup(ext_modules=[CUDAExtension("smooth_cuda", ["src/smooth.cpp", "src/smooth.cu"])])
"""
BUILDING = """from torch.utils.cpp_extension import load

kernels = load("kernels", ["src/smooth.cpp", "src/smooth.cu"])
"""
TRYING = "try:\n    import smooth_cuda\nexcept ImportError:\n    "


@pytest.mark.parametrize(
    ("smooth", "setup", "expected"),
    [
        ("import smooth_cuda\n", KERNELS, []),
        (f"{TRYING}from building import kernels\n", KERNELS, []),
        (f"{TRYING}raise\n", KERNELS, []),
        ("from building import kernels\n", "", []),
        (f"{TRYING}smooth_cuda = None\n", KERNELS, ["main.py:TDL201"]),
        ("import other_cuda\n", KERNELS, ["main.py:TDL201"]),
        ("import smooth_cuda\n", KERNELS.replace('"src/smooth.cpp"', '"src/smooth_cpu.cpp"'), ["main.py:TDL201"]),
        ("import smooth_cuda\n", KERNELS.replace("CUDAExtension", "CppExtension"), ["main.py:TDL201"]),
        ("def smooth(net):\n    import smooth_cuda\n", KERNELS, ["main.py:TDL201"]),
    ],
)
def test_kernels_of_the_project_for_cuda_alone(tmp_path: Path, smooth: str, setup: str, expected: list[str]) -> None:
    helper = "import torch\n\ndef place():\n    return 'cuda' if torch.cuda.is_available() else 'cpu'\n"
    root = application(tmp_path, helper=helper, smooth=f"smooth = None\n{smooth}", building=BUILDING, main=FILTERING)
    (root / "kernels").mkdir()
    (root / "kernels" / "setup.py").write_text(setup)
    assert found(root) == expected


@pytest.mark.parametrize("folder", ["old", "Old_Code", "archive", "legacy_scripts", "_deprecated"])
def test_what_was_put_aside(tmp_path: Path, folder: str) -> None:
    root = application(tmp_path, layers=LAYERS.replace("Left", "More"), main=MAIN)
    (root / folder).mkdir()
    (root / "layers.py").rename(root / folder / "layers.py")
    (root / "main.py").rename(root / folder / "main.py")
    (root / "train.py").write_text("print(3)\n")
    assert found(root) == []
    assert found(root, "TDL012") == BOTH
    (root / "train.py").write_text(MAIN.replace("from layers", f"from {folder}.layers") + "print(make_left())\n")
    assert found(root) == BOTH


@pytest.mark.parametrize("folder", ["golden", "holdout", "archiving", "old_faithful", "backup_policies"])
def test_folders_that_only_sound_old(tmp_path: Path, folder: str) -> None:
    root = application(tmp_path, layers=LAYERS, main=MAIN)
    (root / folder).mkdir()
    (root / "layers.py").rename(root / folder / "layers.py")
    (root / "main.py").rename(root / folder / "main.py")
    assert BOTH[0] in found(root)


PARTS = "import torch\n\ndef spread(x, device):\n    return x.to(device) - torch.ones(3, device='cuda')\n"


@pytest.mark.parametrize(
    ("name", "text", "is_found"),
    [
        ("main", "", False),
        ("main", "import parts\n\nclass Net:\n    def eval(self):\n        return vars(self), args.__dict__\n", False),
        ("main", "# parts.spread is older than this\n'''parts.spread(x)'''\n", False),
        ("main", "import parts\nprint(eval('parts.' + name)(x))\n", True),
        ("main", "import parts\nprint(vars(parts)[name](x))\n", True),
        ("main", "import parts\nprint(parts.spread(torch.ones(3), place))\n", True),
        ("README.md", "`spread` is there for you.", True),
    ],
    ids=["said nowhere", "looked up of objects", "in documentation", "by eval", "of the module", "called", "told"],
)
def test_a_function_whose_name_nothing_says(tmp_path: Path, name: str, text: str, is_found: bool) -> None:
    """Nothing imports its file, so no program is known to be the one of the project; but there is one."""
    program = "import torch\nplace = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
    program += "if __name__ == '__main__':\n    print(torch.ones(3, device=place))\n"
    root = application(tmp_path, parts=PARTS, main=program + (text if name == "main" else ""))
    if name != "main":
        (root / (name if "." in name else f"{name}.py")).write_text(text)
    assert (found(root) == ["parts.py:TDL012"]) is is_found


@pytest.mark.parametrize(
    ("use", "is_found"),
    [
        ("net.restore(3)", False),
        ("self.parts.restore(3)", False),
        ("parts.restore(torch.ones(3).to(place), place)", True),
        ("restore(torch.ones(3).to(place), place)", True),
    ],
)
def test_methods_that_have_the_name_of_a_function(tmp_path: Path, use: str, is_found: bool) -> None:
    """Who imports the file reads the name of a function as such, or of its module."""
    text = PARTS.replace("spread", "restore") + "\ndef used():\n    return 3\n"
    main = "import torch\nimport parts\nfrom parts import used\n"
    main += "from parts import restore\n" if use.startswith("restore") else ""
    main += "place = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
    main += f"\nif __name__ == '__main__':\n    print(used(), torch.ones(3, device=place))\n    {use}\n"
    assert (found(application(tmp_path, parts=text, main=main)) == ["parts.py:TDL012"]) is is_found


def test_what_ends_at_its_imports(tmp_path: Path) -> None:
    """A module that imports from its package cannot be imported by its name alone, as it is beside it."""
    root = application(tmp_path, main="if __name__ == '__main__':\n    print(3)\n")
    (root / "net").mkdir()
    (root / "net" / "losses.py").write_text("from .parts import forward\n")
    for module, expected in (("losses", []), (".losses", ["parts.py:TDL012"])):
        (root / "net" / "parts.py").write_text(f"from {module} import forward\n{PARTS}\nSPREADS = [spread]\n")
        assert found(root) == expected


@pytest.mark.parametrize(
    ("init", "beside", "is_found"),
    [
        ("from .gone import backward\n", {}, False),
        ("from .begun import forward\n", {"spreads/begun.py": "from .gone import backward\n"}, False),
        ("try:\n    from .gone import backward\nexcept ImportError:\n    pass\n", {}, True),
        ("from ._C import backward\n", {}, True),
        ("from .gone import backward\n", {"CMakeLists.txt": "pybind11_add_module(gone kernels.cpp)\n"}, True),
        ("from .gone import backward\n", {"PKG-INFO": "Name: spreads\n"}, True),
    ],
    ids=["its package ends", "what that imports ends", "tried", "compiled", "built", "downloaded"],
)
def test_what_ends_at_its_imports_is_for_nobody_in_a_library(
    tmp_path: Path, init: str, beside: dict[str, str], is_found: bool
) -> None:
    package = tmp_path / "spreads"
    package.mkdir()
    application(package, __init__=init, metric=METRIC, net=NET, reading=READING)
    root = application(tmp_path, main=TABLE.replace("from ", "from spreads."), setup=SETUP)
    (root / "README.md").write_text("pip install spreads\n")
    for name, text in beside.items():
        (root / name).write_text(text)
    tree.forget()
    assert found(root) == (["metric.py:TDL014"] if is_found else [])


def test_a_file_that_was_taken_out_of_its_repository_does_not_end_at_its_imports(tmp_path: Path) -> None:
    package = tmp_path / "spreads"
    package.mkdir()
    (package / "metric.py").write_text(f"from .gone import backward\n{METRIC}")
    tree.forget()
    assert found(tmp_path) == ["metric.py:TDL014"]


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("def forward(first=1, second):\n    return first\n", False),
        ("print 'forward'\nforward = None\n", True),
        ("def forward(x):\n    return x.cuda(async=True)\n", True),
    ],
    ids=["no Python reads it", "Python 2 does", "Python 3.6 does"],
)
def test_what_imports_what_cannot_be_parsed_ends_there(tmp_path: Path, text: str, is_found: bool) -> None:
    root = application(tmp_path, main="if __name__ == '__main__':\n    print(3)\n")
    (root / "net").mkdir()
    (root / "net" / "kernels.py").write_text(text)
    (root / "net" / "parts.py").write_text(f"from .kernels import forward\n{PARTS}\nSPREADS = [spread]\n")
    assert ("parts.py:TDL012" in found(root)) is is_found


@pytest.mark.parametrize(
    ("asked", "is_found"),
    [("width", False), ("height", True)],
    ids=["found there", "from an installed one"],
)
def test_what_lies_beside_another_module_is_found_there(tmp_path: Path, asked: str, is_found: bool) -> None:
    """A script without a main guard asks two modules of one folder; the one that it finds tells of the other one."""
    root = application(tmp_path, main="if __name__ == '__main__':\n    print(3)\n")
    (root / "net").mkdir()
    (root / "net" / "kernels.py").write_text("def forward(first=1, second):\n    return first\n")
    (root / "net" / "sizes.py").write_text("def width(x):\n    return x\n")
    imports = f"from sizes import {asked}\nfrom kernels import forward\n"
    (root / "net" / "parts.py").write_text(f"{imports}{PARTS}\nSPREADS = [spread]\n")
    assert ("parts.py:TDL012" in found(root)) is is_found


@pytest.mark.parametrize(
    ("fetched", "expected"),
    [("net/raft", ["parts.py:TDL012"]), ("other/flow", [])],
    ids=["a submodule of git", "another one"],
)
def test_what_another_repository_brings(tmp_path: Path, fetched: str, expected: list[str]) -> None:
    """A copy without its submodules lacks their files, which people have who run it."""
    run = "if __name__ == '__main__':\n    for each in SPREADS:\n        each(1, 'cpu')\n"
    root = application(tmp_path, main=f"from net.parts import SPREADS\n\n{run}")
    (root / "net").mkdir()
    (root / "net" / "__init__.py").write_text("")
    (root / "net" / "parts.py").write_text(f"from net.raft.core import forward\n{PARTS}\nSPREADS = [spread]\n")
    assert found(root) == []
    (root / ".gitmodules").write_text(f'[submodule "{fetched}"]\n\tpath = {fetched}\n\turl = https://example.org\n')
    assert found(root) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("assert next(net.parameters()).is_cuda, 'not on CUDA'", []),
        ("assert x.is_cuda and x.ndim == 2", []),
        ("assert x.ndim == 2", ["parts.py:TDL012"]),
        ("print(x.is_cuda)", ["parts.py:TDL012"]),
    ],
)
def test_a_function_that_asserts_cuda(tmp_path: Path, said: str, expected: list[str]) -> None:
    """Who gives it another device is told so; what it asks for anything else says nothing of that."""
    text = f"import torch\n\ndef spread(net, x, device):\n    {said}\n"
    text += "    return net(x.to(device)) - torch.ones(3, device='cuda')\n"
    main = "import torch\nfrom parts import spread\n\nplace = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
    main += "if __name__ == '__main__':\n    print(spread(torch.nn.Linear(3, 3).to(place), torch.ones(3), place))\n"
    assert found(application(tmp_path, parts=text, main=main)) == expected


def test_a_project_without_programs_is_for_others(tmp_path: Path) -> None:
    assert found(application(tmp_path, parts=PARTS)) == ["parts.py:TDL012"]


LOSS = "import torch\n\ndef loss(x, y, device):\n    return (x - y).to(device) * torch.ones(3, device='cuda')\n"
WORKER = """import argparse
import torch
from losses import loss
from starting import start

def main(args):
    start(args.gpu)
    x = torch.ones(3, device="cuda" if torch.cuda.is_available() else "cpu")
    print(loss(x, x, args.device))

if __name__ == "__main__":
    main(argparse.ArgumentParser().parse_args())
"""


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("torch.cuda.set_device(gpu)", []),
        ("if gpu is not None:\n        torch.cuda.set_device(gpu)", ["losses.py:TDL012"]),
        ("print(gpu)", ["losses.py:TDL012"]),
    ],
)
def test_programs_that_choose_the_current_gpu_first(tmp_path: Path, start: str, expected: list[str]) -> None:
    starting = f"import torch\n\ndef start(gpu):\n    {start}\n"
    assert found(application(tmp_path, losses=LOSS, starting=starting, main=WORKER)) == expected


LOCAL = """import torch
from torch import nn

def test_sizes():
    device = torch.device("cpu")

    class Shift(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            return self.layer(x) + torch.ones(3)

    assert Shift()(torch.ones(2, 3, device=device)).shape == (2, 3)
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="on the CPU"),
        pytest.param("def test_sizes():", "def test_sizes(device):", True, id="where a fixture says"),
        pytest.param('torch.device("cpu")', "DEVICE", True, id="on a device of the file"),
        pytest.param("Shift()(", "Shift().cuda()(", True, id="on a GPU"),
        pytest.param("def test_sizes():", "def sizes():", True, id="in what is no test"),
    ],
)
def test_classes_that_a_test_has_for_itself(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    text = LOCAL.replace(old, new) if old else LOCAL
    if "(device)" in new:
        text = text.replace('    device = torch.device("cpu")\n', "")
    root = application(tmp_path, test_shift=f"import os\n\nDEVICE = os.environ['PLACE']\n\n{text}")
    assert ("test_shift.py:TDL003" in found(root)) == is_found


FOLLOWING = "import torch\n\ndef spread(x):\n    return x - torch.ones(3).cuda() * x.to(x.device).sum()\n"
NOTHING_CHOSEN = "import torch\n\nprint(torch.ones(3).sum())\n\nif __name__ == '__main__':\n    print(3)\n"


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("(x):", "(x, device):", True),
        ("x - ", "x.to(spread.args.device) - ", False),
        ("import torch\n", "import torch\n\nplace = 'cuda' if torch.cuda.is_available() else 'cpu'\n", False),
    ],
    ids=["nothing", "a parameter", "an option elsewhere", "a choice elsewhere"],
)
def test_a_literal_beside_what_says_where_to_go(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    """No program is seen to call `spread`, of which its README tells: a device that it is given is a promise, and the
    device of a tensor is none.
    """
    root = application(tmp_path, parts=FOLLOWING.replace(old, new), main=NOTHING_CHOSEN)
    (root / "README.md").write_text("`spread` is there for you.")
    assert (found(root) == ["parts.py:TDL012"]) == is_found


CHOSEN = """import torch
from parts import spread

place = 'cuda' if torch.cuda.is_available() else 'cpu'

if __name__ == '__main__':
    print(spread(torch.ones(3).to(place)))
"""


def test_a_literal_beside_a_tensor_that_a_program_gives(tmp_path: Path) -> None:
    root = application(tmp_path, parts=FOLLOWING, main=CHOSEN)
    assert found(root) == ["parts.py:TDL012"]


ON_CUDA = """import argparse
import torch
from loading import loaded

def evaluate(net, batches, config):
    for batch, mask in batches:
        mask = 1 - torch.from_numpy(mask).type(torch.cuda.FloatTensor)
        mask.to(config.device)
        net(batch.to(config.device) * mask)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    evaluate(torch.nn.Linear(3, 3), loaded(), parser.parse_args())
"""


def test_a_lost_move_of_what_is_on_cuda_already(tmp_path: Path) -> None:
    """With one GPU the move would do nothing; that CUDA is named beside a device that was chosen is said."""
    root = application(tmp_path, main=ON_CUDA)
    assert found(root) == ["main.py:TDL012"]
    text = (root / "main.py").read_text()
    (root / "main.py").write_text(text.replace(".type(torch.cuda.FloatTensor)", ".float()"))
    assert found(root) == ["main.py:TDL001"]


CELL = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.device = device
        self.to(device)

    def predict(self, rows):
        x = torch.tensor(rows)
        x.to(self.device)
        return self.layer(x)
"""


@pytest.mark.parametrize(
    ("use", "expected"), [("net(x)", []), ("net.predict([[1.0, 2.0, 3.0]])", ["look.ipynb:TDL001"])]
)
def test_a_method_that_no_cell_of_its_notebook_calls(tmp_path: Path, use: str, expected: list[str]) -> None:
    """Another file calls a method of that name, of another object: nobody imports a notebook."""
    root = application(tmp_path, main="from other import model\n\nprint(model.predict(3))\n")
    cells = [CELL, f"net = Net('cuda' if torch.cuda.is_available() else 'cpu')\n{use}\n"]
    (root / "look.ipynb").write_text(notebook(*cells))
    assert found(root) == expected


def test_a_tensor_made_in_the_shape_of_another(tmp_path: Path) -> None:
    """``ones_like`` is written for the shape as often as for the place: it says nothing of devices."""
    metric = METRIC.replace(".abs()", ".abs() * torch.ones_like(x)")
    assert found(application(tmp_path, metric=metric, net=NET, reading=READING, main=TABLE)) == []


SCORE = """import torchmetrics

def spread(told, wanted):
    return torchmetrics.classification.Precision(task="binary")(told, wanted)
"""
SCORED = """import torch
from metric import spread
from net import Net

def report(told: list[torch.Tensor], wanted: list[torch.Tensor]):
    Net().train()
    print(spread(torch.cat(told), torch.cat(wanted)))

if __name__ == "__main__":
    report(*torch.load("results.pt", "cpu"))
"""


def test_a_metric_that_is_made_where_nobody_speaks_of_devices(tmp_path: Path) -> None:
    score = SCORE.replace("(told, wanted):", "(told: torch.Tensor, wanted: torch.Tensor):")
    root = application(tmp_path, metric="import torch\n" + score, net=NET, main=SCORED)
    assert (found(root), found(root, "TDL010")) == ([], ["metric.py:TDL010"])
    (root / "main.py").write_text(SCORED.replace("torch.cat(told)", "torch.cat(told).cuda()"))
    assert "metric.py:TDL010" in found(root)


NUMBERS = """import torch
{import_}

class Solver:
    def closest(self, x: torch.Tensor):
        return torch.eye(3, device=x.get_device()) + x
"""
SOLVING = """import torch
from layers import Solver

device = "cuda" if torch.cuda.is_available() else "cpu"
kinds = {"solver": Solver}
for each in kinds.values():
    print(each().closest(torch.ones(3, 3, device=device)))
"""


@pytest.mark.parametrize(("import_", "expected"), [("import pointnet2_ops", []), ("", ["layers.py:TDL304"])])
def test_a_file_imports_a_library_for_cuda_alone(tmp_path: Path, import_: str, expected: list[str]) -> None:
    """Whoever comes to the line, by whatever names, has imported the file."""
    files = {"layers": NUMBERS.format(import_=import_), "main": SOLVING}
    assert found(application(tmp_path, **files)) == expected


@pytest.mark.parametrize(
    ("said", "is_found"),
    [
        ("# from parts.metric import spread\n", False),
        ("from other.metric import spread\n", False),
        ("from more.metric import spread\n", True),
        ("NAMES = ['metric']\n", False),
        ("NAMES = ['metric']\nexec(f'import parts.{NAMES[0]}')\n", True),
    ],
    ids=["in a comment", "another file", "a file that is not there", "as a text", "as a text that is imported"],
)
def test_the_name_of_a_file_that_nobody_imports(tmp_path: Path, said: str, is_found: bool) -> None:
    root = application(tmp_path, net=NET, main=f"import parts.reading\nfrom net import Net\n{said}\nNet().train()\n")
    for folder in ("parts", "other"):
        (root / folder).mkdir()
        (root / folder / "__init__.py").write_text("")
        (root / folder / "reading.py").write_text(READING)
    (root / "parts" / "metric.py").write_text(METRIC)
    (root / "other" / "metric.py").write_text("def spread(x):\n    return x\n")
    tree.forget()
    assert found(root) == (["metric.py:TDL014"] if is_found else [])


LATER = """import torch
from parts.reading import rows
from torch import nn

class Later(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = [nn.LayerNorm(3), nn.LayerNorm(3)]

    def forward(self, x):
        return self.norms[1](self.norms[0](x))

if __name__ == "__main__":
    later = Later()
    print(later(torch.ones(2, 3)))
"""


@pytest.mark.parametrize(
    ("old", "new", "said", "is_found"),
    [
        pytest.param("", "", "", False, id="a trial on the CPU"),
        pytest.param("Later()\n", "Later().cuda()\n", "", True, id="a trial on CUDA"),
        pytest.param("    later =", "    import sys\n    sys.argv.parse_args()\n    later =", "", True, id="a program"),
        pytest.param("later = Later()", "later = Later()\n    torch.load('later.pt')", "", True, id="it loads a file"),
        pytest.param(
            "if __name", "def main():\n    Later().cuda()\n\nif __name", "", False, id="a function that is not called"
        ),
        pytest.param(
            "if __name__ ==",
            "def fit(net):\n    net.to('cuda' if torch.cuda.is_available() else 'cpu')\n\n"
            "def main():\n    fit(Later())\n\nif __name__ == '__main__':\n    main()\n\nif __name__ ==",
            "",
            True,
            id="functions that choose a device",
        ),
        pytest.param("", "", "NAMES = ['later']\n", False, id="a text that nothing imports"),
        pytest.param("", "", "NAMES = ['later']\nexec(f'import {NAMES[0]}')\n", True, id="said elsewhere"),
        pytest.param("", "", "import parts.later\n", False, id="imported"),
        pytest.param("", "", "import parts.later\nprint(parts.later.Later())\n", True, id="used"),
    ],
)
def test_a_file_that_nobody_needs_and_that_tries_itself(
    tmp_path: Path, old: str, new: str, said: str, is_found: bool
) -> None:
    root = application(tmp_path, net=NET, main=f"import parts.reading\nfrom net import Net\n{said}\nNet().train()\n")
    (root / "parts").mkdir()
    (root / "parts" / "__init__.py").write_text("")
    (root / "parts" / "reading.py").write_text("def rows(path):\n    return path\n")
    (root / "parts" / "later.py").write_text(LATER.replace(old, new) if old else LATER)
    tree.forget()
    assert any(each.startswith("later.py") for each in found(root)) is is_found


MIXTURE = """import torch

class Mixture:
    def __init__(self, count, device="cuda"):
        self.count = count
        self.device = torch.device(device)

    def update(self, points):
        chosen = torch.zeros(len(points), dtype=torch.long, device=self.device)
        return [points[chosen == each] for each in range(self.count)]
"""
MIXING = """import torch
from mixture import Mixture

class Trainer:
    def __init__(self, mixture: Mixture):
        self.mixture = mixture
        self.device = "cuda" if torch.cuda.is_available() else "cpu"

    def fit(self, rows):
        print(self.mixture.update(torch.FloatTensor(rows)))

if __name__ == "__main__":
    Trainer(Mixture(3, device="cpu")).fit([[3.0], [4.0]])
"""
ANOTHER = """class Mixture:
    def __init__(self, device):
        self.where = device

print(Mixture('cuda'))
"""


@pytest.mark.parametrize(
    ("given", "is_found"),
    [('Mixture(3, device="cpu")', False), ("Mixture(3)", True), ('Mixture(3, input("where? "))', True)],
    ids=["the CPU", "by default", "asked for"],
)
def test_objects_that_are_all_told_the_cpu(tmp_path: Path, given: str, is_found: bool) -> None:
    """A class of the same name in another file is another one."""
    main = MIXTURE + MIXING.replace("import torch\nfrom mixture import Mixture\n", "")
    main = main.replace('Mixture(3, device="cpu")', given)
    root = application(tmp_path, main=main, another=ANOTHER, net=NET, table="import net\nimport main\n")
    assert found(root) == (["main.py:TDL007"] if is_found else [])


ALONE = """import torch
from torch import nn

class Baseline(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x) * torch.ones(3)

def main():
    net = Baseline()
    print(net(torch.rand(2, 3)), sum(each.numel() for each in net.parameters()))

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("files", "is_found"),
    [
        ({}, False),
        ({"main": ALONE.replace("net = Baseline()", "net = Baseline()  # .cuda()")}, False),
        ({"main": ALONE.replace("net = Baseline()", "net = Baseline().cuda()")}, True),
        ({"train": "from main import Baseline\n\nprint(Baseline().cuda())\n"}, True),
    ],
    ids=["of the CPU", "CUDA in a comment", "of CUDA", "in use"],
)
def test_a_program_that_stands_alone_and_names_no_accelerator(
    tmp_path: Path, files: dict[str, str], is_found: bool
) -> None:
    root = application(tmp_path, **{"main": ALONE, **files})
    assert ("main.py:TDL003" in found(root)) == is_found
    assert "main.py:TDL003" in found(root, "TDL003")


UNREAD = """import torch
from data import batches

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def train(net, loader):
    total = 0
    for x in loader:
        y = torch.ones(3)
        total += net(x.to(device)).sum().item()
        {line}
    return total

if __name__ == "__main__":
    print(train(torch.nn.Linear(3, 3).to(device), batches()))
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("print(y.sum()); y.to(device)", []),
        ("y.to(device); z = y.to(device); print(z)", []),
        ("y.to(device); total += net(y).sum().item()", ["main.py:TDL001"]),
        ("y.to(device); loader.append(y)", ["main.py:TDL001"]),
        ("y.to(device); last = lambda: y", ["main.py:TDL001"]),
    ],
    ids=["never read", "moved again", "read by the model", "kept", "read later"],
)
def test_a_lost_move_of_what_is_not_read_again(tmp_path: Path, line: str, expected: list[str]) -> None:
    data = "import torch\n\ndef batches():\n    return [torch.ones(3)]\n"
    root = application(tmp_path, data=data, main=UNREAD.format(line=line))
    assert found(root) == expected
    assert "main.py:TDL001" in found(root, "TDL001")


def test_a_lost_move_of_what_callers_have(tmp_path: Path) -> None:
    code = """import torch

def place(x: torch.Tensor, first: bool):
    while first:
        y = torch.ones(3)
        print(y.sum())
        y.cuda()
    x.cuda()
"""
    main = UNREAD.format(line="place(y, total)").replace("from data", "from layers import place\nfrom data")
    data = "import torch\n\ndef batches():\n    return [torch.ones(3)]\n"
    root = application(tmp_path, layers=code, data=data, main=main)
    assert found(root, "TDL001") == found(root) == ["layers.py:TDL001"] * 2


def test_a_method_whose_none_every_program_would_meet(tmp_path: Path) -> None:
    """``net = Net().to(device)`` ends on the CPU too, and ``net = Net().cuda()`` where there is a GPU alone."""
    code = """import torch

class Net(torch.nn.Linear):
    def to(self, device):
        self.table = torch.ones(3, device=device)
        super().to(device)
"""
    main = "from layers import Net\n\nif __name__ == '__main__':\n    net = Net(3, 3)\n    print(net, net.{})\n"
    root = application(tmp_path, layers=code, main=main.format("to('cuda')"))
    assert found(root) == []
    assert found(root, "TDL106") == ["layers.py:TDL106"]
    code = code.replace("to(self, device)", "cuda(self, device='cuda')").replace(".to(device)", ".cuda(device)")
    root = application(tmp_path, layers=code, main=main.format("cuda()"))
    tree.forget()
    assert "layers.py:TDL106" in found(root)


@pytest.mark.parametrize(
    ("moved", "is_found"),
    [
        pytest.param("net = Deep(3, 3).cuda()\n    print(net)", True, id="what is derived from it"),
        pytest.param("net = Deep(3, 3)\n    net.cuda()\n    print(net)", False, id="a statement"),
        pytest.param("net = Deep(3, 3)\n    print(net, torch.ones(3).cuda())", False, id="a tensor"),
    ],
)
def test_a_method_whose_none_nobody_reads(tmp_path: Path, moved: str, is_found: bool) -> None:
    code = """import torch

class Net(torch.nn.Linear):
    def cuda(self, device=None):
        self.table = torch.ones(3, device="cuda")
        super().cuda(device)

class Deep(Net):
    def forward(self, x):
        return super().forward(x) + self.table
"""
    for guard in ("if __name__ == '__main__':\n    ", ""):
        main = f"import torch\nfrom layers import Deep\n\n{guard}{moved if guard else moved.replace('    ', '')}\n"
        root = application(tmp_path, layers=code, main=main)
        tree.forget()
        assert ("layers.py:TDL106" in found(root)) is is_found


FILLED = """import torch

def scored(rows: torch.Tensor):
    bias = torch.ones(3, device=rows.device)
    rows = rows * bias
    {}
"""
SCORING = """import sys
import torch
from scores import scored
from net import Net

Net().train()
device = "cuda" if torch.cuda.is_available() else "cpu"
print(scored(torch.load(sys.argv[1], map_location="cpu").to(device)))
"""
RETURNED = "total = torch.zeros(len(rows), 3)\n    for at in range(3):\n        total[at] = rows[at]\n    return total"
ONE_OF_TWO = "if len(rows) == 0:\n        return torch.zeros(3)\n    return rows * 2"
MET = "total = torch.zeros(len(rows), 3)\n    return total * rows"


@pytest.mark.parametrize(("body", "expected"), [(RETURNED, []), (ONE_OF_TWO, []), (MET, ["scores.py:TDL014"])])
def test_what_only_callers_may_mix(tmp_path: Path, body: str, expected: list[str]) -> None:
    """Nothing meets where it is returned, and all callers are there; an operation of its own keeps the finding."""
    root = application(tmp_path, scores=FILLED.format(body), main=SCORING, net=NET)
    assert [each for each in found(root) if each.startswith("scores")] == expected
    (root / "pyproject.toml").write_text('[project]\nname = "scores"\nversion = "1"\nclassifiers = []\n')
    assert [each for each in found(root) if each.startswith("scores")]


LATE = """import os
import torch
from net import Net

print(torch.cuda.is_available(){})
os.environ["CUDA_VISIBLE_DEVICES"] = {}
Net().train({})
"""


@pytest.mark.parametrize(
    ("said", "value", "given", "expected"),
    [
        ("", '"0"', "", []),
        ("", '"1"', "", ["main.py:TDL301"]),
        (", torch.cuda.device_count()", '"0"', "", []),
        (", torch.cuda.device_count()", '"1"', "", ["main.py:TDL301"]),
        ("", '"0"', "torch.cuda.device_count() > 1", ["main.py:TDL301"]),
    ],
)
def test_a_late_list_of_the_first_gpu(tmp_path: Path, said: str, value: str, given: str, expected: list[str]) -> None:
    """The first GPU is used in any case, but where the others are counted for more than to say how many."""
    root = application(tmp_path, main=LATE.format(said, value, given), net=NET)
    assert found(root) == expected


BRINGING = """import torch
from net import Net

Net().train()
device = "cuda" if torch.cuda.is_available() else "cpu"
for part in torch.ones(3, 3){}:
    part.{}
    print(part.mean())
"""


@pytest.mark.parametrize(
    ("placed", "move", "expected"),
    [
        (".to(device)", "cpu()", []),
        (".to(device)", 'to("cpu")', []),
        ("", "to(device)", ["main.py:TDL001"]),
    ],
)
def test_a_lost_move_to_the_cpu(tmp_path: Path, placed: str, move: str, expected: list[str]) -> None:
    root = application(tmp_path, main=BRINGING.format(placed, move), net=NET)
    assert found(root) == expected
    assert found(root, "TDL001") == ["main.py:TDL001"]


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("tests/spread.py", []),
        ("package/test_spread.py", []),
        ("package/spread.py", ["spread.py:TDL404"]),
        ("package/testbed.py", ["testbed.py:TDL404"]),
    ],
)
def test_ranks_of_tests(tmp_path: Path, place: str, expected: list[str]) -> None:
    """Nobody runs the tests of a library on several machines."""
    root = application(tmp_path, setup=SETUP)
    (root / place).parent.mkdir()
    (root / place).write_text(BY_RANK)
    tree.forget()
    assert found(root) == expected


TRIED = """import torch
from torch import nn

class Saliency:
    def __init__(self, device="cuda"):
        self.box = nn.Conv2d(1, 1, 3).to(device)

    def of(self, images):
        return self.box(images.abs())

if __name__ == "__main__":
    saliency = Saliency()
    print(saliency.of(torch.ones(1, 1, 8, 8)))
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="a trial"),
        pytest.param('if __name__ == "__main__":', "if True:", True, id="run by who imports it"),
        pytest.param(
            "    print(", "    import sys\n    saliency.of(sys.argv.parse_args())\n    print(", True, id="program"
        ),
        pytest.param("return self.box(images.abs())", "return self.box(torch.ones(1, 1, 8, 8))", True, id="its own"),
    ],
)
def test_what_a_trial_of_an_imported_file_makes(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    code = TRIED.replace(old, new) if old else TRIED
    main = """import torch
from saliency import Saliency

def main(batches):
    saliency = Saliency()
    for images in batches:
        print(saliency.of(images.cuda()))

if __name__ == "__main__":
    main(torch.load("batches.pt", map_location="cpu"))
"""
    root = application(tmp_path, saliency=code, main=main)
    assert ("saliency.py:TDL004" in found(root)) is is_found
    (root / "main.py").write_text("import torch\n")
    tree.forget()
    assert "saliency.py:TDL004" in found(root)


DRAWN = """import torch
from torch.utils.data import DataLoader

def batches(data, device):
    return DataLoader(data, shuffle=True, generator=torch.Generator(device))

def noised(x: torch.Tensor):
    return x + torch.randn(3)
"""
FITTING = """import torch
from drawing import batches, noised

def fit(data, device="cuda"):
    torch.set_default_device("cuda")
    for x in batches(data, device):
        print(noised(x.to(device)))
"""
FITTED = "import yaml\nfrom fitting import fit\n\nfor each in yaml.safe_load(open('all.yml')):\n    fit(each)\n"


@pytest.mark.parametrize(
    ("fitting", "more", "is_found"),
    [
        (FITTING, {}, False),
        (FITTING.replace("set_default_device", "print"), {}, True),
        (FITTING, {"look": "from drawing import noised\nimport torch\n\nprint(noised(torch.ones(3).cuda()))\n"}, True),
        (FITTING, {"parts": "from drawing import noised\n"}, False),
    ],
    ids=["all programs do", "none does", "another program does not", "a file that runs nothing"],
)
def test_the_default_device_that_programs_set_on_their_way(
    tmp_path: Path, fitting: str, more: dict[str, str], is_found: bool
) -> None:
    """Factories make their tensors there, and a loader draws there: its generator has to be of that device."""
    root = application(tmp_path, drawing=DRAWN, fitting=fitting, main=FITTED, **more)
    assert found(root) == (["drawing.py:TDL014", "drawing.py:TDL312"] if is_found else [])


SETTING = """import torch
import torch.multiprocessing as mp

def _run(rank, function, no_cuda):
    if not no_cuda:
        torch.cuda.set_device(rank)
        torch.set_default_tensor_type("torch.cuda.FloatTensor")
    function()

def run(function, count=1, no_cuda=False):
    if count > 1:
        mp.spawn(_run, args=(function, no_cuda), nprocs=count)
    else:
        _run(0, function, no_cuda)
"""
STARTED = """import torch
from drawing import noised
from launcher import run

def main():
    print(noised(torch.ones(3).cuda()))

if __name__ == "__main__":
    run(main, count=torch.cuda.device_count())
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="through a launcher"),
        pytest.param("    run(main, count=torch.cuda.device_count())", "    main()", True, id="not through it"),
        pytest.param("torch.cuda.FloatTensor", "torch.DoubleTensor", True, id="another type"),
        pytest.param("        _run(0, function, no_cuda)", "        function()", True, id="one of its ways"),
        pytest.param("if not no_cuda:", "if rank == 0:", True, id="in one process"),
        pytest.param("if not no_cuda:", "if torch.cuda.is_available():", False, id="where there is CUDA"),
    ],
)
def test_the_default_device_that_a_launcher_sets(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    """What the program calls changes the default, though it does not import the file that makes tensors."""
    files = {name: text.replace(old, new) for name, text in (("launcher", SETTING), ("main", STARTED))}
    root = application(tmp_path, drawing=DRAWN, **files)
    assert ("drawing.py:TDL014" in found(root)) is is_found
    (root / "look.py").write_text("import torch\nfrom drawing import noised\n\nprint(noised(torch.ones(3).cuda()))\n")
    tree.forget()
    assert "drawing.py:TDL014" in found(root)
