"""The codemods, alone and through the tool of libcst."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from libcst.codemod import CodemodContext, CodemodTest, SkipFile

from tests import forked
from tests.casefile import sampled
from tests.conftest import python
from torchdevlint.codemods import AddMapLocation, FixDevicePlacement
from torchdevlint.config import Settings
from torchdevlint.fix.text import fix_bytes

BEFORE = """\
import torch
from torch import nn
model = nn.Linear(4, 2)   # kept
model.load_state_dict(torch.load(  # why
    "model.pt",
))
x = torch.load("é.pt")
"""
SAFE = BEFORE.replace('"model.pt",', '"model.pt", map_location="cpu",')
UNSAFE = SAFE.replace('"é.pt")', '"é.pt", map_location="cpu")')


class TestAddMapLocation(CodemodTest):
    TRANSFORM = AddMapLocation

    def test_safe_fixes_are_applied_and_the_others_told(self) -> None:
        warning = "1 fix is unsafe and not applied (--unsafe-fixes)"
        self.assertCodemod(BEFORE, SAFE, expected_warnings=[warning])

    def test_unsafe_fixes_are_applied_where_they_are_asked_for(self) -> None:
        self.assertCodemod(BEFORE, UNSAFE, unsafe_fixes=True, expected_warnings=[])

    def test_nothing_else_is_fixed(self) -> None:
        text = "import torch\n\n\ndef f(batch: torch.Tensor):\n    batch.cuda()\n    return batch\n"
        self.assertCodemod(text, text, unsafe_fixes=True, expected_warnings=[])


def test_what_check_fixes_is_fixed() -> None:
    fixed = 0
    for case in sampled(2):
        try:
            module = cst.parse_module(case.code)
        except cst.ParserSyntaxError:
            continue
        expected = fix_bytes(case.code.encode(), "module.py", Settings())
        transformed = FixDevicePlacement(CodemodContext()).transform_module(module)
        assert transformed.code == expected.content.decode(), case.id
        fixed += bool(expected.applied)
    assert fixed > 5


def test_newlines_encodings_and_marks_stay() -> None:
    for encoding in ("utf-8-sig", "latin-1"):
        cookie = "# coding: latin-1\n" if encoding == "latin-1" else ""
        before, after = ((cookie + text).replace("\n", "\r\n").encode(encoding) for text in (BEFORE, SAFE))
        assert AddMapLocation(CodemodContext()).transform_module(cst.parse_module(before)).bytes == after


def test_settings_decide(tmp_path: Path) -> None:
    name = str(tmp_path / "train.py")
    for settings, message in (('exclude = ["train.py"]', "excluded"), ('select = ["X"]', "unknown code `X`")):
        (tmp_path / "torchdevlint.toml").write_text(settings)
        with pytest.raises(SkipFile, match=message):
            FixDevicePlacement(CodemodContext(filename=name)).transform_module(cst.parse_module(BEFORE))
    (tmp_path / "torchdevlint.toml").write_text('ignore = ["TDL201"]\nunfixable = ["TDL201"]\n')
    for codemod, after in ((FixDevicePlacement, BEFORE), (AddMapLocation, SAFE)):
        done = codemod(CodemodContext(filename=name)).transform_module(cst.parse_module(BEFORE))  # type: ignore[abstract]
        assert done.code == after


def tool(*arguments: str, cwd: Path) -> tuple[int, str]:
    done = forked.python("-m", "libcst.tool", "codemod", *arguments, cwd=cwd)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_the_tool_of_libcst_applies_them(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(BEFORE, encoding="utf-8")
    options = ("--no-format", "--hide-progress", "-j", "1", "train.py")
    status, said = tool("-x", "torchdevlint.codemods.AddMapLocation", *options, cwd=tmp_path)
    assert (status, file.read_text(encoding="utf-8")) == (0, SAFE), said
    assert "1 fix is unsafe and not applied (--unsafe-fixes)" in said
    command = ("-x", "torchdevlint.codemods.FixDevicePlacement", "--select", "TDL2", "--unsafe-fixes")
    status, said = tool(*command, *options, cwd=tmp_path)
    assert (status, file.read_text(encoding="utf-8")) == (0, UNSAFE), said
    status, said = tool("-x", "torchdevlint.codemods.FixDevicePlacement", "--select", "TDX", "train.py", cwd=tmp_path)
    assert status == 2
    assert said.splitlines()[-1].endswith("unknown code `TDX` in `select`; did you mean `TDL001`?")


def test_a_configured_tool_finds_them_by_their_modules(tmp_path: Path) -> None:
    (tmp_path / ".libcst.codemod.yaml").write_text("modules: ['torchdevlint']\n")
    (tmp_path / "train.py").write_text(BEFORE, encoding="utf-8")
    options = ("--no-format", "--hide-progress", "-j", "1", "train.py")
    status, said = tool("codemods.AddMapLocation", *options, cwd=tmp_path)
    assert (status, (tmp_path / "train.py").read_text(encoding="utf-8")) == (0, SAFE), said


def test_torch_is_not_loaded() -> None:
    code = "import sys, torchdevlint.libcst, torchdevlint.codemods; print('torch' in sys.modules)"
    assert python("-c", code).stdout == "False\n"
