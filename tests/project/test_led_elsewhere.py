"""A file that hands a model or a tensor of an accelerator to code of another one, which makes its own on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_across_files import Files

NET = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 1, 3, padding=1)

        def forward(self, x, t):
            return self.conv(x) + t[:, None, None, None]
    """
SAMPLER = """
    import torch

    class Sampler:
        def __init__(self, model, steps=10, device="cpu"):
            self.model = model
            self.steps = steps
            self.device = device

        @torch.no_grad()
        def sample(self, shape):
            x = torch.randn(shape)
            for step in range(self.steps):
                t = torch.full((shape[0],), step, device=x.device)
                x = x - self.model(x, t)
            return x
    """
MAIN = """
    import torch
    from net import Net
    from sampler import Sampler

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def main():
        net = Net().to(device)
        sampler = Sampler(net, device=device)
        return sampler.sample((2, 1, 8, 8))

    if __name__ == "__main__":
        print(main().shape)
    """


@pytest.fixture
def project(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_an_object_of_another_file_runs_a_model_that_was_moved_here(project: Files) -> None:
    """The object keeps what its constructor was given; the finding is the call, and names both places."""
    found = project.lint({"net.py": NET, "sampler.py": SAMPLER, "main.py": MAIN})
    assert not found["net.py"]
    assert not found["sampler.py"]
    (one,) = found["main.py"]
    assert (one.code, one.span.row) == ("TDL004", 10)
    assert one.message.startswith("`sampler.sample((2, 1, 8, 8))` leads to `self.conv()`")
    assert {Path(each.filename).name: each.span.row for each in one.related if "`x` meets" in each.message} == {
        "net.py": 9
    }
    assert any("torch.randn" in each.message for each in one.related)


def test_with_the_model_in_the_file_the_operation_is_reported(project: Files) -> None:
    """With the model in the file that is analysed, the operation itself is there."""
    own = NET + MAIN.replace("from net import Net", "")
    assert project({"sampler.py": SAMPLER, "main.py": own})["main.py"] == {(9, "TDL004")}


@pytest.mark.parametrize(
    ("sampler", "main"),
    [
        (("torch.randn(shape)", "torch.randn(shape, device=self.device)"), ("", "")),
        (("", ""), ("Net().to(device)", "Net()")),
        (("self.model = model", "self.model = model.cpu()"), ("device=device", 'device="cpu"')),
        (("self.model(x, t)", "self.model(x.to(self.device), t.to(self.device)).cpu()"), ("", "")),
    ],
    ids=["made there", "a model that nothing moves", "brought back", "moved for the model"],
)
def test_what_is_in_one_place_is_silent(project: Files, sampler: tuple[str, str], main: tuple[str, str]) -> None:
    files = {"net.py": NET, "sampler.py": SAMPLER.replace(*sampler), "main.py": MAIN.replace(*main)}
    assert project(files)["main.py"] == set()


RAYS = """
    import torch

    def rays(h, w, pose):
        i, j = torch.meshgrid(torch.arange(w), torch.arange(h), indexing="xy")
        x = (i.float() - w / 2) / w
        y = (j.float() - h / 2) / h
        directions = torch.stack([x, y, torch.ones_like(x)], dim=-1)
        return directions @ pose[:3, :3].T
    """
RENDER = """
    import numpy as np
    import torch
    from rays import rays

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def render(path):
        pose = torch.from_numpy(np.load(path)).float()MOVED
        return rays(4, 4, pose).to(device)

    if __name__ == "__main__":
        print(render("pose.npy"))
    """


def test_a_function_of_another_file_mixes_what_it_makes_with_what_was_moved(project: Files) -> None:
    found = project({"rays.py": RAYS, "render.py": RENDER.replace("MOVED", ".to(device)")})
    assert found == {"rays.py": set(), "render.py": {(9, "TDL004")}}


def test_the_same_function_with_a_tensor_of_the_cpu(project: Files) -> None:
    assert project({"rays.py": RAYS, "render.py": RENDER.replace("MOVED", "")})["render.py"] == set()


def test_a_constructor_that_asks_a_layer_for_its_size(project: Files) -> None:
    """While ``__init__`` is run nothing has been moved: what it makes there meets layers on the CPU."""
    tokens = """
        import torch
        from torch import nn

        class Tokens(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 8, 3)

            def length(self, size):
                return self.forward(torch.zeros(1, 3, size, size)).shape[1]

            def forward(self, x):
                return self.conv(x).flatten(2).transpose(1, 2)
        """
    main = """
        from tokens import Tokens
        from torch import nn

        class Classifier(nn.Module):
            def __init__(self):
                super().__init__()
                self.tokens = Tokens()
                self.head = nn.Linear(8, self.tokens.length(32))

            def forward(self, x):
                return self.head(self.tokens(x))
        """
    assert project({"tokens.py": tokens, "main.py": main})["main.py"] == set()


TAGGER = """
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(9, 4)
            self.lstm = nn.LSTM(4, 4, batch_first=True)

        def forward(self, x, lengths):
            packed = pack_padded_sequence(self.emb(x), lengths, batch_first=True, enforce_sorted=False)
            return pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]
    """
TRAIN = """
    import torch
    from tagger import Tagger
    from torch.utils.data import DataLoader, TensorDataset

    if __name__ == "__main__":
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        loader = DataLoader(TensorDataset(torch.ones(4, 3).long(), torch.tensor([3, 2, 1, 3])))
        model = Tagger().to(device)
        for x, lengths in loader:
            x, lengths = x.to(device), lengths.to(device)
            print(model(x, lengths).shape)
    """


@pytest.mark.parametrize(
    ("tagger", "train", "expected"),
    [
        (("", ""), ("", ""), {(11, "TDL013")}),
        (("lengths, batch", "lengths.cpu(), batch"), ("", ""), set()),
        (("", ""), (", lengths.to(device)", ", lengths"), set()),
        (("", ""), ("(x, lengths)", "(x, lengths.tolist())"), set()),
    ],
    ids=["moved with all else", "brought back", "left on the CPU", "given as a list"],
)
def test_lengths_by_which_another_file_packs(
    project: Files, tagger: tuple[str, str], train: tuple[str, str], expected: set[tuple[int, str]]
) -> None:
    found = project({"tagger.py": TAGGER.replace(*tagger), "train.py": TRAIN.replace(*train)})
    assert found == {"tagger.py": set(), "train.py": expected}


BAG = """
    import torch
    from torch import nn

    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.EmbeddingBag(10, 3)

        def forward(self, text, offsets):
            return self.embedding(text, offsets)
    """
LOOP = """
    import torch

    def epoch(model, loader, device):
        for labels, text, offsets in loader:
            labels = labels.to(device)
            text = text.to(device)
            yield model(text, offsets), labels

    def train(model, loader, device=None):
        if device is None:
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = model.to(device)
        return list(epoch(model, loader, device))
    """
START = """
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    from train import train
    from words import Words

    def main():
        rows = TensorDataset(torch.zeros(3), torch.zeros(3, dtype=torch.long), torch.zeros(3, dtype=torch.long))
        train(Words(), DataLoader(rows, batch_size=3))

    if __name__ == "__main__":
        main()
    """


def test_a_batch_that_another_file_gives_to_a_model_of_this_one(project: Files) -> None:
    """The loop is in a file that does not know the model: the finding is the call that gives it one."""
    found = project.lint({"words.py": BAG, "train.py": LOOP, "run.py": START})
    assert not found["train.py"]
    (one,) = found["run.py"]
    assert (one.code, one.span.row) == ("TDL005", 8)
    assert "leads to `self.embedding()`" in one.message
    assert {Path(each.filename).name: each.span.row for each in one.related if "it meets" in each.message} == {
        "train.py": 7
    }


def test_what_the_other_file_tells_of_is_not_told_twice(project: Files) -> None:
    """The file that makes the model as well as the loop tells of the batch."""
    own = LOOP.replace("def train(model, loader", "from words import Words\n\n    def train(loader").replace(
        "model.to(device)", "Words().to(device)"
    )
    found = project({"words.py": BAG, "train.py": own, "run.py": START.replace("Words(), ", "")})
    assert found == {"words.py": set(), "train.py": {(7, "TDL005")}, "run.py": set()}


def test_a_batch_that_is_moved_as_a_whole_is_silent(project: Files) -> None:
    moved = LOOP.replace("text = text.to(device)", "text, offsets = text.to(device), offsets.to(device)")
    assert project({"words.py": BAG, "train.py": moved, "run.py": START})["run.py"] == set()


def test_what_nothing_but_its_name_says_to_be_a_loader_may_bring_its_batches_along(project: Files) -> None:
    loop = """
        def test(model, loader):
            model.eval()
            for labels, text, offsets in loader:
                print(model(text, offsets), labels)
        """
    start = START.replace("train(Words(), ", "test(Words().cuda(), ").replace("import train\n", "import test\n")
    named = start.replace("DataLoader(rows, batch_size=3)", "made(rows)")
    named = named.replace("from words", "from iterators import made\n    from words")
    files = {"words.py": BAG, "train.py": loop}
    assert project({**files, "run.py": start})["run.py"] == {(8, "TDL005")}
    assert project({**files, "run.py": named})["run.py"] == set()


MAKES = """
    import torch

    def bell(size, sigma):
        def weight(x):
            return -((x - size // 2) ** 2) / float(2 * sigma**2)
        rows = torch.stack([torch.exp(torch.tensor(weight(x))) for x in range(size)])
        return rows / rows.sum()
    """
MEETS = """
    import torch

    def project(points, rows):
        return torch.matmul(points, rows)

    def checked(points, rows):
        if not points.device == rows.device:
            raise TypeError("both have to be on one device")
        return points.tolist()
    """
BRINGS = """
    import torch
    from torch import nn
    from makes import bell
    from meets import {use}

    class Projection(nn.Module):
        def __init__(self, size: int):
            super().__init__()
            {kept}

        def forward(self, x):
            return {use}(x, self.rows)
    """


@pytest.mark.parametrize("use", ["project", "checked"])
def test_what_one_file_makes_and_another_has_meet_is_reported_where_this_one_brings_both_together(
    project: Files, use: str
) -> None:
    """A function that refuses tensors on two devices wants them on one, as an operation of torch does."""
    brings = BRINGS.format(use=use, kept="self.rows = bell(size, 1.5)")
    assert project({"makes.py": MAKES, "meets.py": MEETS, "a.py": brings})["a.py"] == {(12, "TDL101")}


@pytest.mark.parametrize("use", ["project", "checked"])
def test_what_one_file_makes_for_another_and_moves_with_the_module_is_right(project: Files, use: str) -> None:
    brings = BRINGS.format(use=use, kept='self.register_buffer("rows", bell(size, 1.5))')
    assert project({"makes.py": MAKES, "meets.py": MEETS, "a.py": brings})["a.py"] == set()
