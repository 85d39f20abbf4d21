"""Findings of a whole workspace, in an editor that asks for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lsprotocol import types

from tests.integrations.lsp.editor import LOAD, PULLED, Editor, running

Told = dict[str, tuple[str, list[str]]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """An editor that wants the findings of files that are not open."""
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "own").mkdir()
    (folder / "own" / "torchdevlint.toml").write_text('ignore = ["TDL201"]\n')
    for name in ("closed.py", "opened.py", "own/ignored.py", "build/generated.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(LOAD)
    (folder / "binary.py").write_bytes(b"\xff\xfe\x00torch")
    with running(folder, PULLED, {"diagnosticMode": "workspace"}) as one:
        yield one


def asked(editor: Editor, known: dict[str, str] | None = None) -> tuple[Told, dict[str, str]]:
    """The kinds of the reports and the codes in them by the names of files, and what the results are called."""
    previous = [types.PreviousResultId(*each) for each in (known or {}).items()]
    params = types.WorkspaceDiagnosticParams(previous)
    items = editor.do(editor.client.workspace_diagnostic_async(params)).items
    base = f"{editor.folder.as_uri()}/"
    told = {
        each.uri.removeprefix(base): (str(each.kind), [str(one.code) for one in getattr(each, "items", ())])
        for each in items
    }
    return told, {each.uri: each.result_id or "" for each in items}


def test_files_that_are_not_open_and_documents_as_they_are_shown(whole: Editor) -> None:
    uri = whole.uri("opened.py")
    whole.send_open(uri, f"{LOAD}again = torch.load('b.pt')\n")
    told, names = asked(whole)
    found = {"closed.py": ["TDL201"], "opened.py": ["TDL201", "TDL201"], "own/ignored.py": [], "binary.py": []}
    assert told == {name: ("full", codes) for name, codes in found.items()}, "what is excluded is not among them"
    again, _ = asked(whole, names)
    assert again == dict.fromkeys(found, ("unchanged", []))


def test_what_is_saved_elsewhere_is_told_and_what_is_gone_is_emptied(whole: Editor) -> None:
    _, names = asked(whole)
    (whole.folder / "new.py").write_text(LOAD)
    (whole.folder / "closed.py").unlink()
    whole.refreshed.clear()
    files = [types.FileEvent(whole.uri("new.py"), types.FileChangeType.Created)]
    whole.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(files))
    whole.until(lambda: "diagnostics" in whole.refreshed)
    told, _ = asked(whole, names)
    assert told["new.py"] == ("full", ["TDL201"])
    assert told["closed.py"] == ("full", [])


def test_by_default_only_documents_are_told_of(puller: Editor) -> None:
    (puller.folder / "beside.py").write_text(LOAD)
    uri = puller.uri("shown.py")
    puller.send_open(uri, LOAD)
    told, names = asked(puller)
    assert told["shown.py"] == ("full", ["TDL201"])
    assert "beside.py" not in told
    puller.close(uri)
    told, _ = asked(puller, names)
    assert told["shown.py"] == ("full", [])
