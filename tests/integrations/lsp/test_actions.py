"""What an editor can do about findings: fixes, comments, and all safe fixes at once."""

from __future__ import annotations

import time

import pytest
from lsprotocol import types

from tests.integrations.lsp.editor import AMP, LOAD, Editor, edited


def test_the_fix_of_a_finding(editor: Editor) -> None:
    uri = editor.open("amp.py", AMP)
    found = editor.actions(uri, 2)
    (fix,) = [action for title, action in found.items() if title.endswith("(TDL504)")]
    assert (fix.kind, fix.is_preferred) == ("quickfix", True)
    assert fix.diagnostics is not None
    assert [each.code for each in fix.diagnostics] == ["TDL504"]
    assert edited(AMP, fix.edit, uri) == 'import torch\n\nscaler = torch.amp.GradScaler("cuda")\n'
    assert list(editor.actions(uri, 0)) == ["torchdevlint: apply all safe fixes"], "nothing is wrong with the import"


def test_all_safe_fixes_at_once(editor: Editor) -> None:
    text = AMP + "\n# a remark\nother = torch.cuda.amp.GradScaler()  # noqa: TDL201\nlast = '\U0001f525'"
    uri = editor.open("all.py", text)
    (action,) = editor.actions(uri, 0, only=["source.fixAll"]).values()
    assert (action.kind, action.edit) == ("source.fixAll.torchdevlint", None)
    action = editor.do(editor.client.code_action_resolve_async(action))
    fixed = AMP.replace("cuda.amp.GradScaler()", 'amp.GradScaler("cuda")')
    assert edited(text, action.edit, uri) == (
        fixed + "\n# a remark\nother = torch.amp.GradScaler(\"cuda\")\nlast = '\U0001f525'"
    )
    assert editor.actions(editor.open("nothing.py", LOAD), 0, only=["source.fixAll"]) == {}


@pytest.mark.parametrize(
    ("line", "silenced"),
    [
        ("state = torch.load('m')", "state = torch.load('m')  # noqa: TDL201"),
        ("state = torch.load('\U0001f525')  # why", "state = torch.load('\U0001f525')  # why  # noqa: TDL201"),
        ("state = torch.load('m')  # noqa: E501  why", "state = torch.load('m')  # noqa: E501,TDL201  why"),
        ("state = torch.load('''m\nn''')", "state = torch.load('''m\nn''')  # noqa: TDL201"),
    ],
)
def test_a_comment_that_silences_a_finding(editor: Editor, line: str, silenced: str) -> None:
    uri = editor.open(f"silence{time.monotonic_ns()}.py", f"import torch\n{line}\n")
    assert editor.codes(uri) == ["TDL201"]
    action = editor.actions(uri, 1, only=["quickfix"])["Silence TDL201 in this line"]
    after = edited(f"import torch\n{line}\n", action.edit, uri)
    assert after == f"import torch\n{silenced}\n"
    editor.change(uri, after)
    editor.until(lambda: editor.codes(uri) == [])


def test_a_text_that_does_not_parse_is_not_silenced(editor: Editor) -> None:
    assert editor.actions(editor.open("unclosed.py", "x = '''\ny\n"), 0) == {}


def test_an_unused_suppression_is_shown_as_unnecessary(editor: Editor) -> None:
    uri = editor.open("unused.py", "import os  # noqa: TDL201\n")
    (found,) = editor.found(uri)
    assert (found.code, found.tags) == ("TDL900", (types.DiagnosticTag.Unnecessary,))
    (fix,) = editor.actions(uri, 0, only=["quickfix"]).values()
    assert edited("import os  # noqa: TDL201\n", fix.edit, uri) == "import os\n"
