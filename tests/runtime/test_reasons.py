"""Reasons why findings are inconclusive: one line each, in groups, with what would help."""

from __future__ import annotations

import pytest

from torchdevlint.runtime.execute.missing import advice
from torchdevlint.runtime.verify.reasons import ENTRY, LONGEST, grouped, why

NEEDS = "importing `a.b` needs `scipy.sparse`, which is not installed here (pip install scipy)"
NO_VALUES = "no values were found with which it runs on the CPU (150 tries): TypeError: 'int' object"
PART = "what was run is a part of the program only, and nothing went wrong"


@pytest.mark.parametrize(
    ("texts", "group", "helps"),
    [
        ([NEEDS, PART], "the module needs `scipy`, which is not installed here", "pip install scipy"),
        (
            [NEEDS.replace("pip install scipy", advice("src.model"))],
            "the module needs `scipy`, which is not installed here",
            "if `src` is the project's own, put its folder on PYTHONPATH",
        ),
        ([PART, f"{PART}; {NO_VALUES}"], "no values were found with which it runs", ENTRY),
        (["the search for values timed out: no end after 30 s"], "the time was over", "--timeout SECONDS allows more"),
        (["something new"], "other reasons", ENTRY),
        ([], "other reasons", ENTRY),
    ],
)
def test_the_most_telling_reason_is_the_one_that_is_told(texts: list[str], group: str, helps: str) -> None:
    found = why(texts)
    assert (found.group, found.advice) == (group, helps)
    assert found.text in "; ".join(texts) or not texts or found.text.endswith("...")


@pytest.mark.parametrize(
    ("module", "helps"),
    [
        ("google.protobuf.message", "pip install protobuf"),
        ("google.api_core", "pip install google-api_core"),
        ("sklearn.linear_model", "pip install scikit-learn"),
        ("einops", "pip install einops"),
        ("utils.data", "if `utils` is the project's own, put its folder on PYTHONPATH"),
    ],
)
def test_a_missing_module_is_installed_by_its_distribution(module: str, helps: str) -> None:
    assert advice(module) == helps


def test_a_reason_fits_one_line() -> None:
    assert why([f"{NO_VALUES}\n{'word ' * 100}"]).text.endswith("...")
    assert len(why([f"{NO_VALUES}\n{'word ' * 100}"]).text) <= LONGEST
    assert "\n" not in why([f"{NO_VALUES}\n{'word ' * 100}"]).text


def test_the_most_frequent_group_comes_first_and_equal_ones_by_name() -> None:
    every = [why([text]) for text in (PART, NEEDS, NO_VALUES, NO_VALUES.replace("150", "80"))]
    counted = [(number, each.text) for number, each in grouped(every)]
    assert counted == [(2, NO_VALUES), (1, PART), (1, NEEDS)]
