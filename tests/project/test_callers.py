"""What callers in other files of a project tell of a function: where its arguments are, and the default device."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from torchdevlint.cache import Cache
from torchdevlint.config import Settings
from torchdevlint.engine import check_paths

HELPERS = """\
    import torch

    def spread(weights: torch.Tensor, other=None):
        return torch.arange(3) * weights.unsqueeze(0)

    class Table:
        def look(self, rows: torch.Tensor):
            return torch.ones(3) * rows.unsqueeze(0)
    """
ROWS = {4, 8}
LOADS = """\
    import torch
    from helpers import Table, spread

    def prepare(path):
        rows = torch.zeros(3)
        Table().look(rows)
        return spread(rows)
    """


class Project:
    """A project on disk: ``project(**{"a.py": text})`` adds files and gives the reported rows of ``helpers.py``."""

    def __init__(self, root: Path) -> None:
        self.root = root / "code"
        self.root.mkdir()
        (self.root / "pyproject.toml").write_text("")
        self.cache = root / "kept"
        self.write({"helpers.py": HELPERS})

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))

    def __call__(self, files: dict[str, str] | None = None) -> set[int]:
        """Without kept results, with an empty cache, and with what that holds: three times the same."""
        self.write(files or {})
        found = [self.lint(cached=False), self.lint(cached=True), self.lint(cached=True)]
        assert found[0] == found[1] == found[2]
        return found[0]

    def lint(self, cached: bool) -> set[int]:
        helpers = str(self.root / "helpers.py")
        settings = Settings(root=self.root)
        if not cached:
            run = check_paths([helpers], settings)
        else:
            with Cache(self.cache) as cache:
                run = check_paths([helpers], settings, cache=cache)
        assert not run.problems
        return {each.span.row for each in run.diagnostics}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_function_that_nobody_calls_is_for_others(project: Project) -> None:
    assert project() == ROWS


def test_all_callers_give_tensors_of_the_cpu(project: Project) -> None:
    assert project({"loads.py": LOADS}) == set()


def test_another_argument_on_an_accelerator_changes_nothing(project: Project) -> None:
    text = LOADS.replace("spread(rows)", "spread(rows, torch.ones(3, device='cuda'))")
    assert project({"loads.py": text}) == set()


def test_one_caller_gives_one_of_an_accelerator(project: Project) -> None:
    moved = """\
        import torch
        import helpers

        def train(device):
            return helpers.spread(torch.ones(3).to(device))
        """
    assert project({"loads.py": LOADS, "train.py": moved}) == {4}


@pytest.mark.parametrize(
    ("between", "imports"),
    [
        ({"package/__init__.py": "from helpers import spread, Table\n"}, "from package import Table, spread"),
        ({"package/__init__.py": "from helpers import *\n"}, "from package import (\n        Table, spread,\n    )"),
        ({}, "import helpers\n    spread, Table = helpers.spread, helpers.Table"),
        ({"package/__init__.py": ""}, "from helpers import spread as spread, \\\n        Table"),
    ],
    ids=["re-export", "star", "module", "continued"],
)
def test_however_it_is_imported(project: Project, between: dict[str, str], imports: str) -> None:
    text = LOADS.replace("from helpers import Table, spread", imports)
    assert project({**between, "loads.py": text}) == set()


def test_a_module_with_the_same_name_is_another_one(project: Project) -> None:
    text = LOADS.replace("from helpers import", "from package.helpers import")
    files = {"package/__init__.py": "", "package/helpers.py": "def spread(x): ...\n\n\nclass Table: ...\n"}
    assert project({**files, "loads.py": text}) == ROWS


def test_a_program_that_knows_no_accelerator_calls_it_with_what_it_reads(project: Project) -> None:
    program = """\
        import pickle
        from helpers import Table, spread

        def main(path):
            rows = pickle.load(open(path, "rb"))
            print(spread(rows), Table().look(rows))

        if __name__ == "__main__":
            main("rows.pickle")
        """
    assert project({"show.py": program}) == set()
    assert project({"show.py": program.replace('"rows.pickle"', '"rows.pickle")  # on the GPU (')}) == ROWS


def test_modules_that_are_no_programs_hand_on_what_they_are_given(project: Project) -> None:
    library = """\
        from helpers import Table, spread

        def loss(weights, rows):
            return spread(weights) + Table().look(rows)
        """
    assert project({"losses.py": library}) == ROWS


@pytest.mark.parametrize(
    ("call", "rows"),
    [
        ("set_default_device('cuda')", set()),
        ("set_default_tensor_type(torch.cuda.FloatTensor)", set()),
        ("set_default_device(device)", set()),
        ("set_default_device('cpu')", ROWS),
        ("set_default_tensor_type(torch.DoubleTensor)", ROWS),
    ],
)
def test_the_default_that_a_program_sets_is_that_of_what_it_imports(
    project: Project, call: str, rows: set[int]
) -> None:
    middle = "from helpers import spread\n\n\ndef step(x):\n    return spread(x)\n"
    program = f"import torch\nfrom middle import step\n\n\ndef main(device):\n    torch.{call}\n    step(1)\n"
    assert project({"middle.py": middle, "main.py": program}) == rows


@pytest.mark.parametrize(
    ("call", "rows"), [("set_default_tensor_type('torch.cuda.FloatTensor')", set()), ("set_num_threads(1)", {6})]
)
def test_the_weight_of_a_loss_is_made_on_the_default_that_a_program_sets(
    project: Project, call: str, rows: set[int]
) -> None:
    losses = """\
        import torch
        from torch import nn

        class Weighted:
            def loss(self, output: torch.Tensor, target: torch.Tensor):
                weighted = nn.CrossEntropyLoss(weight=torch.ones(3))
                return weighted(output, target.long())
        """
    program = f"""\
        import torch
        from helpers import Weighted

        def main(x, y):
            torch.{call}
            Weighted().loss(x, y)
        """
    assert project({"helpers.py": losses, "main.py": program}) == rows


def test_the_default_that_a_part_of_a_library_sets_is_not_that_of_all_its_users(project: Project) -> None:
    part = "import torch\nfrom helpers import spread\n\n\ndef worker():\n    torch.set_default_device('cuda')\n"
    assert project({"part.py": part, "api.py": "import part\n"}) == ROWS


def test_kept_results_follow_who_calls(project: Project) -> None:
    assert project() == ROWS
    assert project({"loads.py": LOADS}) == set()
    assert project({"loads.py": LOADS.replace("zeros(3)", "zeros(3).cuda()")}) == ROWS
    (project.root / "loads.py").unlink()
    assert project() == ROWS


@pytest.mark.parametrize(
    ("name", "rows"), [("tests/loads.py", ROWS), ("test_loads.py", ROWS), ("loads_test.py", set())]
)
def test_tests_say_nothing_of_other_users(project: Project, name: str, rows: set[int]) -> None:
    text = LOADS + ("\n    def test_it(): ...\n" if name.startswith("test_") else "")
    assert project({name: text}) == rows


def test_a_caller_that_cannot_be_parsed_says_nothing(project: Project) -> None:
    assert project({"loads.py": LOADS + "\n    def broken(:\n"}) == ROWS


def test_a_chain_of_helpers_begins_in_a_program(project: Project) -> None:
    chain = {
        "experiments.py": "from helpers import Table, spread\n\n\ndef run(x):\n    return spread(x), Table().look(x)\n",
        "table.py": "import experiments\n\nTABLE = {'run': experiments.run}\n",
        "show.py": "import pickle\nfrom table import TABLE\n\nprint(TABLE['run'](pickle.load(open('x', 'rb'))))\n",
    }
    assert project(chain) == set()
    (project.root / "show.py").unlink()
    assert project() == ROWS


def test_what_a_program_imports_may_place_tensors(project: Project) -> None:
    program = "from helpers import Table, spread\nfrom read import rows\nprint(spread(rows()))\nTable().look(rows())\n"
    asks = "import torch\n\n\ndef rows():\n    torch.cuda.manual_seed_all(1)\n    return READ[0]\n"
    assert project({"show.py": program, "read.py": asks}) == set()
    assert project({"read.py": asks + "import deep\n", "deep.py": "def place(x):\n    return x.cuda()\n"}) == ROWS


def test_callers_hand_on_what_others_give_them(project: Project) -> None:
    middle = """\
        from helpers import Table, spread

        def build(rows):
            return spread(rows), Table().look(rows)
        """
    made = "import torch\nfrom middle import build\n\n\ndef targets(sizes):\n    return build(torch.tensor(sizes))\n"
    assert project({"middle.py": middle, "data.py": made}) == set()
    moved = "from middle import build\n\n\ndef step(rows, device):\n    return build(rows.to(device))\n"
    assert project({"train.py": moved}) == ROWS


def test_callers_read_the_same_tensor_with_numpy(project: Project) -> None:
    read = """\
        from helpers import Table, spread

        def send(part):
            return spread(part), Table().look(part), part.numpy()
        """
    assert project({"send.py": read}) == set()
    assert project({"send.py": read.replace("part.numpy()", "part.cpu().numpy()")}) == ROWS


READS = """\
    import torch

    def overlap(found, wanted):
        found = found.numpy() > 0.5
        return (found & wanted.numpy()).sum()

    def kept(found):
        if found.is_cuda:
            found = found.cpu()
        return found.numpy()

    def _private(found):
        return found.numpy()
    """
MEASURES = """\
    import torch
    from helpers import _private, kept, overlap

    def measure(net, loader, device):
        net.to(device)
        for image, wanted in loader:
            found = net(image.to(device))
            print(kept(found), _private(found), overlap({found}, wanted))
    """


@pytest.mark.parametrize(("found", "rows"), [("found", {4}), ("found.cpu()", set())])
def test_what_numpy_reads_is_where_callers_put_it(project: Project, found: str, rows: set[int]) -> None:
    assert project({"helpers.py": READS, "measures.py": MEASURES.format(found=found)}) == rows


def test_what_numpy_reads_is_where_users_put_it_where_nobody_calls(project: Project) -> None:
    assert project({"helpers.py": READS}) == {4, 5}
    labels = READS.replace("wanted", "labels").replace("(found", "(batch").replace("found.numpy", "batch.numpy")
    assert project({"helpers.py": labels}) == set()


def test_one_of_several_callers_gives_numpy_what_is_on_an_accelerator(project: Project) -> None:
    files = {"right.py": MEASURES.format(found="found.cpu()"), "wrong.py": MEASURES.format(found="found")}
    assert project({"helpers.py": READS, **files}) == {4}


def test_a_transform_that_other_files_compose(project: Project) -> None:
    transform = """\
        import torch

        class Cutout:
            def __call__(self, image):
                return self.cut(image * torch.ones(image.size(1), 3))

            def cut(self, image: torch.Tensor):
                return image.unsqueeze(0) * torch.ones(3)

        class Compose:
            def __init__(self, steps):
                self.steps = steps
        """
    composed = (
        "import torchvision.transforms as T\nimport helpers\n\nALL = T.Compose([T.ToTensor(), helpers.Cutout()])\n"
    )
    own = "import helpers\n\nALL = helpers.Compose([helpers.Cutout()])\n"
    used = "from helpers import Cutout\n\n\ndef step(images, device):\n    return Cutout()(images.to(device))\n"
    assert project({"helpers.py": transform}) == {5, 8}
    assert project({"data.py": composed}) == set()
    assert project({"data.py": own}) == set()
    assert project({"train.py": used}) == {5, 8}


POLICY = """\
    from torch import nn

    class Policy(nn.Module):
        def act(self, state):
            return state.to(self.device)
    """


@pytest.mark.parametrize(
    ("maker", "reported"),
    [
        ("policy = Policy()\n    policy.device = device\n", set()),
        ("agent.policies[0].device = device\n", set()),
        ("self.policy.device = device\n", set()),
        ("policy = Policy()\n    assert policy.device == device\n", {5}),
        ("self.device = device\n", {5}),
        ("policy = Policy()\n", {5}),
        ("pass\n\nclass Own(Policy):\n    def __init__(self, device):\n        self.device = device\n", set()),
        ("pass\n\nclass Own(Policy):\n    def __init__(self, device):\n        self.place = device\n", {5}),
    ],
)
def test_who_makes_a_module_may_give_it_a_device(tmp_path: Path, maker: str, reported: set[int]) -> None:
    found = tmp_path / "policy.py"
    found.write_text(textwrap.dedent(POLICY))
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(f"from policy import Policy\n\ndef make(self, agent, device):\n    {maker}")
    run = check_paths([str(found)], Settings(root=tmp_path, select=("TDL107",)))
    assert {each.span.row for each in run.diagnostics} == reported


RANKS = """import numpy as np
import torch

def ranks(images, sentences, n, order=False, use_gpu=False):
    for index in range(n):
        one = images[index]
        one = one.reshape((1,) + one.shape)
        if use_gpu:
            scores = one.mm(sentences.t()).view(-1)
        elif order:
            scores = (torch.Tensor(one).cuda() - torch.Tensor(sentences).cuda()).cpu().numpy()
        else:
            scores = np.dot(one, sentences.T).flatten()
    return scores
"""
EVALUATION = """import numpy as np
import torch
from ranks import ranks

def main(args):
    queries = torch.zeros(3, 3).cuda() if args.on_gpu else np.zeros((3, 3))
    print(ranks(queries, queries, 5, use_gpu=args.on_gpu))
"""


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param(" if args.on_gpu else np.zeros((3, 3))", set(), id="an array by the same switch"),
        pytest.param("", {13}, id="a tensor of the GPU in any case"),
    ],
)
def test_what_numpy_reads_is_a_tensor_for_all_that_callers_say(tmp_path: Path, other: str, expected: set[int]) -> None:
    evaluation = EVALUATION.replace(" if args.on_gpu else np.zeros((3, 3))", other)
    for name, text in {"pyproject.toml": "", "ranks.py": RANKS, "evaluation.py": evaluation}.items():
        (tmp_path / name).write_text(text)
    run = check_paths([str(tmp_path / "ranks.py")], Settings(root=tmp_path, select=("TDL006",)))
    assert {each.span.row for each in run.diagnostics} == expected


@pytest.mark.parametrize(
    ("asks", "reported"),
    [("n = torch.zeros(1, device=weights.device)", {5}), ("n = len(weights)", set())],
    ids=["asked for its device", "asked for its length"],
)
def test_one_caller_gives_what_nobody_knows_and_the_function_asks_for_its_place(
    project: Project, asks: str, reported: set[int]
) -> None:
    helpers = f"""\
        import torch

        def spread(weights: torch.Tensor):
            {asks}
            return torch.arange(3) * weights.unsqueeze(0), n
        """
    loads = """\
        import store
        import torch
        from helpers import spread

        def prepare():
            rows = torch.as_tensor([1.0])
            spread(rows)
            return spread(store.masks())
        """
    assert project({"helpers.py": helpers, "loads.py": loads}) == reported
