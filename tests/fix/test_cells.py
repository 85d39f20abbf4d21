"""Notebooks are fixed in place: every byte stays that no fix is about."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchdevlint.config import Settings
from torchdevlint.fix.cells import rewritten, with_fixes
from torchdevlint.fix.text import fix_bytes
from torchdevlint.model import Applicability, Edit, Fix, Span
from torchdevlint.source.notebook import sources

SETTINGS = Settings(select=("TDL504", "TDL9"))
OLD, NEW = "torch.cuda.amp.autocast()", r"torch.amp.autocast(\"cuda\")"


def fixed(data: bytes) -> bytes:
    result = fix_bytes(data, "n.ipynb", SETTINGS)
    assert not result.result.problems
    return result.content


def notebook(*cells: str | list[str], **more: Any) -> str:
    """A notebook as Jupyter writes it, with outputs and with more characters than ASCII has."""
    made = [
        {
            "cell_type": "code",
            "execution_count": 1,
            "metadata": {"b": 1, "a": 2},
            "outputs": ["é \u2028"],
            "source": cell,
        }
        for cell in cells
    ]
    return (
        json.dumps({"cells": made, "metadata": {}, "nbformat": 4}, **{"indent": 1, "ensure_ascii": False, **more})
        + "\n"
    )


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "marked"])
@pytest.mark.parametrize(
    "style",
    [{}, {"ensure_ascii": True}, {"indent": None}, {"indent": None, "separators": (",", ":")}, {"indent": "\t"}],
    ids=str,
)
def test_only_the_fixed_lines_change(style: Any, mark: bytes) -> None:
    lines = ["%%time\n", "import torch\n", "s = 'é\\n'; x = " + OLD + "  # é\t\n", "!ls"]
    data = mark + notebook(lines, f"s = 'é'\nwith {OLD}: pass  # \\ é\n", ["x"], **style).encode()
    assert data.count(OLD.encode()) == 2
    assert fixed(data) == data.replace(OLD.encode(), NEW.encode())


def test_escapes_beside_a_fix_stay_as_they_are() -> None:
    text = (
        notebook(f"import torch\ns = 'é/'; x = {OLD}; Q").replace("é/", r"\u00E9\/\ud83d\uDE00").replace("Q", r"\u0051")
    )
    assert fixed(text.encode()) == text.replace(OLD, NEW).encode()


def test_line_ends_of_the_file_stay() -> None:
    data = notebook(["import torch\n", OLD]).replace("\n", "\r\n").encode()
    assert fixed(data) == data.replace(OLD.encode(), NEW.encode())


def test_a_row_goes_with_its_item() -> None:
    comment = "# noqa: TDL504"
    text = notebook(["x\n", f"{comment}\n", "y"], ["x\n", comment], [comment], f"{comment}\ny")
    done = fixed(text.encode())
    assert sources(done) == ["x\ny", "x", "", "y"]
    assert json.loads(done) == json.loads(notebook(["x\n", "y"], ["x"], [], "y"))
    assert set(done.decode().splitlines()) - set(text.splitlines()) == {
        '   "source": []',
        '    "x"',
        '   "source": "y"',
    }


def test_a_cell_that_cannot_be_parsed_stays_so() -> None:
    data = notebook("import torch\n" + OLD, "x = (").encode()
    result = fix_bytes(data, "n.ipynb", SETTINGS)
    assert result.content == data.replace(OLD.encode(), NEW.encode())
    assert [(each.code, each.cell) for each in result.result.diagnostics] == [("TDL901", 2)]


def test_magics_are_never_touched() -> None:
    data = notebook("import torch\n%time x = " + OLD).encode()
    result = fix_bytes(data, "n.ipynb", SETTINGS)
    assert (result.content, [each.code for each in result.result.diagnostics]) == (data, ["TDL504"])


ITEMS = st.lists(st.text(st.sampled_from('ab"\\é\n\u2028\U0001f600\t'), max_size=6), max_size=4)


@given(old=ITEMS, new=ITEMS, indent=st.sampled_from([None, 1]), ascii_only=st.booleans())
def test_any_source_can_take_the_place_of_any_other(
    old: list[str], new: list[str], indent: int | None, ascii_only: bool
) -> None:
    joined = "".join(new)
    for source in (old, "".join(old)):
        data = notebook("before", source, "behind", indent=indent, ensure_ascii=ascii_only).encode()
        changed = rewritten(data, {2: joined})
        assert sources(changed) == ["before", joined, "behind"]
        assert rewritten(data, {}) == data
        assert rewritten(changed, {2: joined}) == changed


def test_no_fix_breaks_a_cell_that_was_never_run() -> None:
    document = json.loads(notebook("import torch", "x = 1"))
    document["cells"][1]["execution_count"] = None
    fix = Fix(Applicability.SAFE, "", (Edit("(", Span(1, 5, 1, 5), 2),))
    assert with_fixes(json.dumps(document).encode(), "n.ipynb", [fix]) == (None, ())
