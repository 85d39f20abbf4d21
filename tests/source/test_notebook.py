"""Notebooks as bytes: their cells as one module, places in it as places in cells, and files that are none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from torchdevlint.model import Applicability, Diagnostic, Edit, Fix, Related, Severity, Span
from torchdevlint.source.notebook import Cell, Notebook, content_of, places, read, sources
from torchdevlint.source.text import UndecodableError


def code(*lines: str, **more: Any) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "outputs": [], "source": [*lines], **more}


def text(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def written(*cells: Any, **more: Any) -> bytes:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}, indent=1).encode()


NOTEBOOK = read(written(text("# x"), code("a = 1\n", "%cd x\n", "b"), code(), text(""), code("c = 3\n")))


def finding(span: Span, **more: Any) -> Diagnostic:
    more = {"noqa_row": span.row, **more}
    return Diagnostic("n.ipynb", span, "TDL001", "a-rule", "", Severity.ERROR, "", "", "", **more)


def test_cells_become_one_module() -> None:
    assert NOTEBOOK.text == "a = 1\npass\nb\n\nc = 3\n\n"
    assert [(cell.number, cell.first) for cell in NOTEBOOK.cells] == [(2, 1), (3, 4), (5, 5)]
    assert content_of(b"x = 1", "x.py").text == "x = 1"


@pytest.mark.parametrize(
    ("span", "cell", "expected"),
    [
        (Span(1, 3, 1, 4), 2, Span(1, 3, 1, 4)),
        (Span(3, 1, 3, 2), 2, Span(3, 1, 3, 2)),
        (Span(4, 1, 4, 1), 3, Span(1, 1, 1, 1)),
        (Span(5, 5, 5, 6), 5, Span(1, 5, 1, 6)),
        (Span(2, 3, 2, 5), 2, Span(2, 1, 2, 6)),
        (Span(1, 1, 3, 2), 2, Span(1, 1, 3, 2)),
        (Span(1, 1, 5, 2), 2, Span(1, 1, 3, 2)),
    ],
    ids=["first", "third", "empty", "last", "magic", "several", "beyond"],
)
def test_places_in_cells(span: Span, cell: int, expected: Span) -> None:
    found = NOTEBOOK.in_cells(finding(span))
    assert (found.cell, found.span, found.noqa_row) == (cell, expected, expected.row)


@pytest.mark.parametrize("span", [Span(1, 1, 3, 2), Span(5, 2, 5, 3)])
def test_places_in_the_module(span: Span) -> None:
    assert NOTEBOOK.in_module(NOTEBOOK.in_cells(finding(span))) == finding(span)


def test_related_places_have_cells_of_their_own() -> None:
    others = (Related("", "n.ipynb", Span(5, 1, 5, 2)), Related("", "x.py", Span(5, 1, 5, 2)))
    found = NOTEBOOK.in_cells(finding(Span(1, 1, 1, 2), related=others)).related
    assert [(each.cell, each.span.row) for each in found] == [(5, 1), (None, 5)]


@pytest.mark.parametrize(
    ("span", "edit"),
    [
        (Span(1, 1, 1, 2), Edit("x\n", Span(1, 1, 1, 2), 2)),
        (Span(1, 1, 2, 1), Edit("x\n", Span(1, 1, 2, 1), 2)),
        (Span(3, 1, 4, 1), Edit("x", Span(3, 1, 3, 2), 2)),
        (Span(5, 1, 6, 1), Edit("x\n", Span(1, 1, 2, 1), 5)),
        (Span(2, 1, 2, 1), None),
        (Span(1, 1, 3, 1), None),
        (Span(1, 6, 2, 2), None),
        (Span(3, 1, 4, 2), None),
        (Span(9, 1, 9, 1), None),
    ],
    ids=["row", "line", "last-line", "ended-line", "at-magic", "over-magic", "into-magic", "two-cells", "beyond"],
)
def test_edits_stay_in_one_cell_and_off_magics(span: Span, edit: Edit | None) -> None:
    fix = NOTEBOOK.in_cells(finding(Span(1, 1, 1, 2), fix=Fix(Applicability.SAFE, "", (Edit("x\n", span),)))).fix
    assert (None if fix is None else fix.edits) == (None if edit is None else (edit,))
    if edit is not None and edit.content.endswith("\n"):
        assert NOTEBOOK.fix_in_module(Fix(Applicability.SAFE, "", (edit,))).edits == (Edit("x\n", span),)


def test_nothing_is_changed_in_a_cell_that_is_left_out() -> None:
    fix = Fix(Applicability.SAFE, "", (Edit("x", Span(5, 1, 5, 1)),))
    rest = NOTEBOOK.without([5])
    assert rest.text == "a = 1\npass\nb\n\n\n\n"
    assert rest.in_cells(finding(Span(5, 3, 5, 3), fix=fix)).fix is None
    assert rest.in_cells(finding(Span(5, 3, 5, 3))).span == Span(1, 3, 1, 3)


def test_line_ends_within_a_cell() -> None:
    assert read(written(code("a\r\n", "b\r", "c"))).cells == (
        Cell(1, "a\r\nb\rc", ("a", "b", "c"), ("a", "b", "c"), frozenset(), 1),
    )


@pytest.mark.parametrize(
    "metadata",
    [
        {"kernelspec": {"language": "R", "name": "ir"}},
        {"language_info": {"name": "julia"}, "kernelspec": {"language": "julia"}},
        {"kernelspec": {"language": "sage"}, "language_info": {"name": "python"}},
    ],
)
def test_other_languages(metadata: Any) -> None:
    assert read(written(code("x <- 1"), metadata=metadata)) == Notebook(())
    assert read(written(code("x <- 1"), metadata=metadata)).text == ""


@pytest.mark.parametrize("metadata", [{}, None, 3, {"language_info": {"name": "ipython"}}, {"kernelspec": []}])
def test_python(metadata: Any) -> None:
    assert read(written(code("x = 1"), metadata=metadata)).text == "x = 1\n"


def test_a_cell_in_another_language() -> None:
    other = code("select 1", metadata={"vscode": {"languageId": "sql"}})
    assert sources(written(other, code("x"), {"cell_type": "raw", "source": 3})) == [None, "x", None]


def test_the_third_version_of_the_format() -> None:
    cells = [{"cell_type": "heading", "source": "x"}, {"cell_type": "code", "language": "python", "input": ["x = 1"]}]
    data = json.dumps({"worksheets": [{"cells": cells}, {"cells": cells}], "nbformat": 3}).encode()
    assert [(cell.number, cell.source) for cell in read(data).cells] == [(2, "x = 1"), (4, "x = 1")]
    assert [data.decode()[start:end] for start, end in places(data.decode())] == ['"x"', '["x = 1"]'] * 2


BROKEN = {
    "cut": (written(code("x"))[:-20], 14, "no JSON"),
    "conflict": (written(code("x")).replace(b" {\n", b"<<<<<<< HEAD\n", 1), 3, "no JSON"),
    "list": (b"\n[]", 1, "no JSON object"),
    "string": (b'"x"', 1, "no JSON object"),
    "no-cells": (b"{}", 1, "no list of `cells`"),
    "cells": (b'{"cells": {}}', 1, "no list of `cells`"),
    "worksheet": (b'{"worksheets": [3]}', 1, "no list of `cells`"),
    "cell": (written(code("x"), 3), 11, "cell 2 is no JSON object"),
    "source": (written(text(""), code(source=3)), 8, "cell 2 has a source that is neither"),
    "lines": (written(code(source=["x", 3])), 3, "cell 1 has a source that is neither"),
    "no-source": (b'{"cells": [{"cell_type": "code"}]}', 1, "cell 1 has a source that is neither"),
    "nul": (written(code("x")).replace(b"{", b"{\n\0", 1), 2, "NUL"),
    "latin": (written(code("x")).replace(b'"x"', b'"\xe9"'), 8, "not valid utf-8"),
    "utf-16": ("{}".encode("utf-16"), 1, "UTF-16"),
    "digits": (b'{"cells": ' + b"1" * 5000 + b"}", 1, "digits"),
}


@pytest.mark.parametrize(("data", "row", "reason"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_notebook(data: bytes, row: int, reason: str) -> None:
    with pytest.raises(UndecodableError) as error:
        read(data)
    assert (error.value.row, reason in error.value.reason) == (row, True), error.value


def test_a_mark_before_the_text() -> None:
    assert read(b"\xef\xbb\xbf" + written(code("x"))).text == "x\n"
