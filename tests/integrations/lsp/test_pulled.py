"""Findings that an editor asks for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.integrations.lsp.editor import AMP, FIXED_AMP, LOAD, Editor


def test_who_asks_is_told_and_not_sent_the_same(puller: Editor) -> None:
    uri = puller.uri("load.py")
    puller.send_open(uri, LOAD)
    report = puller.pull(uri)
    assert (report.kind, [each.code for each in report.items]) == ("full", ["TDL201"])
    again = puller.pull(uri, report.result_id)
    assert (again.kind, again.result_id) == ("unchanged", report.result_id)
    puller.change(uri, f"\n{LOAD}")
    moved = puller.pull(uri, report.result_id)
    assert [each.range.start.line for each in moved.items] == [3]
    puller.change(uri, LOAD, 3)
    assert puller.pull(uri, moved.result_id).result_id == report.result_id, "what says the same has the same name"
    assert not puller.shown[uri]


def test_what_is_asked_of_the_server(puller: Editor) -> None:
    provider = puller.result.capabilities.diagnostic_provider
    assert provider is not None
    assert (provider.inter_file_dependencies, provider.workspace_diagnostics) == (True, True)


def test_cells_are_sent_also_to_who_asks(puller: Editor) -> None:
    book = puller.open_notebook("a.ipynb", "import torch\nx = torch.zeros(3)", "x.cuda()")
    puller.until(lambda: puller.codes(f"{book}#2") == ["TDL001"])
    report = puller.pull(f"{book}#2")
    assert (report.kind, list(report.items)) == ("full", [])


def test_what_is_not_open_has_no_findings(puller: Editor) -> None:
    (puller.folder / "closed.py").write_text(LOAD)
    assert not puller.pull(puller.uri("closed.py")).items


def test_a_saved_file_makes_the_editor_ask_again(puller: Editor) -> None:
    helper = puller.folder / "helper.py"
    helper.write_text("import torch\n\n\ndef made():\n    return torch.ones(2, device='cuda')\n")
    (puller.folder / "user.py").touch()
    uri = puller.uri("user.py")
    puller.send_open(uri, "import torch\nfrom helper import made\n\n\ndef f():\n    return made() + torch.ones(2)\n")
    report = puller.pull(uri)
    assert [each.code for each in report.items] == ["TDL004"]
    puller.refreshed.clear()
    helper.write_text("import torch\n\n\ndef made():\n    return torch.ones(2)\n")
    puller.save(helper.as_uri())
    puller.until(lambda: "diagnostics" in puller.refreshed)
    assert not puller.pull(uri, report.result_id).items


def test_a_text_that_changes_meanwhile_is_asked_about_again(puller: Editor) -> None:
    uri = puller.uri("typed.py")
    puller.send_open(uri, "import torch\n")
    assert not puller.pull(uri).items
    document = types.TextDocumentIdentifier(uri)

    async def ask() -> Any:
        puller.change(uri, "import torch\ns = torch.lo", 2)
        first = asyncio.ensure_future(
            puller.client.text_document_diagnostic_async(types.DocumentDiagnosticParams(document))
        )
        await asyncio.sleep(0.05)
        puller.change(uri, LOAD, 3)
        second = puller.client.text_document_diagnostic_async(types.DocumentDiagnosticParams(document))
        return await asyncio.gather(first, second, return_exceptions=True)

    stale, report = puller.do(ask())
    assert isinstance(stale, JsonRpcException)
    assert (stale.code, stale.data) == (types.LSPErrorCodes.ServerCancelled, {"retriggerRequest": True})
    assert [each.code for each in report.items] == ["TDL201"]


def test_a_question_that_is_taken_back_is_not_answered(puller: Editor) -> None:
    uri = puller.uri("cancelled.py")
    puller.send_open(uri, "import torch\n")
    puller.change(uri, LOAD)

    async def ask() -> Any:
        params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
        answer = puller.client.protocol.send_request_async(types.TEXT_DOCUMENT_DIAGNOSTIC, params, msg_id="stale")
        puller.client.protocol.notify(types.CANCEL_REQUEST, types.CancelParams("stale"))
        return await answer

    with pytest.raises(JsonRpcException) as error:
        puller.do(ask())
    assert error.value.code == types.LSPErrorCodes.RequestCancelled
    assert [each.code for each in puller.pull(uri).items] == ["TDL201"]


def test_problems_are_shown_to_who_asks(puller: Editor) -> None:
    (puller.folder / "wrong").mkdir()
    (puller.folder / "wrong" / "torchdevlint.toml").write_text('selct = ["TDL201"]\n')
    uri = puller.uri("wrong/a.py")
    puller.send_open(uri, LOAD)
    assert not puller.pull(uri).items
    puller.until(lambda: any("did you mean `select`?" in message for message in puller.messages))


def will_save(editor: Editor, uri: str) -> Any:
    params = types.WillSaveTextDocumentParams(types.TextDocumentIdentifier(uri), types.TextDocumentSaveReason.Manual)
    return editor.do(editor.client.text_document_will_save_wait_until_async(params))


def test_fixing_before_saving(puller: Editor) -> None:
    from tests.integrations.lsp.editor import applied

    uri = puller.uri("amp.py")
    puller.send_open(uri, AMP)
    assert applied(AMP, will_save(puller, uri)) == FIXED_AMP
    puller.change(uri, FIXED_AMP)
    assert will_save(puller, uri) is None
