"""Arms of tests that no call of an application takes, and what is only called in such: advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application, notebook
from tests.project.test_ways import ASKING, found
from torchdevlint.project import tree

RENDERING = """import torch

def render(density, noise=0.0, test=False):
    if noise > 0.0:
        density = density.unsqueeze(0) + torch.randn(3)
    return density.relu()

class Net(torch.nn.Module):
    def __init__(self, width, pooled=True, tuned=False):
        super().__init__()
        self.tuned = tuned
        self.layer = torch.nn.Linear(width, 3)
        if not pooled:
            self.other = Spare()

    def forward(self, x):
        if self.tuned:
            x = x + torch.arange(3)
        return self.layer(x)

class Spare(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x) + torch.arange(3)
"""
MAIN = """import argparse
from helper import place
from rendering import Net, render

def main(args):
    net = Net(3, tuned=False).to(place())
    density = net(args.rays.to(place()))
    return render(density, 0), render(density, test=True)

if __name__ == "__main__":
    main(argparse.ArgumentParser().parse_args())
"""


def test_options_that_no_call_turns_on(tmp_path: Path) -> None:
    """The spare layers are only built where an option is off that no call turns off."""
    root = application(tmp_path, helper=ASKING, rendering=RENDERING, main=MAIN)
    assert found(root) == []
    assert set(found(root, "TDL003", "TDL014")) == {"rendering.py:TDL003", "rendering.py:TDL014"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("render(density, 0)", "render(density, 0.5)", "TDL014", id="one call turns it on"),
        pytest.param("render(density, 0)", "render(density, args.noise)", "TDL014", id="an option of the command line"),
        pytest.param("render(density, 0)", "render(density, **vars(args))", "TDL014", id="all that there is"),
        pytest.param("render(density, 0)", "map(render, density)", "TDL014", id="handed on"),
        pytest.param("tuned=False", "tuned=True", "TDL003", id="an attribute that is on"),
        pytest.param("    density", "    net.tuned = args.tuned\n    density", "TDL003", id="set from outside"),
        pytest.param("Net(3, ", "Net(3, args.pooled, ", "TDL003", id="built by an option"),
    ],
)
def test_options_that_are_turned_on(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in MAIN
    root = application(tmp_path, helper=ASKING, rendering=RENDERING, main=MAIN.replace(old, new))
    assert found(root) == [f"rendering.py:{expected}"]


def test_settings_of_a_program(tmp_path: Path) -> None:
    """What the top level of a program gives is there to be changed."""
    call = "from helper import place\nfrom rendering import render\n\nrender(place(), 0)\n"
    root = application(tmp_path, helper=ASKING, rendering=RENDERING, main=MAIN, other=call)
    assert found(root) == ["rendering.py:TDL014"]


@pytest.mark.parametrize(
    ("cell", "is_found"),
    [
        pytest.param("from rendering import render\n", False, id="imported"),
        pytest.param("from rendering import render\nrender(place())\n", False, id="left as it is"),
        pytest.param("from rendering import render\nrender(place(), 0.5)\n", True, id="turned on"),
        pytest.param("from rendering import render\nrender(place(), 0)\n", True, id="a setting"),
        pytest.param("from rendering import render\nlist(map(render, places))\n", True, id="handed on"),
    ],
)
def test_a_notebook_that_calls_a_function(tmp_path: Path, cell: str, is_found: bool) -> None:
    root = application(tmp_path, helper=ASKING, rendering=RENDERING, main=MAIN)
    (root / "try.ipynb").write_text(notebook("from helper import place\n", cell))
    assert found(root) == (["rendering.py:TDL014"] if is_found else [])


ALONE = """import torch
from torch import nn

def classify(train=True):
    net = nn.Linear(3, 3).to("cuda" if torch.cuda.is_available() else "cpu")
    if train:
        net.train()
    else:
        net.load_state_dict(torch.load("classifier.pt"))
    print(net)

classify()
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("classify()", "classify(train=False)", ["alone.py:TDL201"]),
        ("classify()", "classify(input() == 'y')", ["alone.py:TDL201"]),
        ("    if train:", "    if train and input():", ["alone.py:TDL201"]),
    ],
    ids=["left as it is", "given", "asked for", "another question"],
)
def test_a_program_that_stands_alone(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    root = application(tmp_path, helper=ASKING, rendering=RENDERING, main=MAIN, alone=ALONE.replace(old, new))
    assert found(root) == expected


def test_a_name_that_means_another_function(tmp_path: Path) -> None:
    """A copy of the function, or one that is imported from elsewhere, is none of its calls."""
    copy = "def render(density, noise):\n    return density\n\ndef plot(density):\n    return render(density, 0.5)\n"
    other = "from viewer import render\n\ndef show(density):\n    return render(density, 0.5)\n"
    root = application(tmp_path, helper=ASKING, rendering=RENDERING, main=MAIN, copied=copy, other=other)
    assert found(root) == []


SEGMENTING = """import torch

__all__ = ["get_unet"]

def get_unet(classes=3, pretrained=False, root="~/.weights"):
    net = torch.nn.Linear(3, classes)
    if pretrained:
        net.load_state_dict(torch.load(f"{root}/unet_best_model.pth"))
    return net
"""
TABLE = """from segmenting import *

def get_model(name, **kwargs):
    models = {"unet": get_unet}
    return models[name](**kwargs)
"""
CHOOSING = """import argparse
from helper import place
from table import get_model

def main(args):
    net = get_model(args.model, classes=args.classes).to(place())
    net(args.rays.to(place())).sum().backward()

if __name__ == "__main__":
    main(argparse.ArgumentParser().parse_args())
"""
SHARED = """from segmenting import get_unet

MODELS = {"unet": get_unet}

def get_model(name, **kwargs):
    if name not in MODELS:
        raise ValueError(list(MODELS))
    return MODELS.get(name)(**kwargs)
"""


@pytest.mark.parametrize("table", [TABLE, SHARED], ids=["of the function", "of the file"])
@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("args.classes)", "args.classes, pretrained=False)", False),
        ("args.classes)", "args.classes, pretrained=True)", True),
        ("args.classes)", "args.classes, pretrained=args.pretrained)", True),
        ("classes=args.classes)", "**vars(args))", True),
    ],
    ids=["left out", "off", "on", "an option of the command line", "all that there is"],
)
def test_keywords_that_a_table_of_functions_is_given(
    tmp_path: Path, table: str, old: str, new: str, is_found: bool
) -> None:
    files = {"helper": ASKING, "segmenting": SEGMENTING, "table": table, "main": CHOOSING.replace(old, new)}
    root = application(tmp_path, **files)
    assert ("segmenting.py:TDL201" in found(root)) is is_found
    assert "segmenting.py:TDL201" in found(root, "TDL201")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return models", "    kwargs.setdefault('pretrained', True)\n    return models"),
        ("    return models[name](**kwargs)", "    return models"),
        ("    return models[name](**kwargs)", "    return wrapped(models[name], pretrained=True)()"),
        ("    return models[name](**kwargs)", "    return models[name](3, True)"),
    ],
    ids=["what is put to the keywords", "the table itself", "a value that is handed on", "by its place"],
)
def test_a_table_of_functions_that_may_turn_an_option_on(tmp_path: Path, old: str, new: str) -> None:
    assert old in TABLE
    table = "from functools import partial as wrapped\n" + TABLE.replace(old, new)
    root = application(tmp_path, helper=ASKING, segmenting=SEGMENTING, table=table, main=CHOOSING)
    assert "segmenting.py:TDL201" in found(root)


def test_a_table_of_functions_that_another_file_reads(tmp_path: Path) -> None:
    other = "from table import MODELS\n\ndef build(pretrained):\n    return MODELS['unet'](pretrained=pretrained)\n"
    root = application(tmp_path, helper=ASKING, segmenting=SEGMENTING, table=SHARED, main=CHOOSING, other=other)
    assert "segmenting.py:TDL201" in found(root)


LOSSES = """import torch

class Margin(torch.nn.Module):
    def forward(self, scores, targets, debug=False):
        loss = scores.exp().sum() + targets.sum()
        if not debug:
            return loss
        return loss, torch.arange(3) * scores

class Trainer:
    def __init__(self, criterion, debug=False):
        self.criterion = criterion
        self.debug = debug

    def fit(self, net, x, **options):
        return self.criterion(net(x, **options), x, *options)
"""
FITTING = """import torch
from helper import place
from losses import Margin, Trainer

net = torch.nn.Linear(3, 3).to(place())
x = torch.ones(3, 3).to(place())
print(Trainer(Margin(), debug=True).fit(net, x), Margin()(net(x), x))
"""


def test_an_option_of_forward_that_no_call_gives(tmp_path: Path) -> None:
    """What the trainer calls by the same name is its own, and no text says the name."""
    assert found(application(tmp_path, helper=ASKING, losses=LOSSES, main=FITTING)) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("Margin()(net(x), x)", "Margin()(net(x), x, debug=True)", id="by name"),
        pytest.param("Margin()(net(x), x)", "Margin()(net(x), x, True)", id="as a literal"),
        pytest.param("x), Margin", "x, debug=True), Margin", id="by what hands names on"),
        pytest.param("x), Margin", "x, **{'debug': True}), Margin", id="as a key"),
    ],
)
def test_an_option_of_forward_that_some_call_may_give(tmp_path: Path, before: str, after: str) -> None:
    root = application(tmp_path, helper=ASKING, losses=LOSSES, main=FITTING.replace(before, after))
    assert found(root) == ["losses.py:TDL003"]


TRAINER = """import torch
from torch import nn

class Trainer:
    def __init__(self, args, net):
        self.args = args
        self.net = net
        if self.args.mode == "look":
            self.net.load_state_dict(torch.load(args.path))

    def fit(self):
        torch.save(self.net.state_dict(), self.args.path)
"""
STARTED = """import argparse
from helper import place
from torch import nn
from trainer import Trainer

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="fit")
    parser.add_argument("--path")
    args = parser.parse_args()
    net = nn.Linear(3, 3).to(place())
    if args.mode == "fit":
        Trainer(args, net).fit()
    elif args.mode == "help":
        print("fit or help")
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ('self.args.mode == "look"', 'args.mode == "look"', False),
        ('self.args.mode == "look"', 'self.args.mode != "fit"', False),
        ('self.args.mode == "look"', 'self.args.mode == "fit"', True),
        ('self.args.mode == "look"', 'self.args.path == "look"', True),
        ('if args.mode == "fit":', 'if args.mode != "help":', True),
        ('if args.mode == "fit":', 'if args.mode == "fit" or args.path:', True),
        ('    if args.mode == "fit":\n', '    args.mode = "look"\n    if args.mode == "fit":\n', True),
        ('        print("fit or help")', "        Trainer(args, net)", False),
        ('    elif args.mode == "help":\n        print("fit or help")', "    Trainer(args, net)", True),
    ],
)
def test_an_option_that_callers_have_asked_before(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    """The object is built in an arm of the mode alone that its constructor asks for."""
    texts = {"trainer": TRAINER.replace(old, new), "main": STARTED.replace(old, new)}
    root = application(tmp_path, helper=ASKING, **texts)
    assert ("trainer.py:TDL201" in found(root)) is is_found


NORMED = """import torch

class Pooled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.normed = False
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        x = self.layer(x)
        if self.normed:
            x = x * torch.ones(3)
        return x
"""
UNLIKE = """import torch

class Other(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.normed = True

    def forward(self, x):
        return x
"""
TRYING = """from helper import place
from other import Other
from pooled import Pooled

net = Pooled().to(place())
print(Other().to(place())(net(place())))
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("", "", [], id="of another class"),
        pytest.param("torch.nn.Module", "Pooled", ["pooled.py:TDL003"], id="of a class that is derived from it"),
        pytest.param("self.normed", "self.net.normed", ["pooled.py:TDL003"], id="of another object"),
        pytest.param("class Other(torch.nn.Module)", "class Other(Mixed)", ["pooled.py:TDL003"], id="of whatever"),
        pytest.param("class Other(torch.nn.Module)", "class Base(torch.nn.Module):\n    pass\n\nclass Other(Base)", [],
                     id="with a base of its own"),
        pytest.param("class Other(torch.nn.Module)", "class Base(Pooled):\n    pass\n\nclass Other(Base)",
                     ["pooled.py:TDL003"], id="derived twice"),
    ],
)  # fmt: skip
def test_what_sets_an_attribute_of_that_name(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    """Two classes that have nothing to do with each other have their attributes for themselves."""
    other = "from pooled import Pooled\nfrom mixing import Mixed\n" + (UNLIKE.replace(old, new) if old else UNLIKE)
    root = application(tmp_path, helper=ASKING, pooled=NORMED, other=other, main=TRYING)
    (root / "mixing.py").write_text("from pooled import Pooled\n\nclass Mixed(Pooled):\n    pass\n")
    tree.forget()
    assert found(root) == expected


SCALING = """import torch

def limits(x, symmetric, signed=True):
    if symmetric:
        highest = x.abs().max()
        return (-highest if signed else torch.zeros_like(highest)), highest
    return (x.min() if signed else torch.minimum(x.min(), torch.zeros(1))), x.max()

def signs(x, signed=False):
    return signed and torch.minimum(x, torch.zeros(3))
"""
QUANTIZING = """import torch
from helper import place
from scaling import limits, signs

def weights(x):
    return limits(x, symmetric=False, signed=True), signs(x)

def activations(x, signed):
    return limits(x, symmetric=True, signed=signed), signs(x, signed=False)

x = torch.ones(3).to(place())
print(weights(x), activations(x, signed=input() == "y"))
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("", "", [], id="no call gives both"),
        pytest.param("signed=True), signs", "signed=False), signs", ["scaling.py:TDL014"], id="one gives both"),
        pytest.param("symmetric=True", "symmetric=signed", ["scaling.py:TDL014"], id="one may give both"),
        pytest.param("signs(x, signed=False)", "signs(x, signed)", ["scaling.py:TDL014"], id="an operand may be read"),
    ],
)
def test_arms_of_expressions(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    """Each call turns off the one or the other test that leads to the tensor, which is within a line."""
    assert old in QUANTIZING
    root = application(tmp_path, helper=ASKING, scaling=SCALING, main=QUANTIZING.replace(old, new))
    assert found(root) == expected


SAMPLING = """import torch

class Sampler(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, count, start=None, target=None):
        x = self.layer(torch.ones(3, 3, device=self.layer.weight.device))
        if start is not None and target is not None:
            x = x * torch.full((3,), 2.0)
        if start is None:
            start = count
        return x * start

def sample(net, x, start=None, target=None):
    while x.sum() < 3:
        if start is not None and target is not None:
            x = net(x.relu()) + x + torch.ones(3)
        x = x * 2
    return x
"""
SHOWING = """from helper import place
from sampling import Sampler, sample

net = Sampler().to(place())

def first():
    return net.forward(3, target=place()), sample(net.layer, place(), start=3)

def second(start):
    return net(3, start), sample(net.layer, place(), target=place())

print(first(), second(3))
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("", "", [], id="no call gives both"),
        pytest.param("forward(3, target", "forward(3, start=2, target", ["sampling.py:TDL003"], id="one gives both"),
        pytest.param("start=3)", "start=3, target=2)", ["sampling.py:TDL014"], id="one gives a function both"),
        pytest.param("place(), start=3", "place(), *input()", ["sampling.py:TDL014"], id="one may give both"),
        pytest.param("        x = x * 2", "        target = x", ["sampling.py:TDL014"], id="set in a round before"),
        pytest.param("        x = self.", "        start = 1; x = self.", ["sampling.py:TDL003"], id="set before"),
        pytest.param("start is not None and", "start is not None or", ["sampling.py:TDL003"], id="one is enough"),
    ],
)
def test_an_arm_that_asks_for_two_options(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    """One test asks for both, and each call leaves out one of them; what binds one behind it does not count."""
    assert old in SHOWING + SAMPLING
    files = {"sampling": SAMPLING.replace(old, new, 1), "main": SHOWING.replace(old, new)}
    assert found(application(tmp_path, helper=ASKING, **files)) == expected


def test_options_of_a_file_that_is_not_seen_to_be_imported(tmp_path: Path) -> None:
    """A program that comes to it by a text calls nothing that is not called elsewhere."""
    table = "import rendering\nfrom helper import place\n\ndef build(width):\n"
    table += "    return rendering.Net(width, tuned=False).to(place())\n"
    main = "import importlib\n\nif __name__ == '__main__':\n    importlib.import_module(input()).build(3)(input())\n"
    lines = RENDERING.partition("class Spare")[0].partition("class Net")[2]
    rendering = f"import torch\n\nclass Net{lines.replace('self.other = Spare()', 'pass')}"
    root = application(tmp_path, helper=ASKING, rendering=rendering, table=table, main=main)
    assert found(root) == []
    (root / "table.py").write_text(table.replace("tuned=False", "tuned=True"))
    tree.forget()
    assert found(root) == ["rendering.py:TDL003"]


DRAWN = """import torch

def weighing(rows, drawn=False, device=torch.device("cpu")):
    if not drawn:
        return torch.as_tensor(rows, device=device)
    counts = torch.zeros(3)
    found = torch.tensor(rows, device=device)
    return torch.cat((counts, found))
"""
DRAWING = """import sys
from helper import place
from weighing import weighing

def main(rows):
    print(weighing(rows, drawn=True))
    print(weighing(rows, device=place()))

if __name__ == "__main__":
    main([1.0, float(sys.argv[1])])
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="the default"),
        pytest.param("drawn=True", 'drawn=True, device="cpu"', False, id="the CPU"),
        pytest.param("drawn=True", "drawn=True, device=place()", True, id="any device"),
        pytest.param("rows, device", "rows, len(rows) > 1, device", True, id="any device perhaps"),
        pytest.param("drawn=True", "drawn=True, **vars(place)", True, id="whatever there is"),
        pytest.param("print(weighing(rows, drawn=True))", "print([*map(weighing, rows)])", True, id="handed on"),
        pytest.param('torch.device("cpu")', "None", True, id="another default"),
        pytest.param("    counts", "    device = rows[0].device\n    counts", True, id="set inside"),
    ],
)
def test_a_device_that_is_left_at_the_cpu_where_it_counts(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    files = {"weighing": DRAWN.replace(old, new), "main": DRAWING.replace(old, new)}
    assert ("weighing.py:TDL014" in found(application(tmp_path, helper=ASKING, **files))) is is_found


def test_a_device_that_the_top_level_says_is_a_setting(tmp_path: Path) -> None:
    other = 'from weighing import weighing\n\nprint(weighing([1.0], True, "cpu"))\n'
    root = application(tmp_path, helper=ASKING, weighing=DRAWN, main=DRAWING, other=other)
    assert "weighing.py:TDL014" in found(root)


SCORES = """import torch
from helper import place
from torch import nn

def test(net, loader, best=False):
    if best == True:
        net.load_state_dict(torch.load("best.pt"))
    for x, _ in loader:
        print(net(x.to(place())))

if __name__ == "__main__":
    net = nn.Linear(3, 3).to(place())
    test(net, [(torch.ones(3), 1)], best=False)
"""
SPLITS = """PARTS = ["train", "test"]

def test(split):
    return PARTS.index(split)
"""


@pytest.mark.parametrize(
    ("old", "new", "others", "is_found"),
    [
        pytest.param("", "", {}, False, id="said elsewhere"),
        pytest.param("best=False)\n\n", "best=True)\n\n", {}, False, id="not called so"),
        pytest.param("1)], best=False", "1)], best=True", {}, True, id="called so"),
        pytest.param("    test(net,", "    run = test\n    run(net,", {}, True, id="handed on"),
        pytest.param("", "", {"more": "from scores import test\n\ntest(None, [], True)\n"}, True, id="imported"),
        pytest.param("", "", {"more": "import importlib\nimportlib.import_module('scores')\n"}, True, id="by a text"),
    ],
)
def test_a_script_that_nobody_imports(
    tmp_path: Path, old: str, new: str, others: dict[str, str], is_found: bool
) -> None:
    """What others say by the name of a function is nothing to it: here a part of the data."""
    files = {"splits": SPLITS, "scores": SCORES.replace(old, new), **others}
    root = application(tmp_path, helper=ASKING, **files)
    (root / "data.yaml").write_text("parts: [train, test]\n")
    tree.forget()
    assert ("scores.py:TDL201" in found(root)) is is_found
