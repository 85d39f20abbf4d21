"""Programs that end in an error on every machine: what they do on the way there is met by nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import ASKING, CHOOSING, LOADING, MAIN, TRAINER, found, inside

__all__ = ["inside"]

TRAINED = TRAINER.replace("self.net = net.cuda()", CHOOSING)
RESUMES = "    trainer.resume()\n"
EVALUATE = """import torch

class Meter:
    def __init__(self, name, *, every):
        self.name = name

def evaluate(net, data, verbose=False):
    return [net(each) for each in data]

def anything(*given, **named):
    return given

@torch.no_grad()
def decorated(net):
    return net

def other(net):
    return net

if torch.cuda.is_available():
    def other(net, data):
        return data
"""
LEFT = ["loading.py:TDL201"]
OF_OTHERS = """
for of_the_file in []:
    pass

def another():
    global told_by_another
    path_of_another = told_by_another = 3
"""


def findings(root: Path, before: str, after: str = "") -> list[str]:
    root.mkdir(exist_ok=True)
    main = MAIN.replace(RESUMES, f"{before}{RESUMES}{after}") + OF_OTHERS
    imports = "import sys\nimport numpy\nimport torch\nimport evaluate as judge\nfrom evaluate import *\n"
    imports += "from evaluate import Meter, anything, decorated, evaluate, other\n"
    files = {"helper": ASKING, "loading": LOADING, "trainer": TRAINED, "evaluate": EVALUATE}
    return found(application(root, **files, main=imports + main))


@pytest.mark.parametrize(
    "line",
    [
        "    build(Gone(3))\n",
        "    evaluate(trainer.net)\n",
        "    evaluate(trainer.net, [], True, 3)\n",
        "    evaluate(trainer.net, [], loud=True)\n",
        "    evaluate(trainer.net, [], net=3)\n",
        "    Meter('loss')\n",
        "    judge.evaluate(trainer.net)\n",
        "    judge.Meter('loss')\n",
        "    print(gone)\n",
        "    print(path_of_another)\n",
        "    kept = gone\n",
        "    kept = trainer.net if gone == 'prev' else None\n",
        "    kept = gone and trainer.net\n",
        "    print(judge.__dict__[trainer.net](gone))\n",
        "    print([each for each in judge.__dict__ if callable(judge.__dict__[each])], gone)\n",
        "    if gone > 3:\n        kept = 3\n",
        "    kept: gone = absent\n",
        "    trainer.kept[gone] = 3\n",
        "    kept = torch.ones(3)\n    made = numpy.zeros(kept.size)\n",
    ],
)
def test_what_raises_wherever_it_is_run(tmp_path: Path, line: str) -> None:
    """Whether it comes before the load, or surely right after."""
    assert findings(tmp_path / "before", line) == []
    assert findings(tmp_path / "after", "", line) == []


@pytest.mark.parametrize(
    "line",
    [
        "    evaluate(trainer.net, [])\n",
        "    evaluate(*args.given)\n",
        "    judge.evaluate(trainer.net, [])\n",
        "    judge.decorated(1, 2)\n",
        "    judge.other(1)\n",
        "    judge = trainer\n    judge.evaluate(trainer.net)\n",
        "    trainer.evaluate(trainer.net)\n",
        "    evaluate(trainer.net, **vars(args))\n",
        "    evaluate(data=[], net=trainer.net)\n",
        "    Meter('loss', every=3)\n",
        "    anything(1, 2, name=3)\n",
        "    decorated(1, 2)\n",
        "    other(1)\n",
        "    if args.broken:\n        evaluate()\n",
        "    try:\n        evaluate()\n    except TypeError:\n        pass\n",
        "    print(args.gone and gone)\n",
        "    kept = gone if args.broken else trainer.net\n",
        "    kept: gone = 3\n",
        "    kept = lambda: gone\n",
        "    kept = [gone for gone in trainer.net]\n",
        "    if args.broken:\n        kept = gone\n",
        "    try:\n        kept = unicode\n    except NameError:\n        kept = str\n",
        "    try:\n        kept = gone\n    except NameError:\n        kept = str\n",
        "    evaluate = print\n    evaluate()\n",
        "    print(xrange(3), sys.argv)\n",
        "    for gone in []:\n        pass\n    print(gone)\n",
        "    print(of_the_file, told_by_another)\n",
        "    kept = torch.ones(3)\n    made = numpy.zeros(kept.size())\n",
        "    kept = numpy.ones(3)\n    made = torch.zeros(kept.size)\n",
        "    kept = torch.ones(3)\n    kept = kept.numpy()\n    made = numpy.zeros(kept.size)\n",
        "    kept = torch.load('x.npy')\n    made = numpy.zeros(kept.size)\n",
    ],
)
def test_what_may_be_right(tmp_path: Path, line: str) -> None:
    assert findings(tmp_path, line) == ["loading.py:TDL201"]


@pytest.mark.parametrize(
    ("brought", "expected"),
    [
        ("from measures import *\n", []),
        ("from measures import *\nfrom helper import *\n", []),
        ("from measures import *\nif __name__ == '__main__':\n    def measure(net):\n        return net\n", LEFT),
        ("from measures import *\nfrom other_measures import *\n", LEFT),
        ("from measures import *\nfrom torch.nn.functional import *\n", LEFT),
    ],
    ids=["one that has it", "another one without it", "its own", "two that have it", "what is not seen"],
)
def test_arguments_of_what_is_imported_with_all_others(tmp_path: Path, brought: str, expected: list[str]) -> None:
    measures = "def measure(net, data):\n    return net(data)\n"
    files = {"helper": ASKING, "loading": LOADING, "trainer": TRAINED, "measures": measures}
    files["other_measures"] = "def measure(net):\n    return net\n"
    main = MAIN.replace(RESUMES, f"    measure(trainer.net)\n{RESUMES}")
    assert found(application(tmp_path, **files, main=brought + main)) == expected


@pytest.mark.parametrize("line", ["from torch.nn.functional import *\n", "globals().update(gone=3)\n"])
def test_names_that_come_from_elsewhere(tmp_path: Path, line: str) -> None:
    files = {"helper": ASKING, "loading": LOADING, "trainer": TRAINED}
    main = MAIN.replace(RESUMES, f"    print(gone)\n{RESUMES}")
    assert found(application(tmp_path, **files, main=line + main)) == ["loading.py:TDL201"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("builtins.gone = 3\n", ["loading.py:TDL201"]),
        ("setattr(builtins, 'gone', 3)\n", ["loading.py:TDL201"]),
        ("builtins.print = len\n", []),
    ],
)
def test_names_that_another_file_builds_in(tmp_path: Path, line: str, expected: list[str]) -> None:
    files = {"helper": ASKING, "loading": LOADING, "trainer": TRAINED, "building": f"import builtins\n{line}"}
    main = MAIN.replace(RESUMES, f"    print(gone)\n{RESUMES}")
    assert found(application(tmp_path, **files, main=main)) == expected


def test_a_program_that_ends_at_its_imports_leads_nowhere(tmp_path: Path) -> None:
    files = {"helper": ASKING, "loading": LOADING, "trainer": TRAINED}
    broken = MAIN.replace("from helper import place", "from helper import place, gone")
    assert found(application(tmp_path, **files, main=broken)) == []
    assert found(application(tmp_path, **files, main=broken, other=MAIN)) == ["loading.py:TDL201"]


@pytest.mark.parametrize(
    ("files", "is_found"),
    [
        ({"main": "from tools import Loss\n", "more": "from tools.parts import forward\n"}, False),
        ({"main": "from tools import parts\n", "more": "from tools.parts import forward\n"}, True),
        ({"main": "from tools import Loss\n"}, True),
        (
            {
                "main": "try:\n    from tools import Loss\nexcept ImportError:\n    Loss = None\n",
                "more": "import tools.parts\n",
            },
            True,
        ),
    ],
    ids=["no name of it", "a module of it", "nobody else asks it", "tried"],
)
def test_a_folder_without_a_file_of_its_own_has_nothing_but_modules(
    tmp_path: Path, files: dict[str, str], is_found: bool
) -> None:
    """What was one file, and is a folder of files now, is asked for what was in it."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "parts.py").write_text("forward = None\n")
    main = "import sys\nimport torch\nfrom helper import place\n" + files["main"]
    main += "net = torch.nn.Linear(3, 3).to(place())\nnet.load_state_dict(torch.load(sys.argv[1]))\nprint(net)\n"
    root = application(tmp_path, helper=ASKING, more=files.get("more", ""), main=main)
    assert ("main.py:TDL201" in found(root)) is is_found


def test_a_package_that_asks_itself_for_one_of_its_modules(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "parts.py").write_text("forward = None\n")
    (tmp_path / "tools" / "__init__.py").write_text("from tools import parts\nfrom .parts import forward\n")
    main = "import sys\nimport torch\nfrom helper import place\nfrom tools import forward\n"
    main += "net = torch.nn.Linear(3, 3).to(place())\nnet.load_state_dict(torch.load(sys.argv[1]))\nprint(net)\n"
    assert found(application(tmp_path, helper=ASKING, main=main)) == ["main.py:TDL201"]


def test_what_stands_behind_an_endless_loop(tmp_path: Path) -> None:
    """A loop that is left somewhere comes to its end, as one with a test may."""
    assert findings(tmp_path / "endless", "    while True:\n        print(args)\n") == []
    assert findings(tmp_path / "left", "    while True:\n        if args:\n            break\n") == LEFT
    assert findings(tmp_path / "tested", "    while args:\n        print(args)\n") == LEFT
    assert findings(tmp_path / "after", "", "    while True:\n        print(args)\n") == LEFT
    caught = "    try:\n        while True:\n            print(args)\n    except KeyboardInterrupt:\n        pass\n"
    assert findings(tmp_path / "caught", caught) == LEFT
