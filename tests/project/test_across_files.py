"""What the linter sees of other files: projects of a few files, the lines that are reported, and those that are not."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torchdevlint import engine
from torchdevlint.config import Settings
from torchdevlint.model import Diagnostic
from torchdevlint.project.locate import forget

MODEL = """
    from torch import nn

    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def place(self, x):
            return x.to(next(self.parameters()).device)
"""
HELPERS = """
    import torch

    DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def to_device(batch, device=DEVICE):
        return {name: value.to(device) for name, value in batch.items()}

    def mask(n):
        return torch.ones(n)

    def mask_like(x):
        return torch.ones(len(x), device=x.device)
"""


class Files:
    """A project on disk: ``project({"a.py": text, ..})`` lints it and gives ``{file: {(row, code), ..}}``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "pyproject.toml").write_text("")

    def __call__(self, files: dict[str, str]) -> dict[str, set[tuple[int, str]]]:
        found = self.lint(files)
        return {name: {(one.span.row, one.code) for one in ones} for name, ones in found.items()}

    def lint(self, files: dict[str, str]) -> dict[str, tuple[Diagnostic, ...]]:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text).lstrip("\n"))
        forget()
        results = {name: engine.check_file(str(self.root / name), Settings()) for name in files}
        assert not [each.problems for each in results.values() if each.problems]
        return {name: result.diagnostics for name, result in results.items()}


@pytest.fixture
def project(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_a_base_in_another_file_makes_a_module(project: Files) -> None:
    net = """
        import torch
        from base import Base

        class Net(Base):
            def __init__(self):
                super().__init__()
                self.scale = torch.ones(3)

            def forward(self, x):
                return self.fc(x) * self.scale
    """
    assert project({"base.py": MODEL, "net.py": net})["net.py"] == {(7, "TDL101")}
    plain = "class Base:\n    def __init__(self): pass\n"
    assert project({"base.py": plain, "net.py": net})["net.py"] == set()


def test_what_a_base_in_another_file_moves(project: Files) -> None:
    net = """
        import torch
        from base import Base

        class Net(Base):
            def forward(self, x):
                return self.fc(x) + self.place(torch.ones(3))
    """
    assert project({"base.py": MODEL, "net.py": net})["net.py"] == set()


@pytest.mark.parametrize(
    "imports",
    [
        "from helpers import mask, DEVICE",
        "import helpers\nmask, DEVICE = helpers.mask, helpers.DEVICE",
        "import helpers as h\nmask, DEVICE = h.mask, h.DEVICE",
        "from helpers import *",
        "from package import mask, DEVICE",
        "from package import *",
        "from package.inner import mask, DEVICE",
        "from package import inner\nmask, DEVICE = inner.mask, inner.DEVICE",
        "from package import inner as h\nmask, DEVICE = h.mask, h.DEVICE",
        "try:\n    from helpers import mask, DEVICE\nexcept ImportError:\n    raise",
    ],
)
def test_functions_and_constants_however_imported(project: Files, imports: str) -> None:
    main = (
        f"import torch\n{imports}\nx = torch.ones(3, device=DEVICE)\n\ny = torch.zeros(3)\nz = x + y\nw = x + mask(3)\n"
    )
    files = {
        "helpers.py": HELPERS,
        "package/__init__.py": "from .inner import *\nfrom .inner import mask",
        "package/inner.py": HELPERS,
        "main.py": main,
    }
    first = main.count("\n") - 1
    assert project(files)["main.py"] == {(first, "TDL004"), (first + 1, "TDL004")}
    right = main.replace("mask(3)", "helpers.mask_like(x)").replace("torch.zeros(3)", "torch.zeros_like(x)")
    if imports == "import helpers as h":
        assert project({"helpers.py": HELPERS, "main.py": right})["main.py"] == set()


def test_a_helper_that_moves_a_batch(project: Files) -> None:
    main = """
        import torch
        from torch.utils.data import DataLoader
        from helpers import DEVICE, to_device
        from base import Base

        def train(data):
            model = Base().to(DEVICE)
            for batch in DataLoader(data):
                batch = to_device(batch)
                model(batch["x"])
            for batch in DataLoader(data):
                model(batch["x"])
    """
    files = {
        "helpers.py": HELPERS,
        "base.py": MODEL + "\n        def forward(self, x):\n            return self.fc(x)\n",
    }
    assert project({**files, "main.py": main})["main.py"] == {(12, "TDL005")}


TRAINER = """
    import torch

    class Trainer:
        def __init__(self, model, criterion, config):
            self.device = torch.device(config["device"])
            self.model = model.to(self.device)
            self.criterion = criterion
"""


@pytest.mark.parametrize(("target", "found"), [("y", {(7, "TDL005")}), ("y.to(self.device)", set())])
def test_the_model_of_a_base_in_another_file_gives_what_is_where_its_input_is(
    project: Files, target: str, found: set[tuple[int, str]]
) -> None:
    mine = f"""
        from trainer import Trainer

        class Mine(Trainer):
            def step(self, batch):
                x, y = batch
                x = x.to(self.device)
                return self.criterion(self.model(x), {target})
    """
    assert project({"trainer.py": TRAINER, "mine.py": mine})["mine.py"] == found


def test_a_trainer_that_moves_batches_itself_keeps_those_of_its_users_silent(project: Files) -> None:
    mine = """
        from trainer import Trainer

        class Mine(Trainer):
            def step(self, batch):
                x, y = batch
                x = x.to(self.device)
                return self.criterion(self.model(x), y)
    """
    managed = TRAINER.replace("import torch", "import torch\n    from accelerate import Accelerator")
    assert project({"trainer.py": managed, "mine.py": mine})["mine.py"] == set()


def test_the_other_end_is_told_in_its_file(project: Files) -> None:
    main = "import torch\nfrom lib.helpers import DEVICE, mask\n\nx = torch.ones(3, device=DEVICE) + mask(3)\n"
    (finding,) = project.lint({"lib/helpers.py": HELPERS, "main.py": main})["main.py"]
    places = {(Path(each.filename).name, each.span.row) for each in finding.related}
    assert ("helpers.py", 9) in places


def test_a_layer_of_a_class_of_another_file_is_given_what_a_helper_made_in_another_method(project: Files) -> None:
    parts = """
        from abc import abstractmethod
        from torch import nn

        class Encoding(nn.Module):
            @abstractmethod
            def forward(self, x):
                raise NotImplementedError
    """
    net = """
        import torch
        from torch import nn
        from helpers import mask
        from parts import Encoding

        class Net(nn.Module):
            def __init__(self, encoding: Encoding | None = None):
                super().__init__()
                self.encoding = encoding
                self.fc = nn.Linear(3, 3)
                self.kept = None

            def grid(self, x):
                if self.kept is None or self.kept.shape[0] < x.shape[0]:
                    self.kept = mask(x.shape[0])
                return self.kept

            def forward(self, x):
                if self.encoding is not None:
                    x = torch.cat([x, self.encoding(self.grid(x))])
                return self.fc(x)
    """
    (finding,) = project.lint({"helpers.py": HELPERS, "parts.py": parts, "net.py": net})["net.py"]
    assert (finding.code, finding.span.row) == ("TDL003", 20)
    assert 15 in {each.span.row for each in finding.related if "given by" in each.message}


def test_what_a_helper_makes_is_reported_where_forward_brings_it_in(project: Files) -> None:
    net = """
        from torch import nn
        from helpers import mask

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)

            def forward(self, x):
                scores = self.fc(x)
                return scores.masked_fill(mask(3) == 0, 0.0)
    """
    (finding,) = project.lint({"helpers.py": HELPERS, "net.py": net})["net.py"]
    assert (finding.code, finding.span.row, finding.span.column) == ("TDL003", 11, 35)
    assert ("helpers.py", 9) in {(Path(each.filename).name, each.span.row) for each in finding.related}
    assert ("given by `mask`", 11) in [(each.message, each.span.row) for each in finding.related]
    assert [each.content for each in finding.fix.edits] == ["(", ").to(scores.device)"]  # type: ignore[union-attr]
    given = """
        from helpers import mask

        def total(x):
            return x.exp() + mask(3)
    """
    assert project({"helpers.py": HELPERS, "given.py": given})["given.py"] == {(4, "TDL014")}


@pytest.mark.parametrize("made", ["mask_like(scores)", "mask(3).to(scores.device)", "mask(3).to(scores)"])
def test_what_a_helper_makes_and_forward_places_is_right(project: Files, made: str) -> None:
    net = f"""
        from torch import nn
        from helpers import mask, mask_like

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)

            def forward(self, x):
                scores = self.fc(x)
                return scores.masked_fill({made} == 0, 0.0)
    """
    assert project({"helpers.py": HELPERS, "net.py": net})["net.py"] == set()


NET = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 3, 3)

        def forward(self, x):
            return self.conv(x)

    def criterion():
        return nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0]))
"""


def _shown(image: str) -> str:
    return f"""
        import torch
        import torchvision.transforms as T
        from PIL import Image
        from net import Net

        def main(path):
            device = torch.device("cuda")
            net = Net().to(device).eval()
            image = T.ToTensor()(Image.open(path)).unsqueeze(0){image}
            return net(image)
    """


def test_what_stays_on_the_cpu_is_reported_where_it_is_made_if_it_meets_the_other_elsewhere(project: Files) -> None:
    (finding,) = project.lint({"net.py": NET, "main.py": _shown("")})["main.py"]
    assert (finding.code, finding.span.row) == ("TDL004", 9)
    assert ("net.py", 10) in {(Path(each.filename).name, each.span.row) for each in finding.related}
    assert project({"net.py": NET, "main.py": _shown(".to(device)")})["main.py"] == set()


RECURRENT = """
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self, words, width):
            super().__init__()
            self.width = width
            self.words = nn.Embedding(words, width)
            self.cell = nn.GRU(width, width)

        def forward(self, words, state):
            return self.cell(self.words(words), state)

        def begin(self, batch):
            return torch.zeros(1, batch, self.width)

        def begin_there(self, batch):
            return torch.zeros(1, batch, self.width, device=self.words.weight.device)

    class Reader(Encoder):
        def forward(self, words):
            return self.cell(self.words(words), self.begin_there(words.size(1)))
"""


def _read(state: str, made: str = "Encoder(9, 4).to(device)") -> str:
    return f"""
        import torch
        from net import Encoder, Reader

        def main(words):
            device = torch.device("cuda")
            encoder = {made}
            words = words.to(device)
            state = {state}
            for each in words:
                found, state = encoder(each.unsqueeze(1), state)
            return found
    """


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("encoder.begin(1)", {(10, "TDL004")}),
        ("encoder.begin(1).to(device)", set()),
        ("encoder.begin_there(1)", set()),
        ("None", set()),
    ],
)
def test_what_another_file_makes_and_uses_is_reported_where_it_is_given(
    project: Files, state: str, expected: set[tuple[int, str]]
) -> None:
    """Neither the file that makes it nor the one that puts the model on a GPU says alone that they meet."""
    assert project({"net.py": RECURRENT, "main.py": _read(state)})["main.py"] == expected


def test_what_another_file_makes_is_right_for_a_model_that_stays_on_the_cpu(project: Files) -> None:
    main = _read("encoder.begin(1)", "Encoder(9, 4)").replace("words.to(device)", "words.long()")
    assert project({"net.py": RECURRENT, "main.py": main})["main.py"] == set()


@pytest.mark.parametrize(("moved", "expected"), [("", {(9, "TDL010")}), (".to(device)", set())])
def test_a_loss_that_another_file_makes_is_reported_where_it_is_used(
    project: Files, moved: str, expected: set[tuple[int, str]]
) -> None:
    main = f"""
        from net import Net, criterion

        def train(loader, device):
            net = Net().to(device)
            loss_of = criterion(){moved}
            for x, y in loader:
                x, y = x.to(device), y.to(device)
                scores = net(x).mean((2, 3))
                loss_of(scores, y).backward()
    """
    assert project({"net.py": NET, "main.py": main})["main.py"] == expected


@pytest.mark.parametrize(
    ("fallback", "expected"), [("cpu if not found else found[0].device", set()), ("cpu", {(12, "TDL004")})]
)
def test_a_place_that_another_file_chooses_by_what_it_is_given(
    project: Files, fallback: str, expected: set[tuple[int, str]]
) -> None:
    helpers = f"""
        import torch

        def place_of(module):
            cpu = torch.device("cpu")
            found = list(module.parameters())
            return {fallback}
    """
    net = """
        import torch
        from torch import nn
        from helpers import place_of

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 3, 3)

            def forward(self, x):
                empty = torch.zeros(1, 3, 4, 4, device=place_of(self))
                return self.conv(empty) + x
    """
    assert project({"helpers.py": helpers, "net.py": net})["net.py"] == expected


SCORES = """
    import torch

    def accuracy(scores, labels):
        hits = scores.argmax(-1) == labels
        return hits.float().mean().numpy()

    def brought(scores, labels):
        return (scores.argmax(-1) == labels).float().mean().cpu().numpy()

    def asked(scores, labels):
        hits = scores.argmax(-1) == labels
        if isinstance(hits, torch.Tensor):
            hits = hits.cpu()
        return hits.numpy()

    def placed(scores, labels, device):
        return (scores.to(device) == labels.to(device)).numpy()
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("accuracy(scores, y)", {(10, "TDL006")}),
        ("accuracy(scores.cpu(), y.cpu())", set()),
        ("brought(scores, y)", set()),
        ("asked(scores, y)", set()),
        ("placed(scores, y, device)", set()),
    ],
)
def test_what_another_file_puts_together_and_reads_by_numpy_is_reported_where_it_is_called(
    project: Files, call: str, expected: set[tuple[int, str]]
) -> None:
    """Of two arguments that nobody says are tensors only the caller knows where they are."""
    main = f"""
        import torch
        from scores import accuracy, asked, brought, placed

        def main(loader):
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            model = torch.nn.Linear(8, 100).to(device)
            for x, y in loader:
                x, y = x.to(device), y.to(device)
                scores = model(x)
                print({call})
    """
    assert project({"scores.py": SCORES, "main.py": main})["main.py"] == expected


@pytest.mark.parametrize(("stars", "expected"), [("there", set()), ("here", {(6, "TDL004")})])
def test_a_name_of_a_star_is_of_the_file_that_has_the_star(
    project: Files, stars: str, expected: set[tuple[int, str]]
) -> None:
    """The file that is analysed may have a star of its own, with the same name in it."""
    files = {
        "here": "import torch\ndef mask(n):\n    return torch.ones(n)\n",
        "there": "import torch\ndef mask(n):\n    return torch.ones(n, device='cuda')\n",
    }
    other = "there" if stars == "here" else "here"
    main = f"""
        import torch
        from {other} import *
        from makers import made

        def main():
            return torch.ones(3).cuda() + made(3) + mask(3).cuda()
    """
    makers = f"import torch\nfrom {stars} import *\n\ndef made(n):\n    return torch.abs(mask(n))\n"
    written = {f"{name}.py": text for name, text in files.items()}
    assert project({**written, "makers.py": makers, "main.py": main})["main.py"] == expected


def test_cuda_touched_by_an_import(project: Files) -> None:
    main = """
        import os
        import helpers

        os.environ["CUDA_VISIBLE_DEVICES"] = "1"
    """
    assert project({"helpers.py": HELPERS, "main.py": main})["main.py"] == {(4, "TDL301")}
    through = {"helpers.py": "from package import inner\n", "package/__init__.py": "", "package/inner.py": HELPERS}
    assert project({**through, "main.py": main})["main.py"] == {(4, "TDL301")}
    later = "import torch\n\ndef later():\n    return torch.cuda.is_available()\n"
    guarded = f"{later}\nif __name__ == '__main__':\n    later()\n"
    assert project({"helpers.py": guarded, "main.py": main})["main.py"] == set()
    before = main.replace("import helpers\n", "").rstrip(" ") + "        import helpers\n"
    assert project({"helpers.py": HELPERS, "main.py": before})["main.py"] == set()


@pytest.mark.parametrize(
    "files",
    [
        {"a.py": "from b import f\nfrom b import *\ng = f\n", "b.py": "from a import g\nfrom a import *\nf = g\n"},
        {"a.py": "import a\nfrom a import missing\nx = missing(a.x)\n"},
        {"a.py": "from b import Net\nclass Sub(Net): pass\n", "b.py": "from a import Sub\nclass Net(Sub): pass\n"},
        {"a.py": "from b import f\nf()\n", "b.py": "def f(\n"},
        {"a.py": "from b import f\nf()\n", "b.py": "from c import f\n", "c.py": "from b import f\n"},
        {"a.py": "from . import b\nfrom .. import c\nfrom ... import *\nb.f(c)\n", "b.py": "f = f\n"},
        {"a.py": "import b.c.d\nb.c.d.e()\nimport x.y as z\nz()\n", "b/c.py": "d = 1\n"},
        {"a.py": "from b import f\nf(f)\n", "b.py": "from a import f as g\ndef f(x): return f(g(x))\n"},
    ],
)
def test_cycles_and_what_is_missing(project: Files, files: dict[str, str]) -> None:
    torch = {name: f"import torch\n{text}" for name, text in files.items()}
    assert all(not found - {(2, "TDL901")} for found in project(torch).values())


def test_order_and_company_decide_nothing(project: Files) -> None:
    files = {
        "helpers.py": HELPERS,
        "base.py": MODEL,
        "one.py": "import torch\nfrom helpers import *\nx = torch.ones(2, device=DEVICE) + mask(2)\n",
        "two.py": "import torch\nfrom base import Base\nfrom helpers import mask\n\nclass Net(Base):\n"
        "    def forward(self, x):\n        return self.fc(x) * mask(3)\n",
    }
    together = project(files)
    alone = {name: project({name: text})[name] for name, text in reversed(files.items())}
    assert together == alone
    assert together["one.py"]


def test_a_data_set_of_another_file_is_reported_at_its_loader(project: Files) -> None:
    data = """
        import torch
        from torch.utils.data import Dataset

        class Frames(Dataset):
            def __init__(self, frames, device):
                self.frames, self.device = frames, device

            def __getitem__(self, index):
                return self.frames[index].to(self.device)
    """
    train = """
        import torch
        from torch.utils.data import DataLoader
        from data import Frames

        def loaders(frames, device):
            yield DataLoader(Frames(frames, device), num_workers=4)
            yield DataLoader(Frames(frames, "cpu"), num_workers=4)
            yield DataLoader(Frames(frames, device), num_workers=0)
    """
    found = project.lint({"data.py": data, "train.py": train})
    assert not found["data.py"]
    (finding,) = found["train.py"]
    assert (finding.span.row, finding.code) == (6, "TDL307")
    (note,) = finding.related
    assert note.filename.endswith("data.py")
    assert note.span.row == 9


def test_texts_of_the_file_are_read_from_it_while_another_one_is_run(project: Files) -> None:
    data = """
        import torch

        def to_gpu(x):
            if torch.cuda.is_available():
                x = x.cuda(non_blocking=True)
            return x
    """
    train = """
        import torch
        from data import to_gpu

        def load():
            model = torch.nn.Linear(2, 2).cuda()
            return model

        def train(batches):
            model = load()
            return [model(to_gpu(each)) for each in batches]
    """
    longer = textwrap.dedent(train) + "\n" + textwrap.dedent(train)[1:]
    assert not any(project({"data.py": data, "train.py": longer}).values())


def test_a_place_that_another_file_chooses_by_the_number_of_a_device(project: Files) -> None:
    helpers = """
        import torch

        def device_of(tensor):
            return tensor.get_device() if tensor.is_cuda else -1

        def positions(size, device):
            if device > -1:
                return torch.cuda.LongTensor(size, device=device).fill_(1).cumsum(0) - 1
            else:
                return torch.arange(0, size, dtype=torch.long)

        def select(target, indices):
            offsets = positions(indices.size(0), device_of(indices)) * target.size(1)
            return target.index_select(0, (indices + offsets).view(-1))
    """
    test = """
        import numpy
        import torch
        from helpers import select
        from pruner import Pruner

        def test_pruner():
            items = torch.randn(3, 4, 5)
            indices = Pruner()(items)
            numpy.testing.assert_array_equal(select(items, indices).data.numpy(), items.numpy())
    """
    found = project({"helpers.py": helpers, "test.py": test})
    assert found == {"helpers.py": set(), "test.py": set()}


def test_a_model_that_is_not_moved_has_the_layers_of_its_base_where_it_was_made(project: Files) -> None:
    models = """
        import torch
        from base import Base

        class Softmax(Base):
            def forward(self, embeddings):
                return torch.matmul(embeddings, self.layer.weight.t())
    """
    base = """
        from torch import nn

        class Base(nn.Module):
            def __init__(self, layer):
                super().__init__()
                self.layer = layer
    """
    test = """
        import torch
        from models import Softmax

        def run(layer):
            softmax = Softmax(layer)
            return softmax(torch.rand(100, 12))

        def run_elsewhere(layer, device):
            softmax = Softmax(layer).to(device)
            return softmax(torch.rand(100, 12))
    """
    found = project({"base.py": base, "models.py": models, "test.py": test})
    assert {code for rows in found.values() for _, code in rows} <= {"TDL005", "TDL014"}
    assert not any(row < 7 for row, _ in found["test.py"])


def test_a_test_for_tracing_in_another_file(project: Files) -> None:
    utils = """
        def is_torch_fx_proxy(x):
            import torch.fx
            return isinstance(x, torch.fx.Proxy)
    """
    model = """
        import torch
        from utils import is_torch_fx_proxy

        def shift(labels: torch.Tensor, start: int):
            if is_torch_fx_proxy(labels):
                return torch.cat([torch.full(labels.shape[:-1] + (1,), start), labels[..., :-1]], dim=-1)
            return labels
    """
    assert project({"utils.py": utils, "model.py": model}) == {"utils.py": set(), "model.py": set()}


def test_a_generic_base_in_another_file(project: Files) -> None:
    base = """
        from typing import Generic, TypeVar
        from torch import nn

        Kind = TypeVar("Kind")

        class Step(nn.Module, Generic[Kind]):
            pass

        class BasicStep(Step[int]):
            pass
    """
    step = """
        import torch
        from torch import nn
        from base import BasicStep

        class CoverageStep(BasicStep):
            def __init__(self):
                super().__init__()
                self.multiplier = nn.Parameter(torch.FloatTensor([1.0]))

            def scores(self, actions: torch.Tensor):
                return actions + self.multiplier * actions.sum(0)
    """
    assert project({"base.py": base, "step.py": step}) == {"base.py": set(), "step.py": set()}


def test_a_class_that_a_constructor_defines_sees_the_layers_where_the_model_was_made(project: Files) -> None:
    models = """
        import torch
        from torch import nn
        from torch.nn import functional as F

        class Inner(nn.Module):
            def forward(self, tokens):
                return self.embed(tokens)

        class Decoder(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.words = nn.Parameter(torch.randn(size, 8))

                def embed(tokens):
                    return F.embedding(tokens, self.words)

                class Embedding(Inner):
                    def embed(self, tokens):
                        return embed(tokens)

                self.inner = Embedding()

            def forward(self, tokens):
                return self.inner(tokens)
    """
    test = """
        import torch
        from models import Decoder

        def run():
            decoder = Decoder(100)
            return decoder(torch.randint(100, (2, 3))).shape
    """
    assert project({"models.py": models, "test.py": test}) == {"models.py": set(), "test.py": set()}


def test_a_helper_that_leaves_the_place_of_a_load_open_is_told_where_it_is_called(project: Files) -> None:
    helpers = """
        import torch

        def read(path, map_location=None):
            with open(path, "rb") as file:
                return torch.load(file, map_location=map_location)
    """
    train = """
        import torch
        from helpers import read

        def restore(model):
            model.load_state_dict(read("model.pt"))

        def resume(model):
            model.load_state_dict(read("last.pt", map_location="cpu"))
            model.load_state_dict(read("last.pt"))
    """
    found = project({"helpers.py": helpers, "train.py": train})
    assert found == {"helpers.py": set(), "train.py": {(5, "TDL201"), (9, "TDL201")}}


def test_what_a_base_registers_elsewhere_is_not_what_a_class_keeps_in_a_list(project: Files) -> None:
    base = """
        from torch import nn

        class Module(nn.Module):
            def register_prior(self, name, prior):
                self.add_module(name, prior)
    """
    means = """
        import torch
        from base import Module

        class Mean(Module):
            def forward(self, x):
                return x.mean(-1)
    """
    several = """
        import torch
        from means import Mean

        class Several(Mean):
            def __init__(self, means):
                super().__init__()
                if not isinstance(means, list) or not all(isinstance(mean, Mean) for mean in means):
                    raise TypeError("a list of means is wanted")
                self.means = means

            def forward(self, x):
                return torch.stack([mean(x) for mean in self.means], -1)

        class Registered(Mean):
            def __init__(self, means):
                super().__init__()
                if not isinstance(means, list) or not all(isinstance(mean, Mean) for mean in means):
                    raise TypeError("a list of means is wanted")
                self.means = means
                for number, mean in enumerate(means):
                    self.register_prior(f"mean{number}", mean)

            def forward(self, x):
                return torch.stack([mean(x) for mean in self.means], -1)
    """
    found = project({"base.py": base, "means.py": means, "several.py": several})
    assert found["several.py"] == {(9, "TDL102")}


def test_a_layer_of_layers_of_other_files_has_parameters_of_its_own(project: Files) -> None:
    parts = """
        import torch
        from torch import nn

        class Scale(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(width))

            def forward(self, x):
                return x * self.weight

        class Twice(nn.Module):
            def forward(self, x):
                return x * 2
    """
    tower = """
        from torch import nn
        from parts import Scale, Twice

        class Scaled(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.scale = Scale(width)

            def forward(self, x):
                return self.scale(x)

        class Doubled(nn.Module):
            def __init__(self):
                super().__init__()
                self.twice = Twice()

            def forward(self, x):
                return self.twice(x)

        class Tower(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.scaled = [Scaled(width) for _ in range(3)]
                self.doubled = [Doubled() for _ in range(3)]

            def forward(self, x):
                for scaled, doubled in zip(self.scaled, self.doubled):
                    x = doubled(scaled(x))
                return x
    """
    found = project({"parts.py": parts, "tower.py": tower})
    assert found["tower.py"] == {(23, "TDL102")}


def test_a_base_in_another_file_chooses_one_of_the_gpus(project: Files) -> None:
    base = """
        import torch

        class Estimator:
            def __init__(self, device_type="gpu"):
                if device_type == "cpu" or not torch.cuda.is_available():
                    self._device = torch.device("cpu")
                else:
                    number = torch.cuda.current_device()
                    self._device = torch.device(f"cuda:{number}")
    """
    detector = """
        import torch
        from base import Estimator

        class Detector(Estimator):
            def __init__(self, model, device_type="gpu"):
                super().__init__(device_type=device_type)
                self._model = model
                self._model.to(self._device)

            def loss(self, x, boxes):
                labels = torch.zeros(len(boxes), 6)
                x = x.to(self._device)
                return self._model(x, labels)

            def right(self, x, boxes):
                labels = torch.zeros(len(boxes), 6).to(self._device)
                x = x.to(self._device)
                return self._model(x, labels)
    """
    found = project({"base.py": base, "detector.py": detector})
    assert {row for row, _ in found["detector.py"]} == {11}


def test_an_object_of_a_class_in_another_file_holds_what_it_was_given_here(project: Files) -> None:
    lattice = """
        import torch
        from torch import Tensor

        class Lattice:
            def __init__(self, a: Tensor):
                self.a = a

            def vectors(self):
                return self.a

            @classmethod
            def cubic(cls, length):
                return cls(torch.eye(3) * length)
    """
    checks = """
        import torch
        from lattice import Lattice

        def vectors():
            a = torch.eye(3)
            lattice = Lattice(a)
            assert torch.allclose(lattice.a, a)
            assert torch.allclose(Lattice.cubic(3.0).a, 3 * a)
            return torch.allclose(lattice.vectors(), a)

        def read(path):
            return torch.matmul(torch.eye(3), Lattice(torch.load(path, map_location="cpu")).a)

        def placed(device):
            lattice = Lattice(torch.eye(3, device=device))
            return torch.matmul(lattice.a, torch.ones(3, 3))

        def given(x: torch.Tensor):
            lattice = Lattice(torch.eye(3))
            return torch.matmul(x, lattice.a)
    """
    assert project({"lattice.py": lattice, "checks.py": checks}) == {
        "lattice.py": set(),
        "checks.py": {(16, "TDL014"), (19, "TDL014")},
    }


BASES = """
    from torch import nn

    class Root(nn.Module):
        @property
        def device(self):
            return next(self.parameters()).device

    class Base(Root):
        pass
"""
MODELS = """
    import pytorch_lightning as pl
    from base import Base
    from diffusers import ConfigMixin, ModelMixin
    from elsewhere import Mystery
    from torch import nn
    from torchmetrics import Metric
    from transformers import PreTrainedModel

    class Trained(pl.LightningModule):
        def forward(self, x):
            return x

    class Pretrained(PreTrainedModel):
        def forward(self, x):
            return x

    class Denoiser(ModelMixin, ConfigMixin):
        def forward(self, x):
            return x

    class Accuracy(Metric):
        def forward(self, x):
            return x

    class Unresolved(Mystery, nn.Module):
        def forward(self, x):
            return x

    class Derived(Base):
        pass

    class Local(nn.Module):
        def __init__(self, device):
            super().__init__()
            self.__dict__.update(locals())

    class Updated(nn.Module):
        def __init__(self, **options):
            super().__init__()
            vars(self).update(options)

    class Assigned(nn.Module):
        def __init__(self, **options):
            super().__init__()
            for name, value in options.items():
                setattr(self, name, value)

    class Bare(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 3)
"""


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("Trained", set()),
        ("Pretrained", set()),
        ("Denoiser", set()),
        ("Accuracy", set()),
        ("Unresolved", set()),
        ("Derived", set()),
        ("Local", set()),
        ("Updated", set()),
        ("Assigned", set()),
        ("Bare", {(4, "TDL107")}),
    ],
)
def test_the_device_of_a_class_in_another_file(project: Files, name: str, codes: set[tuple[int, str]]) -> None:
    main = f"""
        from models import {name}

        def place(path):
            return {name}(path).device
    """
    assert project({"base.py": BASES, "models.py": MODELS, "main.py": main})["main.py"] == codes


def test_a_device_that_is_given_from_outside_in_another_file(project: Files) -> None:
    built = """
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)

        def build(device):
            net = Net().to(device)
            net.device = device
            return net
    """
    main = """
        from built import build

        def place(device):
            return build(device).device
    """
    assert project({"built.py": built, "main.py": main})["main.py"] == set()


def test_a_text_that_is_not_saved_is_not_what_others_import(project: Files) -> None:
    saved = "import torch\n\ndef made():\n    return torch.ones(3, device='cuda')\n"
    main = "import torch\nfrom helper import made\n\nx = made() + torch.ones(3)\n"
    assert project({"helper.py": saved, "main.py": main})["main.py"] == {(4, "TDL004")}
    (project.root / "helper.py").write_text(saved)  # its time is another now
    edited = saved.replace("'cuda'", "'cpu' ")
    assert len(edited) == len(saved)
    engine.check_bytes(edited.encode(), str(project.root / "helper.py"), Settings())
    (found,) = engine.check_file(str(project.root / "main.py"), Settings()).diagnostics
    assert found.code == "TDL004"


@pytest.mark.parametrize(
    ("helper", "found"),
    [
        ('torch.load(path, map_location="cpu")', set()),
        ("torch.load(path, map_location=device)", set()),
        ('torch.load(path, map_location="cuda")', {(5, "TDL014")}),
    ],
    ids=["to the CPU", "where it is told", "to a GPU"],
)
def test_what_a_script_that_knows_no_accelerator_has_from_another_file(
    project: Files, helper: str, found: set[tuple[int, str]]
) -> None:
    script = """
        import torch
        from data import load

        def spread(x: torch.Tensor):
            return x * torch.arange(x.shape[-1])

        def main():
            print(spread(load("x.pt")))

        if __name__ == "__main__":
            main()
    """
    data = f"import torch\n\ndef load(path, device='cpu'):\n    return {helper}\n"
    assert project({"data.py": data, "script.py": script})["script.py"] == found


@pytest.mark.parametrize(
    ("held", "expected"),
    [("dist.Normal", set()), ("nn.Linear(3, 3)", {(6, "TDL012")})],
)
def test_a_class_that_a_base_of_another_file_keeps_is_no_layer(
    project: Files, held: str, expected: set[tuple[int, str]]
) -> None:
    base = f"""
        from torch import distributions as dist, nn

        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.prior = {held}
    """
    net = """
        import torch
        from base import Base

        class Net(Base):
            def forward(self, x):
                return self.prior(torch.ones(3).cuda())
    """
    assert project({"base.py": base, "net.py": net})["net.py"] == expected


CHOSEN_LATER = """
    import torch

    _device = None

    def get_device():
        if _device is None:
            set_device(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
        return _device

    def set_device(device):
        global _device
        _device = device
"""
TABLES = """
    import torch
    from torch import nn
    from place import get_device

    class Net(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.table = torch.arange(n).to(get_device())
            self.layer = nn.Embedding(n, 3)

        def forward(self, x):
            return self.layer(x) + self.table
"""


def test_a_name_that_a_function_of_its_file_binds_is_open(project: Files) -> None:
    """Until somebody has chosen it is None, which would be where the tensor is already."""
    assert project({"place.py": CHOSEN_LATER, "net.py": TABLES})["net.py"] == set()
    fixed = CHOSEN_LATER.replace("global _device\n        _device = device", "torch.cuda.set_device(device)")
    assert project({"place.py": fixed, "net.py": TABLES})["net.py"] == {(8, "TDL101")}


PROCESSES = """
    import os

    import torch
    from torch.nn.parallel import DistributedDataParallel

    class Processes:
        def __init__(self, several, device, bare):
            self.several = several
            self.bare = bare
            if several:
                self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
                torch.distributed.init_process_group("nccl")
            else:
                self.device = device

        def wrapped(self, model):
            model = model.to(self.device)
            if self.several:
                model = DistributedDataParallel(model.cuda(self.device), device_ids=[self.device])
                return model
            else:
                return model

        def inner(self, model):
            if self.FLAG:
                return model.module
            else:
                return model
"""


@pytest.mark.parametrize(("flag", "found"), [("several", set()), ("bare", {(9, "TDL406")})])
def test_a_flag_that_only_init_sets_decides_alike_in_all_methods(
    project: Files, flag: str, found: set[tuple[int, str]]
) -> None:
    """Whoever wrapped the model by it unwraps it by it; another flag may be otherwise."""
    trainer = """
        from processes import Processes

        class Trainer:
            def __init__(self, model, several, device, bare):
                self.processes = Processes(several, device, bare)
                self.model = self.processes.wrapped(model)

            def loss(self, x):
                return self.processes.inner(self.model).calc_loss(x)
    """
    assert project({"processes.py": PROCESSES.replace("FLAG", flag), "trainer.py": trainer})["trainer.py"] == found


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ("torch.set_default_tensor_type('torch.cuda.FloatTensor')", set()),
        ("torch.set_default_tensor_type('torch.FloatTensor')", {(7, "TDL014")}),
        ("torch.set_default_dtype(torch.float64)", {(7, "TDL014")}),
    ],
)
def test_a_base_of_another_file_changes_the_default_when_an_object_is_built(
    project: Files, change: str, codes: set[tuple[int, str]]
) -> None:
    base = f"""
        import torch

        class Trainer:
            def __init__(self, model, gpu):
                self.device = torch.device("cuda" if gpu else "cpu")
                if gpu:
                    {change}
                self.model = model.to(self.device)
        """
    noisy = """
        import torch
        from base import Trainer

        class NoisyTrainer(Trainer):
            def noise(self, x):
                y = self.model(x.to(self.device))
                return y @ torch.tensor([[0.0, -1.0], [1.0, 0.0]])
        """
    assert project({"base.py": base, "noisy.py": noisy})["noisy.py"] == codes


@pytest.mark.parametrize(
    ("setting", "codes"),
    [
        ('DEVICE = "cpu"', set()),
        ('DEVICE = torch.device("cpu")', set()),
        ('KIND = "cpu"\nDEVICE = chosen(KIND)', set()),
        ("DEVICE = None", {(11, "TDL003")}),
    ],
)
def test_a_device_that_a_file_of_settings_sets_is_any(
    project: Files, setting: str, codes: set[tuple[int, str]]
) -> None:
    settings = textwrap.dedent(
        """
        import torch

        def chosen(kind):
            if kind == "cpu" or not torch.cuda.is_available():
                return torch.device("cpu")
            return torch.device(kind)

        """
    )
    net = """
        import torch
        from torch import nn
        from settings import DEVICE

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.GRUCell(3, 3)

            def forward(self, x):
                return self.rnn(x, torch.zeros(len(x), 3, device=DEVICE))
        """
    assert project({"settings.py": settings + setting, "net.py": net})["net.py"] == codes


@pytest.mark.parametrize("given", ["next(iter(loader))[0]", "next(iter(loader))[0].to(device)"])
def test_an_example_input_of_a_model_of_a_shorter_file(project: Files, given: str) -> None:
    """``add_graph`` calls the model in the file that is analysed, while the code of another file is run."""
    net = """
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 3, 3)

            def forward(self, x):
                return self.conv(x)
        """
    main = f"""
        import torch
        from net import Net
        from torch.utils.data import DataLoader, TensorDataset
        from torch.utils.tensorboard import SummaryWriter


        def main():
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            loader = DataLoader(TensorDataset(torch.ones(2, 3, 8, 8), torch.zeros(2)))
            writer = SummaryWriter("runs")
            model = Net().to(device)
            writer.add_graph(model, {given})


        main()
        """
    assert project({"net.py": net, "main.py": main})["main.py"] == (set() if "to(" in given else {(12, "TDL005")})


def test_a_model_of_another_file_that_ends_in_a_layer_gives_a_tensor_where_it_is(project: Files) -> None:
    """Whatever it was given. What it may bring to the host, or gives in another case, is not known."""
    layers = """
        import torch
        from torch import nn

        class Merged(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.hidden = nn.Linear(2 * n, n)
                self.out = nn.Linear(n, 1)
                self.act = nn.ReLU()

            def forward(self, first, second):
                x = self.act(self.hidden(torch.cat([first, second], dim=1)))
                return torch.sigmoid(self.out(x))

        class Maybe(Merged):
            def forward(self, first, second):
                if first is None:
                    return second
                return self.out(first)

        class Brought(Merged):
            def forward(self, first, second):
                return self.out(self.hidden(first)).cpu()
    """
    model = """
        from torch import nn
        from layers import Brought, Maybe, Merged

        class Model(nn.Module):
            def __init__(self, table):
                super().__init__()
                self.table = table
                self.merged, self.maybe, self.brought = Merged(3), Maybe(3), Brought(3)

            def scores(self, nodes):
                return self.merged(self.table[nodes], self.table[nodes]).squeeze(1)

            def others(self, nodes):
                return self.maybe(self.table[nodes], self.table[nodes])

            def copies(self, nodes):
                return self.brought(self.table[nodes], self.table[nodes])
    """
    train = """
        import torch
        from torch import nn
        from model import Model

        def main(table, nodes, device):
            model = Model(table).to(device)
            criterion = nn.BCELoss()
            labels = torch.ones(len(nodes))
            loss = criterion(model.scores(nodes), labels)
            kept = torch.ones(len(nodes))
            return loss, criterion(model.others(nodes), kept), criterion(model.copies(nodes), kept)
    """
    found = project({"layers.py": layers, "model.py": model, "train.py": train})
    assert found == {"layers.py": set(), "model.py": set(), "train.py": {(8, "TDL014")}}


def test_a_helper_in_another_file_that_makes_one_thing_of_each_leaves_the_choice_to_its_caller(project: Files) -> None:
    """What it gives differs by a test of the caller alone; where the helper itself chooses, nobody knows."""
    found = project(
        {
            "shapes.py": """
                import torch

                def widened(t, count):
                    if count < 0:
                        raise ValueError(count)
                    return t.reshape(*t.shape, *((1,) * count))

                def chosen(t, like):
                    return t.to(like.device) if like.is_cuda else t
            """,
            "means.py": """
                import torch
                from shapes import chosen, widened

                def masked(t: torch.Tensor, mask: torch.Tensor | None = None):
                    if mask is None:
                        mask = torch.ones(t.shape, dtype=torch.bool)
                    mask = widened(mask, t.ndim - mask.ndim)
                    return (t * mask).sum()

                def placed(t: torch.Tensor, mask: torch.Tensor | None = None):
                    if mask is None:
                        mask = torch.ones(t.shape, dtype=torch.bool)
                    mask = chosen(mask, t)
                    return (t * mask).sum()
            """,
        }
    )
    assert found["means.py"] == {(6, "TDL014")}
