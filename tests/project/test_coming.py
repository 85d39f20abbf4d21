"""Lines that no program of an application runs, whatever they say: advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application, notebook
from tests.project.test_ways import ASKING, found

NET = """import torch
from torch import nn

class Encoder(nn.Module):
    def __init__(self, path):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def restore(self, path):
        self.load_state_dict(torch.load(path))

    def forward(self, x):
        return self.layer(x)

class Decoder(nn.Module):
    def __init__(self, path):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def restore(self, path):
        self.load_state_dict(torch.load(path))

    def forward(self, x):
        return self.layer(x)
"""
MAIN = """import sys
import torch
from helper import place
from net import Decoder, Encoder

def main(path):
    net = Encoder(4).to(place())
    net.restore(path)
    print(net(torch.rand(4, device=place())))

if __name__ == "__main__":
    main(sys.argv[1])
"""
SPARE = MAIN.replace("    net.restore(path)\n", "").replace(
    "def main", "def spare(path):\n    Encoder(4).restore(path)\n\ndef main"
)
"""It builds the class, but what calls the method is never run."""


def rows(root: Path) -> int:
    return found(root).count("net.py:TDL201")


def test_a_class_that_nobody_builds(tmp_path: Path) -> None:
    """What has a method of the same name is built, and asked for it."""
    root = application(tmp_path, helper=ASKING, net=NET, main=MAIN, other="")
    assert rows(root) == 1
    (root / "main.py").write_text(MAIN.replace("Encoder(4)", "Decoder(4)").replace(".restore(", ".eval("))
    assert rows(root) == 0


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        pytest.param(
            "more.py", "from helper import place\nfrom net import Decoder\nDecoder(1).restore('a')\n", 2, id="use"
        ),
        pytest.param(
            "more.py", "from helper import place\nfrom net import Decoder\nprint(Decoder(1))\n", 1, id="built"
        ),
        pytest.param("README.md", "```python\nfrom net import Decoder\n```\n", 2, id="document"),
        pytest.param("README.md", "It decodes (as the Decoder does) what a Decoder (2020) says.\n", 1, id="prose"),
        pytest.param("run.yaml", "net:\n  class_path: net.Decoder\n", 2, id="path"),
        pytest.param("run.yaml", "net:\n  type: Decoder\n", 2, id="value"),
    ],
)
def test_who_else_builds_it(tmp_path: Path, name: str, text: str, count: int) -> None:
    root = application(tmp_path, helper=ASKING, net=NET, main=MAIN, other="")
    (root / name).write_text(text)
    assert rows(root) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param(
            "import importlib\nfor each in ('first', 'last'):\n    importlib.import_module(each)\n", 0, id="others"
        ),
        pytest.param("import importlib\nimport sys\nimportlib.import_module(sys.argv[1]).run()\n", 1, id="told"),
        pytest.param("import importlib\nNAMES = ['net']\nimportlib.import_module(NAMES[0]).run()\n", 1, id="a text"),
        pytest.param(
            "import importlib\nimport sys\nimportlib.import_module(f'nets.{sys.argv[1]}.train').run()\n",
            0,
            id="another end",
        ),
        pytest.param(
            "import importlib\nimport sys\nimportlib.import_module(sys.argv[1] + 'et').run()\n", 1, id="its end"
        ),
        pytest.param(
            "import importlib\nimport os\nfor each in os.listdir('.'):\n    importlib.import_module(each[:-3]).run()\n",
            1,
            id="listed",
        ),
    ],
)
def test_a_module_that_may_be_loaded_by_a_text(tmp_path: Path, text: str, count: int) -> None:
    root = application(tmp_path, helper=ASKING, net=NET, main=SPARE, other=text)
    assert rows(root) == count


@pytest.mark.parametrize(
    ("beside", "count"),
    [
        pytest.param("class Encoder:\n    ...\n", 0, id="another name"),
        pytest.param("class Encoder:\n    ...\n\nclass Trainer:\n    ...\n", 1, id="the name"),
        pytest.param("from parts import *\n", 1, id="all names of what is not there"),
        pytest.param("globals()['Trainer'] = 1\n", 1, id="bound otherwise"),
    ],
)
def test_a_script_that_asks_the_module_beside_it_for_a_name(tmp_path: Path, beside: str, count: int) -> None:
    script = """import sys
import torch
from helper import place
from model import Trainer

if __name__ == "__main__":
    net = torch.load(sys.argv[1])
    print(Trainer(net.to(place())))
"""
    root = application(tmp_path, helper=ASKING, net=NET, main=MAIN, other="")
    (root / ".git").mkdir()
    folder = root / "runs"
    folder.mkdir()
    (folder / "helper.py").write_text(ASKING)
    (folder / "model.py").write_text(beside)
    (folder / "live.py").write_text(script)
    assert found(root).count("live.py:TDL201") == count


def test_a_program_that_only_calls_what_it_made(tmp_path: Path) -> None:
    """No guard, no options: ``experiment.run()`` at the top level."""
    experiment = """from helper import place
from net import Decoder, Encoder

class Experiment:
    def run(self):
        net = Encoder(4).to(place())
        net.restore("net.pth")
"""
    main = "from experiment import Experiment\n\nexperiment = Experiment()\nexperiment.run()\n"
    root = application(tmp_path, helper=ASKING, net=NET, experiment=experiment, main=main)
    assert rows(root) == 1


@pytest.mark.parametrize(
    ("main", "count"),
    [
        pytest.param("from helper import place\nfrom nets import *\nencoder.restored(place())\n", 1, id="all names"),
        pytest.param("from helper import place\n# from nets import encoder\nprint(place())\n", 1, id="put aside"),
    ],
)
def test_a_file_that_is_imported_in_a_way_that_is_not_seen(tmp_path: Path, main: str, count: int) -> None:
    encoder = "import torch\n\ndef restored(device):\n    return torch.load('runs/net.pth').to(device)\n"
    root = application(tmp_path, helper=ASKING, main=main, other="print(1)\n", more="print(2)\n", last="print(3)\n")
    (root / "nets").mkdir()
    (root / "nets" / "__init__.py").write_text("__all__ = ['encoder']\n")
    (root / "nets" / "encoder.py").write_text(encoder)
    assert found(root).count("encoder.py:TDL201") == count


def test_classes_that_are_found_by_their_base(tmp_path: Path) -> None:
    net = NET.replace("(nn.Module)", "(Base)").replace("class Enc", "class Base(nn.Module):\n    ...\n\nclass Enc")
    main = MAIN.replace("def main", "def spare():\n    Decoder(1)\n\ndef main")
    root = application(tmp_path, helper=ASKING, net=net, main=main, other="")
    assert rows(root) == 1
    (root / "main.py").write_text(
        main.replace("place())\n", "place())\n    print(Encoder.__bases__[0].__subclasses__())\n")
    )
    assert rows(root) == 2


@pytest.mark.parametrize(
    ("installed", "count"),
    [
        pytest.param("[tool.setuptools.packages.find]\ninclude = ['package*']\n", 0, id="a package beside"),
        pytest.param("[tool.setuptools]\npackages = []\npy-modules = ['net', 'main', 'helper']\n", 1, id="these"),
    ],
)
def test_commands_of_what_is_installed(tmp_path: Path, installed: str, count: int) -> None:
    """A command that is declared is one of the programs of those files that are installed with it."""
    root = application(tmp_path, helper=ASKING, net=NET, main=SPARE, other="")
    (root / "package").mkdir()
    (root / "package" / "__init__.py").write_text("")
    (root / "pyproject.toml").write_text(f"[project]\nname = 'x'\n[project.scripts]\nrun = 'package:run'\n{installed}")
    assert rows(root) == count


@pytest.mark.parametrize(
    ("command", "count"),
    [
        pytest.param("main:spare", 1, id="comes to it"),
        pytest.param("main:main", 0, id="does not"),
        pytest.param("helper:place", 0, id="of a file that does not lead there"),
        pytest.param("main:missing", 1, id="not seen"),
    ],
)
def test_the_function_that_a_command_starts(tmp_path: Path, command: str, count: int) -> None:
    root = application(tmp_path, helper=ASKING, net=NET, main=SPARE, other="")
    modules = "[tool.setuptools]\npackages = []\npy-modules = ['net', 'main', 'helper']\n"
    (root / "pyproject.toml").write_text(f"[project]\nname = 'x'\n[project.scripts]\nrun = '{command}'\n{modules}")
    assert rows(root) == count


def test_a_module_that_starts_a_package(tmp_path: Path) -> None:
    """``python -m package`` runs ``__main__.py``, which has no need of a guard."""
    root = application(
        tmp_path, helper=ASKING, net=NET, main=SPARE, other="", __main__="from main import spare\nspare(1)\n"
    )
    assert rows(root) == 1
    (root / "__main__.py").write_text("from main import main\nmain(1)\n")
    assert rows(root) == 0


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        pytest.param("from net import Encoder, Missing", 0, id="ends"),
        pytest.param("from net import Encoder", 1, id="goes on"),
    ],
)
def test_a_command_that_imports_what_ends_at_its_imports(tmp_path: Path, asked: str, count: int) -> None:
    train = MAIN.replace("from net import Decoder, Encoder", asked)
    command = """import sys
from helper import place

def main():
    if sys.argv[1] == "train":
        from train import main as run
        print(run(place()))

if __name__ == "__main__":
    main()
"""
    root = application(tmp_path, helper=ASKING, net=NET, train=train, command=command)
    assert rows(root) == count


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        pytest.param("", "", 1, id="of the class that is built"),
        pytest.param("net.restore(path)", "Decoder.restore(net, path)", 1, id="of a class by its name"),
        pytest.param("net.restore(path)", "path.restore(path)", 2, id="of what is not known"),
        pytest.param("net.restore(path)", "helper.restore(path)", 0, id="of a module"),
    ],
)
def test_whose_method_is_asked_for(tmp_path: Path, old: str, new: str, count: int) -> None:
    """Both classes are built; what they ask for themselves is theirs, or that of a class of their family."""
    main = MAIN.replace("    net =", "    other = Decoder(4)\n    net =").replace(
        "import sys", "import helper\nimport sys"
    )
    main = main.replace("    net.restore(path)\n", "    net.resume(path)\n" if not old else f"    {new}\n")
    resume = "    def resume(self, path):\n        self.restore(path)\n\n    def restore"
    net = NET.replace("    def restore", resume, 1) if not old else NET
    root = application(tmp_path, helper=ASKING, net=net, main=main, other="")
    assert rows(root) == count


def test_a_method_that_a_base_asks_for(tmp_path: Path) -> None:
    net = """import torch

class Base:
    def __init__(self, path):
        self.restore(path)

class First(Base):
    def restore(self, path):
        self.state = torch.load(path)

class Other:
    def restore(self, path):
        self.state = torch.load(path)
"""
    main = "import sys\nfrom helper import place\nfrom net import First, Other\n"
    main += "print(First(sys.argv[1]), Other(), place())\n"
    root = application(tmp_path, helper=ASKING, net=net, main=main, other="")
    assert rows(root) == 1
    (root / "main.py").write_text(main.replace(", Other()", ", Other().restore(1)"))
    assert rows(root) == 2


@pytest.mark.parametrize(
    ("start", "count"),
    [
        ("process = Process(target=main, args=(sys.argv[1],))\nprocess.start()\nprocess.join()\n", 0),
        ("mp.spawn(main, nprocs=2)\n", 0),
        ("wandb.agent(sys.argv[1], function=main)\n", 0),
        ("process = Process(target=main, args=(sys.argv[1],))\n", 2),
    ],
)
def test_a_program_that_starts_others(tmp_path: Path, start: str, count: int) -> None:
    """There is no main guard: it is a program since it starts processes, or the agent of a sweep."""
    main = MAIN.partition("if __name__")[0].replace("    net.restore(path)\n", "")
    imports = "import wandb\nimport torch.multiprocessing as mp\nfrom multiprocessing import Process\n"
    root = application(tmp_path, helper=ASKING, net=NET, main=f"{imports}{main}{start}")
    assert rows(root) == count


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        pytest.param("", "", 1, id="a trial"),
        pytest.param("torch.rand(4)", "torch.rand(4, device='cuda')", 2, id="on an accelerator"),
        pytest.param("trial = Trial()", "trial = Trial(torch.load('a'))", 2, id="of what it loads"),
        pytest.param("if __name", "def main():\n    return Trial()\n\nif __name", 1, id="beside a function"),
        pytest.param(
            "if __name", "def main():\n    Trial()\n\nif True:\n    main()\n\nif __name", 2, id="it runs more"
        ),
    ],
)
def test_what_only_a_trial_of_an_unused_file_comes_to(tmp_path: Path, old: str, new: str, count: int) -> None:
    """Nobody imports or names the file; what it tries of itself, under its guard, brings nobody to another file."""
    trial = """import torch
from net import Decoder

class Trial:
    def __init__(self, path=""):
        self.net = Decoder(4)
        self.net.restore(path)

if __name__ == "__main__":
    trial = Trial()
    print(trial.net(torch.rand(4)))
"""
    trial = trial.replace(old, new)
    root = application(tmp_path, helper=ASKING, net=NET, main=MAIN, trying=trial, other="")
    assert rows(root) == count
    (root / "README.md").write_text("Start `python trying.py` first.\n")
    assert rows(root) == 2


@pytest.mark.parametrize(
    ("imports", "asked", "count"),
    [
        pytest.param("from hub import Tokenizer", "Tokenizer.restore(path)", 0, id="a class of a library"),
        pytest.param("", "from hub import Tokenizer\n    Tokenizer.restore(path)", 0, id="imported by the function"),
        pytest.param("", "from . import hub\n    hub.restore(path)", 1, id="of the package"),
    ],
)
def test_a_method_that_is_asked_of_a_library(tmp_path: Path, imports: str, asked: str, count: int) -> None:
    """``AutoTokenizer.from_pretrained`` brings nobody to the method of that name which a class of the project has."""
    main = MAIN.replace("    net.restore(path)", f"    {asked}").replace("import sys", f"import sys\n{imports}")
    root = application(tmp_path, helper=ASKING, net=NET, main=main, other="")
    assert rows(root) == count


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        pytest.param("", "", 1, id="a trial"),
        pytest.param("torch.rand(4)", "torch.rand(4, device='cuda')", 2, id="on an accelerator"),
        pytest.param("    net.re", "    net.load_state_dict({})\n    net.re", 2, id="of what it loads"),
        pytest.param("if __name", "print(Decoder(4))\n\nif __name", 2, id="an import runs more"),
    ],
)
def test_what_only_a_trial_of_a_needed_file_comes_to(tmp_path: Path, old: str, new: str, count: int) -> None:
    """The file is imported for another class than that which its guard tries."""
    trial = """
if __name__ == "__main__":
    net = Decoder(4)
    net.restore("a.pt")
    print(net(torch.rand(4)))
"""
    root = application(tmp_path, helper=ASKING, net=NET + trial.replace(old, new), main=MAIN, other="")
    assert rows(root) == count
    (root / "main.py").write_text(MAIN.replace("Encoder(4)", "Decoder(Encoder(4))"))
    assert rows(root) == 2


@pytest.mark.parametrize(
    ("scripts", "count"),
    [
        pytest.param("", 1, id="no command"),
        pytest.param("[project.scripts]\nrun = 'net:run'\n", 2, id="a command"),
    ],
)
def test_a_command_of_a_file_that_tries_itself(tmp_path: Path, scripts: str, count: int) -> None:
    """What is started by its name is a program, whatever the file does when it is started by its path."""
    run = "\ndef run():\n    Decoder(4).restore('a.pt')\n"
    trial = "\nif __name__ == '__main__':\n    print(Decoder(torch.rand(4)))\n"
    root = application(tmp_path, helper=ASKING, net=NET + run + trial, main=MAIN, other="")
    modules = "[tool.setuptools]\npackages = []\npy-modules = ['net', 'main', 'helper']\n"
    (root / "pyproject.toml").write_text(f"[project]\nname = 'x'\n{scripts}{modules}")
    assert rows(root) == count


def test_what_a_file_begins_that_nobody_imports(tmp_path: Path) -> None:
    """A project with a program of its own shows that nobody starts the function; one without any may be for others."""
    spare = "import torch\nfrom net import Encoder\n\ndef spare(path):\n    print(torch.load(path))\n"
    root = application(tmp_path, helper=ASKING, net=NET, main=MAIN, spare=spare, other="")
    assert not [each for each in found(root) if each.startswith("spare.py")]
    (root / "more.py").write_text("from spare import spare\nspare('a')\n")
    assert [each for each in found(root) if each.startswith("spare.py")] == ["spare.py:TDL201"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("", "", id="run by an experiment"),
        pytest.param("@experiment.automain\n", "", id="only defined"),
    ],
)
def test_what_nobody_imports_but_sacred_runs(tmp_path: Path, old: str, new: str) -> None:
    """A function that `automain` decorates is run when the file is started: no guard says so."""
    spare = """import torch
from sacred import Experiment

experiment = Experiment("a")

@experiment.automain
def spare(path):
    print(torch.load(path))
"""
    root = application(tmp_path, helper=ASKING, net=NET, main=MAIN, spare=spare.replace(old, new), other="")
    assert ("spare.py:TDL201" in found(root)) is (not old)


@pytest.mark.parametrize(
    ("last", "is_found"),
    [pytest.param("LOADED = spare('a')\n", True, id="called"), pytest.param("LOADED = spare\n", False, id="bound")],
)
def test_a_script_that_only_binds_names(tmp_path: Path, last: str, is_found: bool) -> None:
    """What a document tells people to start runs what it calls, though no statement of it does more than bind."""
    spare = f"import torch\nfrom net import Encoder\n\ndef spare(path):\n    return torch.load(path)\n\n{last}"
    root = application(tmp_path, helper=ASKING, net=NET, main=MAIN, spare=spare, other="")
    (root / "README.md").write_text("Run `python spare.py`.\n")
    assert ("spare.py:TDL201" in found(root)) is is_found


def test_a_notebook_that_only_binds_names(tmp_path: Path) -> None:
    """Its cells are run, whoever imports it."""
    root = application(tmp_path, helper=ASKING, net=NET, main=MAIN, other="")
    imports = "import torch\nfrom helper import place\nfrom net import Encoder\n"
    cells = (
        f"{imports}\ndef shape(x):\n    return x.shape\n",
        "net = Encoder(4).to(place())\nout = net(torch.ones(3))\n",
    )
    (root / "shown.ipynb").write_text(notebook(*cells))
    assert "shown.ipynb:TDL004" in found(root)
