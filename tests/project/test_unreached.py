"""Functions that no program comes to, though something else of the project has or says their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import ASKING, found

NETS = """import torch
from torch import nn

def resnet18(weights=None):
    return nn.Linear(3, 3)

def resnet50(weights):
    net = nn.Linear(3, 3)
    net.load_state_dict(torch.load("runs/" + weights))
    return net
"""
MAIN = """import argparse
from helper import place
from nets import resnet18

def main():
    args = argparse.ArgumentParser().parse_args()
    print(resnet18(args.weights).to(place()))

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("name", "text", "is_found"),
    [
        ("README.md", "The weights of a resnet50 are trained by `python main.py --arch resnet50`.\n", False),
        ("README.md", "```python\nfrom nets import resnet50\n```\n", True),
        ("README.md", "Call `resnet50(weights)` for the larger one.\n", True),
        ("run.sh", "python main.py --net resnet50 --folder resnet50/runs\n", False),
        ("run.sh", "python -c 'import nets; nets.resnet50().save()'\n", True),
        ("config.yaml", "net: resnet50\n", True),
        ("config.yaml", "resnet50: net\n", False),
        ("config.yaml", "net: resnet34\n", False),
        ("plugins.py", "import importlib\nprint(importlib.import_module('plugins.first').resnet50)\n", False),
        ("plugins.py", "import importlib\nprint(importlib.import_module('nets').resnet50)\n", True),
        ("other.py", "def resnet50():\n    return 3\n", False),
        ("use.py", "from other import resnet50\nprint(resnet50(place()))\n", False),
        ("use.py", "from helper import place\nfrom nets import resnet50\nprint(resnet50(place()))\n", True),
        ("use.py", "from helper import place\nfrom nets import *\nprint(resnet50(place()))\n", True),
        ("use.py", "import nets\nfrom helper import place\nprint(nets.resnet50(place()))\n", True),
    ],
)
def test_a_name_that_something_else_says(tmp_path: Path, name: str, text: str, is_found: bool) -> None:
    other = "def resnet50(path):\n    return 3\n"
    root = application(tmp_path, helper=ASKING, nets=NETS, main=MAIN, other=other)
    (root / name).write_text(text)
    assert ("nets.py:TDL201" in found(root)) is is_found


def test_programs_whose_commands_are_functions_have_any_word_for_one(tmp_path: Path) -> None:
    text = "import fire\nfrom nets import resnet18\n\nif __name__ == '__main__':\n    fire.Fire()\n"
    root = application(tmp_path, helper=ASKING, nets=NETS + "\n\nimport fire\n\nfire.Fire()\n", main=MAIN, run=text)
    (root / "README.md").write_text("`python nets.py resnet50 best.pt`\n")
    assert "nets.py:TDL201" in found(root)


def test_a_program_imports_a_function_of_the_same_name(tmp_path: Path) -> None:
    """It imports another function of the file as well, and says the name of this one for the other."""
    main = MAIN.replace("from nets import resnet18\n", "from nets import resnet18\nfrom other import resnet50\n")
    main = main.replace("print(resnet18", "print(resnet50(args.weights), resnet18")
    other = "def resnet50(path):\n    return 3\n"
    assert "nets.py:TDL201" not in found(application(tmp_path, helper=ASKING, nets=NETS, main=main, other=other))
    handing = "from nets import resnet50\n"
    assert "nets.py:TDL201" in found(application(tmp_path, helper=ASKING, nets=NETS, main=main, other=handing))


@pytest.mark.parametrize(
    ("license_at", "document", "program", "is_found"),
    [
        pytest.param("lib", "lib/README.md", "", False, id="of a copy"),
        pytest.param("lib", "lib/docs/nets.rst", "", False, id="deeper in a copy"),
        pytest.param("lib/nets", "lib/README.md", "", True, id="around the copy"),
        pytest.param("", "lib/README.md", "", True, id="no copy"),
        pytest.param("lib", "README.md", "", True, id="of the project"),
        pytest.param("lib", "lib/run.sh", "", True, id="a script"),
        pytest.param("lib", "lib/README.md", "import nets\n\nif __name__ == '__main__':\n    print(nets)\n", True,
                     id="something is started there"),
    ],
)  # fmt: skip
def test_documents_of_a_library_that_was_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, license_at: str, document: str, program: str, is_found: bool
) -> None:
    """They tell the users of the library what it has, and not those of the project."""
    monkeypatch.chdir(tmp_path)
    root = application(tmp_path, helper=ASKING, main=MAIN.replace("from nets", "from lib.nets.nets"))
    (root / "lib/nets").mkdir(parents=True)
    (root / "lib/docs").mkdir()
    (root / "lib/nets/nets.py").write_text(NETS)
    (root / license_at / "LICENSE").write_text("MIT License\n")
    (root / document).write_text("```python\nnet = nets.resnet50('best')\n```\n")
    if program:
        (root / "lib/run.py").write_text(program)
    assert ("nets.py:TDL201" in found(root)) is is_found


AGENT = """import torch

class Agent:
    def __init__(self, net):
        self.net = net

    def act(self, x):
        return self.net(x)

    def restore(self, folder):
        self.net.load_state_dict(torch.load(folder + "/net.pt"))
"""
CAREFUL = """import torch
from agent import Agent

class Careful(Agent):
    def restore(self, folder):
        super().restore(folder)
        self.net.bound = torch.load(folder + "/bound.pt")
"""
CHOOSING = """import argparse
import importlib
from helper import place

if __name__ == "__main__":
    args = argparse.ArgumentParser().parse_args()
    module = importlib.import_module(args.module)
    agent = getattr(module, args.name)(args.net.to(place()))
    print(agent.act(place()))
"""


@pytest.mark.parametrize(
    ("name", "old", "new", "is_found"),
    [
        pytest.param("main", "", "", False, id="nobody asks for it"),
        pytest.param(
            "main",
            "    print(",
            "    agent.restore(args.name)\n    print(",
            True,
            id="a program asks for it",
        ),
        pytest.param(
            "careful",
            "    def restore(self, folder):\n",
            "    def again(self, folder):\n",
            True,
            id="another method asks for it",
        ),
        pytest.param(
            "careful",
            "(Agent)",
            "(Agent, Saved)",
            True,
            id="a base beside it may ask for it",
        ),
    ],
)
def test_a_method_that_only_what_overrides_it_asks_for(
    tmp_path: Path, name: str, old: str, new: str, is_found: bool
) -> None:
    """What overrides a method is never asked for either, where nothing reads the name of both."""
    files = {"main": CHOOSING, "agent": AGENT, "careful": CAREFUL}
    assert old in files[name]
    files[name] = files[name].replace(old, new) if old else files[name]
    assert ("agent.py:TDL201" in found(application(tmp_path, helper=ASKING, **files))) is is_found


@pytest.mark.parametrize(
    ("old", "new", "config", "is_found"),
    [
        pytest.param("", "", "net: nets.resnet18\n", False, id="a path that names another one"),
        pytest.param("", "", "net: nets.resnet50\n", True, id="a path that names it"),
        pytest.param("(module)", "('nets' + module)", "", True, id="a path of which the beginning is known"),
        pytest.param("importlib.import_module(module)", "nets", "", True, id="a name of one module"),
    ],
)
def test_a_name_that_nothing_says_beside_paths_that_may_be_any(
    tmp_path: Path, old: str, new: str, config: str, is_found: bool
) -> None:
    """What a path leads to is named by it: where no code, text or configuration says a name, none leads there."""
    build = """import importlib
import nets

def build(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)(None)
"""
    main = MAIN.replace("from nets import resnet18", "from build import build").replace(
        "resnet18(args.weights)", "build(args.net)"
    )
    root = application(tmp_path, helper=ASKING, nets=NETS, build=build.replace(old, new), main=main)
    (root / "config.yaml").write_text(config)
    assert ("nets.py:TDL201" in found(root)) is is_found


@pytest.mark.parametrize(
    ("name", "text", "is_found"),
    [
        pytest.param(
            "tox.ini", "[testenv]\ncommands = coverage report --show-missing\n", False, id="a part of an option"
        ),
        pytest.param("README.md", "The notebooks show what the weights of a file say.\n", False, id="a word"),
        pytest.param("README.md", "Call `show(weights)` for a file.\n", True, id="a call"),
        pytest.param(
            "setup.cfg", "[options.entry_points]\nconsole_scripts =\n    shown = tools:show\n", True, id="a command"
        ),
        pytest.param("config.yaml", "action: show\n", True, id="a value"),
        pytest.param("use.py", "import numpy\nprint('to show', numpy.show_config())\n", False, id="a word of a text"),
        pytest.param("use.py", "import tools\nprint(getattr(tools, input())())\n", True, id="it is looked up"),
    ],
)
def test_a_name_that_is_a_word(tmp_path: Path, name: str, text: str, is_found: bool) -> None:
    """Nothing reads the function; words of its name, in prose or as a part of another one, mean none."""
    tools = """import torch

def first(weights):
    return torch.load("runs/" + weights, map_location="cpu")

def show(weights):
    print(torch.load("runs/" + weights))
"""
    main = MAIN.replace("from nets import resnet18", "from tools import first").replace(
        "resnet18(args.weights)", "first(args.weights)"
    )
    root = application(tmp_path, helper=ASKING, tools=tools, main=main, other="def resnet50(path):\n    return 3\n")
    (root / name).write_text(text)
    assert ("tools.py:TDL201" in found(root)) is is_found


SCORES = """import torch
from helper import place
from torch import nn

class FID:
    def __init__(self, path):
        self.net = nn.Linear(3, 3).to(place())
        self.net.load_state_dict(torch.load(path))
"""
SHOWN = """import argparse
from helper import place

def main():
    args = argparse.ArgumentParser().parse_args()
    print(dict(title="FID"), args.value, place())

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("more", "is_found"),
    [
        ("", False),
        ("import scores\n", True),
        ("from scores import FID\nprint(FID('w.pt'))\n", True),
    ],
    ids=["nobody imports it", "somebody does", "somebody makes one"],
)
def test_a_text_that_is_the_name_of_a_class(tmp_path: Path, more: str, is_found: bool) -> None:
    """It means nothing where no program has the file."""
    root = application(tmp_path, helper=ASKING, scores=SCORES, main=more + SHOWN)
    assert ("scores.py:TDL201" in found(root)) is is_found


RUNNING = """import importlib.util
import os
import runpy
from helper import place

HERE = os.path.dirname(__file__)
RUN
print(place())
"""


@pytest.mark.parametrize(
    ("run", "is_found"),
    [
        ("spec = importlib.util.spec_from_file_location('sum', os.path.join(HERE, '7_sum.py'))", False),
        ("spec = importlib.util.spec_from_file_location('sum', location=HERE + '/7_sum.py')", False),
        ("print(runpy.run_path('7_sum.py'))", False),
        ("print(runpy.run_path(os.path.join(HERE, 'nets.py')))", True),
        ("spec = importlib.util.spec_from_file_location('sum', os.path.join(HERE, input() + '.py'))", True),
        ("spec = importlib.util.spec_from_file_location('sum', HERE + input())", True),
        ("print(runpy.run_module(input()))", True),
    ],
)
def test_a_file_that_is_run_by_its_path(tmp_path: Path, run: str, is_found: bool) -> None:
    """One that is written down is no other."""
    use = "from helper import place\nfrom other import resnet50\nprint(resnet50(place()))\n"
    parts = {"nets": NETS, "main": MAIN, "use": use, "other": "def resnet50(path):\n    return 3\n"}
    parts["8_sum"] = RUNNING.replace("RUN", run)
    assert ("nets.py:TDL201" in found(application(tmp_path, helper=ASKING, **parts))) is is_found
