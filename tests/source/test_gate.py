"""The gate is sound: what a rule could report on is never turned away."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.casefile import read_cases
from torchdevlint import suppress
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.source.gate import may_hold_findings

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from hidden import with_open_gate

NAME = "CUDA_VISIBLE_DEVICES"
MARK = re.compile(r"#\s*(want|gap):.*$", re.MULTILINE)
CASES = [case for case in read_cases() if case.want and case.rule != "TDL901"]


def test_code_that_is_reported_in_a_case_passes() -> None:
    assert [case.id for case in CASES if not may_hold_findings(MARK.sub("", case.code).encode())] == []


BLOCKS = [MARK.sub("", block) for case in read_cases() for block in (case.code, case.fixed) if block]


def respelt(text: str) -> str:
    """The same code for a library that nobody has heard of."""
    return re.sub("torch|accelerate", "library", re.sub("(?i)cuda", "gpu", text))


@pytest.mark.parametrize("change", [str, respelt])
def test_what_is_turned_away_holds_nothing(change: Callable[[str], str]) -> None:
    """The findings of every case are the same with the gate open; for what passes it, they are so anyhow."""
    turned_away = [data for data in (change(block).encode() for block in BLOCKS) if not may_hold_findings(data)]
    found = [each for data in turned_away for each in with_open_gate(data, "case.py").diagnostics]
    assert [each for each in found if each.code != "TDL901"] == []


def test_cases_are_turned_away_once_they_name_nothing() -> None:
    """So that the test above tries something."""
    assert sum(not may_hold_findings(respelt(block).encode()) for block in BLOCKS) > 100


@pytest.mark.parametrize("method", sorted(torch_api.MOVE_METHODS | torch_api.DTYPE_METHODS))
def test_a_move_passes_though_the_file_never_names_torch(method: str) -> None:
    assert may_hold_findings(f"def f(t, d):\n    t.{method}(d)\n".encode())
    assert may_hold_findings(f"def f(t, d):\n    (t. # why\n  {method} \\\n (d))\n".encode())


@given(st.data())
def test_a_misspelt_variable_passes(data: st.DataObject) -> None:
    name = NAME
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(name)))
        name = name[:at] + data.draw(st.sampled_from(["", "X", "_"])) + name[at + data.draw(st.integers(0, 1)) :]
    cased = data.draw(st.sampled_from([name, name.lower(), name.title()]))
    assert may_hold_findings(f"import os\nos.environ['{cased}'] = '0'\n".encode())
    assert may_hold_findings(f"import os\nos.putenv('{cased}', '0')\n".encode())


@pytest.mark.parametrize(
    "text",
    [
        "import torch",
        "from pytorch_lightning import LightningModule",
        "x = 1  # torchdevlint: ignore",
        "x = 1  # noqa: tdl001",
        "x = 1  # noqa: TDL9",
        "x.CUDA(0)",
        "import 𝕥𝕠𝕣𝕔𝕙",
        "import ｔｏｒｃｈ as t",
        "ｘ.ｔｏ(d)",
    ],
)
def test_what_speaks_of_torch_passes(text: str) -> None:
    assert may_hold_findings(text.encode())


def test_an_encoding_that_may_hide_letters_passes() -> None:
    assert may_hold_findings("# coding: utf-7\nimport os  # é".encode())
    assert may_hold_findings("# coding: latin-1\nimport os  # é".encode("latin-1"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "import os\n\nprint('to', os.environ['HOME'])\n",
        "# coding: utf-8\nname = 'é'\n",
        "name = 'ﬁ'\n",
        "cud = a = visible = devices = 1\n",
        "goto(x)\nx.total(1)\nx.to_device = 1\n",
    ],
)
def test_other_files_are_turned_away(text: str) -> None:
    assert not may_hold_findings(text.encode())


@pytest.mark.parametrize(
    "text", ["#.\n", "# A sentence in a block of comments.\n", ".to #.to \n", ".\\\n", "#.to", "# noqa: TDL1"]
)
def test_the_time_is_that_of_the_length(text: str) -> None:
    """Of what used to take minutes: a hundred thousand comments that end in a dot."""
    may_hold_findings(text.encode() * 100_000)


def test_a_long_line_of_suppressions_is_read_in_the_time_of_its_length() -> None:
    assert len(suppress.read("x = 1  " + "# torchdevlint: ignore[TDL001]" * 50_000).own) == 50_000
    assert len(list(suppress.find_invalid(suppress.read("x = 1  " + "# torchdevlint: ignore[" * 50_000)))) == 50_000
    assert len(suppress.read("x = 1  # torchdevlint: ignore" + " " * 50_000 + ".").own) == 1
