"""What an application has no use for: findings where no program comes to, and CUDA where all is on the current GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.project.test_published_files import application as written
from tests.project.test_writers import lint
from torchdevlint.project import tree

SELECTED = ("TDL003", "TDL012", "TDL014", "TDL201", "TDL304")
EVERYTHING = ["layers.py:TDL003", "layers.py:TDL012", "layers.py:TDL014"]
LAYERS = """import torch
from torch import nn

class Attention(nn.Module):
    def forward(self, x):
        return x * torch.arange(x.shape[1]).cuda()

class Spare(nn.Module):
    def forward(self, x):
        return x * torch.arange(x.shape[1])

    def used(self, x: torch.Tensor):
        return x.unsqueeze(0) * torch.ones(3)
"""
ASKING = """import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Parameter(torch.ones(3))

    def forward(self, x):
        noise = torch.rand(3)
        if torch.cuda.is_available():
            noise = noise.cuda()
        return x * noise ** self.gate
"""
MAIN = """import torch
from layers import Attention

def restore(net):
    net.load_state_dict(torch.load("best.pt"))

if __name__ == "__main__":
    net = Attention().cuda()
    restore(net)
    net(torch.ones(2, 3).cuda())
"""
ANYWHERE = """import torch
from layers import Attention

net = Attention().to("cuda" if torch.cuda.is_available() else "cpu")
"""
NUMBERED = """import sys
import torch
from layers import Attention

net = Attention().cuda(int(sys.argv[1]))
"""
NOTEBOOK = '{"cells": [{"cell_type": "code", "source": ["from layers import Spare\\nSpare()"]}]}'


def application(root: Path, **files: str) -> Path:
    """A project with enough files to be taken for one, as a working copy of it is."""
    others = {f"part_{number}": "" for number in range(4)}
    (root / ".gitignore").write_text("")
    return written(root, **others, **files)


def found(root: Path, kept: Path | None = None) -> list[str]:
    return sorted(f"{Path(each.filename).name}:{each.code}" for each in lint(root, kept, select=SELECTED).diagnostics)


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tree.forget()


def test_all_programs_run_on_the_current_gpu(tmp_path: Path) -> None:
    assert found(application(tmp_path, layers=LAYERS, main=MAIN)) == []


def test_a_few_files_may_be_a_beginning(tmp_path: Path) -> None:
    assert found(written(tmp_path, layers=LAYERS, main=MAIN)) == [*EVERYTHING, "main.py:TDL201"]


def test_what_is_only_imported_is_not_used(tmp_path: Path) -> None:
    assert found(application(tmp_path, layers=LAYERS, main=MAIN.replace("Attention\n", "Attention, Spare\n", 1))) == []


def test_without_programs_its_users_are_elsewhere(tmp_path: Path) -> None:
    assert found(application(tmp_path, layers=LAYERS)) == EVERYTHING


@pytest.mark.parametrize("other", [ANYWHERE, NUMBERED])
def test_one_program_runs_elsewhere(tmp_path: Path, other: str) -> None:
    assert "layers.py:TDL012" in found(application(tmp_path, layers=LAYERS, main=MAIN, other=other))


def test_an_option_for_the_device_in_what_a_program_imports(tmp_path: Path) -> None:
    options = "import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--device')\n"
    main = MAIN.replace("import torch\n", "import torch\nfrom options import parser\n")
    assert found(application(tmp_path, layers=LAYERS, main=main, options=options)) == [
        "layers.py:TDL012",
        "main.py:TDL201",
    ]


def test_a_helper_asks_for_cuda_and_the_program_does_not(tmp_path: Path) -> None:
    helper = "import torch\n\ndef place(use_gpu=True):\n    return 'cuda' if torch.cuda.is_available() else 'cpu'\n"
    main = MAIN.replace("import torch\n", "import torch\nfrom helper import place\n") + "    net.zero_grad()\n"
    assert found(application(tmp_path, layers=LAYERS, main=main, helper=helper)) == []
    tree.forget()
    asked = main.replace(".cuda()", ".to(place())")
    reported = found(application(tmp_path, layers=LAYERS, main=asked, helper=helper))
    assert reported == ["layers.py:TDL012", "main.py:TDL201"]


def test_a_program_that_takes_options_is_no_trial(tmp_path: Path) -> None:
    helper = "import torch\n\nPLACE = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
    main = MAIN.replace("import torch\n", "import torch\nimport helper\n") + "    evaluate_test(net)\n"
    options = main.replace("    net = A", "    args = parser.parse_args()\n    net = A")
    assert "layers.py:TDL012" in found(application(tmp_path, layers=LAYERS, main=main, helper=helper))
    tree.forget()
    assert found(application(tmp_path, layers=LAYERS, main=options, helper=helper)) == []


def test_an_option_for_the_device_that_is_set_to_cuda(tmp_path: Path) -> None:
    main = MAIN.replace("net = Att", "args.device = torch.device('cuda')\n    net = Att")
    main = main.replace(".cuda()", ".to(args.device)")
    assert found(application(tmp_path, layers=LAYERS, main=main)) == []
    tree.forget()
    also = main + "    args.device = args.place\n"
    assert found(application(tmp_path, layers=LAYERS, main=also)) == ["layers.py:TDL012", "main.py:TDL201"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("if args.gpu_num > 1:", []),
        ("for xpu in range(args.gpu_num):", []),
        ("if args.gpu_num > 0:", ["layers.py:TDL012", "main.py:TDL201"]),
        ("if args.backend == 'xpu':", ["layers.py:TDL012", "main.py:TDL201"]),
    ],
)
def test_how_many_gpus_is_no_choice_of_another_device(tmp_path: Path, line: str, expected: list[str]) -> None:
    main = MAIN + f"    {line}\n        print(args)\n"
    assert found(application(tmp_path, layers=LAYERS, main=main)) == expected


def test_a_program_that_trains_at_its_top_level(tmp_path: Path) -> None:
    main = "import torch\nfrom layers import Attention\n\nnet = Attention().cuda()\n"
    assert found(application(tmp_path, layers=LAYERS, main=main)) == EVERYTHING
    tree.forget()
    steps = "for x in range(3):\n    loss = net(torch.ones(2, 3).cuda()).sum()\n    loss.backward()\n"
    assert found(application(tmp_path, layers=LAYERS, main=main + steps)) == []


def test_a_program_that_trains_below_a_test(tmp_path: Path) -> None:
    main = "import sys\nfrom layers import Attention\n\nfor run in range(3):\n    net = Attention().cuda()\n"
    spoken = "    if sys.argv:\n        print(net)\n"
    assert found(application(tmp_path, layers=LAYERS, main=main + spoken)) == EVERYTHING
    tree.forget()
    trained = "    if sys.argv:\n        net.train()\n"
    assert found(application(tmp_path, layers=LAYERS, main=main + trained)) == []


def test_results_that_come_back_choose_nothing(tmp_path: Path) -> None:
    main = MAIN + '    print(net(torch.ones(2, 3).cuda()).to("cpu"), torch.cuda.is_available())\n'
    assert found(application(tmp_path, layers=LAYERS, main=main)) == []


def test_back_to_cuda_after_a_save_from_the_cpu_chooses_nothing(tmp_path: Path) -> None:
    saving = """
    torch.save(net.cpu().state_dict(), "best.pt")
    if len(sys.argv) > 1 and torch.cuda.is_available():
        net.cuda()
"""
    assert found(application(tmp_path, layers=LAYERS, main=f"import sys\n{MAIN}{saving}")) == []
    tree.forget()
    other = saving.replace(".cpu()", "")
    assert found(application(tmp_path, layers=LAYERS, main=f"import sys\n{MAIN}{other}")) != []


def test_the_number_of_a_tensor_where_all_is_on_cuda(tmp_path: Path) -> None:
    grid = "import torch\n\ndef grid(x: torch.Tensor):\n    return torch.zeros(3, device=x.get_device()) + x\n"
    uses = "import torch\nfrom grids import grid\n\nprint(grid(torch.ones(3).cuda()))\n"
    assert found(application(tmp_path, grids=grid, main=uses)) == []
    tree.forget()
    either = uses.replace(".cuda()", ".to('cuda' if torch.cuda.is_available() else 'cpu')")
    assert found(application(tmp_path, grids=grid, main=uses, other=either)) == ["grids.py:TDL304"]


def test_a_question_for_cuda_leaves_the_number_open_alone(tmp_path: Path) -> None:
    asked = "t = torch.arange(x.shape[1])\n        if x.is_cuda:\n            t = t.cuda()\n        return x * t"
    asks = LAYERS.replace("return x * torch.arange(x.shape[1]).cuda()", asked)
    assert found(application(tmp_path, layers=asks, main=MAIN, other=ANYWHERE)) == []
    assert "layers.py:TDL012" in found(application(tmp_path, layers=asks, main=MAIN, other=NUMBERED))


def test_all_programs_say_first_which_gpu_is_the_current_one(tmp_path: Path) -> None:
    chosen = NUMBERED.replace("net = Attention().cuda(int(sys.argv[1]))", "torch.cuda.set_device(int(sys.argv[1]))")
    chosen += 'device = "cuda" if torch.cuda.is_available() else "cpu"\nprint(Attention().to(device))\n'
    assert "layers.py:TDL012" not in found(application(tmp_path, layers=LAYERS, main=chosen))
    tree.forget()
    perhaps = chosen.replace("torch.cuda.set", "if len(sys.argv) > 1:\n    torch.cuda.set")
    assert "layers.py:TDL012" in found(application(tmp_path, layers=LAYERS, main=chosen, other=perhaps))


def test_cuda_wherever_there_is_any(tmp_path: Path) -> None:
    """A move under a question for CUDA hurts where a program is on the CPU in spite of it, or on another GPU."""
    option = ANYWHERE.replace("torch.cuda.is_available()", "'--cuda' in __import__('sys').argv")
    assert found(application(tmp_path, layers=ASKING, main=MAIN, other=ANYWHERE)) == []
    assert "layers.py:TDL012" in found(application(tmp_path, layers=ASKING, main=MAIN, other=NUMBERED))
    assert "layers.py:TDL012" in found(application(tmp_path, layers=ASKING, main=MAIN, other=option))


PLAIN = """import torch
from torch import nn

class Scale(nn.Module):
    def forward(self, x):
        return x * torch.arange(x.shape[1])
"""
STARTS = "import torch\nfrom layers import Scale\n\nnet = Scale()\nprint(net(torch.ones(2, 3)))\n"


MAIN_GUARD = "if __name__ == '__main__':\n    print(net)\n"


def test_files_of_programs_without_an_accelerator(tmp_path: Path) -> None:
    """They were written without one; a place that is said only for one of them says that they were not."""
    reads = STARTS + "net.load_state_dict(torch.load('best'))\nnet.to(torch.device('cpu'))\n"
    assert found(application(tmp_path, layers=PLAIN, main=reads)) == []
    tree.forget()
    moves = reads.replace("('cpu')", "(net.place)")
    assert "main.py:TDL201" in found(application(tmp_path, layers=PLAIN, main=moves))


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({}, []),
        ({"more.py": STARTS + "net.to('mps')\n"}, ["layers.py:TDL003"]),
        ({"more.py": "from layers import Scale\nfrom helpers import started\n\nprint(started(Scale()))\n",
          "helpers.py": "def started(net):\n    return net.cuda()\n"}, ["layers.py:TDL003"]),
        ({"try.ipynb": NOTEBOOK}, ["layers.py:TDL003"]),
    ],
)  # fmt: skip
def test_programs_without_an_accelerator(tmp_path: Path, others: dict[str, str], expected: list[str]) -> None:
    for name, text in others.items():
        (tmp_path / name).write_text(text)
    assert found(application(tmp_path, layers=PLAIN, main=STARTS)) == expected


def notebook(*cells: str) -> str:
    """A notebook as Jupyter writes it: each line of a cell is a text of its own."""
    return json.dumps({"cells": [{"cell_type": "code", "source": each.splitlines(keepends=True)} for each in cells]})


RESTORE = (
    "import torch\n\ndef restore(net, device):\n    net.load_state_dict(torch.load('best.pt'))\n    net.to(device)\n"
)
ON_CUDA = ("device = 'cuda'\n", "from package.layers import restore\nfrom package import net\nrestore(net, device)\n")
ANYWHERE_HERE = "import torch\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n"


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (ON_CUDA, []),
        ((ANYWHERE_HERE, ON_CUDA[1]), ["layers.py:TDL201"]),
        (("device = 'cuda:2'\n", ON_CUDA[1]), ["layers.py:TDL201"]),
        (("device = 'cuda'\n",), ["layers.py:TDL201"]),
        (("%matplotlib inline\n!nvidia-smi\n", *ON_CUDA), []),
    ],
)
def test_notebooks_are_the_programs_of_a_package(tmp_path: Path, cells: tuple[str, ...], expected: list[str]) -> None:
    package = tmp_path / "package"
    package.mkdir()
    application(package, __init__="net = None\n", layers=RESTORE)
    (package / "torchdevlint.toml").unlink()
    (tmp_path / "try.ipynb").write_text(notebook(*cells))
    assert found(tmp_path) == expected


def test_a_package_that_notebooks_try_may_be_installed(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    application(package, __init__="net = None\n", layers=RESTORE)
    (package / "torchdevlint.toml").unlink()
    (tmp_path / "try.ipynb").write_text(notebook(*ON_CUDA))
    (tmp_path / "setup.py").write_text(
        "from setuptools import find_packages, setup\n\nsetup(packages=find_packages())\n"
    )
    assert found(tmp_path) == ["layers.py:TDL201"]


TARGETS = """import torch

def target(x, size):
    y = torch.zeros(size)
    y[..., 0] = torch.sin(x[..., 0]) * x[..., 1]
    return y
"""
USES_TARGETS = """import torch
from layers import target

device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.rand(4, 2).to(device)
y = target(x, (4, 2)).to(device)
print(y - x)
"""


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", []),
        ("z = target(x * 2, (4, 2)).type_as(y)\n", []),
        ("z = target(x * 2, (4, 2))\n", ["layers.py:TDL014"]),
        ("make = target\n", ["layers.py:TDL014"]),
    ],
)
def test_what_all_callers_move_at_once_may_come_from_the_cpu(tmp_path: Path, more: str, expected: list[str]) -> None:
    assert found(application(tmp_path, layers=TARGETS, main=USES_TARGETS + more)) == expected


def test_what_is_installed_has_users_elsewhere(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    application(package, __init__="", layers=LAYERS)
    main = MAIN.replace("from layers", "from package.layers")
    setup = "from setuptools import find_packages, setup\n\nsetup(packages=find_packages())\n"
    assert [each for each in found(application(tmp_path, main=main, setup=setup)) if "layers" in each] == EVERYTHING


def test_a_package_without_scripts_was_installed(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    application(package, __init__="", layers=LAYERS, main=MAIN.replace("from layers", "from .layers"))
    (package / "torchdevlint.toml").unlink()
    assert [each for each in found(tmp_path) if "layers" in each] == EVERYTHING
    (tmp_path / "start.py").write_text("import package.main\n")
    tree.forget()
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    ("beside", "expected"), [("README.md", []), (".gitignore", []), ("METADATA", EVERYTHING), ("LICENSE", EVERYTHING)]
)
def test_a_package_beside_what_is_never_installed(tmp_path: Path, beside: str, expected: list[str]) -> None:
    """For those who read the code, or change it; a licence is installed with what it is for."""
    package = tmp_path / "package"
    package.mkdir()
    application(package, __init__="", layers=LAYERS, main=MAIN.replace("from layers", "from .layers"))
    (package / "torchdevlint.toml").unlink()
    (tmp_path / beside).write_text("# Attention\n")
    assert [each for each in found(tmp_path) if "layers" in each] == expected


def test_programs_of_a_working_copy_whose_root_is_a_package_as_well(tmp_path: Path) -> None:
    """An ``__init__.py`` beside the programs, which import each other by their own names."""
    root = application(tmp_path, __init__="", layers=LAYERS, main=MAIN)
    (root / ".gitignore").unlink()
    assert found(root) != []
    (root / ".gitignore").write_text("*.pt\n")
    tree.forget()
    assert found(root) == []


def test_scripts_beside_what_is_installed_are_an_application(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    application(package, __init__="")
    setup = "from setuptools import find_packages, setup\n\nsetup(packages=find_packages())\n"
    assert found(application(tmp_path, layers=LAYERS, main=MAIN, setup=setup)) == []


@pytest.mark.parametrize(
    ("packages", "installed"),
    [
        ("['package']", False),
        ("['package', 'scripts']", True),
        ("[each for each in os.listdir('.') if each != 'tests']", True),
        ("find_packages()", True),
        ("find_packages(exclude=['tests', 'scripts'])", False),
        ("find_packages(exclude=('tests', 'docs'))", True),
        ("find_packages(include=['package', 'package.*'])", False),
    ],
)
def test_a_declaration_names_each_package_that_it_installs(tmp_path: Path, packages: str, installed: bool) -> None:
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (tmp_path / "package").mkdir()
    application(tmp_path / "package", __init__="")
    setup = f"import os\nfrom setuptools import find_packages, setup\n\nsetup(packages={packages})\n"
    application(tmp_path, setup=setup)
    reported = found(application(scripts, __init__="", layers=LAYERS, main=MAIN))
    assert reported == ([*EVERYTHING, "main.py:TDL201"] if installed else [])


PROJECT = "[project]\nname = 'package'\n"
FOUND = "\n[tool.setuptools.packages.find]\nwhere = ['.']\n"
KERNELS = "from setuptools import Extension, setup\n\nsetup(ext_modules=[Extension('fast', ['fast.c'])])\n"


@pytest.mark.parametrize(
    ("folder", "declared", "installed"),
    [
        ("examples", {"pyproject.toml": PROJECT}, False),
        ("layers", {"pyproject.toml": PROJECT}, True),
        ("recipes", {"pyproject.toml": f"{PROJECT}{FOUND}include = ['package*']\n"}, False),
        ("recipes", {"pyproject.toml": f"{PROJECT}{FOUND}include = ['package*', 'rec*']\n"}, True),
        ("recipes", {"pyproject.toml": f"{PROJECT}{FOUND}exclude = ['rec*']\n"}, False),
        ("recipes", {"pyproject.toml": f"{PROJECT}{FOUND}exclude = ['docs*']\n"}, True),
        ("recipes", {"setup.py": KERNELS}, False),
        ("recipes", {"setup.py": KERNELS, "pyproject.toml": PROJECT}, True),
        ("recipes", {"setup.py": "from setuptools import setup\n\nsetup(name='package')\n"}, True),
        (
            "recipes",
            {"setup.cfg": "[metadata]\nname = package\n", "pyproject.toml": f"{PROJECT}{FOUND}include = ['package']\n"},
            False,
        ),
    ],
)
def test_what_setuptools_takes_for_packages(
    tmp_path: Path, folder: str, declared: dict[str, str], installed: bool
) -> None:
    """Where nothing says which there are, it leaves out examples; what one declaration says holds for the others."""
    (tmp_path / folder).mkdir()
    (tmp_path / "package").mkdir()
    application(tmp_path / "package", __init__="")
    application(tmp_path, **declared)
    reported = found(application(tmp_path / folder, __init__="", layers=LAYERS, main=MAIN))
    assert reported == ([*EVERYTHING, "main.py:TDL201"] if installed else [])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("more.py", "from layers import Spare\n\nspare = Spare()\n"),
        ("look.py", "import layers\n\ndef build(name):\n    return getattr(layers, name)()\n"),
        ("names.py", 'DEFAULT = "Spare"\n'),
        ("try.ipynb", NOTEBOOK),
        ("README.md", "Try `Spare()(x)`.\n"),
        ("model.yaml", "model:\n  _target_: layers.Spare\n"),
    ],
)
def test_what_says_the_name_of_a_class_may_use_it(tmp_path: Path, name: str, text: str) -> None:
    assert "layers.py:TDL003" in found(application(tmp_path, layers=LAYERS, main=MAIN, **{name: text}))


def test_prose_uses_nothing(tmp_path: Path) -> None:
    assert found(application(tmp_path, layers=LAYERS, main=MAIN, **{"README.md": "Spare parts are elsewhere.\n"})) == []


def test_another_class_of_that_name_is_another_one(tmp_path: Path) -> None:
    other = "class Spare:\n    pass\n\nspare = Spare()\n"
    assert found(application(tmp_path, layers=LAYERS, main=MAIN, other=other)) == []


def test_a_notebook_is_asked_again_when_it_has_changed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    root = application(tmp_path, layers=LAYERS, main=MAIN)
    assert found(root, kept) == found(root, kept) == []
    application(tmp_path, **{"try.ipynb": NOTEBOOK})
    assert "layers.py:TDL003" in found(root, kept)
    (root / "try.ipynb").unlink()
    tree.forget()
    assert found(root, kept) == []


def test_a_method_that_nothing_calls(tmp_path: Path) -> None:
    main = MAIN.replace("import Attention", "import Attention, Spare") + "    print(Spare()(torch.ones(2, 3).cuda()))\n"
    assert found(application(tmp_path, layers=LAYERS, main=main)) == ["layers.py:TDL003"]
    assert "layers.py:TDL014" in found(application(tmp_path, layers=LAYERS, main=main + "    Spare().used(1)\n"))


@pytest.mark.parametrize(
    ("name", "text", "is_called"),
    [
        ("other.py", "used = 3\n\ndef spread(used):\n    return used\n\nspread(used=used)\n", False),
        ("other.py", "print('used cars')\n", False),
        ("other.py", "def use(args):\n    if args.used and not args.spare:\n        print(args)\n", False),
        ("other.py", "def use(args):\n    return 1 if 'new' != args.used else 0\n", False),
        ("other.py", "def use(args):\n    if args.used(3):\n        print(args)\n", True),
        ("other.py", "def use(spare):\n    return spare.used\n", True),
        ("other.py", "def use(spare):\n    return getattr(spare, 'used')\n", True),
        ("other.py", "import timeit\ntimeit.timeit('spare.used(1)')\n", True),
        ("other.py", "import layers\n\nclass Left(layers.Spare):\n    forward = layers.Spare.used\n", True),
        ("README.md", "The used parts\n", False),
        ("README.md", "Call `spare.used(x)`.\n", True),
        ("model.yaml", "method: used\n", True),
    ],
)
def test_a_method_is_called_by_an_object(tmp_path: Path, name: str, text: str, is_called: bool) -> None:
    """A variable, an argument and a word of prose that are called alike are other things."""
    main = MAIN.replace("import Attention", "import Attention, Spare") + "    print(Spare()(torch.ones(2, 3).cuda()))\n"
    root = application(tmp_path, layers=LAYERS, main=main)
    (root / name).write_text(text)
    tree.forget()
    assert ("layers.py:TDL014" in found(root)) == is_called


def test_a_method_that_its_class_hands_on(tmp_path: Path) -> None:
    handed = LAYERS + "\n    again = used\n"
    main = MAIN.replace("import Attention", "import Attention, Spare") + "    print(Spare().again(torch.ones(3)))\n"
    assert "layers.py:TDL014" in found(application(tmp_path, layers=handed, main=main))


CHAIN = """import torch

class Diffusion:
    def sample(self, x: torch.Tensor):
        return x.unsqueeze(0)

    def total(self, x: torch.Tensor):
        return self.prior(x).sum()

    @torch.no_grad()
    def prior(self, x: torch.Tensor):
        return self.spread(x.unsqueeze(0), torch.ones(3))

    def spread(self, x: torch.Tensor, width: torch.Tensor):
        return x.unsqueeze(0) * width
"""


def test_methods_that_only_each_other_call(tmp_path: Path) -> None:
    main = "import torch\nfrom layers import Diffusion\n\nif __name__ == '__main__':\n"
    main += "    diffusion = Diffusion()\n    print(diffusion.sample(torch.ones(3).cuda()))\n"
    assert found(application(tmp_path, layers=CHAIN, main=main)) == []
    spread = main + "    print(diffusion.spread(torch.ones(3).cuda(), torch.ones(3).cuda()))\n"
    assert found(application(tmp_path, layers=CHAIN, main=spread)) == []
    called = main + "    print(diffusion.total(torch.ones(3).cuda()))\n"
    assert found(application(tmp_path, layers=CHAIN, main=called)) == ["layers.py:TDL014"]
    again = CHAIN.replace("self.prior(x).sum()", "self.total(self.prior(x))")
    assert found(application(tmp_path, layers=again, main=main)) == []


TRIED = """import torch
from torch import nn

class Table(nn.Module):
    def mesh(self, x: torch.Tensor):
        return x.unsqueeze(0) * torch.ones(3)

    def load(self, x: torch.Tensor):
        return x.unsqueeze(0) * torch.ones(3)

def test_tables(x):
    print(Table().mesh(x))
"""
USING = """import json
import torch
import librosa
from layers import Table

if __name__ == "__main__":
    print(Table().cuda(), json.load(open("a.json")), librosa.load("a.wav"), torch.load("a.pt", map_location="cpu"))
"""


@pytest.mark.parametrize(
    ("old", "new", "more", "expected"),
    [
        ("", "", "", 0),
        ("    print(Table().mesh(x))", "    assert Table().mesh(x) is not None", "", 1),
        ("    print(Table().mesh(x))", "    torch.testing.assert_close(Table().mesh(x), x)", "", 1),
        ("test_tables", "report", "", 0),
        ("", "", "    import tables, tables.more as more\n    print(tables.load(1), more.load(2))\n", 0),
        ("", "", "    import part_1\n    print(part_1.load(1))\n", 1),
        ("", "", "    print([each.mesh(1) for each in ()])\n", 1),
        ("", "", "    print(Table().table.load(1))\n", 1),
    ],
)
def test_what_is_called_a_test_and_what_libraries_call_alike(
    tmp_path: Path, old: str, new: str, more: str, expected: int
) -> None:
    """A function that only prints is no test; and ``json.load`` does not call a method `load`."""
    root = application(tmp_path, layers=TRIED.replace(old, new), main=USING + more)
    assert found(root) == ["layers.py:TDL014"] * expected


TRAINED = """import torch
import pytorch_lightning as pl
from torch import nn

class Attention(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def METHOD(self, batch, path):
        self.layer.load_state_dict(torch.load(path))
"""


@pytest.mark.parametrize(
    ("method", "base", "more", "expected"),
    [
        ("encoder_loading", "pl.LightningModule", "", []),
        ("encoder_loading", "pl.LightningModule", "    net.encoder_loading(1, 2)\n", ["layers.py:TDL201"]),
        ("validation_step", "pl.LightningModule", "", ["layers.py:TDL201"]),
        ("on_fit_start", "pl.LightningModule", "", ["layers.py:TDL201"]),
        ("encoder_loading", "pl.callbacks.BasePredictionWriter", "", ["layers.py:TDL201"]),
        ("encoder_loading", "torch.utils.data.Dataset", "", []),
        ("encoder_loading", "datasets.Dataset", "", ["layers.py:TDL201"]),
    ],
)
def test_a_method_that_only_its_name_could_call(
    tmp_path: Path, method: str, base: str, more: str, expected: list[str]
) -> None:
    """What Lightning calls by itself is named otherwise, and a data set is only asked for its items."""
    text = TRAINED.replace("METHOD", method).replace("pl.LightningModule", base)
    main = "import sys\nimport torch\nfrom layers import Attention\n\nif __name__ == '__main__':\n"
    main += "    net = Attention()\n    print(net, torch.ones(3, device=sys.argv[1]))\n"
    assert found(application(tmp_path, layers=text, main=main + more)) == expected


@pytest.mark.parametrize(
    ("method", "more", "expected"),
    [
        ("on_validation_epoch_end", "", []),
        ("on_test_end", "", []),
        ("validation_epoch_end", "", []),
        ("on_validation_epoch_end", "    def validation_step(self, batch): ...", ["layers.py:TDL201"]),
        ("on_test_end", "    def validation_step(self, batch): ...", []),
        ("on_validation_epoch_end", "    validation_step = print", ["layers.py:TDL201"]),
        ("on_validation_epoch_end", "Attention.validation_step = print", ["layers.py:TDL201"]),
        ("on_validation_epoch_end", "    def training_step(self, x):\n        self.METHOD(x, x)", ["layers.py:TDL201"]),
        ("on_validation_epoch_end", "class Tried(Attention):\n    validation_step = print", ["layers.py:TDL201"]),
        ("on_train_epoch_end", "", ["layers.py:TDL201"]),
        ("on_predict_end", "", ["layers.py:TDL201"]),
    ],
)
def test_hooks_around_a_step_that_there_is_not(tmp_path: Path, method: str, more: str, expected: list[str]) -> None:
    """Lightning validates and tests only what has the step; `predict_step` has a default."""
    text = f"{TRAINED}\n{more}\n".replace("METHOD", method)
    main = "import sys\nimport torch\nfrom layers import Attention\n\nif __name__ == '__main__':\n"
    main += "    net = Attention()\n    print(net, torch.ones(3, device=sys.argv[1]))\n"
    assert found(application(tmp_path, layers=text, main=main)) == expected


@pytest.mark.parametrize(
    ("statement", "built"),
    [
        ("from .ops_cuda import forward", "ops = Extension('net.ops_cuda', ['a.cu'])\n"),
        ("from ._C import forward", ""),
        ("from .parts import forward", ""),
        ("try:\n    from .gone import forward\nexcept ImportError:\n    forward = None", ""),
        ("from net.parts import forward", ""),
        ("from net.parts import forward, made", ""),
        ("from net.parts import forward\nfrom net.ops_cuda import back", "o = Extension('net.ops_cuda', ['a.cu'])\n"),
        ("from net.parts import forward\nfrom net import _C", ""),
        ("from net.gone import forward", ""),
        ("from elsewhere.parts import gone", ""),
        ("from .related import forward", ""),
        ("from parts import forward", ""),
        ("from .grown.more import forward", ""),
    ],
)
def test_what_can_be_imported_may_be_run(tmp_path: Path, statement: str, built: str) -> None:
    """What a file imports from its package is there, is built by a script, or may be missing.

    What nothing else is imported from may be another package with the name of a folder. Beside a folder of its name, a
    module may be found in it.
    """
    (tmp_path / "net" / "grown").mkdir(parents=True)
    others = {"parts.py": "forward = None\nglobals()['made'] = 1\n", "setup.py": f"import setuptools\n{built}"}
    others["grown.py"], others["related.py"] = "", "from .parts import forward\n"
    assert "layers.py:TDL012" in found(_package(tmp_path, statement, others))


@pytest.mark.parametrize(
    "statement",
    [
        "from .gone import forward",
        "from net.parts import forward\nfrom net.gone import backward",
        "from net.parts import forward\nfrom net.more import gone",
        "from .parts import gone",
        "from related import forward",
        "from parts_too.more import forward\nfrom net.gone import backward",
        "from net.parts.forward import forward",
    ],
)
def test_what_imports_what_is_gone_is_never_run(tmp_path: Path, statement: str) -> None:
    others = {"parts.py": "forward = None\n", "more.py": "", "related.py": "from .parts import forward\n"}
    (tmp_path / "parts_too").mkdir()
    (tmp_path / "parts_too" / "more.py").write_text("forward = None\n")
    assert found(_package(tmp_path, statement, others)) == []


@pytest.mark.parametrize(
    ("binds", "is_there"),
    [
        ("class Options(dict):\n    def __init__(self):\n        self.__dict__ = self; setattr(self, 'a', 1)\n", False),
        ("def begin():\n    global other\n    other = 1\n", False),
        ("def begin():\n    global gone\n    gone = 1\n", True),
        ("import more\nmore.__dict__['gone'] = 1\n", True),
        ("import more\nsetattr(more, 'gone', 1)\n", True),
    ],
)
def test_what_a_module_binds_for_its_objects_is_no_name_of_it(tmp_path: Path, binds: str, is_there: bool) -> None:
    root = _package(tmp_path, "from .parts import gone", {"parts.py": f"forward = None\n{binds}"})
    assert ("layers.py:TDL012" in found(root)) is is_there


def test_what_is_gone_is_asked_for_again_when_it_is_there(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    root = _package(tmp_path, "from .parts import gone", {"parts.py": "forward = None\n"})
    assert found(root, kept) == found(root, kept) == []
    (root / "net" / "parts.py").write_text("forward = gone = None\n")
    assert "layers.py:TDL012" in found(root, kept)


def _package(root: Path, statement: str, others: dict[str, str]) -> Path:
    (root / "net").mkdir(exist_ok=True)
    for name, text in others.items():
        (root / "net" / name).write_text(text)
    (root / "net" / "layers.py").write_text(f"{statement}\n{LAYERS}")
    main = "from net.layers import Attention, Spare\n\nnet = Attention().cuda(), Spare()\nprint(net)\n"
    return application(root, main=main, other=ANYWHERE.replace("from layers", "from net.layers"))
