"""Which settings hold for what is on the screen."""

from __future__ import annotations

from lsprotocol import types

from tests.conftest import python
from tests.integrations.lsp.editor import LOAD, Editor


def test_the_baseline_of_the_configuration_holds(editor: Editor) -> None:
    folder = editor.folder / "kept"
    folder.mkdir()
    (folder / "known.py").write_text(LOAD)
    command = ("-m", "torchdevlint", "check", "--no-cache", "--write-baseline", "known.json", "known.py")
    assert python(*command, cwd=folder).returncode == 0
    (folder / "torchdevlint.toml").write_text('baseline = "known.json"\n')
    uri = editor.open("kept/known.py", f"{LOAD}new = torch.load('other.pt')\n")
    assert [each.range.start.line for each in editor.found(uri)] == [3]


def test_an_error_in_the_configuration_is_told_once_until_it_changes(editor: Editor) -> None:
    folder = editor.folder / "wrong"
    folder.mkdir()
    config = folder / "torchdevlint.toml"
    config.write_text('selct = ["TDL201"]\n')
    editor.messages.clear()
    uri = editor.open("wrong/a.py", LOAD)
    editor.change(uri, LOAD + "\n")
    editor.until(lambda: len(editor.shown[uri]) == 2)
    (message,) = editor.messages
    assert "did you mean `select`?" in message
    assert editor.codes(uri) == []
    config.write_text('select = ["TDL201"]\n')
    assert {"**/*.toml", "**/*.py"} <= set(editor.watched)
    event = types.FileEvent(config.as_uri(), types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    editor.until(lambda: editor.codes(uri) == ["TDL201"])
    assert len(editor.messages) == 1


def test_a_change_of_what_the_configuration_extends_is_seen(editor: Editor) -> None:
    folder = editor.folder / "standing"
    (folder / "shared").mkdir(parents=True)
    (folder / "torchdevlint.toml").write_text('extend = "shared/base.toml"\ninclude = ["*.pyi"]\n')
    base = folder / "shared" / "base.toml"
    base.write_text('ignore = ["TDL201"]\n')
    uri = editor.open("standing/a.py", LOAD)
    assert editor.codes(uri) == []
    base.write_text("")
    event = types.FileEvent(base.as_uri(), types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    editor.until(lambda: editor.codes(uri) == ["TDL201"])


def test_excluded_files_and_other_languages_give_nothing(editor: Editor) -> None:
    assert editor.codes(editor.open("build/made.py", LOAD)) == []
    cell = f"vscode-notebook-cell:{editor.folder.as_posix()}/a.ipynb#1"
    text = (editor.folder / "a.md").as_uri()
    editor.send_open(cell, LOAD)
    editor.send_open(text, LOAD, "markdown")
    assert editor.alive()
    assert not editor.shown[cell]
    assert not editor.shown[text]
    assert editor.hover(text, 2, 12) is None
