"""What an editor shows of a place in a text."""

from __future__ import annotations

from lsprotocol import types

from tests.integrations.lsp.editor import LOAD, Editor


def test_the_page_of_a_rule(editor: Editor) -> None:
    uri = editor.open("hover.py", LOAD)
    hover = editor.hover(uri, 2, 12)
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    assert hover.contents.kind == types.MarkupKind.Markdown
    assert hover.contents.value.startswith("# TDL201 load-without-map-location\n")
    assert hover.range == types.Range(types.Position(2, 8), types.Position(2, 30))
    assert editor.hover(uri, 0, 0) is None


MOVED = "import torch\n\nweights = torch.zeros(3, 4).cuda()\nother = torch.ones(2)\n"


def told(hover: types.Hover | None) -> str:
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    return hover.contents.value


def test_what_an_expression_is_believed_to_be(editor: Editor) -> None:
    uri = editor.open("believed.py", MOVED)
    hover = editor.hover(uri, 2, 2)
    assert told(hover).startswith("`weights`: a tensor of 2 dimensions on cuda\n")
    assert "created by `torch.zeros` on the CPU (default device) (line 3)" in told(hover)
    assert hover is not None
    assert hover.range == types.Range(types.Position(2, 0), types.Position(2, 7))
    assert editor.hover(uri, 2, 22) is None, "of a number there is nothing to say"
    assert editor.hover(uri, 1, 0) is None


def test_why_nothing_is_known(editor: Editor) -> None:
    uri = editor.open("unknown.py", "import torch\nimport helpers\n\nbatch = helpers.make(3)\n")
    text = told(editor.hover(uri, 3, 1))
    assert text.startswith("`batch`: unknown\n- unknown because ")
    assert text.endswith("`helpers.make()` is of a library that is not known (`helpers`) (line 4)")


def test_nothing_is_said_where_nothing_can_be(editor: Editor) -> None:
    assert editor.hover(editor.open("other.py", "x = 1\n"), 0, 0) is None
    broken = editor.open("half.py", "import torch\nx = torch.zeros(\n")
    place = editor.found(broken)[0].range.start
    assert told(editor.hover(broken, place.line, place.character)).startswith("# TDL901")
    assert editor.hover(broken, 0, 8) is None


def test_an_expression_in_a_cell(editor: Editor) -> None:
    cells = ("# A title", "import torch\nx = torch.zeros(3)", "%%time\nx")
    book = editor.open_notebook("believed.ipynb", *cells, kinds="m")
    text = told(editor.hover(f"{book}#3", 1, 0))
    assert text.startswith("`x`: a tensor of 1 dimension on the CPU (default device)\n")
    assert ", line 2 of cell 2" in text
