"""Nothing is refuted by what was given in the place of what the finding speaks of."""

from __future__ import annotations

import pytest

from tests.conftest import a_part
from tests.runtime.execute.bench import Bench, by_hand
from torchdevlint.runtime.verify.verdict import Verdict

PADDED = """\
import torch

THERE = torch.cuda.is_available()


def padded(inputs: torch.Tensor):
    padding = torch.zeros(1, inputs.size(1))
    if THERE:
        padding = padding.cuda()
    return torch.cat((inputs, padding))


if __name__ == "__main__":
    given = torch.randn(3, 4)
    print(padded(given).sum())
"""
INSIDE = """\
import torch


def padded(width: int):
    given = torch.randn(3, width){moved}
    padding = torch.zeros(1, width, device="cuda")
    return torch.cat((given, padding))
"""


def test_an_argument_of_ours_is_not_the_tensor_that_the_program_makes(bench: Bench) -> None:
    """The finding is about the call of the script, whose tensor is on the CPU."""
    path = bench.write(PADDED)
    finding = by_hand(path, "TDL004", "torch.cat((inputs, padding))", "torch.randn(3, 4)")
    judgement = bench.climb(finding).judgement
    assert judgement is None or judgement.verdict is not Verdict.REFUTED


@pytest.mark.parametrize(("moved", "verdict"), [("", Verdict.CONFIRMED), (".cuda()", Verdict.REFUTED)])
def test_what_the_function_makes_itself_decides(bench: Bench, moved: str, verdict: Verdict) -> None:
    path = bench.write(INSIDE.format(moved=moved))
    shown = bench.judgement(by_hand(path, "TDL004", "torch.cat((given, padding))", f"torch.randn(3, width){moved}"))
    assert shown.verdict is verdict


def test_what_ran_as_the_file_was_imported_counts(bench: Bench) -> None:
    text = """\
    import torch

    MASK = torch.ones(8, 8)


    def masked(x: torch.Tensor):
        return x * MASK.to(x.device)
    """
    path = bench.write(text)
    shown = bench.judgement(by_hand(path, "TDL004", "x * MASK.to(x.device)", "torch.ones(8, 8)"))
    assert shown.verdict is Verdict.REFUTED


@pytest.mark.slow
def test_what_ran_as_the_file_was_imported_says_nothing_of_what_did_not(bench: Bench) -> None:
    text = """\
    import torch

    MASK = torch.ones(8, 8)


    def script():
        return torch.zeros(8, 8)


    def masked(x: torch.Tensor):
        return x * MASK.to(x.device)
    """
    path = bench.write(text)
    finding = by_hand(path, "TDL004", "x * MASK.to(x.device)", "torch.ones(8, 8)", "torch.zeros(8, 8)")
    judgement = bench.climb(finding).judgement
    assert judgement is None or judgement.verdict is not Verdict.REFUTED


KEPT = """\
import torch
import a_library_that_is_not_there


class Scores(a_library_that_is_not_there.Metric):
    def update(self, vectors):
        {fills}

    def compute(self):
        return torch.cat(self.vectors).numpy()
"""


@pytest.mark.parametrize(
    ("fills", "confirmed"),
    a_part([
        ("self.vectors.append(vectors)", True),
        ("self.vectors.append(vectors.detach())", True),
        ("self.vectors.append(vectors.detach().cpu())", False),
        ("vectors = vectors.cpu(); self.vectors.append(vectors)", False),
        ("self.vectors.append(a_library_that_is_not_there.on_host(vectors))", False),
        ("self.vectors.append(torch.cat(vectors))", True),
        ("self.vectors.append(on_host(vectors))", False),
        ("self.vectors.extend(self.on_host(each) for each in vectors)", False),
        ("self.others.append(vectors.cpu())", True),
        ("self.vectors = []; self.others = vectors.cpu()", True),
        ("self.vectors[0] = vectors.cpu()", False),
        ("self.vectors += [vectors.cpu()]", False),
        ("self.vectors = [vectors.to('cpu')]", False),
    ]),
)
def test_a_slice_does_not_know_what_other_methods_put_into_an_attribute(
    bench: Bench, fills: str, confirmed: bool
) -> None:
    """The slice gets a value of ours for it, on the accelerator."""
    finding = by_hand(bench.write(KEPT.format(fills=fills)), "TDL006", "torch.cat(self.vectors).numpy()")
    judgement = bench.climb(finding).judgement
    assert (judgement is not None and judgement.verdict is Verdict.CONFIRMED) is confirmed


def test_what_a_base_class_of_the_file_fills_is_not_known_either(bench: Bench) -> None:
    text = """\
    import torch
    import a_library_that_is_not_there


    class Kept(a_library_that_is_not_there.Metric):
        def update(self, vectors):
            self.vectors.append(vectors.cpu())


    class Scores(Kept):
        def compute(self):
            return torch.cat(self.vectors).numpy()
    """
    finding = by_hand(bench.write(text), "TDL006", "torch.cat(self.vectors).numpy()")
    assert bench.climb(finding).judgement is None


ARRAYS = """\
{imports}


def as_array(scale):
    return scale.detach().numpy()
"""


@pytest.mark.parametrize(
    ("imports", "confirmed"),
    [
        ("import torch", True),
        ("import torch\nimport a_library_that_is_not_there.torch as their_torch", True),
        ("import a_library_that_is_not_there.torch as torch", False),
        ("from a_library_that_is_not_there import torch", False),
        ("import torch.nn\nimport a_library_that_is_not_there", True),
    ],
)
def test_what_another_library_calls_torch_has_arrays_of_its_own(bench: Bench, imports: str, confirmed: bool) -> None:
    path = bench.write(ARRAYS.format(imports=imports))
    judgement = bench.climb(by_hand(path, "TDL006", "scale.detach().numpy()")).judgement
    assert (judgement is not None and judgement.verdict is Verdict.CONFIRMED) is confirmed


LAYERS = """\
import torch
import a_library_that_is_not_there
{imports}


def _bias(bias):
    return bias.detach().numpy()


def test_layer():
    layer = nn.Linear(2, 2)
    assert _bias(layer.bias).sum()
"""


@pytest.mark.parametrize(
    ("imports", "confirmed"),
    [("from torch import nn", True), ("import a_library_that_is_not_there.nn as nn", False)],
)
def test_layers_of_a_library_that_is_not_there_are_not_known(bench: Bench, imports: str, confirmed: bool) -> None:
    path = bench.write(LAYERS.format(imports=imports))
    judgement = bench.climb(by_hand(path, "TDL006", "bias.detach().numpy()")).judgement
    assert (judgement is not None and judgement.verdict is Verdict.CONFIRMED) is confirmed


LACKING = """\
import torch
from torch import nn
import a_library_that_is_not_there


class Evaluator:
    def __init__(self, model: a_library_that_is_not_there.Model):
        self.model = model

    @property
    def device(self) -> torch.device:
        return self.model.device


def place(model: nn.Module):
    return model.device
"""
LACKS = "AttributeError: 'Linear' object has no attribute 'device'"


@pytest.mark.parametrize(("flagged", "confirmed"), [("self.model.device", False), ("return model.device", True)])
def test_what_a_stand_in_lacks_the_object_of_the_program_may_have(
    bench: Bench, flagged: str, confirmed: bool
) -> None:
    path = bench.write(LACKING)
    judgement = bench.climb(by_hand(path, "TDL107", flagged, symptom=LACKS)).judgement
    assert (judgement is not None and judgement.verdict is Verdict.CONFIRMED) is confirmed
