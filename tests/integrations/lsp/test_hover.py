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
