"""The page on editors."""

from __future__ import annotations

import json
import re

from tests.conftest import ROOT
from torchdevlint.cli import COMMANDS
from torchdevlint.integrations.lsp.actions import FIX_ALL, FIX_NOTEBOOK
from torchdevlint.integrations.lsp.preferences import preferences


def test_the_lines_for_editors_name_what_there_is() -> None:
    text = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    client, on_save, zed = map(json.loads, re.findall(r"```json\n(.*?)```", text, re.DOTALL))
    assert [client["glspc.server.command"], *client["glspc.server.commandArguments"]] == ["torchdevlint", "server"]
    binary = zed["lsp"]["pylsp"]["binary"]
    assert [binary["path"], *binary["arguments"]] == ["torchdevlint", "server"]
    preferences(zed["lsp"]["pylsp"]["initialization_options"])
    assert list(zed["languages"]["Python"]["code_actions_on_format"]) == [FIX_ALL]
    assert list(on_save["[python]"]["editor.codeActionsOnSave"]) == [FIX_ALL]
    assert list(on_save["notebook.codeActionsOnSave"]) == [FIX_NOTEBOOK]
    assert "cmd = { 'torchdevlint', 'server' }" in text
    assert "server" in COMMANDS
