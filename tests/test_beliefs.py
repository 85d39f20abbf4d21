"""What is believed of expressions: kinds, places, branches, loops, calls, and the reasons for what is not known."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from zlib import crc32

import pytest

from tests.casefile import Case, read_cases
from tests.conftest import ROOT, python
from torchdevlint import beliefs, engine
from torchdevlint.beliefs import Beliefs
from torchdevlint.config import Settings
from torchdevlint.model import Belief

HEAD = "import torch\nfrom torch import nn\nimport helpers\n"
CPU = "the CPU (default device)"
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 4)

    def forward(self, x):
        return self.fc(x)
"""


def believed(text: str) -> Beliefs:
    return beliefs.of_bytes((HEAD + dedent(text)).encode(), "program.py", Settings())


def last(text: str, code: str) -> Belief:
    """What is believed where this code stands for the last time."""
    found = [each for each in believed(text).all if each.text == code]
    assert found, f"nothing is believed of {code}"
    return found[-1]


@pytest.mark.parametrize(
    ("text", "code", "kind", "description", "device"),
    [
        ("x = torch.zeros(3)", "x", "tensor", f"a tensor of 1 dimension on {CPU}", CPU),
        ("x = torch.zeros(3, 4).cuda()", "x", "tensor", "a tensor of 2 dimensions on cuda", "cuda"),
    ],
)  # fmt: skip
def test_kinds_and_places(text: str, code: str, kind: str, description: str, device: str | None) -> None:
    belief = last(text, code)
    assert (belief.kind, belief.description, belief.device) == (kind, description, device)


def test_nothing_is_said_of_why_where_all_is_known() -> None:
    assert last("x = torch.zeros(3)", "x").unknown_because is None


def test_a_name_is_followed_to_the_call_that_nothing_is_known_of() -> None:
    belief = last("batch = helpers.make(3)\ny = batch.foo", "y")
    assert belief.kind == "unknown"
    assert belief.unknown_because is not None
    assert "`helpers.make()` is of a library that is not known (`helpers`)" in belief.unknown_because.message
    assert belief.unknown_because.span.row == 4


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("def f(x):\n    return x", "x", "`x` is an argument of `f`, and nothing says what it is"),
        (
            "x = torch.zeros(3)\nif helpers.a:\n    y = x.cuda()\nelse:\n    y = x\nprint(y)",
            "y",
            "the arms of the `if` in line 5 disagree on `y`: cuda (line 6), the CPU (default device) (line 8)",
        ),
        ("def f():\n    return 1\n    x = helpers", "x", "no path comes to line 6"),
        ("f = lambda a: a", "a", "nothing here calls the lambda"),
        ("for x in helpers.make():\n    print(x)", "x", "`x` is what `helpers.make()` gives"),
        ("model = helpers.make()\nmodel = model.foo", "model", "`helpers.make()` is of a library that is not known"),
    ],
)
def test_the_reason_names_what_ended_the_knowledge(text: str, code: str, words: str) -> None:
    belief = last(text, code)
    assert belief.unknown_because is not None
    assert words in belief.unknown_because.message


def test_the_rounds_of_a_loop_and_the_calls_of_a_function_are_told() -> None:
    rounds = last("h = torch.zeros(3)\nfor i in range(3):\n    h = h.cuda()", "h")
    assert [each.when for each in rounds.alternatives] == ["in the first round", "in later rounds"]
    calls = last("def f(x):\n    return x\nf(torch.zeros(3))\nf(torch.zeros(3).cuda())", "x")
    assert {(each.when, each.device) for each in calls.alternatives} == {
        ("as line 6 calls it", CPU),
        ("as line 7 calls it", "cuda"),
    }


def test_a_module_is_where_its_parameters_are_and_its_forward_tells_the_story() -> None:
    assert last(NET + "net = Net().cuda()", "net").description == "a `Net`, its parameters on cuda"
    assert last(NET, "x").device == "the model's device"


def sampled(one_of: int) -> list[Case]:
    """Cases of every rule: the first of each, and one of so many others, by the checksum of its name."""
    cases = [case for case in read_cases() if case.rule not in ("TDL901", "TDL903")]
    first = {case.rule: case.id for case in reversed(cases)}
    return [case for case in cases if case.id == first[case.rule] or crc32(case.id.encode()) % one_of == 0]


def test_nothing_raises_and_nothing_is_found_otherwise_when_all_is_recorded() -> None:
    settings, told = Settings(preview=True), 0
    for case in sampled(one_of=16):
        data = case.code.encode()
        result, held = beliefs.with_findings(data, "case.py", settings)
        assert result == engine.check_bytes(data, "case.py", settings), case.id
        told += len(held.all) if held is not None else 0
    assert told > 5_000


def test_where_a_comment_asks_the_other_findings_stay() -> None:
    (case,) = [case for case in read_cases() if case.rule == "TDL004"][:1]
    data = case.code.encode()
    asked = engine.check_bytes(data + b"\nlast = 1  # torchdevlint: reveal\n", "case.py", Settings())
    plain = engine.check_bytes(data + b"\nlast = 1\n", "case.py", Settings())
    assert len(asked.diagnostics) == len(plain.diagnostics) + 1
    assert tuple(each for each in asked.diagnostics if not each.is_answer) == plain.diagnostics


TELL_ALL = """
from tests.test_beliefs import sampled
from torchdevlint import beliefs
from torchdevlint.config import Settings
from torchdevlint.report.beliefs import render
for case in sampled(one_of=1000):
    held = beliefs.of_bytes(case.code.encode(), "case.py", Settings())
    print(render(held.all, "case.py", held.lines(), 100, color=False))
"""


@pytest.mark.slow
def test_what_is_told_does_not_hang_on_the_order_of_sets() -> None:
    first, second = (python("-c", TELL_ALL, PYTHONHASHSEED=seed, PYTHONPATH=str(ROOT)).stdout for seed in "12")
    assert first == second
    assert first.count("unknown because") > 50


def test_a_cell_of_a_notebook_is_asked_for_by_its_number(tmp_path: Path) -> None:
    cells = [{"cell_type": "code", "source": each, "metadata": {}} for each in ("import torch", "x = torch.ones(2)")]
    data = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}).encode()
    (belief,) = beliefs.of_bytes(data, str(tmp_path / "a.ipynb"), Settings()).at(1, cell=2)
    assert (belief.text, belief.cell, belief.span.row) == ("x", 2, 1)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("print(x + y, len(x))", ["x + y", "len(x)"]),
        ("x.sum().backward()", ["x.sum()"]),
        ("print()", ["print()"]),
        ("print(3)", ["print(3)"]),
        ("z = x.add(y)", ["z"]),
    ],
)
def test_of_a_line_that_gives_none_its_parts_are_told(line: str, told: list[str]) -> None:
    held = believed(f"x = torch.zeros(3, requires_grad=True)\ny = x.cuda()\n{line}\n")
    assert [each.text for each in held.at(HEAD.count("\n") + 3)] == told


def test_places_in_other_files_are_named_as_the_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts.py").write_text(
        "from torch.utils.data import DataLoader\n\ndef make():\n    return DataLoader([])\n"
    )
    data = b"import torch\nimport parts\nx = parts.make()\n"
    (tmp_path / "train.py").write_bytes(data)
    for filename in ("train.py", str(tmp_path / "train.py")):
        (belief,) = beliefs.of_bytes(data, filename, Settings()).at(3)
        assert [note.span.file for note in belief.notes] == [filename.replace("train", "parts")]
