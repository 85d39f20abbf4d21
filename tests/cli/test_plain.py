"""What is read of a command line without click: the same as click reads, or nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import python
from torchdevlint.cli.check_command import check
from torchdevlint.cli.flags import CHECK, Flag
from torchdevlint.cli.plain import COMPLETING, plainly

NAMES = [name for flag in CHECK for name in (flag.name, flag.short, flag.negated) if name]
VALUES = ("full", "advice", "always", "7", "-1", "x", "TDL001,TDL2", "missing/file.json", "", "-", "--", "tests", "a=b")
WORDS = st.one_of(
    st.sampled_from(NAMES),
    st.sampled_from(VALUES),
    st.builds("{}={}".format, st.sampled_from(NAMES), st.sampled_from(VALUES)),
    st.sampled_from(["-qv", "-j4", "--help", "-h", "--no-such", "--no-preview", "-o", "a.py", "--colour"]),
)


def by_click(arguments: list[str]) -> tuple[tuple[str, ...], dict[str, Any]] | None:
    """What click makes of the arguments, None for help and for mistakes."""
    try:
        flags = check.make_context("check", list(arguments)).params
    except (click.ClickException, click.exceptions.Exit):
        return None
    return flags.pop("paths"), flags


@given(st.lists(WORDS, max_size=6))
def test_what_is_plain_is_what_click_reads(arguments: list[str]) -> None:
    plain = plainly(arguments)
    assert plain is None or plain == by_click(arguments)


def spelt(flag: Flag) -> list[str]:
    """A flag with a value that fits."""
    value = {"text": "x", "number": "3"}.get(flag.takes, "missing")
    return [flag.name, flag.choices[-1]] if flag.choices else [flag.name, *([value] if flag.takes else [])]


@pytest.mark.parametrize("flag", CHECK, ids=lambda flag: flag.parameter)
def test_every_flag_is_plain(flag: Flag) -> None:
    arguments = ["a.py", *spelt(flag), "b.py"]
    plain = plainly(arguments)
    assert plain is not None
    assert plain == by_click(arguments)
    assert plain[1][flag.parameter] != flag.unset


@pytest.mark.parametrize(
    "arguments",
    [["-qv"], ["--help"], ["--no-such"], ["--jobs", "-1"], ["--color", "blue"], ["--baseline"], ["--", "-x"]],
)
def test_the_rest_is_for_click(arguments: list[str]) -> None:
    assert plainly(arguments) is None


def test_what_is_there_is_looked_at_by_click(tmp_path: Path) -> None:
    assert plainly(["--output-file", str(tmp_path)]) is None
    assert plainly(["--output-file", str(tmp_path / "new")]) is not None


def test_completions_are_for_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMPLETING, "bash_complete")
    assert plainly(["a.py"]) is None


def test_a_plain_check_runs_without_click(tmp_path: Path) -> None:
    (tmp_path / "linted.py").write_text("import torch\n\nstate = torch.load('model.pt')\n")
    program = (
        "import sys\nfrom torchdevlint.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as end:\n    print('click' in sys.modules, end.code)\n"
    )
    for flags, said in ([], "False 1"), (["-qv"], "True 1"), (["--exit-zero", "--no-cache"], "False 0"):
        done = python("-c", program, "check", "--isolated", *flags, "linted.py", cwd=tmp_path)
        assert done.stdout.splitlines()[-1] == said, done.stderr
    assert "click" in sys.modules
