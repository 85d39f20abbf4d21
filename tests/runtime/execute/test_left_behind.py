"""What a function leaves behind that asks for a place: it shows in its result, or for arguments that are elsewhere."""

from __future__ import annotations

import pytest

from tests.runtime.execute.bench import Bench
from torchdevlint.runtime.verify.verdict import Rung, Verdict

ASKED = """\
import torch


def scores(classifier: torch.nn.Module, images: torch.Tensor):
    place = next(classifier.parameters()).device
    return classifier(images).softmax(-1)
"""
KEPT = """\
import torch


def place(x, device, detach=False):
    if isinstance(x, torch.Tensor):
        if detach:
            return x.detach().to(device)
        return x
    return {k: place(v, device, detach=detach) for k, v in x.items()}
"""
BROUGHT = """\
import torch


def bases(x: torch.Tensor):
    device = x.device
    return torch.linalg.svd(x.detach().cpu())[0]
"""
ONE_OF_TWO = """\
import torch


class Complex:
    def __init__(self, real: torch.Tensor, imaginary: torch.Tensor):
        self.real = real
        self.imaginary = imaginary

    def cuda(self, device=None):
        real = self.real
        imaginary = self.imaginary.cuda(device)
        return type(self)(real, imaginary)

    def cpu(self):
        return type(self)(self.real.cpu(), self.imaginary.cpu())
"""


@pytest.mark.parametrize("program", [KEPT, BROUGHT])
def test_what_stays_behind_is_in_the_result(bench: Bench, program: str) -> None:
    shown = bench.judgement(bench.finding(program))
    assert (shown.verdict, shown.rung) == (Verdict.CONFIRMED, Rung.SYNTHESISED)
    assert shown.evidence.observed == {"result": "cpu", "arguments": "cuda:0"}


def test_a_model_is_asked_and_given_what_is_elsewhere(bench: Bench) -> None:
    """Tensors that are where the model is refute nothing."""
    shown = bench.judgement(bench.finding(ASKED))
    assert (shown.verdict, shown.rung) == (Verdict.CONFIRMED, Rung.SYNTHESISED)
    assert shown.evidence.observed == {"self": "cuda:0", "mat1": "cpu"}


def test_a_result_of_which_another_part_is_elsewhere_refutes_nothing(bench: Bench) -> None:
    climbed = bench.climb(bench.finding(ONE_OF_TWO))
    assert climbed.judgement is None
    assert dict(climbed.reasons)[Rung.SYNTHESISED] == "something else that it returns is not on the accelerator"
