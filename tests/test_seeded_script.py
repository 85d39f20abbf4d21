"""Seeded bugs: what each kind makes of right code, whether the linter notices, and how recall is counted."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SEEDED = ROOT / "benchmarks" / "seeded"
sys.path[:0] = [str(ROOT / "scripts"), str(SEEDED)]

import results  # noqa: E402
from kinds import KINDS, File  # noqa: E402
from prove import moved_back  # noqa: E402

HEAD = "import torch\nimport torch.nn as nn\n"


def changed(kind: str, line: str) -> list[str]:
    """The line after each bug of the kind that can be put into it."""
    data = (HEAD + line).encode()
    return [seed.applied(data).decode()[len(HEAD) :] for seed in KINDS[kind](File(data))]


@pytest.mark.parametrize(
    ("kind", "line", "expected"),
    [
        ("factory", "torch.zeros(3, device=d)", "torch.zeros(3)"),
        ("factory", "torch.zeros(device=d, size=(3,))", "torch.zeros(size=(3,))"),
        ("factory", "torch.tensor([1.0], dtype=t, device=x.device)", "torch.tensor([1.0], dtype=t)"),
        ("like", "torch.zeros_like(x)", "torch.zeros(x.shape)"),
        ("like", "torch.full_like(x, 2, device=d)", "torch.full(x.shape, 2)"),
        ("like", "x.new_zeros(3, dtype=t)", "torch.zeros(3, dtype=t)"),
        ("buffer", "self.register_buffer('a', t, persistent=False)", "self.a = t"),
        ("buffer", "self.register_buffer('a', tensor=t)", "self.a = t"),
        ("container", "nn.ModuleList([a, b])", "[a, b]"),
        ("container", "nn.ModuleList(layers(3))", "list(layers(3))"),
        ("container", "torch.nn.ModuleDict()", "{}"),
        ("numpy", "x.detach().cpu().numpy()", "x.detach().numpy()"),
        ("result", "x = x.to(device)", "x.to(device)"),
        ("result", "b['x'] = b['x'].cuda()", "b['x'].cuda()"),
        ("move", "f(x.to(device))", "f(x)"),
        ("move", "x = x.cuda()", "pass"),
        ("map_location", "torch.load(p, map_location='cpu')", "torch.load(p)"),
        ("prefix", "model.module.state_dict()", "model.state_dict()"),
        ("literal", "torch.ones(3, device=x.device)", 'torch.ones(3, device="cuda")'),
        ("literal", "y.to(x.device)", 'y.to("cuda")'),
    ],
)
def test_a_kind_undoes_what_is_right(kind: str, line: str, expected: str) -> None:
    assert changed(kind, line) == [expected]


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("factory", "np.zeros(3, device=d)"),
        ("factory", "torch.zeros(3, device='cuda')"),
        ("factory", "torch.zeros(3)"),
        ("like", "np.zeros_like(x)"),
        ("buffer", "self.register_buffer(name, t)"),
        ("buffer", "self.register_buffer('a', None)"),
        ("container", "ModuleList([a])"),
        ("numpy", "x.numpy()"),
        ("result", "model = model.to(device)"),
        ("result", "x = x.to(torch.float64)"),
        ("result", "x = y.to(device)"),
        ("move", "x.to(device)"),
        ("map_location", "pickle.load(p, map_location='cpu')"),
        ("prefix", "self.module.state_dict()"),
        ("literal", "torch.ones(3, device=self.device)"),
    ],
)
def test_what_is_none_of_a_kind_is_left_alone(kind: str, line: str) -> None:
    assert changed(kind, line) == []


def test_a_name_that_a_file_does_not_have_is_not_written() -> None:
    line = b"from torch import zeros_like\nx.new_zeros(3), zeros_like(x)\n"
    assert list(KINDS["like"](File(line))) == []
    assert len(list(KINDS["like"](File(b"import torch.nn\n" + line)))) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_every_other_line_stays_where_it_is(kind: str) -> None:
    lines = [
        "f(torch.zeros(\n    3,\n    device=d,\n))",
        "f(torch.zeros_like(\n    x,\n))",
        "self.register_buffer(\n    'a',\n    f(\n        t),\n)",
        "f(nn.ModuleList(\n    [a,\n     b]\n))",
        "f(x\n  .cpu()\n  .numpy())",
        "x = x.to(\n    device\n)",
        "f(torch.load(\n    p,\n    map_location=d,\n))",
        "(model\n .module\n .state_dict())",
        "f(y.to(\n    x\n    .device\n))",
    ]
    found = 0
    for line in lines:
        for after in changed(kind, f"{line}\nlast()"):
            found += 1
            assert ast.parse(after).body[-1].lineno == line.count("\n") + 2, after
    assert found


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A pinned release in a cache, with one bug that is noticed when it is seeded, and one that is not."""
    root = tmp_path / "cache" / "src" / "accelerate-1.0.1"
    (root / "tests").mkdir(parents=True)
    noticed = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x + torch.zeros(3, device=x.device)\n"
    missed = "import torch\n\n\ndef g(d):\n    return h(torch.ones(3, device=d))\n"
    (root / "model.py").write_text(f"{noticed}\n\n{missed.split('import torch')[1].strip()}\n", encoding="utf-8")
    (root / "tests" / "model.py").write_text(noticed, encoding="utf-8")
    (root / "broken.py").write_text("import torch\ndef f(:\n", encoding="utf-8")
    return root


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SEEDED / "run.py"), *arguments, "--data", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_seeds_are_scored_stored_listed_and_put_on_the_page(package: Path, tmp_path: Path) -> None:
    cache = ("--cache", str(tmp_path / "cache"), "--kind", "factory", "--jobs", "1")
    done = run(tmp_path, "update", "accelerate==1.0.1", "--pinned", *cache)
    assert done.returncode == 0, done.stderr
    assert "factory 2 1 50% 0 0 -" in " ".join(done.stdout.split())
    rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    found = [(row["path"], row["row"], row["codes"]) for row in rows]
    assert found == [("model.py", 5, ["TDL014"]), ("model.py", 9, [])]
    listed = run(tmp_path, "misses")
    assert "model.py:9:factory" in listed.stdout
    assert "+ return h(torch.ones(3))" in listed.stdout
    assert "missed: 1" in listed.stdout
    page = tmp_path / "page.md"
    page.write_text("<!-- seeded:begin -->\n<!-- seeded:end -->\n", encoding="utf-8")
    assert run(tmp_path, "table", "--page", str(page), "--check").returncode == 1
    assert run(tmp_path, "table", "--page", str(page)).returncode == 0
    assert "| factory | 2 | 1 | 50% |" in page.read_text(encoding="utf-8")
    assert run(tmp_path, "table", "--page", str(page), "--check").returncode == 0


def test_a_bug_is_proved_where_the_right_code_passes_and_the_changed_code_fails(package: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (package / "model.py").write_text(
        "import torch\n\n\n"
        "def f(x: torch.Tensor):\n    return x + torch.zeros(x.shape, device=x.device)\n\n\n"
        "def g(d: torch.device):\n    return helper(torch.ones(3, device=d))\n\n\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.put(scale=torch.ones(3))\n\n"
        "    def put(self, **given):\n"
        "        for name, each in given.items():\n"
        "            self.register_buffer(name, each)\n\n"
        "    def forward(self, x: torch.Tensor):\n"
        "        return x * self.scale + torch.ones(3, device=x.device)\n",
        encoding="utf-8",
    )
    cache = ("--cache", str(tmp_path / "cache"), "--kind", "factory")
    assert run(tmp_path, "update", "accelerate==1.0.1", "--pinned", "--jobs", "1", *cache).returncode == 0
    done = run(tmp_path, "prove", *cache, "--seconds", "20", "--most-seconds", "60")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "proved.jsonl").read_text(encoding="utf-8").splitlines()]
    told = {int(row["key"].split(":")[1]): row["verdict"] for row in rows}
    assert told == {5: "proved", 9: "could not be run", 22: "proved"}, done.stderr
    assert "3 bugs: 2 are proved" in done.stdout
    page = tmp_path / "page.md"
    page.write_text("<!-- seeded:begin -->\n<!-- seeded:end -->\n", encoding="utf-8")
    assert run(tmp_path, "table", "--page", str(page)).returncode == 0
    assert "| 2 | 2 |\n" in page.read_text(encoding="utf-8")


def test_a_region_of_a_changed_file_is_found_where_it_was() -> None:
    data = HEAD.encode() + "é = torch.zeros(3, device=d) + 1\nx = x.to(device)\n".encode()
    file = File(data)
    (of_factory,), (of_result,) = list(KINDS["factory"](file)), list(KINDS["result"](file))
    assert moved_back(of_factory, data, [3, 5, 3, 19]) == [3, 5, 3, 29]
    assert moved_back(of_factory, data, [3, 22, 3, 23]) == [3, 32, 3, 33]
    assert moved_back(of_result, data, [4, 1, 4, 13]) == [4, 5, 4, 17]


def test_a_verdict_needs_a_reason(package: Path, tmp_path: Path) -> None:
    verdict = {"key": "a", "kind": "factory", "verdict": "real", "reason": " "}
    (tmp_path / "judged.jsonl").write_text(json.dumps(verdict), encoding="utf-8")
    cache = ("--cache", str(tmp_path / "cache"), "--kind", "factory", "--jobs", "1")
    done = run(tmp_path, "score", "accelerate==1.0.1", "--pinned", *cache)
    assert done.returncode == 2
    assert "a has no verdict" in done.stderr


def test_the_corrected_recall_counts_the_misses_that_are_real() -> None:
    def judged(verdict: str) -> results.Verdict:
        return results.Verdict("key", "factory", verdict, "read")

    assert results.corrected(6, 4, [judged("real"), judged("none")]) == pytest.approx(6 / 8)
    assert results.corrected(6, 4, []) is None
    assert results.corrected(6, 0, []) == 1.0


def test_the_page_agrees_with_the_stored_rows() -> None:
    done = subprocess.run(
        [sys.executable, str(SEEDED / "run.py"), "table", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
