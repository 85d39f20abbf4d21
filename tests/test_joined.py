"""Findings of one cause are one finding: what silences it, what its fix edits, and what stays apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from torchdevlint import baseline
from torchdevlint.config import Settings
from torchdevlint.engine import check_bytes
from torchdevlint.fix.text import fix_bytes
from torchdevlint.joined import joined
from torchdevlint.model import Applicability, Diagnostic, Edit, Fix, Severity, Span
from torchdevlint.report import lines_of_bytes

GRID = """\
import torch


def shifted(x: torch.Tensor):
    a = x + torch.arange(3){0}
    b = x + torch.arange(4){1}
    return a, b, x + torch.arange(5){2}
"""


def lines(text: str, settings: Settings | None = None, filename: str = "a.py") -> list[tuple[int, str, str]]:
    """Row, code, and what the message says of further lines."""
    found = check_bytes(text.encode(), filename, settings or Settings()).diagnostics
    return [(each.span.row, each.code, each.also) for each in found]


@pytest.mark.parametrize(
    ("silenced", "expected"),
    [
        ((), [(5, "TDL014", " (also in lines 6, 7)")]),
        ((0,), []),
        ((1,), [(5, "TDL014", " (also in line 7)")]),
        ((1, 2), [(5, "TDL014", "")]),
        ((0, 1, 2), []),
    ],
)
@pytest.mark.parametrize("comment", ["# noqa: TDL014", "# torchdevlint: ignore[TDL014]"])
def test_a_comment_at_the_first_line_silences_all_and_one_further_down_its_line(
    silenced: tuple[int, ...], expected: list[tuple[int, str, str]], comment: str
) -> None:
    """No such comment is unused (TDL900), since it would silence a finding that the others left standing."""
    text = GRID.format(*(f"  {comment}" if each in silenced else "" for each in range(3)))
    assert lines(text) == expected


def test_comments_above_and_regions_take_further_lines_out() -> None:
    rows = GRID.format("", "", "").split("\n")
    indent = rows[5][: len(rows[5]) - len(rows[5].lstrip())]
    for before, after in (("ignore[TDL014]", "ignore[TDL001]"), ("off", "on")):
        held = [*rows[:5], f"{indent}# torchdevlint: {before}", rows[5], f"{indent}# torchdevlint: {after}", *rows[6:]]
        found = [each for each in lines("\n".join(held)) if each[1] != "TDL900"]
        assert found == [(5, "TDL014", " (also in line 9)")]


def test_the_fix_edits_all_lines_but_those_that_a_comment_takes_out() -> None:
    fixed = fix_bytes(GRID.format("", "  # noqa: TDL014", "").encode(), "a.py", Settings()).content.decode()
    assert [line.count("device=x.device") for line in fixed.splitlines()[4:]] == [1, 0, 1]
    assert lines(fixed) == []


def test_a_file_that_a_comment_silences_counts_causes() -> None:
    result = check_bytes(f"# flake8: noqa\n{GRID.format('', '', '')}".encode(), "a.py", Settings())
    assert (result.diagnostics, result.silenced) == ((), 1)


def test_a_baseline_hides_the_cause_whatever_becomes_of_further_lines(tmp_path: Path) -> None:
    name = str(tmp_path / "a.py")
    known = check_bytes(GRID.format("", "", "").encode(), name, Settings()).diagnostics
    empty = baseline.Baseline(tmp_path / "baseline.json")
    fewer = GRID.format("", "", "").replace("torch.arange(4)", "1")
    for text in (GRID.format("", "", ""), fewer):
        shown = lines_of_bytes(text.encode())
        held = baseline.added(empty, dict.fromkeys(known), known, lambda *_, shown=shown: shown)
        assert len(held.entries) == 1
        found = check_bytes(text.encode(), name, Settings()).diagnostics
        assert len(found) == 1
        assert baseline.apply(found, held, lambda *_, shown=shown: shown) == []


def test_the_buffers_of_all_kernels_of_a_file_are_one_cause() -> None:
    """Which GPU they are launched on is decided once; what torch calculates with is a matter of its function."""
    gathered = "    rows = torch.cuda.FloatTensor(x.shape[0]).zero_()\n    _kernels.{0}(x, rows)\n    return rows\n"
    text = "import torch\nimport _kernels\n"
    text += "".join(f"def {each}(x):\n{gathered.format(each)}" for each in ("gather", "group"))
    assert lines(text) == [(4, "TDL012", " (also in line 8)")]


def test_in_a_notebook_each_cell_is_a_matter_of_its_own() -> None:
    moves = "a = torch.zeros(3) + w\nb = torch.ones(3) + w\n"
    first = f"import torch\nw = torch.ones(3, device='cuda')\n{moves}"
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": each.splitlines(True)}
        for each in (first, moves)
    ]
    data = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
    found = check_bytes(data, "a.ipynb", Settings()).diagnostics
    assert [(each.cell, each.span.row, each.also) for each in found] == [
        (1, 3, " (also in line 4)"),
        (2, 1, " (also in line 2)"),
    ]


def finding(row: int, applicability: Applicability | None, column: int = 1) -> Diagnostic:
    """A finding of one cause, with a fix that inserts a letter at its place."""
    at = Span(row, column, row, column)
    fix = None if applicability is None else Fix(applicability, "insert", (Edit("x", at),))
    return Diagnostic("a.py", at, "TDL014", "n", "m", Severity.ERROR, "s", "h", "u", row, (), fix, None, "one")


SAFE, UNSAFE = Applicability.SAFE, Applicability.UNSAFE


@pytest.mark.parametrize(("each", "whole"), [((SAFE, SAFE), SAFE), ((SAFE, UNSAFE), UNSAFE), ((SAFE, None), None)])
def test_a_fix_is_as_sure_as_its_least_sure_edit_and_never_of_half_the_lines(
    each: tuple[Applicability | None, ...], whole: Applicability | None
) -> None:
    group = [finding(row, applicability) for row, applicability in enumerate(each, start=1)]
    (one,) = joined(group, set(group))
    assert (one.fix and one.fix.applicability) == whole
    assert one.fix is None or len(one.fix.edits) == 2


def test_edits_that_touch_each_other_are_no_fix() -> None:
    first, second = finding(1, SAFE), finding(1, SAFE, 2)
    overlap = replace(first, fix=Fix(SAFE, "replace", (Edit("y", Span(1, 1, 1, 3)),)))
    (one,) = joined([overlap, second], {overlap, second})
    assert one.fix is None
    assert one.also == ""


def test_a_message_names_no_more_lines_than_one_reads() -> None:
    group = [finding(row, None) for row in range(1, 13)]
    (one,) = joined(group, set(group))
    assert one.message == "m (also in lines 2, 3, 4, 5, 6, 7, 8, 9 and 3 more)"
    assert [each.span.row for each in one.related] == list(range(2, 13))


def test_what_is_of_another_severity_is_another_finding() -> None:
    group = [finding(1, None), replace(finding(2, None), severity=Severity.ADVICE)]
    assert joined(group, set(group)) == group


PARTS = """\
import torch


def parts(net: torch.nn.Module):
    return net.start.detach().numpy(), \\
        net.weight.detach().numpy()


def both(weight: torch.Tensor, bias: torch.Tensor):
    return weight.detach().numpy(), \\
        bias.detach().numpy()
"""


def test_reads_of_the_parts_of_one_object_are_one_finding() -> None:
    assert lines(PARTS) == [(5, "TDL006", " (also in line 6)"), (10, "TDL006", ""), (11, "TDL006", "")]
