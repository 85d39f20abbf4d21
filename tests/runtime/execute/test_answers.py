"""Tests that are never true: the flagged test is asked, and its answer held against the one that names would give."""

from __future__ import annotations

import pytest

from tests.conftest import a_part
from tests.runtime.execute.bench import Bench, by_hand
from torchdevlint.runtime.verify.verdict import Rung, Verdict

MISSING = "import a_library_that_is_not_there\n"
ON_HOST = """\
import torch


def on_host(x: torch.Tensor):
    if x.device == "{place}":
        x = x.cpu()
    return x
"""


@pytest.mark.parametrize("place", a_part(["cpu", "cuda", "cuda:0"]))
@pytest.mark.parametrize("before", ["", MISSING])
def test_a_device_equals_no_string(bench: Bench, place: str, before: str) -> None:
    """For the CPU the tensor is there: a test that is false of an accelerator is right."""
    text = before + ON_HOST.format(place=place)
    shown = bench.judgement(by_hand(bench.write(text), "TDL311", f'x.device == "{place}"'))
    assert (shown.verdict, shown.rung) == (Verdict.CONFIRMED, Rung.SLICE if before else Rung.SYNTHESISED)
    assert shown.evidence.observed is not None
    assert (shown.evidence.observed["answer"], shown.evidence.observed["right answer"]) == (False, True)


ASKED = [
    ("x.device.type == 'cuda'", "refuted"),
    ("str(x.device) == 'cuda:0'", "refuted"),
    ("x.device == torch.device('cuda:0')", "refuted"),
    ("x.device == torch.device('cuda')", "confirmed"),
    ("x.device != 'cpu'", "confirmed"),
    ("x.device in ('cuda', 'xpu')", "confirmed"),
    ("x.device in ('xpu', 'hpu')", None),
    ("x.device not in ('cpu', 'cuda')", "confirmed"),
    ("x.device == torch.device('cuda:1')", None),
    ("x.device == 8", None),
    ("x.type() == 'torch.FloatTensor'", "confirmed"),
    ("x.type() == 'torch.LongTensor'", None),
    ("isinstance(x, torch.FloatTensor)", "confirmed"),
    ("isinstance(x, torch.LongTensor)", None),
    ("isinstance(x, torch.Tensor)", "refuted"),
    ("isinstance(x, (torch.FloatTensor, torch.DoubleTensor))", "confirmed"),
]


@pytest.mark.parametrize(("asked", "verdict"), a_part(ASKED))
def test_an_answer_counts_where_names_would_give_another_one(bench: Bench, asked: str, verdict: str | None) -> None:
    path = bench.write(f"import torch\n\n\ndef ask(x: torch.Tensor):\n    return 1 if {asked} else 0\n")
    judgement = bench.climb(by_hand(path, "TDL311", asked)).judgement
    assert (None if judgement is None else judgement.verdict.value) == verdict


def test_a_test_after_which_nothing_goes_on_was_asked_all_the_same(bench: Bench) -> None:
    text = """\
    import torch


    def loss(scores: torch.Tensor, labels: torch.Tensor):
        if not isinstance(scores, torch.FloatTensor):
            raise TypeError("scores are numbers")
        return (scores - labels).mean()
    """
    shown = bench.judgement(by_hand(bench.write(text), "TDL311", "isinstance(scores, torch.FloatTensor)"))
    assert shown.verdict is Verdict.CONFIRMED


def test_a_device_of_ours_may_be_a_string_in_the_program(bench: Bench) -> None:
    text = """\
    import torch


    def workers(device):
        return 4 if device == "cuda" else 0
    """
    assert bench.climb(by_hand(bench.write(text), "TDL311", 'device == "cuda"')).judgement is None


def test_a_device_that_the_file_makes_is_asked_outside_of_functions(bench: Bench) -> None:
    text = """\
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    workers = 4 if device == "cuda" else 0
    """
    shown = bench.judgement(by_hand(bench.write(text), "TDL311", 'device == "cuda"'))
    assert (shown.verdict, shown.rung) == (Verdict.CONFIRMED, Rung.SLICE)
    named = text.replace('torch.device("cuda" if torch.cuda.is_available() else "cpu")', '"cuda"')
    judgement = bench.climb(by_hand(bench.write(named), "TDL311", 'device == "cuda"')).judgement
    assert judgement is None or judgement.verdict is not Verdict.CONFIRMED


def test_a_stand_in_refutes_nothing(bench: Bench) -> None:
    text = """\
    import torch


    def is_there(config):
        return config.max_len == 32
    """
    assert bench.climb(by_hand(bench.write(text), "TDL311", "config.max_len == 32")).judgement is None
