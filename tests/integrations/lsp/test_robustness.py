"""Whatever a client sends, the server goes on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import ROOT, python
from tests.integrations.lsp.editor import LOAD, Editor


def test_a_crash_in_one_document_is_told_and_ends_nothing(editor: Editor) -> None:
    editor.messages.clear()
    uri = (editor.folder / "crash.py").as_uri()
    editor.send_open(uri, LOAD)
    editor.until(lambda: bool(editor.messages))
    assert editor.messages == ["internal error: ZeroDivisionError: seeded"]
    with pytest.raises(Exception, match="seeded"):
        editor.hover(uri, 2, 12)
    assert editor.alive()


def test_deep_code_ends_nothing(editor: Editor) -> None:
    editor.messages.clear()
    uri = editor.open("deep.py", "import torch\nx = " + "-" * 50_000 + "torch.load('m')\n")
    assert editor.codes(uri) == []
    editor.until(lambda: bool(editor.messages))  # it is a notification of its own, which may come after the findings
    (message,) = editor.messages
    assert "too deeply nested" in message
    assert editor.alive()


def test_a_document_of_many_lines_is_linted_while_others_are_asked_about(editor: Editor) -> None:
    rows = "".join(f"value_{number} = {number}\n" for number in range(12_000))
    uri = editor.open("huge.py", f"{LOAD}{rows}")
    assert editor.codes(uri) == ["TDL201"]
    editor.type(uri, 2, (12_000, 0, 12_000, 0, "\n"), (0, 0, 0, 0, "\n"))
    assert editor.alive(), "it is a matter of its own text alone"
    editor.until(lambda: editor.shown[uri][-1].version == 2)
    assert [each.range.start.line for each in editor.found(uri)] == [3]
    editor.close(uri)


def test_a_document_that_is_closed_while_it_is_linted_is_shown_nothing_of(editor: Editor) -> None:
    uris = [editor.uri(f"closed_{number}.py") for number in range(20)]
    for uri in uris:
        editor.send_open(uri, f"{LOAD}def f(x):\n    return x.cuda()\n" * 30)
        editor.close(uri)
    assert editor.alive()
    for uri in uris:
        assert not editor.shown[uri] or not editor.found(uri), "what was shown was taken away"
    editor.send_open(uris[0], LOAD)
    editor.until(lambda: bool(editor.shown[uris[0]]) and editor.codes(uris[0]) == ["TDL201"])


def test_nothing_but_the_protocol_is_written_to_standard_output(editor: Editor) -> None:
    assert editor.codes(editor.open("print.py", LOAD)) == ["TDL201"]
    assert editor.alive()


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ImportError\n")
    done = python("-m", "torchdevlint", "server", cwd=tmp_path, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'error: the language server needs pygls 2: pip install "torchdevlint[lsp]"\n'


def test_a_client_that_is_gone_ends_the_server() -> None:
    assert python("-m", "torchdevlint", "server", stdin="").returncode == 0
