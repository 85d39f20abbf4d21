"""The two halves of an execution, asked in their own process: what is found, and what the run with it shows."""

from __future__ import annotations

import json

import pytest

from tests.runtime.execute.bench import Bench, target_of

FACTORY = """\
import torch


def total(x: torch.Tensor, mode: str = "plain", mask=None):
    if mode == "plain" and mask is None:
        return x.sum()
    if mask is not None:
        return x + torch.ones(x.shape[-1])
    return x
"""


def test_optional_parameters_are_given_where_only_that_reaches_the_statement(bench: Bench) -> None:
    target = target_of(bench.write(FACTORY), "x + torch.ones(x.shape[-1])")
    found = bench.ask("find", target)
    assert found["program"] == 0
    assert found["values"]["mask"]["is"] != "default"
    assert found["values"]["mode"]["is"] == "default"
    shown = bench.ask("execute", target, program=0, values=found["values"])
    assert shown["symptom"] is True
    assert shown["exception"].startswith("RuntimeError: Expected all tensors to be on the same device")
    assert "line 8, in total\n    return x + torch.ones(x.shape[-1])" in shown["traceback"]
    assert "torchdevlint" not in shown["traceback"].partition("model.py")[0], "it begins in the user's code"
    assert sorted(shown["observed"].values()) == ["cpu", "cuda:0"]
    assert shown["inputs"]["x"] == "float32 tensor 8x8 on cuda:0"
    assert "mode" not in shown["inputs"]
    plain = target_of(target.path, "return x.sum()")
    assert bench.ask("find", plain)["values"]["mask"]["is"] == "default"


def test_the_same_question_has_the_same_answer(bench: Bench) -> None:
    text = """\
        import torch


        class Net(torch.nn.Module):
            def __init__(self, width, depth=2):
                super().__init__()
                self.layers = torch.nn.ModuleList(torch.nn.Conv2d(width, width, 3) for _ in range(depth))
                self.head = torch.nn.Linear(width, 5)

            def forward(self, x, labels):
                for layer in self.layers:
                    x = layer(x)
                logits = self.head(x.mean((2, 3))) + torch.zeros(5)
                return torch.nn.functional.cross_entropy(logits, labels)
        """
    target = target_of(bench.write(text), "torch.zeros(5)")
    answers = {json.dumps(bench.ask("find", target), sort_keys=True) for _ in range(2)}
    assert len(answers) == 1
    found = json.loads(answers.pop())
    assert found["program"] == 0
    assert len(found["values"]["x"]["shape"]) == 4
    assert 1 < found["runs"] < 60
    shown = [bench.ask("execute", target, program=0, values=found["values"]) for _ in range(2)]
    assert shown[0] == shown[1]
    assert shown[0]["symptom"] is True


def test_every_accelerator_is_the_cpu_while_values_are_searched(bench: Bench) -> None:
    """What the program does with devices does not fail there, and is not what is looked for."""
    text = """\
        import torch


        def total(x: torch.Tensor):
            assert torch.cuda.is_available() and torch.cuda.device_count() == 2
            y = x.cuda() + x.to("cuda:1") + torch.ones(8, device="cuda")
            assert y.device.type == "cpu"
            return y + torch.zeros(8)
        """
    found = bench.ask("find", target_of(bench.write(text), "torch.zeros(8)"))
    assert (found["program"], found["runs"]) == (0, 1)


@pytest.mark.parametrize("ending", ["raise SystemExit(3)", "raise KeyboardInterrupt", "import os; os.abort()"])
def test_a_program_that_ends_does_not_end_the_one_that_executes(bench: Bench, ending: str) -> None:
    text = f"import torch\n\n\ndef total(x: torch.Tensor):\n    {ending}\n    return x + torch.ones(3)\n"
    target = target_of(bench.write(text), "torch.ones(3)")
    if "abort" not in ending:
        assert "no values were found" in bench.ask("find", target)["why"]
    else:
        with pytest.raises(AssertionError, match="SIGABRT"):
            bench.ask("find", target)
    assert bench.ask("find", target_of(bench.write(FACTORY), "return x.sum()"))["program"] == 0


def test_the_import_is_that_of_the_file(bench: Bench) -> None:
    """A package with relative imports, below a folder that is none."""
    bench.write("SIZE = 3\n", "src/package/sizes.py")
    bench.write("", "src/package/__init__.py")
    text = "import torch\n\nfrom .sizes import SIZE\n\n\ndef total(x: torch.Tensor):\n    return x + torch.ones(SIZE)\n"
    target = target_of(bench.write(text, "src/package/model.py"), "torch.ones(SIZE)")
    found = bench.ask("find", target)
    assert found["values"]["x"]["shape"][-1] in (1, 3)


def test_a_file_that_has_the_name_of_one_of_pythons_is_still_itself(bench: Bench) -> None:
    text = "import torch\n\n\ndef total(x: torch.Tensor):\n    return x + torch.ones(8)\n"
    for name in ("project/code.py", "project/torch/layers.py"):
        if "torch/" in name:
            bench.write("", "project/torch/__init__.py")
        assert bench.ask("find", target_of(bench.write(text, name), "torch.ones(8)"))["program"] == 0, name


def test_an_output_object_and_a_generator_are_looked_into(bench: Bench) -> None:
    text = """\
        import torch
        from dataclasses import dataclass


        @dataclass
        class Output:
            loss: torch.Tensor


        def made(x: torch.Tensor):
            y = torch.zeros(3)
            yield Output(y)
        """
    target = target_of(bench.write(text), "torch.zeros(3)", silent=True)
    found = bench.ask("find", target)
    shown = bench.ask("execute", target, program=0, values=found["values"])
    assert (shown["symptom"], shown["observed"]) == (True, {"result": "cpu", "arguments": "cuda:0"})
