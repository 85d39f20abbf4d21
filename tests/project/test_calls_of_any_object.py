"""Calls of methods in other files of a project, where the class of the object is known to nobody but who made it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torchdevlint.config import Settings
from torchdevlint.engine import check_paths

BASE = """\
    import torch

    class ClickModel:
        def __call__(self, y: torch.Tensor) -> torch.Tensor:
            raise NotImplementedError

        def order(self, labels: torch.Tensor):
            ...
    """
CLICKS = """\
    import torch
    from base import ClickModel

    class Positions(ClickModel):
        def __init__(self, seed: int):
            self.generator = torch.Generator().manual_seed(seed)

        def __call__(self, y: torch.Tensor) -> torch.Tensor:
            seen = 1 / (torch.arange(10) + 1)
            return torch.bernoulli(y.float() * seen, generator=self.generator)

        def order(self, ranks: torch.Tensor):
            return ranks.unsqueeze(0) * torch.arange(10)
    """
ROWS = {6, 9, 13}
DATA = """\
    import torch

    class Ratings(torch.utils.data.Dataset):
        def __init__(self, frame):
            self.x, self.y = torch.tensor(frame["x"]), torch.tensor(frame["y"])

        def __getitem__(self, i):
            return self.x[i], self.y[i]
    """
SIMULATOR = """\
    import torch
    from base import ClickModel
    from data import Ratings

    class Simulator:
        def __init__(self, clicks: ClickModel, n: int):
            self.clicks = clicks

        def __call__(self, ratings: Ratings, scores: torch.Tensor):
            x, y = ratings[:]
            best = torch.argsort(-scores)[:, :10]
            y = torch.gather(y, 1, best)
            return x, self.clicks(y), self.clicks.order(y)
    """


def _rows(root: Path, files: dict[str, str], reported: str) -> set[int]:
    for name, text in {"pyproject.toml": "", **files}.items():
        (root / name).write_text(textwrap.dedent(text))
    run = check_paths([str(root / reported)], Settings(root=root))
    assert not run.problems
    return {each.span.row for each in run.diagnostics}


def test_an_object_that_nobody_is_seen_to_use_is_for_users(tmp_path: Path) -> None:
    assert _rows(tmp_path, {"base.py": BASE, "clicks.py": CLICKS}, "clicks.py") == ROWS


@pytest.mark.parametrize(
    ("was", "by", "rows"),
    [
        pytest.param("", "", set(), id="rows of a data set"),
        pytest.param("torch.gather(y, 1, best)", "y[best]", set(), id="some of its rows"),
        pytest.param("ratings[:]", "ratings[0]", set(), id="one row"),
        pytest.param("ratings[:]", "[each.cuda() for each in ratings[:]]", ROWS, id="rows that are moved"),
        pytest.param("torch.gather(y, 1, best)", "best", ROWS, id="an argument"),
        pytest.param("ratings: Ratings", "ratings", ROWS, id="rows of anything"),
        pytest.param("clicks: ClickModel", "clicks: 'ClickModel'", ROWS, id="a class in quotes, a gap"),
        pytest.param("clicks: ClickModel", "clicks: torch.nn.Module", ROWS, id="another class"),
    ],
)
def test_who_calls_a_method_of_the_base_calls_what_overrides_it(
    tmp_path: Path, was: str, by: str, rows: set[int]
) -> None:
    simulator = SIMULATOR.replace(was, by) if was else SIMULATOR
    files = {"base.py": BASE, "clicks.py": CLICKS, "data.py": DATA, "simulator.py": simulator}
    assert _rows(tmp_path, files, "clicks.py") == rows


@pytest.mark.parametrize(("name", "rows"), [("train_dataset", set()), ("dset", set()), ("ratings", ROWS)])
def test_rows_of_what_is_called_a_data_set(tmp_path: Path, name: str, rows: set[int]) -> None:
    simulator = SIMULATOR.replace("ratings: Ratings", name).replace("ratings[:]", f"{name}[:]")
    simulator = simulator.replace("torch.gather(y, 1, best)", "y[:10]")
    files = {"base.py": BASE, "clicks.py": CLICKS, "data.py": DATA, "simulator.py": simulator}
    assert _rows(tmp_path, files, "clicks.py") == rows


def test_a_base_of_the_same_file_may_be_called_as_well(tmp_path: Path) -> None:
    own = textwrap.dedent(BASE) + textwrap.dedent(CLICKS).replace("import torch\nfrom base import ClickModel\n", "")
    simulator = SIMULATOR.replace("from base", "from clicks")
    assert _rows(tmp_path, {"clicks.py": own}, "clicks.py") != set()
    assert _rows(tmp_path, {"clicks.py": own, "data.py": DATA, "simulator.py": simulator}, "clicks.py") == set()


DETECTORS = """\
    import torch

    class Pca:
        def fit_total(self, features, wanted):
            wanted = wanted.numpy()
            return features.cpu().numpy() @ wanted

    class Mahalanobis(Pca):
        pass

    class Nearest(Pca):
        pass

    class Lof(Pca):
        pass

    def detector(kind):
        if kind == "pca":
            return Pca()
        if kind == "mahalanobis":
            return Mahalanobis()
        if kind == "nearest":
            return Nearest()
        if kind == "lof":
            return Lof()
        return None
    """
USED = """\
    import torch
    import detectors

    class Search:
        def __init__(self, net, options):
            self.net, self.options = net.cuda(), options
            self.detector = detectors.detector(options.kind)

        def features(self, loader: torch.utils.data.DataLoader):
            for images, found in loader:
                return self.net(images.cuda()), found

        def run(self, loader: torch.utils.data.DataLoader):
            features, found = self.features(loader)
            one = detectors.detector(self.options.kind)
            one.fit_total(features, found)
            self.detector.fit_total(features, wanted=found)
    """


@pytest.mark.parametrize(
    ("was", "by", "rows"),
    [
        pytest.param("", "", set(), id="labels of a loader"),
        pytest.param(", found)", ", found.cuda())", {5}, id="labels that one call moves"),
        pytest.param("wanted=found", "wanted=found.cuda()", {5}, id="labels that another one moves"),
        pytest.param("wanted=found", "**self.options.more", set(), id="a call of which nobody knows"),
        pytest.param(".fit_total", ".fit_all", {5}, id="another method"),
    ],
)
def test_a_method_of_one_of_many_objects_goes_by_its_name(tmp_path: Path, was: str, by: str, rows: set[int]) -> None:
    used = USED.replace(was, by) if was else USED
    assert _rows(tmp_path, {"detectors.py": DETECTORS, "used.py": used}, "detectors.py") == rows


@pytest.mark.parametrize(
    ("name", "other"),
    [
        pytest.param("fit", "", id="a word that other objects know"),
        pytest.param("index_add", "", id="a name of tensors"),
        pytest.param("fit_total", "class Other:\n    def fit_total(self, features, wanted): ...\n", id="another class"),
    ],
)
def test_a_name_that_others_have_tells_nothing(tmp_path: Path, name: str, other: str) -> None:
    files = {"detectors.py": DETECTORS, "used.py": USED, "other.py": other}
    files = {path: text.replace("fit_total", name) for path, text in files.items()}
    assert _rows(tmp_path, files, "detectors.py") == {5}
