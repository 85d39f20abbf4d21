"""The command line. Every command is a module of its own, imported when it is asked for.

So is click, which a plain `check` does without: see `torchdevlint.cli.plain`.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from torchdevlint.garbage import THRESHOLDS

COMMANDS = {
    "check": ("torchdevlint.cli.check_command", "Lint files and folders (the default command)."),
    "clean": ("torchdevlint.cli.clean", "Remove the kept results of `check`."),
    "rule": ("torchdevlint.cli.rule", "Explain a rule."),
    "config": ("torchdevlint.cli.config", "List the keys of the configuration, or explain one."),
    "reveal": ("torchdevlint.cli.reveal", "Show what is believed of an expression, or why it is unknown."),
    "explain": ("torchdevlint.cli.explain", "Explain a traceback: what it means, and what causes it."),
    "verify": ("torchdevlint.cli.verify", "Execute what `check` flags, and give a verdict for each finding."),
    "hunt": ("torchdevlint.cli.hunt", "Execute all that can be imported, and report what fails on accelerators."),
    "run": ("torchdevlint.cli.run", "Run a program as if accelerators were there, and report device errors."),
    "devices": ("torchdevlint.cli.devices", "Show the hardware and backends that `verify` can use here."),
    "server": ("torchdevlint.cli.server", "Start the language server, for an editor."),
}
"""Module and one-line help of each command; the module's function has the command's name."""

PROGRAM = "torchdevlint"
_PYTHON_3_11 = 0x030B0000


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and leave with its exit code; whatever happens, no traceback is shown."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # whoever closed it wants nothing of it
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    sys.unraisablehook = _unraisable
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_run(list(sys.argv[1:] if arguments is None else arguments)))


def script() -> NoReturn:
    """`main` for a process that does nothing else.

    After `check` it ends without freeing the trees that are held, piece by piece: that takes a sixth of the time of a
    run, and the system does it at once. mypy ends like this too.
    """
    arguments = with_default_command(sys.argv[1:])
    if arguments[0] == "check":
        gc.set_threshold(*THRESHOLDS)  # what is imported stays, and no search for cycles has to go through it
        _import_records()
        from torchdevlint.deferred import defer

        defer()
    try:
        main()
    except SystemExit as end:
        if arguments[0] != "check" or not isinstance(end.code, int):
            raise
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os._exit(end.code)


def _import_records() -> None:
    """Import msgspec without typing_extensions, and with it `inspect` and `dis`: a tenth of a run over a small file.

    It asks that for what `typing` has since Python 3.11, and is content with `typing` where it is not installed.
    """
    name = "typing_extensions"
    if sys.hexversion < _PYTHON_3_11 or name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]  # as `import` has it, there is no such module
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules[name]


def with_default_command(arguments: list[str]) -> list[str]:
    """`arguments` with ``check`` before them unless they name a command or ask for help or the version."""
    if arguments and arguments[0] in {*COMMANDS, "-h", "--help", "--version"}:
        return arguments
    return ["check", *arguments]


def _refuse_misspelt_command(given: list[str]) -> None:
    """Raises Refused for a first word that is no path, and nearly a command."""
    word = given[0] if given else ""
    if not word.isalpha() or word in COMMANDS or Path(word).exists():
        return
    from difflib import get_close_matches

    from torchdevlint.cli.refused import Refused

    for near in get_close_matches(word.casefold(), COMMANDS, 1):
        raise Refused(f"no such file or folder: {word}; did you mean the command `{near}`?")


def _run(given: list[str]) -> int:
    arguments = with_default_command(given)
    try:
        _refuse_misspelt_command(given)
        return _answered(arguments)
    except KeyboardInterrupt:
        _default_interrupt()  # another one ends the process at once
        _say("interrupted")
        return 130
    except Exception as error:  # noqa: BLE001 (the last resort: users get one line, and where to look)
        _complain(*_described(error, arguments[0]))
        return 2


def _answered(arguments: list[str]) -> int:
    """The exit code of a command. Raises Refused, KeyboardInterrupt, and whatever it has not foreseen."""
    if arguments[0] == "check":
        from torchdevlint.cli.plain import plainly

        plain = plainly(arguments[1:])
        if plain is not None:
            from torchdevlint.cli.check import checked

            try:
                return checked(*plain, arguments)
            except KeyboardInterrupt:
                _say("")  # behind what the terminal shows of it, as click does
                raise
    from torchdevlint.cli.commands import run

    return run(arguments)


def _default_interrupt() -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _unraisable(event: sys.UnraisableHookArgs) -> None:
    """An interrupt during some clean-up cannot be raised, and ends the process all the same."""
    if isinstance(event.exc_value, KeyboardInterrupt):
        import signal

        _default_interrupt()
        signal.raise_signal(signal.SIGINT)
    sys.__unraisablehook__(event)


def _complain(usage: str, message: str) -> None:
    """One line, whatever was written in a configuration or on the command line."""
    from torchdevlint.report.terminal import one_line

    _say(f"{usage}error: {one_line(message)}")


def _say(text: str) -> None:
    with suppress(OSError):  # where stderr cannot be written, the exit code is all that is left to say
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def _described(error: Exception, command: str) -> tuple[str, str]:
    """What is said of an error that no command has answered, with the usage of the command if that is to blame.

    Of those of the user, errors of rule packages come here too.
    """
    from torchdevlint.cli.refused import Misused, Refused
    from torchdevlint.config import ConfigError

    if isinstance(error, Misused):
        from torchdevlint.cli.commands import usage_of

        return f"{usage_of(command)}\n", str(error)
    if isinstance(error, Refused):
        return error.usage and f"{error.usage}\n", str(error)
    if isinstance(error, ConfigError):
        return "", str(error)
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return "", f"internal error: {type(error).__name__}: {error}{where}"
