"""The examples are programs: they run on the CPU, and the linter finds in each what its author put there."""

from __future__ import annotations

import json

import pytest

from tests.conftest import ROOT, Program, python

EXAMPLES = ROOT / "examples"
BUGS = {
    "char_rnn.py": ["TDL003"],
    "checkpoint_tool.py": ["TDL201", "TDL201"],
    "multi_gpu.py": ["TDL202", "TDL301", "TDL302"],
    "train_classifier.py": ["TDL001", "TDL002"],
}
ARGUMENTS = {"checkpoint_tool.py": ["first.pt", "second.pt", "--out", "mean.pt"]}
PROGRAM = """
import runpy, sys, torch
def main(device):
    weights = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)).state_dict()
    torch.save(weights, "first.pt")
    torch.save({{"model": weights}}, "second.pt")
    sys.argv = {argv!r}
    runpy.run_path({path!r}, run_name="__main__")
"""


def test_every_example_is_described_and_expected() -> None:
    programs = {path.name for path in EXAMPLES.glob("*.py")}
    assert programs == set(BUGS)
    described = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [name for name in sorted(programs) if f"`{name}`" not in described] == []


def test_the_linter_finds_the_bugs_and_nothing_else() -> None:
    done = python("-m", "torchdevlint", "check", "--isolated", "--no-cache", "--output-format", "json", "examples/")
    assert done.returncode == 1, done.stderr
    found: dict[str, list[str]] = {}
    for one in json.loads(done.stdout):
        found.setdefault(one["filename"].removeprefix("examples/"), []).append(one["code"])
    assert {name: sorted(codes) for name, codes in found.items()} == BUGS


@pytest.mark.parametrize("name", sorted(BUGS))
def test_it_runs_on_the_cpu(name: str, run_program: Program) -> None:
    argv = [name, *ARGUMENTS.get(name, [])]
    answer = run_program(PROGRAM.format(argv=argv, path=str(EXAMPLES / name)), "cpu")
    assert answer["outcome"] == "ok", answer
