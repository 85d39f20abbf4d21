"""Whole verdicts: findings of every execution mode, executed on simulated accelerators, rung by rung."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

torch = pytest.importorskip("torch", reason="what was flagged is executed with torch")

from tests import forked  # noqa: E402
from tests.conftest import a_part  # noqa: E402
from tests.forked import python  # noqa: E402
from tests.runtime import snippets  # noqa: E402
from tests.runtime.execute.bench import Bench, by_hand  # noqa: E402
from torchdevlint.model import Diagnostic  # noqa: E402
from torchdevlint.rules import EXECUTIONS, by_code  # noqa: E402
from torchdevlint.runtime.backends import CPU, SIMULATED, Backend, Device, Machine  # noqa: E402
from torchdevlint.runtime.child import Limits  # noqa: E402
from torchdevlint.runtime.verify import Order, verify  # noqa: E402
from torchdevlint.runtime.verify.command import by_command  # noqa: E402
from torchdevlint.runtime.verify.verdict import Judgement, Rung, Verdict, Verified  # noqa: E402

pytestmark = pytest.mark.usefixtures("in_forks")
TORCH = torch.__version__
MACHINE = Machine(
    TORCH,
    "3.x",
    "here",
    (Backend(SIMULATED, "simulated", (Device("as many as are asked for"),)), Backend(CPU, "cpu", ())),
)
ORDER = Order(torch=TORCH, limits=Limits(60.0))
SAME_DEVICE = "RuntimeError: Expected all tensors to be on the same device"
SYNTHESISED, SLICE, EXAMPLE = Rung.SYNTHESISED, Rung.SLICE, Rung.EXAMPLE


@dataclass(frozen=True)
class Expected:
    """What is known of a snippet's only finding, and what its execution has to show."""

    code: str
    rung: Rung
    text: str
    exception: str | None = None
    """How it begins, None if there is none."""
    observed: Mapping[str, Any] | None = None
    inputs: Mapping[str, Any] | None = None


X = {"x": "float32 tensor 8x8 on cuda:0"}
MIXED = {"self": "cuda:0", "other": "cpu"}
STAYED = {"after the statement": "float32 on cpu", "what it made": "float32 on cuda:0"}
HERE = {"x": "float32 tensor 8x8 on cpu", "device": "cuda:0"}
KEYS = {"keys saved": ["module.weight", "module.bias"], "keys expected": ["weight", "bias"]}
ON_CPU = {"x": "float32 tensor 8x8 on cpu"}
DEVICE = {"device": "cuda:0"}
LINEAR = {"model": "nn.Linear(8, 8)"}
ANSWER = {"asked": "device(type='cuda', index=0)", "for": "'cuda'", "answer": False, "right answer": True}
ALL_EIGHT = {"devices seen before": 8, "devices seen after": 8}

CONFIRMED: dict[str, Expected] = {
    "a factory in a function": Expected("TDL014", SYNTHESISED, snippets.FACTORY, SAME_DEVICE, MIXED, X),
    "a factory, sliced": Expected("TDL014", SLICE, snippets.MISSING + snippets.FACTORY, SAME_DEVICE, MIXED, X),
    "a factory in forward": Expected(
        "TDL003", SYNTHESISED, snippets.RNN,
        "RuntimeError: Input and hidden tensors are not at the same device, found input tensor at cuda:0",
        {"input": "cuda:0", "hidden": "cpu"}, {"width": "8", "x": "float32 tensor 8x8x8 on cuda:0"},
    ),
    "a result that is left behind": Expected(
        "TDL003", SYNTHESISED, snippets.LEFT_BEHIND, None, {"result": "cpu", "arguments": "cuda:0"}, X
    ),
    "a result that is left behind, sliced": Expected(
        "TDL003", SLICE, snippets.MISSING + snippets.LEFT_BEHIND, None, {"result": "cpu", "arguments": "cuda:0"}
    ),
    "two literals": Expected("TDL004", SYNTHESISED, snippets.TWO_LITERALS, SAME_DEVICE, MIXED),
    "a batch": Expected(
        "TDL005", SYNTHESISED, snippets.BATCH, SAME_DEVICE, {"self": "cuda:0", "mat1": "cpu"},
        {**LINEAR, "loader": "loader of float32 tensor 8x8 on cpu, int64 tensor 8 on cpu", "device": "cuda:0"},
    ),
    "a batch, sliced": Expected(
        "TDL005", SLICE, snippets.MISSING + snippets.BATCH, SAME_DEVICE, {"self": "cuda:0", "mat1": "cpu"}
    ),
    "numpy": Expected(
        "TDL006", SYNTHESISED, snippets.NUMPY, "TypeError: can't convert cuda:0 device type tensor to numpy.",
        {"self": "cuda:0"}, {**LINEAR, "device": "cuda:0"},
    ),
    "a table that is read with a device's indices": Expected(
        "TDL007", SYNTHESISED, snippets.TABLE, "RuntimeError: indices should be either on cpu or on the same device",
        {"self": "cpu", "indices": "cuda:0"}, DEVICE,
    ),
    "a total": Expected(
        "TDL008", SYNTHESISED, snippets.TOTAL, SAME_DEVICE, {"other": "cuda:0", "self": "cpu"}, {**LINEAR, **DEVICE}
    ),
    "a type of tensors": Expected("TDL009", SYNTHESISED, snippets.LEGACY, SAME_DEVICE, MIXED),
    "a criterion, sliced": Expected(
        "TDL010", SLICE, snippets.MISSING + snippets.CRITERION, SAME_DEVICE, {"self": "cuda:0", "weight": "cpu"}, DEVICE
    ),
    "lengths": Expected(
        "TDL013", SYNTHESISED, snippets.LENGTHS, "RuntimeError: 'lengths' argument should be a 1D CPU int64 tensor",
        {"lengths": "cuda:0"}, DEVICE,
    ),
    "a layer that is made in forward": Expected(
        "TDL105", SYNTHESISED, snippets.BUILT_IN_FORWARD, SAME_DEVICE, {"self": "cpu", "mat1": "cuda:0"}, X
    ),
    "a device that is not handed on": Expected(
        "TDL310", SYNTHESISED, snippets.NOT_HANDED_ON, None, {"result": "cpu", "arguments": "cuda:0"},
        {"size": "8", **DEVICE},
    ),
    "a wrapper around the CPU": Expected(
        "TDL401", SYNTHESISED, snippets.PARALLEL, "RuntimeError: module must have its parameters and buffers on device"
    ),
    "no leaf": Expected(
        "TDL104", SYNTHESISED, snippets.NO_LEAF, "ValueError: can't optimize a non-leaf Tensor", None, DEVICE
    ),
    "no leaf, sliced": Expected(
        "TDL104", SLICE, snippets.MISSING + snippets.NO_LEAF, "ValueError: can't optimize a non-leaf Tensor", None,
        DEVICE,
    ),
    "a Module's device": Expected(
        "TDL107", SYNTHESISED, snippets.NO_DEVICE, "AttributeError: 'Net' object has no attribute 'device'", None,
        ON_CPU,
    ),
    "no device": Expected(
        "TDL303", SYNTHESISED, snippets.NO_SUCH_DEVICE, "RuntimeError: Expected one of cpu, cuda,", None, ON_CPU
    ),
    "the number of no GPU": Expected(
        "TDL304", SYNTHESISED, snippets.NUMBER, "RuntimeError: Device index must not be negative", None, ON_CPU
    ),
    "a device that may be the CPU": Expected(
        "TDL305", SYNTHESISED, snippets.MAYBE_CPU, "RuntimeError: Invalid device, must be cuda device"
    ),
    "a loader that shuffles": Expected(
        "TDL306", SYNTHESISED, snippets.SHUFFLED,
        "RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'",
    ),
    "pinned memory": Expected("TDL309", SYNTHESISED, snippets.PINNED, "RuntimeError: cannot pin 'torch.cuda.Float"),
    "a replica's parameters": Expected(
        "TDL402", SYNTHESISED, snippets.IN_REPLICAS, "StopIteration: Caught StopIteration in replica 0 on device 0."
    ),
    "a gathered loss": Expected(
        "TDL403", SYNTHESISED, snippets.GATHERED, "RuntimeError: grad can be implicitly created only for scalar"
    ),
    "an attribute of the model inside": Expected(
        "TDL406", SYNTHESISED, snippets.WRAPPED_NAMES, "AttributeError: 'DataParallel' object has no attribute 'names'"
    ),
    "another device than the one that is given": Expected(
        "TDL012", SYNTHESISED, snippets.OTHER_DEVICE, SAME_DEVICE, {"self": "cuda:1", "other": "cuda:0"},
        {"x": "float32 tensor 8x8 on cuda:1", "device": "cuda:1"},
    ),
    "an attribute that is not registered": Expected(
        "TDL101", SYNTHESISED, snippets.UNREGISTERED, SAME_DEVICE, MIXED, X
    ),
    "an attribute that is not registered, sliced": Expected(
        "TDL101", SLICE, snippets.MISSING + snippets.UNREGISTERED, SAME_DEVICE, MIXED, X
    ),
    "a dropped move": Expected("TDL001", SYNTHESISED, snippets.DROPPED_MOVE, None, STAYED, HERE),
    "a dropped move, sliced": Expected("TDL001", SLICE, snippets.MISSING + snippets.DROPPED_MOVE, None, STAYED, HERE),
    "a dead loop": Expected(
        "TDL002", SYNTHESISED, snippets.DEAD_LOOP, None, STAYED,
        {"batch": "list of float32 tensor 8x8 on cpu, float32 tensor 8x8 on cpu", "device": "cuda:0"},
    ),
    "a plain list of layers": Expected(
        "TDL102", SYNTHESISED, snippets.PLAIN_LIST, None, {"self.layers: weight": "cpu", "self.layers: bias": "cpu"},
    ),
    "a parameter that was moved": Expected(
        "TDL103", SYNTHESISED, snippets.MOVED_PARAMETER, None, {"self.scale": "is no parameter of the Module"}
    ),
    "a load": Expected(
        "TDL201", SLICE, snippets.LOAD, "RuntimeError: Attempting to deserialize object on a CUDA device but",
        {"with an accelerator": "loads to cuda:0", "without one": "raises"},
    ),
    "a wrapper that is saved": Expected("TDL202", SYNTHESISED, snippets.WRAPPED, None, KEYS, LINEAR),
    "a wrapper that is saved, sliced": Expected(
        "TDL202", SLICE, snippets.MISSING + snippets.WRAPPED, None, KEYS, LINEAR
    ),
    "a test that is never true": Expected("TDL311", SYNTHESISED, snippets.ASKED, None, ANSWER, X),
    "a test that is never true, sliced": Expected("TDL311", SLICE, snippets.MISSING + snippets.ASKED, None, ANSWER, X),
    "an override that gives nothing": Expected(
        "TDL106", SYNTHESISED, snippets.GIVES_NOTHING, None, {"what it gives": "None"}, DEVICE
    ),
    "a variable that comes too late": Expected("TDL301", SLICE, snippets.LATE, None, {"visible": "1", **ALL_EIGHT}),
    "a misspelt variable": Expected("TDL302", SLICE, snippets.MISSPELT, None, {"visible": None, **ALL_EIGHT}),
    "a variable that is no text": Expected(
        "TDL302", SLICE, snippets.NO_TEXT, "TypeError: str expected, not int", {"devices seen before": 8}
    ),
}  # fmt: skip


def mode_of(code: str) -> str:
    mode = by_code()[code].execution
    assert mode is not None
    return mode


at_once = pytest.mark.xdist_group("confirmed")
"""Of one worker, since all ask what is said of all."""


PART_OF = {name: number % 3 for number, name in enumerate(CONFIRMED)}
"""As `a_part` has it: the tests of every run ask for the first part alone."""


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Verified]:
    """What is said of a snippet, in one call of `verify` for all those of its execution mode that are of its part."""

    @cache
    def together(mode: str, part: int) -> dict[str, Verified]:
        findings: dict[str, Diagnostic] = {}
        for name, expected in CONFIRMED.items():
            if (mode_of(expected.code), PART_OF[name]) == (mode, part):
                folder = tmp_path_factory.mktemp("snippet")
                findings[name] = Bench(folder, None).finding(expected.text)  # type: ignore[arg-type]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(subprocess, "Popen", forked.Popen)
            told = verify(list(findings.values()), MACHINE, ORDER, SIMULATED, jobs=1)
        assert [one.diagnostic for one in told] == [*findings.values()], "in the order given"
        return dict(zip(findings, told, strict=True))

    return lambda name: together(mode_of(CONFIRMED[name].code), PART_OF[name])[name]


@at_once
@pytest.mark.parametrize("name", a_part(CONFIRMED))
def test_a_finding_is_confirmed_with_what_was_seen(name: str, verified: Callable[[str], Verified]) -> None:
    expected = CONFIRMED[name]
    diagnostic, judgement = verified(name).diagnostic, verified(name).judgement
    evidence = judgement.evidence
    assert diagnostic.code == expected.code
    assert (judgement.verdict, judgement.rung) == (Verdict.CONFIRMED, expected.rung), judgement.reason
    assert (judgement.backend, judgement.torch, judgement.claim) == (SIMULATED, TORCH, "")
    if expected.exception is None:
        assert evidence.exception is None
        assert evidence.traceback is None
    else:
        assert evidence.exception is not None
        assert evidence.exception.startswith(expected.exception)
    assert evidence.observed == expected.observed
    if expected.inputs is not None:
        assert evidence.inputs == expected.inputs
    if mode_of(expected.code) == "operation" and expected.exception is not None:
        assert evidence.traceback is not None
        assert re.search(r'File ".*model\.py", line \d+', evidence.traceback)


def test_every_mode_is_confirmed_at_every_rung_that_it_can_have() -> None:
    rungs: dict[str, set[Rung]] = {}
    for expected in CONFIRMED.values():
        rungs.setdefault(mode_of(expected.code), set()).add(expected.rung)
    assert rungs == {
        "operation": {SYNTHESISED, SLICE},
        "exception": {SYNTHESISED, SLICE},
        "movement": {SYNTHESISED, SLICE},
        "registration": {SYNTHESISED},
        "prefix": {SYNTHESISED, SLICE},
        "checkpoint": {SLICE},
        "environment": {SLICE},
        "test": {SYNTHESISED, SLICE},
        "override": {SYNTHESISED},
    }
    assert rungs.keys() == EXECUTIONS.keys()


@at_once
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a factory in a function", r"the flagged code, called with these values, runs where .* \(at the first try\)"),
        (
            "a factory, sliced",
            r"the flagged statements, with these values for what they read, run where every .* show ",
        ),
        ("a factory in forward", r"the flagged code, .* \(after \d+ tries\), and shows the symptom where they are"),
        ("a load", "the flagged statement shows the symptom when it is executed"),
    ],
)
def test_the_reason_says_what_was_run(name: str, reason: str, verified: Callable[[str], Verified]) -> None:
    judgement = verified(name).judgement
    assert re.match(reason, judgement.reason), judgement.reason


# Examples: the user's own entry.

TESTING = {
    "arguments": "import model\nimport torch\n\n\ndef make():\n    return model.{name}, torch.rand(2, 8)\n",
    "a tuple and keywords": (
        "import model\nimport torch\n\n\ndef make():\n    return model.{name}, (torch.rand(2, 8),), {{}}\n"
    ),
    "keywords": "import model\nimport torch\n\n\ndef make():\n    return model.{name}, (), {{'x': torch.rand(2, 8)}}\n",
}


@pytest.mark.parametrize("form", TESTING)
@pytest.mark.parametrize(
    ("text", "name", "key"),
    [
        (snippets.FACTORY, "total", "total"),
        (snippets.UNREGISTERED, "Net()", "Net"),
        (snippets.UNREGISTERED, "Net()", "Net.forward"),
    ],
    ids=["function", "class", "method"],
)
def test_an_example_is_run_first(bench: Bench, form: str, text: str, name: str, key: str) -> None:
    bench.write(TESTING[form].format(name=name), "testing.py")
    judgement = bench.judgement(bench.finding(text), {f"model:{key}": "testing:make"})
    assert (judgement.verdict, judgement.rung) == (Verdict.CONFIRMED, EXAMPLE)
    assert judgement.evidence.exception is not None
    assert judgement.evidence.exception.startswith(SAME_DEVICE)
    assert sorted((judgement.evidence.observed or {}).values()) == ["cpu", "cuda:0"]
    assert judgement.evidence.inputs is None, "the values are the user's"
    assert judgement.reason == (
        "your own entry runs where every accelerator is the CPU, and shows the symptom where they are accelerators"
    )


EXAMPLES = {
    "movement": (snippets.DROPPED_MOVE, "place", "model.place, torch.ones(3), torch.device('cuda')"),
    "registration": (snippets.PLAIN_LIST, "Net", "model.Net(4), torch.ones(4)"),
    "prefix": (snippets.WRAPPED, "save", "model.save, torch.nn.Linear(3, 3)"),
}


@pytest.mark.parametrize("mode", ["prefix", "movement", "registration"])
def test_examples_of_the_other_modes(bench: Bench, mode: str) -> None:
    text, name, entry = EXAMPLES[mode]
    bench.write(f"import model\nimport torch\n\n\ndef make():\n    return {entry}\n", "testing.py")
    judgement = bench.judgement(bench.finding(text), {f"model:{name}": "testing:make"})
    assert (judgement.verdict, judgement.rung) == (Verdict.CONFIRMED, EXAMPLE)
    if mode == "registration":  # the entry calls it, and meets what the finding is about
        assert (judgement.evidence.exception or "").startswith(SAME_DEVICE)
    else:
        assert judgement.evidence.exception is None
    assert judgement.evidence.observed == {
        "movement": STAYED, "registration": {"self": "cpu", "mat1": "cuda:0"}, "prefix": KEYS
    }[mode]  # fmt: skip


def test_an_example_in_a_package_that_is_next_to_the_root(bench: Bench) -> None:
    bench.write("", "package/__init__.py")
    bench.write(
        "from package.model import total\nimport torch\n\n\ndef make():\n    return total, torch.ones(8)\n",
        "tests_of/entries.py",
    )
    diagnostic = bench.finding(snippets.FACTORY, "package/model.py")
    assert bench.judgement(diagnostic, {"package.model:total": "tests_of.entries:make"}).rung is EXAMPLE


@pytest.mark.parametrize(
    ("examples", "testing", "reason"),
    [
        ({"model:other": "testing:make"}, "", "there is no example for model:total"),
        ({"model:total": "nosuch:make"}, "", "`nosuch:make` cannot be imported: ModuleNotFoundError"),
        ({"model:total": "testing:other"}, "make = None\n", "`testing:other` cannot be imported: AttributeError"),
        ({"model:total": "testing:make"}, "def make():\n    raise ValueError('no data')\n", "ValueError: no data"),
        ({"model:total": "testing:make"}, "def make():\n    return print, 3\n", "not come to the flagged expression"),
    ],
)
def test_an_example_that_shows_nothing_is_left_for_the_next_rung(
    bench: Bench, examples: dict[str, str], testing: str, reason: str
) -> None:
    bench.write(testing, "testing.py")
    climbed = bench.climb(bench.finding(snippets.FACTORY), examples)
    assert climbed.judgement is not None
    assert (climbed.judgement.verdict, climbed.judgement.rung) == (Verdict.CONFIRMED, SYNTHESISED)
    ((rung, why),) = climbed.reasons
    assert rung is EXAMPLE
    assert reason in why


# Correct code, pointed at by hand: refuted where the whole was run, and never confirmed.


@dataclass(frozen=True)
class Correct:
    """Code that is right, what is pointed at, and the rung that refutes it: None if nothing can be said."""

    code: str
    marked: str
    text: str
    notes: tuple[str, ...] = ()
    symptom: str = "RuntimeError"
    refuted: bool = True


RIGHT = {
    "made where the argument is": Correct(
        "TDL014", "torch.ones(8, device=x.device)", """\
        import torch


        def total(x: torch.Tensor):
            y = torch.ones(8, device=x.device)
            return x + y
        """, ("x + y",),
    ),
    "moved to where the argument is": Correct(
        "TDL014", "torch.ones(8).to(x)",
        "import torch\n\n\ndef total(x: torch.Tensor):\n    return x + torch.ones(8).to(x)\n"
    ),
    "two arguments": Correct(
        "TDL004", "x + y", "import torch\n\n\ndef total(x: torch.Tensor, y: torch.Tensor):\n    return x + y\n"
    ),
    "on the CPU throughout": Correct(
        "TDL014", "torch.ones(3) + 1", "import torch\n\n\ndef total():\n    return torch.ones(3) + 1\n", refuted=False
    ),
    "one number of the CPU": Correct(
        "TDL014", "x + y",
        "import torch\n\n\ndef total(x: torch.Tensor):\n    y = torch.tensor(1.0)\n    return x + y\n",
    ),
    "a result that is where it should be": Correct(
        "TDL003", "torch.zeros(8, device=x.device)", """\
        import torch


        def total(x: torch.Tensor):
            y = torch.zeros(8, device=x.device)
            return y
        """, symptom="nothing raises: it is on the CPU",
    ),
    "a batch that is moved": Correct(
        "TDL005", "model(x)", """\
        import torch


        def train(model: torch.nn.Module, loader, device):
            model.to(device)
            for x, y in loader:
                x = x.to(device)
                model(x).sum().backward()
        """,
    ),
    "copied before it becomes an array": Correct(
        "TDL006", "x.cpu().numpy()", "import torch\n\n\ndef plot(x: torch.Tensor):\n    return x.cpu().numpy()\n"
    ),
    "the device that is given": Correct(
        "TDL012", "torch.ones(8).to(device)", """\
        import torch


        def place(x: torch.Tensor, device: torch.device):
            mask = torch.ones(8).to(device)
            return x.to(device) * mask
        """, refuted=False,
    ),
    "a buffer": Correct(
        "TDL101", "torch.ones(8)", """\
        import torch


        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("scale", torch.ones(8))

            def forward(self, x):
                return x * self.scale
        """, ("x * self.scale",),
    ),
    "a move that is assigned": Correct(
        "TDL001", "x = x.to(device)", """\
        import torch


        def place(x: torch.Tensor, device: torch.device):
            x = x.to(device)
            return x
        """
    ),
    "a module that is moved in place": Correct(
        "TDL001", "model.to(device)", """\
        import torch


        def place(model: torch.nn.Module, device: torch.device):
            model.to(device)
            return model
        """, refuted=False,
    ),
    "a list that is filled": Correct(
        "TDL002", "batch[i] = x.to(device)", """\
        import torch


        def place(batch: list[torch.Tensor], device: torch.device):
            for i, x in enumerate(batch):
                batch[i] = x.to(device)
            return batch
        """, refuted=False,
    ),
    "a list of modules": Correct(
        "TDL102", "torch.nn.ModuleList", """\
        import torch


        class Net(torch.nn.Module):
            def __init__(self, width=8):
                super().__init__()
                self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(2))
        """,
    ),
    "a parameter": Correct(
        "TDL103", "torch.nn.Parameter(torch.ones(3))", """\
        import torch


        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = torch.nn.Parameter(torch.ones(3))
        """,
    ),
    "a model that is saved without its wrapper": Correct(
        "TDL202", "torch.save(model.module.state_dict(), path)", """\
        import torch


        def save(model: torch.nn.Module, path):
            model = torch.nn.DataParallel(model)
            torch.save(model.module.state_dict(), path)
        """,
    ),
    "a variable that comes in time": Correct(
        "TDL301", 'os.environ["CUDA_VISIBLE_DEVICES"] = "1"', """\
        import os

        import torch

        os.environ["CUDA_VISIBLE_DEVICES"] = "1"
        torch.cuda.is_available()
        """, refuted=False,
    ),
    "a variable that is right": Correct(
        "TDL302", 'os.environ["CUDA_VISIBLE_DEVICES"] = "1"', 'import os\n\nos.environ["CUDA_VISIBLE_DEVICES"] = "1"\n',
        refuted=False,
    ),
}  # fmt: skip


def pointed_at(bench: Bench, right: Correct, before: str = "") -> Diagnostic:
    path = bench.write(before + textwrap.dedent(right.text))
    return by_hand(path, right.code, right.marked, *right.notes, symptom=right.symptom)


@pytest.mark.parametrize("name", a_part(RIGHT))
def test_correct_code_is_refuted_where_all_of_it_was_run(bench: Bench, name: str) -> None:
    right = RIGHT[name]
    climbed = bench.climb(pointed_at(bench, right))
    if not right.refuted:
        assert climbed.judgement is None
        assert [rung for rung, _ in climbed.reasons] == [SYNTHESISED, SLICE]
        return
    assert climbed.judgement is not None, climbed.reasons
    assert (climbed.judgement.verdict, climbed.judgement.rung) == (Verdict.REFUTED, SYNTHESISED)
    assert climbed.judgement.evidence.exception is None
    assert climbed.judgement.reason == (
        "the flagged code, called with these values, came through the flagged expressions with tensors of the "
        "accelerator, and nothing went wrong"
    )


@pytest.mark.parametrize("name", a_part(RIGHT, of=6))
def test_a_slice_of_correct_code_says_nothing(bench: Bench, name: str) -> None:
    assert bench.climb(pointed_at(bench, RIGHT[name], snippets.MISSING)).judgement is None


@pytest.mark.parametrize("name", ["made where the argument is", "a buffer", "a parameter"])
def test_an_example_refutes_what_is_right(bench: Bench, name: str) -> None:
    entry = "model.total, torch.ones(8)" if "total" in RIGHT[name].text else "model.Net(), torch.ones(8)"
    body = "    def forward(self, x):\n        return x\n" if name == "a parameter" else ""
    right = replace(RIGHT[name], text=textwrap.dedent(RIGHT[name].text) + body)
    bench.write(f"import model\nimport torch\n\n\ndef make():\n    return {entry}\n", "testing.py")
    judgement = bench.judgement(pointed_at(bench, right), {"model:total": "testing:make", "model:Net": "testing:make"})
    assert (judgement.verdict, judgement.rung) == (Verdict.REFUTED, EXAMPLE)
    assert judgement.reason.startswith("your own entry came through the flagged expressions with tensors")


def test_a_load_that_says_where_to_is_not_confirmed(bench: Bench) -> None:
    path = bench.write(snippets.LOAD.replace("torch.load(path)", "torch.load(path, map_location='cpu')"))
    climbed = bench.climb(by_hand(path, "TDL201", "torch.load(path, map_location='cpu')"))
    assert climbed.judgement is None or climbed.judgement.verdict is Verdict.REFUTED


def test_a_variable_that_names_every_device_is_not_confirmed(bench: Bench) -> None:
    path = bench.write('import os\n\nos.environ["CUDA_VISIBLE_DEVICES"] = "0,1,2,3,4,5,6,7"\n')
    marked = 'os.environ["CUDA_VISIBLE_DEVICES"] = "0,1,2,3,4,5,6,7"'
    assert bench.climb(by_hand(path, "TDL302", marked)).judgement is None


LOADER = """\
import torch


class Moved:
    def __init__(self, device: torch.device):
        self.device = device

    def __iter__(self):
        yield torch.ones(8, 8, device=self.device)


def train(model: torch.nn.Module, loader: Moved, device: torch.device):
    model.to(device)
    for x in loader:
        model(x).sum().backward()
"""


def test_a_loader_of_the_program_that_moves_is_run(bench: Bench) -> None:
    judgement = bench.judgement(by_hand(bench.write(LOADER), "TDL005", "model(x)"))
    assert (judgement.verdict, judgement.rung) == (Verdict.REFUTED, SYNTHESISED)


@pytest.mark.xfail(reason="in a slice, whatever a loop goes over gives batches of the CPU")
def test_a_loader_of_the_program_that_moves_is_not_taken_for_one_of_torch(bench: Bench) -> None:
    path = bench.write(snippets.MISSING + LOADER)
    assert bench.climb(by_hand(path, "TDL005", "model(x)")).judgement is None


# Code that something puts right which a slice leaves out.


PUT_RIGHT = {
    "a function of another file": """\
        import torch
        from helpers import fetch


        def total(x: torch.Tensor):
            y = torch.ones(8)
            y = fetch(y, x)
            return x + y
        """,
    "a function of this file": """\
        import torch


        def total(x: torch.Tensor):
            y = place(torch.ones(8), x)
            return x + y


        def place(a, b):
            return a.to(b.device)
        """,
    "a default device": """\
        import torch

        torch.set_default_device("cuda")


        def total(x: torch.Tensor):
            y = torch.ones(8)
            return x + y
        """,
    "the context of a device": """\
        import torch


        def total(x: torch.Tensor):
            with torch.device(x.device):
                y = torch.ones(8)
                return x + y
        """,
    "an exception that is handled": """\
        import torch


        def total(x: torch.Tensor):
            y = torch.ones(8)
            try:
                return x + y
            except RuntimeError:
                return x.cpu() + y
        """,
    "a condition around it": """\
        import torch


        def total(x: torch.Tensor):
            if not x.is_cuda:
                y = torch.ones(8)
                return x + y
            return x
        """,
    "a condition before it": """\
        import torch


        def total(x: torch.Tensor):
            if x.is_cuda:
                x = x.cpu()
            y = torch.ones(8)
            return x + y
        """,
    "a move of its own": """\
        import torch


        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.y = torch.ones(8)

            def _apply(self, function):
                super()._apply(function)
                self.y = function(self.y)
                return self

            def forward(self, x):
                return x + self.y
        """,
    "a move at the first use": """\
        import torch


        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.y = torch.ones(8)

            def forward(self, x):
                if self.y.device != x.device:
                    self.y = self.y.to(x.device)
                return x + self.y
        """,
}
NOT_REACHED = {"a condition around it", "a condition before it", "an exception that is handled"}
"""No tensor of the accelerator comes to the flagged expression, or it does not end: running the whole says nothing."""


def put_right(bench: Bench, name: str, before: str = "") -> Diagnostic:
    bench.write("def fetch(y, x):\n    return y.to(x.device)\n", "helpers.py")
    text = textwrap.dedent(PUT_RIGHT[name])
    operation = next(each for each in ("x + self.y", "x + y") if each in text)
    return by_hand(bench.write(before + text), "TDL014", "torch.ones(8)", operation)


@pytest.mark.parametrize("name", a_part(each for each in PUT_RIGHT if each not in NOT_REACHED))
def test_all_of_the_code_is_refuted_if_something_puts_it_right(bench: Bench, name: str) -> None:
    judgement = bench.judgement(put_right(bench, name))
    assert (judgement.verdict, judgement.rung) == (Verdict.REFUTED, SYNTHESISED)


@pytest.mark.parametrize("name", sorted(NOT_REACHED))
def test_code_that_no_tensor_of_an_accelerator_comes_to_is_not_confirmed(bench: Bench, name: str) -> None:
    assert bench.climb(put_right(bench, name)).judgement is None


@pytest.mark.parametrize("name", a_part(PUT_RIGHT))
def test_a_slice_does_not_confirm_what_it_has_taken_apart(bench: Bench, name: str) -> None:
    assert bench.climb(put_right(bench, name, snippets.MISSING)).judgement is None


@pytest.mark.parametrize(
    "call", ['torch.load(path, "cpu")', "torch.load(path, map_location=where)", "torch.load(path, **o)"]
)
def test_a_load_whose_arguments_are_not_known_is_not_confirmed(bench: Bench, call: str) -> None:
    text = (
        f"import torch\n\n\ndef restore(path, where='cpu'):\n    o = {{'map_location': where}}\n    return o, {call}\n"
    )
    climbed = bench.climb(by_hand(bench.write(text), "TDL201", call))
    assert climbed.judgement is None or climbed.judgement.verdict is not Verdict.CONFIRMED


# Inconclusive: nothing could be executed that says something of the finding.


@dataclass(frozen=True)
class Silent:
    """Why each rung says nothing, in part."""

    code: str
    marked: str
    text: str
    synthesised: str
    slice: str
    notes: tuple[str, ...] = ()


INCONCLUSIVE = {
    "a missing import": Silent(
        "TDL003", "torch.ones(3)", """\
        import nosuchlibrary
        import torch


        class Net(torch.nn.Module):
            def forward(self, x):
                return [nosuchlibrary.mix(row, torch.ones(3)) for row in x]
        """,
        "importing `model` needs `nosuchlibrary`, which is not installed here (pip install nosuchlibrary)",
        "no values were found with which it runs on the CPU",
    ),
    "an import that fails": Silent(
        "TDL003", "x + w", """\
        import torch

        open("nosuchfile.txt")


        def total(x, w):
            return x + w
        """,
        "importing `model` fails: FileNotFoundError", "what was run is a part of the program only",
    ),
    "an abstract class": Silent(
        "TDL003", "x + self.w", """\
        import abc

        import torch


        class Net(torch.nn.Module, abc.ABC):
            @abc.abstractmethod
            def forward(self, x): ...

            def total(self, x):
                return x + self.w
        """,
        "`Net` is abstract", "what was run is a part of the program only",
    ),
    "no values": Silent(
        "TDL003", "torch.ones(3)", """\
        import torch


        def total(x):
            assert x.marked_by_us == "and by nobody else"
            return x.weights() + torch.ones(3)
        """,
        "no values were found with which it runs on the CPU", "no values were found with which it runs on the CPU",
    ),
    "a statement that nothing leads to": Silent(
        "TDL014", "x + 2", """\
        import torch


        def total(x: torch.Tensor):
            if x.sum() == 12345:
                return x + 2
            return x
        """,
        "it does not come to the flagged expression", "what was run is a part of the program only",
    ),
    "another device error first": Silent(
        "TDL014", "z * 2", """\
        import torch


        def total(x: torch.Tensor):
            y = torch.ones(8)
            z = x + y
            w = z * 2
            return w
        """,
        "another device error comes first, at line 6: RuntimeError: Expected all tensors", "comes first",
    ),
    "something else goes wrong on an accelerator": Silent(
        "TDL014", "x + 1", """\
        import torch


        def total(x: torch.Tensor):
            if x.is_cuda:
                raise ValueError("a kernel of ours is missing")
            return x + 1
        """,
        "with another error than on the CPU: ValueError: a kernel of ours is missing", "is a part of the program only",
    ),
    "what cannot be simulated": Silent(
        "TDL014", "x + 1", """\
        import torch


        class Inner(torch.nn.Module):
            def forward(self, x):
                return x


        def total(x: torch.Tensor):
            if x.is_cuda:
                torch.jit.script(Inner()).save("scripted.pt")
            return x + 1
        """,
        "a simulated accelerator cannot do this: Saving a module that torch.jit compiled", "part of the program only",
    ),
    "a tensor of no dimensions": Silent(
        "TDL014", "float(x) + 1", "import torch\n\n\ndef total(x: torch.Tensor):\n    return float(x) + 1\n",
        "it ran with a 0-dim tensor, which may be on another device", "is a part of the program only",
    ),
    "a stand-in": Silent(
        "TDL014", "f(x) + 1",
        "import torch\n\n\ndef total(x: torch.Tensor, f: 'Callable'):\n    return f(x) + 1\n",
        "it ran with a stand-in for an unknown function or object", "is a part of the program only",
    ),
    "nothing of the accelerator": Silent(
        "TDL014", "n + 1", "import torch\n\n\ndef total(n: int):\n    return n + 1\n",
        "the operands of the finding, one of them on the accelerator, did not meet", "is a part of the program only",
    ),
    "an asynchronous function": Silent(
        "TDL014", "x + y", """\
        import torch


        async def total(x, y):
            return x + y
        """,
        "`total` is asynchronous", "is a part of the program only",
    ),
    "arguments from elsewhere": Silent(
        "TDL014", "x + 1", """\
        import torch
        from helpers import fetch


        def _total(x):
            return x + 1


        def caller(x):
            y = fetch(x)
            return _total(y)
        """,
        "what calls `_total` gets its arguments from functions that are not known", "functions that are not known",
    ),
    "the end of the process": Silent(
        "TDL014", "x + 1", """\
        import os

        import torch


        def total(x: torch.Tensor):
            if x.is_cuda:
                os._exit(7)
            return x + 1
        """,
        "the run on the accelerator died: it ended with exit status 7", "is a part of the program only",
    ),
    "a move of nothing": Silent(
        "TDL001", "x.to(x.device)", "import torch\n\n\ndef place(x: torch.Tensor):\n    x.to(x.device)\n    return x\n",
        "there was nothing to move", "there was nothing to move",
    ),
    "a class that holds no tensor": Silent(
        "TDL102", "self.names", """\
        import torch


        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.names = ["a", "b"]
        """,
        "the flagged attribute holds no tensor here", "not taken out of their function",
    ),
    "a load of another library": Silent(
        "TDL201", "joblib.load(path)", "import joblib\n\n\ndef restore(path):\n    return joblib.load(path)\n",
        "the flagged statement is executed by itself", "`joblib.load` is not torch's own",
    ),
    "nothing was saved": Silent(
        "TDL202", "model.state_dict()", """\
        import torch


        def save(model: torch.nn.Module):
            return model.state_dict()
        """,
        "nothing was saved", "nothing was saved",
    ),
    "an exception that does not come": Silent(
        "TDL104", "torch.zeros(3, requires_grad=True)", """\
        import torch


        def fit(device):
            w = torch.zeros(3, requires_grad=True)
            return torch.optim.SGD([w.to(device).detach().requires_grad_()], lr=0.1)
        """,
        "it ran, and nothing was raised", "it ran, and nothing was raised",
    ),
    "an exception of the same class": Silent(
        "TDL104", "w.to(device)", """\
        import torch


        def fit(device):
            w = torch.zeros(3)
            w = w.to(device)
            if w.is_cuda and w.device.type != "cpu":
                raise ValueError("can't fit this on an accelerator")
        """,
        "another error than on the CPU: ValueError: can't fit", "it ran, and nothing was raised",
    ),
    "an exception before the flagged lines": Silent(
        "TDL104", "w.sum()", """\
        import torch


        def fit(device):
            w = torch.zeros(3, requires_grad=True).to(device)
            torch.optim.SGD([w], lr=0.1)
            return w.sum()
        """,
        "another error than on the CPU: ValueError: can't optimize", "it ran, and nothing was raised",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", a_part(INCONCLUSIVE, of=6))
def test_what_shows_nothing_says_why(bench: Bench, name: str) -> None:
    silent = INCONCLUSIVE[name]
    path = bench.write(silent.text)
    bench.write("def fetch(x):\n    return x\n", "helpers.py")
    reasons = bench.reasons(by_hand(path, silent.code, silent.marked, *silent.notes))
    assert silent.synthesised in reasons[SYNTHESISED]
    assert silent.slice in reasons[SLICE]


def test_a_run_that_does_not_end_is_ended(bench: Bench) -> None:
    text = "import torch\n\n\ndef total(x: torch.Tensor):\n    while x.is_cuda:\n        pass\n    return x + 1\n"
    reasons = bench.reasons(by_hand(bench.write(text), "TDL014", "x + 1"), limits=Limits(2.0))
    assert reasons[SYNTHESISED] == "the run on the accelerator timed out: no end after 2 s"


def test_a_finding_in_a_notebook_is_not_executed(bench: Bench) -> None:
    diagnostic = structs.replace(bench.finding(snippets.FACTORY), cell=3)
    assert bench.climb(diagnostic).judgement is None
    assert bench.climb(diagnostic).reasons == ()


@pytest.mark.usefixtures("in_forks")
def test_what_no_rung_says_something_of_falls_to_the_rules_own_program(bench: Bench) -> None:
    silent = INCONCLUSIVE["a missing import"]
    diagnostic = by_hand(bench.write(silent.text), silent.code, silent.marked)
    (one,) = verify([diagnostic], MACHINE, ORDER, SIMULATED, jobs=1)
    judgement: Judgement = one.judgement
    assert (judgement.verdict, judgement.rung) == (Verdict.INCONCLUSIVE, Rung.PROBE)
    assert judgement.reason.startswith(silent.synthesised)
    told = dict(judgement.reasons)
    assert list(told) == [SYNTHESISED, SLICE, Rung.PROBE]
    assert silent.slice in told[SLICE]
    assert "your code was not executed" in told[Rung.PROBE]
    assert judgement.claim


def test_there_is_nothing_to_verify_in_nothing() -> None:
    assert verify([], MACHINE, ORDER) == []


# The command line.

ENTRY = "import torch\n\nfrom model import total\n\n{body}\n"
"""A program of the user's that comes to `snippets.FACTORY`."""


ON_ACCELERATOR = "getattr(torch, 'set_default_device')('cuda'); total(torch.rand(8))"
"""A program that makes all tensors on an accelerator, so that nothing is wrong with the flagged factory."""


def command_for(folder: Path, body: str) -> str:
    (folder / "entry.py").write_text(ENTRY.format(body=body))
    return f"{shlex.quote(sys.executable)} entry.py"


def rows(folder: Path, *arguments: str, code: int) -> list[dict[str, Any]]:
    done = python("-m", "torchdevlint", "verify", "--isolated", "--output-format", "json", *arguments, cwd=folder)
    assert done.returncode == code, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.usefixtures("in_forks")
@pytest.mark.parametrize(
    ("body", "verdict", "rung", "reason"),
    [
        ("total(torch.rand(8).cuda())", "confirmed", "example", "your own command meets the device error"),
        (ON_ACCELERATOR, "refuted", "example", "your own command came through the flagged expressions with tensors"),
        ("total(torch.rand(8))", "confirmed", "synthesised", "the flagged code, called with"),
        ("print('nothing')", "confirmed", "synthesised", "the flagged code, called with these values,"),
        ("total(torch.rand(8)); raise SystemExit(3)", "confirmed", "synthesised", "the flagged code, called with"),
    ],
)
def test_the_users_command(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, body: str, verdict: str, rung: str, reason: str
) -> None:
    command = command_for(bench.folder, body)
    monkeypatch.chdir(bench.folder)
    (one,) = verify([bench.finding(snippets.FACTORY)], MACHINE, ORDER, SIMULATED, jobs=1, command=command)
    judgement = one.judgement
    assert (judgement.verdict, judgement.rung) == (verdict, rung), judgement.reason
    assert judgement.reason.startswith(reason)
    if rung == "example":
        assert judgement.evidence.inputs == {"command": command}
    if (verdict, rung) == ("confirmed", "example"):
        assert (judgement.evidence.exception or "").startswith(SAME_DEVICE)
        assert judgement.evidence.observed == {"x": "cuda:0", "torch.ones(8)": "cpu"}


@pytest.mark.usefixtures("in_forks")
def test_why_a_command_says_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is watched for device errors only, and has to come by the flagged lines and to a good end."""
    silent = INCONCLUSIVE["a missing import"]
    monkeypatch.chdir(bench.folder)
    diagnostic = by_hand(bench.write(silent.text, "silent.py"), silent.code, silent.marked)
    moved = bench.finding(snippets.DROPPED_MOVE, "moved.py")
    bench.write(snippets.FACTORY)
    command = command_for(bench.folder, "total(torch.rand(8))")
    one, other = by_command([diagnostic, moved], command, ORDER)
    assert one.reasons == ((EXAMPLE, "the command does not come to line 7"),)
    assert other.reasons == ((EXAMPLE, "the command is watched for device errors, which this rule is not about"),)
    (apart,) = by_command([bench.finding(snippets.FACTORY)], command, ORDER)
    assert apart.reasons == ((EXAMPLE, "the command does not bring the finding's operands together there"),)
    (ended,) = by_command([diagnostic], f"{shlex.quote(sys.executable)} -c 'raise SystemExit(3)'", ORDER)
    assert ended.reasons == ((EXAMPLE, "the command imports no torch (exit code 3)"),)
    assert {each.judgement for each in (one, other, ended)} == {None}


def test_a_command_that_is_not_there_exits_2(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(snippets.FACTORY)
    done = python("-m", "torchdevlint", "verify", "--with-command", "nosuchcommand at all", "model.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "nosuchcommand" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_the_users_entry_refutes_goes_to_a_baseline_that_check_applies(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(snippets.FACTORY)
    (tmp_path / "load.py").write_text(snippets.LOAD)
    command = command_for(tmp_path, ON_ACCELERATOR)
    done = python(
        "-m", "torchdevlint", "verify", "--with-command", command, "--write-baseline", "known.json",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1, "the load is confirmed"
    assert "note: 1 finding that your own entry refuted written to known.json" in done.stderr
    (entry,) = json.loads((tmp_path / "known.json").read_text())["findings"]
    assert (entry["path"], entry["code"]) == ("model.py", "TDL014")
    checked = python("-m", "torchdevlint", "check", "--output-format", "json", "--baseline", "known.json", cwd=tmp_path)
    assert [row["code"] for row in json.loads(checked.stdout)] == ["TDL201"]


def test_examples_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(snippets.FACTORY)
    (tmp_path / "testing.py").write_text(TESTING["arguments"].format(name="total"))
    (tmp_path / "pyproject.toml").write_text(
        '[tool.torchdevlint.verify.examples]\n"model:total" = "testing:make"\n', encoding="utf-8"
    )
    done = python("-m", "torchdevlint", "verify", "model.py", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert re.match(r"model\.py:5:\d+ TDL014 [a-z-]+: confirmed \(example on simulated, torch ", done.stdout)


def test_several_findings_at_a_time_are_told_as_one_after_the_other(tmp_path: Path) -> None:
    for number, text in enumerate(
        (snippets.FACTORY, snippets.LOAD, snippets.RNN, snippets.DROPPED_MOVE, snippets.WRAPPED)
    ):
        (tmp_path / f"model{number}.py").write_text(text)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "models"\n')  # of a program, nothing runs the load
    alone, together = (rows(tmp_path, "--jobs", jobs, code=1) for jobs in "12")
    assert len(alone) == 5
    assert alone == together


def test_verdicts_in_sarif(tmp_path: Path) -> None:
    (tmp_path / "load.py").write_text(snippets.LOAD)
    done = python("-m", "torchdevlint", "verify", "--output-format", "sarif", "load.py", cwd=tmp_path)
    assert done.returncode == 1
    (run,) = json.loads(done.stdout)["runs"]
    (result,) = run["results"]
    told = result["properties"]
    assert (result["ruleId"], told["verdict"], told["rung"], told["backend"]) == (
        "TDL201",
        "confirmed",
        "slice",
        SIMULATED,
    )
    assert told["evidence"]["exception"].startswith("RuntimeError: Attempting to deserialize object on a CUDA device")


def test_what_is_inconclusive_makes_the_exit_code_0(tmp_path: Path) -> None:
    text = snippets.MISSING + textwrap.dedent("""\
        import torch


        class Net(nosuchlibrary.Base, torch.nn.Module):
            def forward(self, x: torch.Tensor):
                return self.mix(x, torch.ones(len(x), 1))

            def mix(self, x, y):
                return nosuchlibrary.mix(x) + y * x
        """)
    (tmp_path / "model.py").write_text(text)
    (row,) = rows(tmp_path, "model.py", code=0)
    assert (row["verdict"], row["rung"]) == ("inconclusive", "probe")
