"""Programs that ask for CUDA in one place, and demand it in another one that they come to by whatever way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside
from torchdevlint.project import tree

__all__ = ["inside"]

MAIN = """import argparse
import torch
from loading import resume
from nets import Net
from scores import evaluate

def main():
    args = argparse.ArgumentParser().parse_args()
    net = Net()
    if torch.cuda.is_available():
        net.cuda()
    if args.resume:
        resume(net, args.resume)
    for epoch in range(args.epochs):
        for x, y in args.loader:
            if torch.cuda.is_available():
                x, y = x.cuda(), y.cuda()
            net(x).sum().backward()
        if epoch % 2 == 0:
            print(evaluate(net, args.loader))

if __name__ == "__main__":
    main()
"""
LOADING = "import torch\n\ndef resume(net, path):\n    net.load_state_dict(torch.load(path))\n"
NETS = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        mask = torch.ones(3, device=x.device)
        return self.layer(x) * mask
"""
SCORES = """import torch

def evaluate(net, loader):
    found = None
    for i, (x, y) in enumerate(loader):
        if found is None:
            found = torch.zeros(len(loader), 3).cuda()
        found[i] = net(x)
    return found
"""
DEMAND = "found = torch.zeros(len(loader), 3).cuda()"
LEFT = "    if not torch.cuda.is_available():\n        return 0\n    found = None"


def test_another_place_demands_cuda(tmp_path: Path) -> None:
    """`evaluate` is called in one epoch of two, behind a load that is an option: no way leads there surely."""
    root = application(tmp_path, main=MAIN, loading=LOADING, nets=NETS, scores=SCORES)
    assert found(root) == []
    assert found(root, "TDL201") == ["loading.py:TDL201"]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        pytest.param("scores", ".cuda()", "", id="nothing demands it"),
        pytest.param("scores", DEMAND, f"if torch.cuda.is_available():\n                {DEMAND}", id="asked here too"),
        pytest.param("scores", DEMAND, DEMAND.replace(".cuda()", ".to(net.where)"), id="takes what was chosen"),
        pytest.param("scores", "found is None", "loader.order == 'cosine'", id="where an option says so"),
        pytest.param("scores", "    found = None", LEFT, id="left without it"),
        pytest.param("main", "if epoch % 2 == 0", "if args.use_gpu", id="called under a question"),
        pytest.param("main", "evaluate(net, args.loader)", "epoch", id="never called"),
        pytest.param(
            "main",
            "net = Net()",
            "device = torch.device(args.where)\n    net = Net().to(device)\n    x = torch.ones(3, device=device)",
            id="a chosen device of more weight",
        ),
    ],
)
def test_what_demands_nothing(tmp_path: Path, name: str, old: str, new: str) -> None:
    files = {"main": MAIN, "loading": LOADING, "nets": NETS, "scores": SCORES}
    assert old in files[name]
    root = application(tmp_path, **{**files, name: files[name].replace(old, new)})
    assert found(root) == ["loading.py:TDL201"]


UNCALLED = """import torch

def count(net):
    if torch.cuda.is_available:
        torch.cuda.reset_peak_memory_stats()
    return len(list(net.parameters()))
"""


@pytest.mark.parametrize(
    ("old", "is_found"),
    [
        pytest.param("", False, id="another place demands it"),
        pytest.param(".cuda()", True, id="nothing demands it"),
    ],
)
def test_a_question_that_is_not_called(tmp_path: Path, old: str, is_found: bool) -> None:
    """It is always true, which hurts where there is no CUDA alone: the programs end there in any case."""
    main = MAIN.replace("    net = Net()", "    net = Net()\n    print(count(net))").replace(
        "from nets import Net", "from nets import Net\nfrom counting import count"
    )
    scores = SCORES.replace(old, "") if old else SCORES
    root = application(tmp_path, main=main, loading=LOADING, nets=NETS, scores=scores, counting=UNCALLED)
    assert ("counting.py:TDL311" in found(root)) is is_found


MIXED = """import argparse
import torch
from nets import Net

if __name__ == "__main__":
    args = argparse.ArgumentParser().parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = Net().to(device)
    net.load_state_dict(torch.load(args.path))
    for x, y in args.loader:
        print(net(x.cuda()) - y.cuda())
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", True, id="chosen beside it"),
        pytest.param(".to(device)", ".cuda()", False, id="nothing is sent to what was chosen"),
        pytest.param("y.cuda())", f"y.cuda(){''.join([', y.cuda()'] * 4)})", False, id="throughout"),
    ],
)
def test_a_program_that_takes_a_device_and_names_cuda_beside(
    tmp_path: Path, old: str, new: str, is_found: bool
) -> None:
    """What names CUDA beside a device that was chosen there is the mistake, and demands nothing."""
    root = application(tmp_path, main=MIXED.replace(old, new) if old else MIXED, nets=NETS)
    assert ("main.py:TDL201" in found(root)) is is_found


HANDED = """import argparse
import torch
from loading import resume
from nets import Net
from scores import evaluate

class Trainer:
    def __init__(self, net, device="cuda"):
        self.net = net
        self.device = device

    def fit(self, loader):
        for x in loader:
            print(self.net(x.to(self.device)))

def main(args, device):
    net = Net().to(device)
    if args.resume:
        resume(net, args.resume)
    Trainer(net, device).fit(args.loader)
    print(torch.cuda.is_available(), evaluate)

if __name__ == "__main__":
    main(argparse.ArgumentParser().parse_args(), torch.device("cuda:0"))
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("", "", [], id="one that is named once"),
        pytest.param("Trainer(net, device)", "Trainer(net)", [], id="its default as well"),
        pytest.param('torch.device("cuda:0")', 'torch.device("cpu")', ["loading.py:TDL201"], id="the CPU"),
        pytest.param(
            'torch.device("cuda:0")',
            'torch.device("cuda:0" if torch.cuda.is_available() else "cpu")',
            ["loading.py:TDL201"],
            id="one that is chosen",
        ),
    ],
)
def test_a_device_that_is_handed_down(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    """Where the model is sent, and the batches, a parameter says: it is CUDA for all who call the function."""
    main = HANDED.replace(old, new) if old else HANDED
    scores = SCORES.replace(".cuda()", ".to(net.where)")
    root = application(tmp_path, main=main, loading=LOADING, nets=NETS, scores=scores)
    assert found(root) == expected


OWN = "mask = torch.ones(3, device=x.device)"


def test_a_literal_device_beside_another_demand(tmp_path: Path) -> None:
    """The mask is on the current GPU, as all is: on a machine without one, `evaluate` ends as well."""
    nets = NETS.replace(OWN, "mask = torch.ones(3, dtype=x.dtype).cuda() * (x.device.index or 0)")
    root = application(tmp_path, main=MAIN, loading=LOADING, nets=nets, scores=SCORES)
    assert found(root) == []
    assert "nets.py:TDL012" in found(root, "TDL012")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        pytest.param("scores", ".cuda()", "", id="it is the only demand"),
        pytest.param("main", "net.cuda()", "net.cuda(args.gpu)", id="another GPU"),
    ],
)
def test_a_literal_device_that_hurts(tmp_path: Path, name: str, old: str, new: str) -> None:
    nets = NETS.replace(OWN, "mask = torch.ones(3, dtype=x.dtype).cuda() * (x.device.index or 0)")
    files = {"main": MAIN, "loading": LOADING, "nets": nets, "scores": SCORES}
    root = application(tmp_path, **{**files, name: files[name].replace(old, new)})
    assert "nets.py:TDL012" in found(root)


@pytest.mark.parametrize(("asked", "expected"), [(False, []), (True, ["loading.py:TDL201"])])
def test_whoever_calls_a_function_demands_it(tmp_path: Path, asked: bool, expected: list[str]) -> None:
    """Nothing here calls `report`: people do so from a prompt. What it calls demands CUDA whoever they are."""
    loading = """import torch
from scores import evaluate

def report(net, path, loader):
    net.load_state_dict(torch.load(path))
    return evaluate(net, loader)
"""
    scores = SCORES.replace("found is None", "torch.cuda.is_available()") if asked else SCORES
    root = application(tmp_path, loading=loading, scores=scores)
    (root / "README.md").write_text("`from loading import report`, then `report(net, path, loader)`")
    assert found(root) == expected


ALONE = """import torch
from torch import nn

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3).cuda()

    def forward(self, x):
        return torch.arange(x.shape[1]).cuda() + x
"""


@pytest.mark.parametrize(("parts", "expected"), [(0, ["encoder.py:TDL012"]), (4, [])])
def test_a_class_of_which_only_the_file_is_seen(tmp_path: Path, parts: int, expected: list[str]) -> None:
    """One file may be of a library; in an application whoever makes one meets what its constructor demands."""
    for name in ("encoder", *(f"part_{number}" for number in range(parts))):
        (tmp_path / f"{name}.py").write_text(ALONE if name == "encoder" else "")
    (tmp_path / "README.md").write_text("Run `from encoder import Encoder`.")
    assert [each for each in found(tmp_path) if "TDL012" in each] == expected


@pytest.mark.parametrize(
    ("where", "is_found"),
    [
        ("WHERE = 'cuda'\n\ndef other():\n    WHERE = 'cpu'\n    return WHERE\n", False),
        ("def freest():\n    return torch.device('cuda:' + open('free').read())\n\nWHERE = freest()\n", False),
        ("WHERE = 'cuda'\n\ndef other():\n    global WHERE\n    WHERE = 'cpu'\n", True),
        ("def freest():\n    return 'cuda' if torch.cuda.is_available() else 'cpu'\n\nWHERE = freest()\n", True),
    ],
    ids=["a name of a function", "what a function gives", "a global name", "what a function chooses"],
)
def test_cuda_by_a_name_of_the_top_level(tmp_path: Path, where: str, is_found: bool) -> None:
    scores = SCORES.replace("import torch\n", f"import torch\n\n{where}").replace(".cuda()", ".to(WHERE)")
    root = application(tmp_path, main=MAIN, loading=LOADING, nets=NETS, scores=scores)
    assert found(root) == (["loading.py:TDL201"] if is_found else [])


def test_a_program_that_comes_there_by_names_which_are_looked_up(tmp_path: Path) -> None:
    """All programs that import the file demand CUDA, and one of them is on the way."""
    main = MAIN.replace("from loading import resume", "import loading").replace(
        "resume(net, args.resume)", "getattr(loading, args.resume)(net, args.path)"
    )
    root = application(tmp_path, main=main, loading=LOADING, nets=NETS, scores=SCORES)
    assert found(root) == []
    other = main.replace("evaluate(net, args.loader)", "epoch").replace("from scores import evaluate\n", "")
    (root / "other.py").write_text(other)
    tree.forget()
    assert found(root) == ["loading.py:TDL201"]


TESTING = """import argparse
import torch
from nets import Net

{before}

def resume(net, path):
    net.load_state_dict(torch.load(path))

def test(net):
    print(net(torch.ones(3).cuda()))

if __name__ == "__main__":
    net = Net()
    net.cuda()
    resume(net, "net.pt")
    test(net)
"""


@pytest.mark.parametrize(
    ("before", "expected"),
    [("args = argparse.ArgumentParser().parse_args()", []), ("def other():\n    return 3\n", ["main.py:TDL201"])],
    ids=["options before", "a trial"],
)
def test_a_test_of_what_was_trained_is_a_program(tmp_path: Path, before: str, expected: list[str]) -> None:
    asking = "import torch\n\nWHERE = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
    nets = NETS.replace("import torch\n", "import torch\nfrom asking import WHERE\n")
    assert found(application(tmp_path, main=TESTING.format(before=before), nets=nets, asking=asking)) == expected


SWITCHED = """import argparse
import torch
from torch import nn
from parts import scale

USE_CUDA = True

def fit(loader):
    net = nn.Linear(3, 3)
    net.cuda()
    for x, y in loader:
        if USE_CUDA:
            x = x.cuda()
            y = y.cuda()
        net(x).sub(y).sum().backward()

def test(loader):
    net = nn.Linear(3, 3)
    net.cuda()
    for x, y in loader:
        if USE_CUDA:
            x = x.cuda()
            y = y.cuda()
        print(net(x), y, scale(x))

if __name__ == "__main__":
    args = argparse.ArgumentParser().parse_args()
    fit(args.loader)
    test(args.loader)
"""
SCALE = "import torch\n\ndef scale(x):\n    return x * torch.ones(3, device=x.device)\n"
DEMANDING = "import torch\n\ndef scale(x):\n" + "    x = x.cuda()\n" * 6 + "    return x\n"


@pytest.mark.parametrize(("parts", "count"), [(SCALE, 2), (DEMANDING, 0)], ids=["obeyed by most", "theory"])
def test_a_switch_that_some_moves_forget(tmp_path: Path, parts: str, count: int) -> None:
    """One that most moves obey is there to be set; what another function forgets in the same way demands nothing."""
    root = application(tmp_path, main=SWITCHED, parts=parts, other="")
    assert found(root).count("main.py:TDL012") == count


GRAPH = """import torch
from torch import nn

class Graph(nn.Module):
    def __init__(self, adaptive):
        super().__init__()
        self.adaptive = adaptive
        self.norm = nn.BatchNorm1d(3)
        self.edges = nn.Parameter(torch.ones(3))
        self.fixed = torch.ones(3)

    def forward(self, x):
        edges = self.edges if self.adaptive else self.fixed.cuda(x.get_device())
        return self.norm(x) * edges
"""
BY_TEXT = """import argparse
import torch
from torch import nn

def import_class(name):
    module, _, owner = name.rpartition(".")
    return getattr(__import__(module, fromlist=[owner]), owner)

def main(args):
    net = import_class(args.model)(args.adaptive)MOVED
    loss = nn.CrossEntropyLoss()MOVED
    for x, y in args.loader:
        print(loss(net(x.float()MOVED), y))

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="graph.Graph")
    parser.add_argument("--adaptive", action="store_true")
    parser.add_argument("--loader", default=())
    main(parser.parse_args())
"""


@pytest.mark.parametrize(
    ("moved", "others", "is_found"),
    [
        pytest.param(".cuda(0)", {}, False, id="all is sent to CUDA"),
        pytest.param(".to(args.device)", {}, True, id="a device that is chosen"),
        pytest.param(".cuda(0)", {"show": BY_TEXT.replace("MOVED", "")}, True, id="another program that needs none"),
    ],
)
def test_a_model_that_is_loaded_by_its_name(tmp_path: Path, moved: str, others: dict[str, str], is_found: bool) -> None:
    files = {"graph": GRAPH, "main": BY_TEXT.replace("MOVED", moved), **others}
    assert ("graph.py:TDL304" in found(application(tmp_path, a="", b="", **files))) is is_found


CHOSEN_LATE = """import torch
from nets import Net

rows = [1.0, 2.0, 3.0]
weights = torch.tensor(rows, device="cuda")
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = Net().to(device)
for x, y in [(torch.ones(3), torch.ones(3))]:
    x = x.to(device)
    y = y.cuda()
    print(((net(x) - y) * weights.to(device)).mean())
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        pytest.param("", "", False, id="CUDA is named before"),
        pytest.param(', device="cuda")', ")", True, id="nothing before names it"),
        pytest.param("weights = torch", "if len(rows) > 4:\n    weights = torch", True, id="where a test says so"),
        pytest.param(
            'weights = torch.tensor(rows, device="cuda")\n',
            "def weigh():\n    return torch.tensor(rows, device='cuda')\n\nweights = torch.tensor(rows)\n",
            True,
            id="in a function that nobody calls",
        ),
    ],
)
def test_a_device_that_is_chosen_after_cuda_is_named(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    """Without CUDA the program has ended by then, and with it the device is the current GPU."""
    main = CHOSEN_LATE.replace(old, new) if old else CHOSEN_LATE
    root = application(tmp_path, main=main, nets=NETS)
    assert ("main.py:TDL012" in found(root)) is is_found
