"""``torchdevlint explain``: what a pasted error means, and what the linter says of the line that raised it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from torchdevlint.cli.clicked import configured
from torchdevlint.cli.console import emit, remark, terminal_width, wants_color
from torchdevlint.cli.options import loaded
from torchdevlint.cli.refused import Refused
from torchdevlint.files import content


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", required=False, metavar="[FILE]")
@click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path(),
    metavar="DIR",
    help="Where the sources are, if not at the paths of the traceback.  [default: the current folder]",
)
@click.option("--isolated", is_flag=True, help="Read no configuration file.")
@configured
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="How it is written.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours in text.")
def explain(file: str | None, root: Path, output_format: str, color: str, **flags: Any) -> int:
    """Explain a traceback: what the error means, and what the linter finds at the line that raised it.

    FILE holds the traceback, with anything around it; `-`, or nothing, means standard input. Exits with 1 if there is
    no device error in it.
    """
    data = _read(file)
    if not data.strip():
        raise Refused("there is nothing to explain: the input is empty")
    from torchdevlint.explain import show
    from torchdevlint.explain.answer import answered
    from torchdevlint.explain.pasted import read

    error, others = read(_decoded(data))
    if error is None or error.recognised is None or not error.is_of_devices:
        emit(show.refused_json(error) if output_format == "json" else show.refused(error))
        return 1
    answer = answered(error, error.recognised, others, root, loaded(flags, f"{root}/").run)
    if output_format == "json":
        emit(show.to_json(answer))
    else:
        emit(show.text(answer, wants_color(color, sys.stdout), terminal_width()))
    return 0


def _read(file: str | None) -> bytes:
    if file is not None and file != "-":
        try:
            return content(file)
        except OSError as error:
            raise Refused(f"{file}: cannot be read: {error.strerror or error}") from error
    if sys.stdin.isatty():
        remark("paste the traceback, then end with Ctrl-D (Ctrl-Z and Enter on Windows):")
    return sys.stdin.buffer.read()


def _decoded(data: bytes) -> str:
    """The text, whatever its encoding: shells of Windows write UTF-16."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")
