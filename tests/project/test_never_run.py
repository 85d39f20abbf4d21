"""What no program comes to though it is named: in a question, below a decorator, as a hook of a trainer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_coming import MAIN, NET, SPARE
from tests.project.test_ways import ASKING, found
from torchdevlint.project import tree


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("isinstance(net, Decoder)", 1, id="asked for"),
        pytest.param("isinstance(net, (dict, Decoder))", 1, id="asked for among others"),
        pytest.param("issubclass(type(net), net_module.Decoder)", 1, id="asked for in its module"),
        pytest.param("type(net) is not Decoder", 1, id="compared with"),
        pytest.param("net.__class__ == Decoder", 1, id="compared with the class"),
        pytest.param("isinstance(net, Decoder) and Decoder(4)", 2, id="built as well"),
        pytest.param("isinstance(Decoder(4), Encoder)", 2, id="asked for the class of it"),
        pytest.param("isinstance(net, tuple([Decoder]))", 2, id="given to a function"),
        pytest.param("net is not Decoder", 2, id="compared with the class itself"),
        pytest.param("[net][0] == Decoder", 2, id="one of a table"),
    ],
)
def test_a_class_that_is_only_asked_for(tmp_path: Path, text: str, count: int) -> None:
    """A question whether something is of a class builds none of it."""
    main = MAIN.replace("import sys", "import sys\nimport net as net_module").replace(
        "    net.restore(path)\n", f"    net.restore(path)\n    print({text})\n"
    )
    root = application(tmp_path, helper=ASKING, net=NET, main=main, other="")
    assert found(root).count("net.py:TDL201") == count


def test_an_error_that_is_only_caught(tmp_path: Path) -> None:
    net = NET.replace("class Decoder(nn.Module):", "class Decoder(Exception):")
    main = MAIN.replace(
        "    net.restore(path)", "    try:\n        net.restore(path)\n    except Decoder:\n        pass"
    )
    root = application(tmp_path, helper=ASKING, net=net, main=main, other="")
    assert found(root).count("net.py:TDL201") == 1
    (root / "main.py").write_text(main.replace("pass", "raise Decoder(4)"))
    assert found(root).count("net.py:TDL201") == 2


WRAPPING = """import functools

def timed(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        print(function.__name__, begin(function))
        return function(*args, **kwargs)
    return wrapper

def begin(function):
    return 0

def converted(kinds=None):
    def decorator(function):
        def wrapper(*args):
            return function(*args)
        return wrapper
    return decorator

KNOWN = []

def known(function):
    KNOWN.append(function)
    return function

def named(name):
    def decorator(function):
        setattr(decorator, name, function)
        return function
    return decorator

def started(function):
    function("a.pt")
    return function

def told(function):
    return begin(function)
"""


@pytest.mark.parametrize(
    ("decorator", "count"),
    [
        pytest.param("timed", 0, id="it wraps"),
        pytest.param("converted()", 0, id="it is made, and wraps"),
        pytest.param("known", 1, id="it keeps what it is given"),
        pytest.param("named('a')", 1, id="it is made, and keeps it"),
        pytest.param("started", 1, id="it runs it"),
        pytest.param("told", 1, id="it tells another function"),
        pytest.param("elsewhere", 1, id="of a library"),
    ],
)
def test_what_a_decorator_of_the_project_wraps(tmp_path: Path, decorator: str, count: int) -> None:
    """Nobody finds a function by what only calls it in turn; the class is built, and nobody asks for the method."""
    imports = "import torch\nfrom library import elsewhere\nfrom wrapping import *"
    net = NET.replace("import torch", imports, 1).replace("    def restore", f"    @{decorator}\n    def restore", 1)
    main = MAIN.replace("    net.restore(path)\n", "")
    root = application(tmp_path, helper=ASKING, net=net, main=main, wrapping=WRAPPING, other="")
    assert found(root).count("net.py:TDL201") == count


STEPS = """import torch
import pytorch_lightning as pl

class Steps(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def training_step(self, batch, index):
        return self.layer(batch) * torch.load("weights.pt")

    def test_step(self, batch, index):
        return self.layer(batch)
"""
TESTING = """import sys
import pytorch_lightning as pl
import hub
from hub import Fitting, start
from helper import place
from steps import Steps

def main():
    net = Steps.load_from_checkpoint(sys.argv[1], map_location=place())
    trainer = pl.Trainer()
    trainer.test(net)

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="tested"),
        pytest.param("trainer.test(net)", "trainer.fit(net)", True, id="trained"),
        pytest.param("trainer.test(net)", "run = trainer.fit\n    run(net)", True, id="trained by another name"),
        pytest.param("trainer.test(net)", "getattr(trainer, sys.argv[2])(net)", True, id="as a text says"),
        pytest.param("trainer.test(net)", "start(trainer, net)", True, id="given to another one"),
        pytest.param("trainer.test(net)", "net.training_step(3, 4)", True, id="the program calls the step"),
        pytest.param("    trainer = pl.Trainer()\n    trainer.test(net)", "    print(net(3))", False, id="no trainer"),
        pytest.param("trainer.test(net)", "hub.instantiate(sys.argv[2]).start(net)", True, id="made by a text"),
        pytest.param(
            "trainer.test(net)", "trainer.test(net)\n    print(Fitting().fit(3))", True, id="something else that fits"
        ),
    ],
)
def test_hooks_of_a_trainer_that_does_not_train(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    """`Trainer.test` takes no training step."""
    root = application(tmp_path, helper=ASKING, steps=STEPS, main=TESTING.replace(old, new), other="")
    assert ("steps.py:TDL201" in found(root)) is is_found


def test_what_fits_in_a_file_without_a_trainer(tmp_path: Path) -> None:
    """An estimator of scikit-learn is fitted where no trainer is, and calls no hooks."""
    near = "from sklearn.neighbors import NearestNeighbors\n\ndef near(x):\n    return NearestNeighbors().fit(x)\n"
    main = TESTING.replace("import sys", "import sys\nfrom near import near").replace("(net)", "(net)\n    near(3)")
    root = application(tmp_path, helper=ASKING, steps=STEPS, main=main, near=near)
    assert "steps.py:TDL201" not in found(root)
    (root / "near.py").write_text(near.replace("sklearn", "other"))
    assert "steps.py:TDL201" in found(root)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("path = 'nets.' + sys.argv[1]\n    ", 0, id="another folder"),
        pytest.param("path = 'ne' + sys.argv[1]\n    ", 1, id="it may be the file"),
        pytest.param("path = sys.argv[1]\n    ", 1, id="nothing is known"),
        pytest.param("path = 'nets.a'\n    path = sys.argv[1]\n    ", 1, id="bound twice"),
        pytest.param("path = 'nets.a'\n    for path in sys.argv:\n        print()\n    ", 1, id="bound by a loop"),
        pytest.param("", 1, id="a parameter"),
    ],
)
def test_a_module_that_is_loaded_by_a_variable(tmp_path: Path, text: str, count: int) -> None:
    other = f"import importlib\nimport sys\n\ndef load(path):\n    {text}return importlib.import_module(path)\n"
    other = other.replace("load(path)", "load()") if text else other
    root = application(tmp_path, helper=ASKING, net=NET, main=SPARE, other=f"{other}\nprint(load('a'))\n")
    assert found(root).count("net.py:TDL201") == count


TRIED = """import argparse
import torch
from torch import nn
from parts.reading import rows

def numbers(x):
    return torch.arange(x.shape[1]).cuda()

class Later(nn.Module):
    def forward(self, x):
        return x * numbers(x)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=3)
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    later = Later().to(device)
    print(later(torch.ones(2, options.size).to(device)).shape)
"""


@pytest.mark.parametrize(
    ("old", "new", "said", "is_found"),
    [
        pytest.param("", "", "", False, id="a trial"),
        pytest.param("", "", "import parts.later\n", True, id="imported"),
        pytest.param("", "", "NAMES = ['parts.later']\n", True, id="named"),
        pytest.param("    later =", "    torch.load('a.pt', 'cpu')\n    later =", "", True, id="it loads a file"),
        pytest.param("    later =", "    rows('a.csv')\n    later =", "", True, id="it takes what others read"),
        pytest.param(".shape)", ".sum().backward())", "", True, id="it trains"),
        pytest.param("if __name__", "Later().cuda()\n\nif __name__", "", True, id="it runs more"),
        pytest.param("torch.ones(2, options.size)", "eval(input())", "", True, id="nothing is made up"),
        pytest.param(
            "    print(later", "    run(later)\n    print(later", "", False, id="what it calls is not of the file"
        ),
    ],
)
def test_a_trial_of_what_nobody_needs_on_any_device(
    tmp_path: Path, old: str, new: str, said: str, is_found: bool
) -> None:
    """Nobody who runs it has another machine than the one that it was tried on."""
    main = f"import parts.reading\nfrom helper import place\n{said}\nplace()\n"
    root = application(tmp_path, helper=ASKING, main=main)
    (root / "parts").mkdir()
    (root / "parts" / "__init__.py").write_text("")
    (root / "parts" / "reading.py").write_text("def rows(path):\n    return path\n")
    (root / "parts" / "later.py").write_text(TRIED.replace(old, new))
    tree.forget()
    assert ("later.py:TDL012" in found(root)) is is_found


def test_a_trial_of_what_nobody_needs_that_raises(tmp_path: Path) -> None:
    """What raises when it is tried, whoever tries it has to mend."""
    tried = TRIED.replace("torch.arange(x.shape[1]).cuda()", "torch.arange(x.shape[1])")
    root = application(tmp_path, helper=ASKING, main="import parts.reading\nfrom helper import place\nplace()\n")
    (root / "parts").mkdir()
    (root / "parts" / "__init__.py").write_text("")
    (root / "parts" / "reading.py").write_text("def rows(path):\n    return path\n")
    (root / "parts" / "later.py").write_text(tried)
    tree.forget()
    assert "later.py:TDL014" in found(root) or "later.py:TDL003" in found(root)


KERNELS = "from setuptools import setup\n\nsetup(name='ops', ext_modules=[CUDAExtension('ops_cuda', ['a.cu'])]{more})\n"
POINTS = """from torch import nn

class Near(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = [nn.LayerNorm(3), nn.LayerNorm(3)]

    def forward(self, x):
        return self.norms[1](self.norms[0](x))
"""


@pytest.mark.parametrize(
    ("more", "main", "is_found"),
    [
        pytest.param("", "", False, id="an older version"),
        pytest.param("", "from ops.functions.ops import Near as Older\nprint(Older())\n", True, id="imported"),
        pytest.param("", "NAMES = ['functions.ops']\n", True, id="named"),
        pytest.param(", packages=['functions']", "", True, id="installed"),
    ],
)
def test_python_beside_an_extension(tmp_path: Path, more: str, main: str, is_found: bool) -> None:
    """What a project builds in one of its folders is no project of its own; the file has the name of the folder."""
    used = "from helper import place\nfrom ops.functions import points\n"
    main = f"{used}{main}\nprint(points.Near().to(place()))\n"
    root = application(tmp_path, helper=ASKING, main=main)
    (root / "setup.sh").write_text("cd ops && python setup.py install\n")
    (root / "pyproject.toml").write_text("[tool.ruff]\n")
    (root / "ops" / "functions").mkdir(parents=True)
    (root / "ops" / "setup.py").write_text(KERNELS.format(more=more))
    (root / "ops" / "__init__.py").write_text("")
    for name in ("__init__", "points", "ops"):
        (root / "ops" / "functions" / f"{name}.py").write_text("" if name == "__init__" else POINTS)
    tree.forget()
    assert ("ops.py:TDL102" in found(root)) is is_found
