"""The table of what PyTorch says: its form, that it recognises its own examples, and what is really raised here."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from scripts.docs import error_texts
from tests.conftest import ROOT
from torchdevlint.rules import all_rules, by_code
from torchdevlint.symptoms import (
    GROUPS,
    OTHERS,
    Symptom,
    Wording,
    by_name,
    device_of,
    is_of_places,
    recognise,
    symptoms,
)

WORDINGS = [(symptom, wording) for symptom in symptoms() for wording in symptom.wordings]
LINES = "model(x.device) .grad os.environ"
"""A line beside which even texts of Python's own are about devices."""
each_wording = pytest.mark.parametrize(
    ("symptom", "wording"), WORDINGS, ids=[f"{one.name}-{at}" for at, (one, _) in enumerate(WORDINGS)]
)


@each_wording
def test_a_wording_is_recognised_as_itself_and_not_as_an_earlier_one(symptom: Symptom, wording: Wording) -> None:
    found = recognise(wording.example, LINES)
    assert found is not None
    assert (found.symptom.name, found.wording) == (symptom.name, wording)


@each_wording
def test_an_example_begins_with_the_class_of_its_exception(symptom: Symptom, wording: Wording) -> None:
    assert re.match(r"(?:[a-z]\w*\.)*\w*(?:Error|Warning|Iteration|InvalidUsage): \S", wording.example)
    assert "  " not in wording.example


@each_wording
def test_the_groups_of_a_pattern_are_those_of_the_record(symptom: Symptom, wording: Wording) -> None:
    groups = re.compile(wording.pattern).groupindex
    assert set(groups) <= {"argument", "position", "device", "other", "operation"}


def test_symptoms_have_names_that_can_be_anchors_and_rules_that_there_are() -> None:
    assert [name for name, times in Counter(one.name for one in symptoms()).items() if times > 1] == []
    for one in symptoms():
        assert re.fullmatch(r"[a-z][a-z0-9-]+", one.name)
        assert one.group in GROUPS
        assert set(one.rules) <= by_code().keys()
        assert len(set(one.rules)) == len(one.rules)
        assert one.meaning.endswith(".")
        assert not one.help.endswith(".")
        assert one.rules or not one.sure
    assert by_name()["forked"].url.endswith("/errors/#forked")


def test_every_exception_that_a_rule_quotes_is_recognised_as_one_of_that_rule() -> None:
    quoted = [(rule.code, text) for rule in all_rules() for text in error_texts(rule)]
    assert len(quoted) > 60
    wrong = [
        (code, text)
        for code, text in quoted
        if (found := recognise(text, LINES)) is None or code not in found.symptom.rules
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            (
                "Expected all tensors to be on the same device, but got mat2 is on cpu, different from other tensors "
                "on "
                "cuda:0 (when checking argument in method wrapper_CUDA_bmm)"
            ),
            {"argument": "mat2", "device": "cpu", "other": "cuda:0", "operation": "bmm"},
        ),
        (
            (
                "Expected all tensors to be on the same device, but found at least two devices, cpu and cuda:1! (when "
                "checking arugment for argument index in method wrapper__index_select)"
            ),
            {"argument": "index", "device": "cuda:1", "other": "cpu", "operation": "index_select"},
        ),
        (
            "Tensor for argument #2 'mat1' is on CPU, but expected it to be on GPU (while checking arguments for mm)",
            {"argument": "mat1", "position": "2", "device": "cpu", "other": "cuda", "operation": "mm"},
        ),
        (
            "Expected object of device type cuda but got device type cpu for argument #3 'mat2' in call to _th_mm",
            {"argument": "mat2", "position": "3", "device": "cpu", "other": "cuda", "operation": "mm"},
        ),
        (
            "Expected object of backend CPU but got backend CUDA for argument #2 'mat2'",
            {"argument": "mat2", "position": "2", "device": "cuda", "other": "cpu"},
        ),
        (
            "Input type (MPSFloatType) and weight type (torch.FloatTensor) should be the same",
            {"argument": "Input", "device": "mps", "other": "cpu"},
        ),
        (
            (
                "Input and parameter tensors are not at the same device, found input tensor at cpu and parameter "
                "tensor at "
                "cuda:0"
            ),
            {"argument": "parameter", "device": "cuda:0", "other": "cpu"},
        ),
        ("can’t convert cuda:0 device type tensor to numpy", {"device": "cuda:0"}),
        ("Expected a 'cuda:0' generator device but found 'cpu'", {"device": "cpu", "other": "cuda"}),
    ],
)
def test_what_a_text_says_of_the_case(text: str, said: dict[str, str]) -> None:
    found = recognise(text)
    assert found is not None
    names = ("argument", "position", "device", "other", "operation")
    assert {name: value for name in names if (value := getattr(found, name))} == said


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.79 GiB total capacity)", "out-of-memory"),
        ("mat1 and mat2 shapes cannot be multiplied (64x784 and 128x10)", "shape"),
        ("expected scalar type Float but found Half", "dtype"),
        ("Input type (float) and bias type (c10::Half) should be the same", "dtype"),
        ("Input type (torch.cuda.HalfTensor) and weight type (torch.cuda.FloatTensor) should be the same", "dtype"),
        ("Expected object of scalar type Long but got scalar type Float for argument #2 'target'", "dtype"),
        ("CUDA error: device-side assert triggered", "device-assert"),
        ('Error(s) in loading state_dict for Net: Missing key(s) in state_dict: "layer9.weight".', "keys"),
    ],
)
def test_what_people_take_for_a_device_error_is_told_apart(text: str, name: str) -> None:
    found = recognise(text)
    assert found is not None
    assert (found.symptom.name, found.symptom.group) == (name, OTHERS)
    assert not is_of_places(text)


@pytest.mark.parametrize(
    "text", ["", "nothing", "the model and the data are on the same device: cuda:0", "'int' object is not callable"]
)
def test_what_says_nothing_of_devices_is_not_recognised(text: str) -> None:
    assert recognise(text) is None


def test_a_text_of_pythons_own_needs_the_line_that_raised_it() -> None:
    text = "'int' object is not callable"
    assert recognise(text, "total = count(3)") is None
    found = recognise(text, "y = torch.zeros(2, device=x.get_device()())")
    assert found is not None
    assert found.symptom.name == "device-called"


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("cuda:1", "cuda:1"),
        ("torch.cuda.HalfTensor", "cuda"),
        ("torch.FloatTensor", "cpu"),
        ("MPSFloatType", "mps"),
        ("CPU", "cpu"),
        ("GPU", "cuda"),
        ("XPU", "xpu"),
    ],
)
def test_devices_have_one_spelling(text: str, device: str) -> None:
    assert device_of(text) == device


@pytest.mark.parametrize("letters", ["x", "(", "torch.", "device ", "'a' ", "expected not "])
def test_recognising_takes_time_in_proportion(letters: str) -> None:
    """A pattern that began with any letters would take minutes here."""
    assert recognise(letters * (60_000 // len(letters))) is None


ABOUT_SOMETHING_ELSE = ("Jiterator is only", "expand(torch.cuda.", "CUDAGuardImpl initialized", "Could not run")
"""Begin texts of the record that name devices: PyTorch's own confusions, and operations that CUDA lacks."""


def test_what_a_gpu_says_of_operators_with_a_tensor_elsewhere_is_of_places() -> None:
    (path,) = (ROOT / "benchmarks" / "operators" / "recorded").glob("*.json")
    outcomes = json.loads(path.read_text(encoding="utf-8"))["outcomes"]
    texts = {one["text"] for one in outcomes if "text" in one}
    about = {text for text in texts if re.search(r"\b(?:cpu|cuda|devices?)\b", text, re.IGNORECASE)}
    assert len(about) > 50
    assert {text for text in about if not is_of_places(text) and not text.startswith(ABOUT_SOMETHING_ELSE)} == set()
