"""A real editor, driven by a script: it shows what is found, and applies all safe fixes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integrations.lsp.editor import ADVICE, AMP, FIXED_AMP

SCRIPT = """
local function wait(happened)
  if not vim.wait(20000, happened, 20) then
    print('nothing came') vim.cmd('cquit')
  end
end
local client = vim.lsp.start_client({
  name = 'torchdevlint', cmd = { PYTHON, '-m', 'torchdevlint', 'server' }, root_dir = vim.fn.getcwd(),
})
vim.lsp.buf_attach_client(0, client)
wait(function() return #vim.diagnostic.get(0) == 1 end)
local out = { vim.diagnostic.get(0)[1].code .. ' in row ' .. vim.diagnostic.get(0)[1].lnum }
vim.api.nvim_win_set_cursor(0, { 3, 10 })
local hover = vim.lsp.buf_request_sync(0, 'textDocument/hover', vim.lsp.util.make_position_params(), 20000)
table.insert(out, vim.split(hover[client].result.contents.value, '\\n')[1])
local params = vim.lsp.util.make_range_params()
params.context = { only = { 'source.fixAll' }, diagnostics = {} }
local found = vim.lsp.buf_request_sync(0, 'textDocument/codeAction', params, 20000)[client].result
local action = vim.lsp.buf_request_sync(0, 'codeAction/resolve', found[1], 20000)[client].result
vim.lsp.util.apply_workspace_edit(action.edit, 'utf-16')
wait(function() return vim.api.nvim_buf_get_lines(0, 2, 3, true)[1]:find('torch.amp') end)
wait(function() return #vim.diagnostic.get(0) == 0 end)
vim.cmd('write')
vim.fn.writefile(out, 'out.txt')
vim.lsp.stop_client(client)
vim.cmd('quitall!')
"""


@pytest.mark.network
def test_neovim_shows_findings_and_applies_all_fixes(tmp_path: Path) -> None:
    nvim = shutil.which("nvim")
    if nvim is None:
        pytest.skip("there is no nvim here (Debian: apt-get install neovim)")
    (tmp_path / "pyproject.toml").write_text(ADVICE)
    (tmp_path / "amp.py").write_text(AMP)
    (tmp_path / "drive.lua").write_text(SCRIPT.replace("PYTHON", repr(sys.executable)))
    command = [nvim, "--headless", "-u", "NONE", "-i", "NONE", "amp.py", "-c", "luafile drive.lua"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "amp.py").read_text() == FIXED_AMP
    shown, hovered = (tmp_path / "out.txt").read_text().splitlines()
    assert shown == "TDL504 in row 2"
    assert hovered == "# TDL504 deprecated-cuda-amp"
