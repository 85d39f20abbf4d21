"""The command line as a whole: lazy imports, the last resort, progress."""

from __future__ import annotations

import signal
import sys
from io import StringIO
from pathlib import Path
from typing import NoReturn

import pytest

from tests.conftest import python
from torchdevlint import cli
from torchdevlint.cli import console


def leave(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    assert isinstance(end.value.code, int)
    return end.value.code


def raiser(error: BaseException) -> object:
    def run(*_: object, **__: object) -> NoReturn:
        raise error

    return run


def test_an_internal_error_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from torchdevlint.cli import check

    monkeypatch.setattr(check, "discover", raiser(ZeroDivisionError("a\nb")))
    assert leave("check") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: internal error: ZeroDivisionError: a b (test_main.py:")
    assert captured.err.count("\n") == 1


def test_an_interrupt_exits_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from torchdevlint.cli import check

    monkeypatch.setattr(check, "discover", raiser(KeyboardInterrupt()))
    before = signal.getsignal(signal.SIGINT)
    try:
        assert leave("check") == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err.split() == ["interrupted"]


@pytest.mark.parametrize(("word", "command"), [("chekc", "check"), ("Revael", "reveal"), ("rules", "rule")])
def test_a_misspelt_command_is_named(word: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert leave(word, "tests") == 2
    said = f"error: no such file or folder: {word}; did you mean the command `{command}`?\n"
    assert capsys.readouterr() == ("", said)


def test_a_path_is_no_misspelt_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules").mkdir()
    assert leave("rules") == 0
    assert leave("check", "chekc") == 2
    assert "chekc: no such file or folder\n" in capsys.readouterr().err
    assert leave("models") == 2
    assert capsys.readouterr().err == "error: models: no such file or folder\n"


def loaded(*arguments: str) -> set[str]:
    code = (
        "import sys\nfrom torchdevlint.cli import main\n"
        f"try:\n    main({list(arguments)!r})\nexcept SystemExit:\n    print('loaded', *sys.modules)"
    )
    return set(python("-c", code).stdout.splitlines()[-1].split()[1:])


def test_the_version_loads_next_to_nothing() -> None:
    names = loaded("--version")
    assert "click" in names
    assert not {"rich", "libcst", "torch", "pathspec", "asyncio", "concurrent.futures"} & names
    own = {"torchdevlint", *(f"torchdevlint.{name}" for name in ("cli", "cli.commands", "cli.refused", "garbage"))}
    assert {name for name in names if name.startswith("torchdevlint")} == own


def test_linting_loads_neither_rich_nor_what_many_processes_need() -> None:
    names = loaded("check", "--isolated", "tests/__init__.py")
    assert "torchdevlint.engine" in names
    assert not {"rich", "libcst", "torch", "concurrent.futures.process", "multiprocessing"} & names


class Terminal(StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_appears_on_long_runs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    now = 0.0
    monkeypatch.setattr(console.time, "monotonic", lambda: now)
    with console.progress(100, enabled=True) as done:
        for _ in range(10):
            now += 0.05
            done()
        assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]
        for _ in range(10):
            now += 0.2
            done()
        assert "18/100" in sys.stderr.getvalue() or "20/100" in sys.stderr.getvalue()  # type: ignore[attr-defined]


def test_progress_can_be_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(console, "PATIENCE", -1.0)
    with console.progress(1, enabled=False) as done:
        done()
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_colours_on_a_terminal(monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", term)
    assert console.wants_color("auto", Terminal()) is (term != "dumb")
    assert console.wants_color("auto", StringIO()) is False
