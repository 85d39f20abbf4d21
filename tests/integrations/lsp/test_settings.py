"""Settings of an editor: where they come from, and what is said of those that are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from tests.integrations.lsp.editor import AMP, LOAD, Editor, running
from torchdevlint.integrations.lsp.preferences import InlayHints, PreferenceError, Preferences, preferences


@pytest.mark.parametrize("sent", [None, [], {}, "x", 3, {"torchdevlint": None}])
def test_without_settings_there_are_the_defaults(sent: Any) -> None:
    assert preferences(sent) == Preferences()


def test_settings_alone_and_under_the_name_of_the_tool() -> None:
    sent = {"fixOnSave": True, "inlayHints": {"enable": True}, "logLevel": "debug", "diagnosticMode": "workspace"}
    expected = Preferences(True, InlayHints(True), "debug", "workspace")
    assert preferences(sent) == preferences({"torchdevlint": sent}) == expected


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"fixonsave": True}, "torchdevlint has no setting `fixonsave`; did you mean `fixOnSave`?"),
        ({"inlayHints": {"enabled": 1}}, "no setting `inlayHints.enabled`; did you mean `inlayHints.enable`?"),
        ({"fixOnSave": 1}, "Expected `bool`, got `int` - at `$.fixOnSave`"),
        ({"inlayHints": True}, "Expected `object`, got `bool` - at `$.inlayHints`"),
        ({"logLevel": "loud"}, "Invalid enum value 'loud' - at `$.logLevel`"),
        ({3: 4}, "torchdevlint has no setting `3`; did you mean "),
    ],
)  # fmt: skip
def test_what_is_no_setting_is_named(sent: Any, message: str) -> None:
    with pytest.raises(PreferenceError) as error:
        preferences(sent)
    assert message in str(error.value)
    assert "torchdevlint" in str(error.value)


def will_save(editor: Editor, uri: str) -> Any:
    params = types.WillSaveTextDocumentParams(types.TextDocumentIdentifier(uri), types.TextDocumentSaveReason.Manual)
    return editor.do(editor.client.text_document_will_save_wait_until_async(params))


def test_an_editor_that_answers_is_asked(puller: Editor) -> None:
    uri = puller.uri("asked.py")
    puller.send_open(uri, AMP)
    for value, fixes in ((False, False), (True, True)):
        puller.settings = {"fixOnSave": value}
        puller.refreshed.clear()
        puller.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"fixOnSave": not value}))
        puller.until(lambda: "diagnostics" in puller.refreshed)
        assert bool(will_save(puller, uri)) == fixes


def test_an_editor_that_sends_them(editor: Editor) -> None:
    uri = editor.open("sent.py", AMP)
    assert will_save(editor, uri) is None
    for settings, fixes in (({"torchdevlint": {"fixOnSave": True}}, True), ({"torchdevlint": {}}, False)):
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
        assert bool(will_save(editor, uri)) == fixes


def test_a_wrong_setting_is_told_and_changes_nothing(tmp_path: Path) -> None:
    with running(tmp_path, options={"fixOnSafe": True}) as editor:
        assert editor.codes(editor.open("a.py", LOAD)) == ["TDL201"]
        assert editor.messages == ["torchdevlint has no setting `fixOnSafe`; did you mean `fixOnSave`?"]
