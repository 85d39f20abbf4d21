"""``torchdevlint hunt``: execute everything that can be imported, and report what fails on accelerators only."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec.structs import replace

from torchdevlint.cli.clicked import configured
from torchdevlint.cli.console import complain, emit, progress, wants_color
from torchdevlint.cli.hunted import unknown, write_down
from torchdevlint.cli.options import loaded
from torchdevlint.cli.refused import Refused
from torchdevlint.config import ConfigError
from torchdevlint.discover import discover
from torchdevlint.model import Problem
from torchdevlint.runtime.child import Limits
from torchdevlint.runtime.hunt import report, sarif
from torchdevlint.runtime.hunt.command import calls_of
from torchdevlint.runtime.hunt.findings import Hunt, Hunted
from torchdevlint.runtime.hunt.gather import bugs_of
from torchdevlint.runtime.hunt.hunter import at_once, survey
from torchdevlint.runtime.hunt.hunter import hunt as execute
from torchdevlint.runtime.hunt.machines import Order, Recorded
from torchdevlint.runtime.hunt.modes import MODES
from torchdevlint.runtime.hunt.record import Record, installed_torch
from torchdevlint.runtime.hunt.targets import project_of
from torchdevlint.runtime.verify import UnusableError, require_torch
from torchdevlint.runtime.verify.forked import ForkServer


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--select", multiple=True, metavar="PATTERN", help="Targets to hunt, such as 'package.module:Class*'.")
@click.option("--mode", "only", multiple=True, type=click.Choice(MODES), help="Only these modes.  [default: all]")
@click.option(
    "--max-tries", type=click.IntRange(1), default=60, help="Runs to find values for one target.  [default: 60]"
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    help="Seconds for one execution.  [default: 30]",
)
@click.option(
    "--stop-after",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Begin no further target after so many seconds.  [default: all are executed]",
)
@click.option("--jobs", type=click.IntRange(1), help="How many targets at a time.  [default: cores, up to 4]")
@click.option(
    "--with-command",
    default="",
    metavar="COMMAND",
    help="Run this once, such as 'pytest tests', and hunt with the instances and arguments of its calls first.",
)
@click.option(
    "--write-reproducers",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write a script for each bug to this folder.",
)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Report only bugs that are not in this baseline.",
)
@click.option(
    "--write-baseline",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Add the bugs to this baseline.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write down what is done to this file, and go on from there if it is there.",
)
@click.option(
    "--output-format", type=click.Choice(["text", "json", "sarif"]), default="text", help="How the report is written."
)
@click.option(
    "-o", "--output-file", type=click.Path(path_type=Path, dir_okay=False), help="Write the report to this file."
)
@click.option("--isolated", is_flag=True, help="Read no configuration file.")
@configured
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours in text.")
def hunt(path: Path, **flags: Any) -> int:
    """Execute the functions and Modules under PATH with values that are searched for, and report what runs on the CPU
    and fails on accelerators.

    It is the code under PATH that is executed, in child processes without network, with limits on time and memory.

    Exit codes: 1 if there is a bug, 2 if the tool could not do its job, 0 otherwise.
    """
    try:
        require_torch()
        found = discover((str(path),), loaded(flags, paths=(str(path),)))
        order = _order(path, found.files, flags)
        torch = installed_torch()
        record = None if flags["record"] is None else Record(flags["record"], order, torch)
    except (ConfigError, UnusableError) as error:
        raise Refused(str(error)) from error
    try:
        with ForkServer() as above:
            result = replace(_hunted(order, above, record, flags["select"]), torch=torch)
    except UnusableError as error:
        raise Refused(str(error)) from error
    if flags["write_baseline"] is not None:
        write_down(result.bugs, flags["write_baseline"])
    if flags["baseline"] is not None:
        result = replace(result, bugs=unknown(result.bugs, flags["baseline"]))
    if flags["write_reproducers"] is not None:
        result = report.written(result, flags["write_reproducers"])
    emit(_report(result, flags), flags["output_file"])
    for problem in found.problems:
        complain(problem, wants_color(flags["color"], sys.stderr))
    if result.bugs:
        return 2 if found.problems else 1
    if not any(not one.why for one in result.targets):
        complain(Problem(None, "nothing could be executed"), wants_color(flags["color"], sys.stderr))
        return 2
    return 2 if found.problems else 0


def _order(path: Path, files: tuple[str, ...], flags: dict[str, Any]) -> Order:
    root = path.resolve() if path.is_dir() else path.resolve().parent
    limits, only = Limits(flags["timeout"]), tuple(flags["only"]) or MODES
    jobs, command = at_once(flags["jobs"]), flags["with_command"]
    until = math.inf if flags["stop_after"] is None else time.monotonic() + flags["stop_after"]
    return Order(project_of(files, root), flags["max_tries"], limits, jobs, only, command, until)


def _hunted(order: Order, above: ForkServer, record: Record | None, patterns: tuple[str, ...]) -> Hunt:
    """The hunt, of which what is in the record is not done again."""
    surveyed = survey(order, above)
    targets = [one for one in surveyed.targets if one.is_selected(patterns)]
    known = {} if record is None else record.known
    waiting = [one for one in targets if one not in known]
    seen = calls_of(order, surveyed.targets) if order.command and waiting else Recorded()
    if order.command and waiting and not seen.calls:
        complain(Problem(None, "the command makes no call of what is hunted"), wants_color("auto", sys.stderr))
    with progress(len(waiting), sys.stderr.isatty()) as step:

        def done(hunted: Hunted) -> None:
            if record is not None:
                record.add(hunted)
            step()

        fresh = {one.target: one for one in execute(order, above, surveyed, waiting, done, seen)}
    hunted = tuple(known[one] if one in known else fresh[one] for one in targets)
    return Hunt(bugs_of(hunted), hunted, dict(sorted(surveyed.failed.items())))


def _report(result: Hunt, flags: dict[str, Any]) -> str:
    if flags["output_format"] == "json":
        return msgspec.json.format(msgspec.json.encode(result), indent=2).decode() + "\n"
    if flags["output_format"] == "sarif":
        return sarif.render(result)
    return report.text(result, flags["output_file"] is None and wants_color(flags["color"], sys.stdout))
