"""Devices behind assignments, in an editor that asks for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lsprotocol import types

from tests.integrations.lsp.editor import PULLED, Editor, running

TEXT = "import torch\n\nweights = torch.zeros(3, 4).cuda()\nother = torch.ones(2)\n"
ON = {"inlayHints": {"enable": True}}


@pytest.fixture(scope="module")
def hinted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """An editor that can be told to ask again."""
    with running(tmp_path_factory.mktemp("hinted"), PULLED, ON) as one:
        yield one


def hints(editor: Editor, uri: str, last: int = 99) -> list[tuple[int, int, str]]:
    where = types.Range(types.Position(0, 0), types.Position(last, 0))
    params = types.InlayHintParams(types.TextDocumentIdentifier(uri), where)
    found = editor.do(editor.client.text_document_inlay_hint_async(params)) or []
    return [(each.position.line, each.position.character, str(each.label)) for each in found]


def test_the_device_behind_an_assignment(hinted: Editor) -> None:
    uri = hinted.uri("hints.py")
    hinted.send_open(uri, TEXT)
    assert hints(hinted, uri) == [(2, 7, "on cuda"), (3, 5, "on the CPU (default device)")]
    assert hints(hinted, uri, 2) == [(2, 7, "on cuda")]


def test_after_a_change_there_are_those_of_before_until_there_are_newer(hinted: Editor) -> None:
    uri = hinted.uri("typed.py")
    hinted.send_open(uri, TEXT)
    hints(hinted, uri)
    hinted.refreshed.clear()
    hinted.type(uri, 2, (1, 0, 1, 0, "\nx = torch.ones(3)\n"), (3, 0, 3, 0, ""))
    assert hints(hinted, uri) == [(4, 7, "on cuda"), (5, 5, "on the CPU (default device)")]
    hinted.until(lambda: "hints" in hinted.refreshed)
    assert hints(hinted, uri) == [
        (2, 1, "on the CPU (default device)"),
        (4, 7, "on cuda"),
        (5, 5, "on the CPU (default device)"),
    ]


def test_hints_in_cells(hinted: Editor) -> None:
    cells = ("import torch", "# \U0001f525\n'\U0001f525'; x = torch.ones(2)", "y = x.cuda()")
    book = hinted.open_notebook("a.ipynb", *cells)
    assert hints(hinted, f"{book}#1") == []
    assert hints(hinted, f"{book}#2") == [(1, 7, "on the CPU (default device)")]
    assert hints(hinted, f"{book}#3") == [(0, 1, "on cuda")]


def test_a_text_that_is_no_python_has_none(hinted: Editor) -> None:
    uri = hinted.uri("broken.py")
    hinted.send_open(uri, "import torch\nx = torch.zeros(\n")
    assert hints(hinted, uri) == []
    assert hints(hinted, hinted.uri("not_open.py")) == []


def test_they_are_off_until_they_are_switched_on(hinted: Editor) -> None:
    uri = hinted.uri("switched.py")
    hinted.send_open(uri, TEXT)
    for settings, expected in (({"inlayHints": {"enable": False}}, 0), (ON, 2)):
        hinted.settings = settings
        hinted.refreshed.clear()
        hinted.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        hinted.until(lambda: "hints" in hinted.refreshed)
        assert len(hints(hinted, uri)) == expected


def test_without_a_way_to_tell_the_hints_are_those_of_the_text(editor: Editor) -> None:
    uri = editor.open("waits.py", TEXT)
    assert hints(editor, uri) == [], "they are off"
    change = {"torchdevlint": ON}
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(change))
    editor.change(uri, f"\n{TEXT}")
    assert hints(editor, uri) == [(3, 7, "on cuda"), (4, 5, "on the CPU (default device)")]
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"torchdevlint": {}}))
    assert hints(editor, uri) == []
