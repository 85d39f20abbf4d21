"""``torchdevlint run``: a program under the checker, on simulated or on real accelerators."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from torchdevlint.cli.console import emit, wants_color
from torchdevlint.cli.refused import Refused
from torchdevlint.runtime.kinds import KINDS, MOST, most, refusal
from torchdevlint.runtime.start.launch import Order, UsageError
from torchdevlint.runtime.start.launch import run as execute
from torchdevlint.runtime.tell.report import Paper, text, to_json
from torchdevlint.runtime.tell.verdict import ending


@click.command(context_settings={"help_option_names": ["-h", "--help"], "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND [ARGUMENT]...")
@click.option(
    "--accelerators",
    type=click.IntRange(0, MOST),
    help="How many to simulate; 0 is a machine without any.  [default: 2, of mps 1]",
)
@click.option("--kind", type=click.Choice(KINDS), help="What is simulated.  [default: cuda]")
@click.option(
    "--device", metavar="TYPE", help="Use the real accelerators of this type, such as cuda, and record what happens."
)
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="End the program after this time."
)
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="How the report is written.")
@click.option(
    "-o", "--output-file", type=click.Path(path_type=Path, dir_okay=False), help="Write the report to this file."
)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours in text.")
def run(command: tuple[str, ...], **flags: Any) -> int:
    """Run a program as if accelerators were there, and report where devices do not fit.

    It is your own program that is executed, with everything that it does.

    \b
    torchdevlint run -- python train.py --epochs 1
    torchdevlint run --accelerators 4 -- torchrun --nproc-per-node 4 train.py
    torchdevlint run --device cuda -- pytest

    The report follows the program's output, on stderr, or on stdout with --output-format json.

    Exit codes: that of the program; 1 if it was 0 and there was a device error that nobody handled, in a thread, a
    child process or a test; 2 if the program or the backend cannot be started, or if it was 0 and a process with torch,
    or everything, was not checked; 124 after --timeout.
    """
    for name in ("accelerators", "kind"):
        if flags["device"] and flags[name] is not None:
            raise click.UsageError(f"--{name} is for simulated ones, --device uses real ones: give one of them")
    kind = flags["kind"] or "cuda"
    simulated = min(2, most(kind)) if flags["accelerators"] is None else flags["accelerators"]
    refused = refusal(kind, simulated)
    if refused is not None:
        raise click.UsageError(refused)
    order = Order(command, simulated, kind, flags["device"] or "", flags["timeout"])
    try:
        outcome = execute(order)
    except UsageError as error:
        raise Refused(str(error)) from error
    code = outcome.code
    if flags["output_format"] == "json":
        report = json.dumps(to_json(outcome.account, command, code, outcome.status), indent=2) + "\n"
    else:
        colored = flags["output_file"] is None and wants_color(flags["color"], sys.stderr)
        ended = ending(outcome.account, outcome.status, order.seconds if outcome.timed_out else None)
        report = text(outcome.account, Paper(colored, _width()), ended)
    if flags["output_file"] is not None or flags["output_format"] == "json":
        emit(report, flags["output_file"])
    else:
        sys.stdout.flush()
        click.echo(f"\n{report}", nl=False, err=True, color=colored)
    return code


def _width() -> int | None:
    """The width of the terminal on stderr in cells, None if there is none."""
    import shutil

    return max(shutil.get_terminal_size().columns, 40) if sys.stderr.isatty() else None
