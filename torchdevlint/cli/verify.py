"""``torchdevlint verify``: execute what `check` flags, and give every finding a verdict with its evidence."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from torchdevlint.baseline import added, read, write
from torchdevlint.cli.baseline import hide, opened
from torchdevlint.cli.clicked import selection
from torchdevlint.cli.console import complain, emit, remark, terminal_width, wants_color
from torchdevlint.cli.options import configuration_from
from torchdevlint.cli.refused import Refused
from torchdevlint.config import ConfigError, Configuration, Settings
from torchdevlint.discover import discover
from torchdevlint.engine import check_paths
from torchdevlint.model import Diagnostic, Run
from torchdevlint.report import Look, concise, lines_of_file, sarif
from torchdevlint.report.json import to_dict
from torchdevlint.report.summary import count, enumerate_words
from torchdevlint.report.terminal import escape, paint, wrap
from torchdevlint.runtime.backends import CPU, SIMULATED, Machine
from torchdevlint.runtime.child import Limits
from torchdevlint.runtime.kinds import MOST
from torchdevlint.runtime.verify import Order, UnusableError, accelerator, require_torch, survey
from torchdevlint.runtime.verify import verify as execute
from torchdevlint.runtime.verify.reasons import grouped
from torchdevlint.runtime.verify.verdict import Rung, Verdict, Verified, fields_of

STYLES = {Verdict.CONFIRMED: "error", Verdict.REFUTED: "good", Verdict.INCONCLUSIVE: "warning"}


class Paper(Struct, frozen=True):
    """What text is written on: whether it takes colours, and its width in cells (None: nothing is wrapped)."""

    color: bool
    width: int | None


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@selection
@click.option(
    "--output-format", type=click.Choice(["text", "json", "sarif"]), default="text", help="How verdicts are written."
)
@click.option(
    "-o", "--output-file", type=click.Path(path_type=Path, dir_okay=False), help="Write the verdicts to this file."
)
@click.option(
    "--write-baseline",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Add to FILE, for `check --baseline`, what your own entry refuted.",
)
@click.option(
    "--device", default="auto", metavar="DEVICE", help="auto, simulated, or a real device such as cuda or cuda:1."
)
@click.option("--accelerators", type=click.IntRange(1, MOST), default=2, help="How many to simulate.  [default: 2]")
@click.option("--with-command", metavar="COMMAND", help='Run this first, such as "pytest tests/test_model.py".')
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds for one execution.  [default: 30]"
)
@click.option("--jobs", type=click.IntRange(1), help="How many findings at a time.  [default: cores, up to 4]")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours in text.")
def verify(paths: tuple[str, ...], **flags: Any) -> int:
    """Execute what `check` flags, and print a verdict for each finding, with its evidence.

    It is your own code that is executed, in child processes with limits on time and memory.

    \b
    confirmed     the symptom happened, and does not where every accelerator is the CPU
    refuted       the flagged expressions ran with tensors of the accelerator, and nothing went wrong
    inconclusive  it could not be executed, and why

    Exit codes: 1 if anything is confirmed, 2 if the tool could not do its job, 0 otherwise.
    """
    configuration = configuration_from(flags, paths=paths)
    settings = configuration.run
    limits = Limits(flags["timeout"] or settings.verify.timeout)
    try:
        require_torch()
        found = discover(paths or (".",), configuration)
        run, notes = _linted(found.files, configuration)
        machine = survey() if run.diagnostics else None
        verified = _executed(run.diagnostics, machine, flags, settings, limits) if machine is not None else []
        if flags["write_baseline"] is not None:
            notes += _suppress(verified, run, flags["write_baseline"])
    except (ConfigError, UnusableError) as error:
        raise Refused(str(error)) from error
    emit(_report(verified, run, flags), flags["output_file"])
    problems = (*found.problems, *run.problems)
    for note in notes:
        remark(f"note: {note}")
    for problem in problems:
        complain(problem, wants_color(flags["color"], sys.stderr))
    if problems:
        return 2
    return 1 if any(one.judgement.verdict is Verdict.CONFIRMED for one in verified) else 0


def _linted(files: Sequence[str], settings: Configuration) -> tuple[Run, list[str]]:
    """The findings that are not in a configured baseline, and remarks on that."""
    baselines = opened(files, settings)
    return hide(check_paths(files, settings), baselines, settings, lines_of_file, verbose=False)


def _suppress(verified: Sequence[Verified], run: Run, file: Path) -> list[str]:
    """Write what was refuted on the user's own entry to a baseline. Raises ConfigError."""
    refuted = {
        one.diagnostic: f"verify: {one.judgement.reason}"
        for one in verified
        if one.judgement.verdict is Verdict.REFUTED and one.judgement.rung is Rung.EXAMPLE
    }
    write(added(read(file, missing_ok=True), refuted, run.diagnostics, lines_of_file))
    return [f"{count(len(refuted), 'finding', 'findings')} that your own entry refuted written to {file}"]


def _report(verified: Sequence[Verified], run: Run, flags: dict[str, Any]) -> str:
    if flags["output_format"] == "json":
        rows = [{**to_dict(one.diagnostic), **fields_of(one)} for one in verified]
        return json.dumps(rows, indent=2) + "\n"
    if flags["output_format"] == "sarif":
        return sarif.render(run, Look(), {one.diagnostic: fields_of(one) for one in verified})
    color = flags["output_file"] is None and wants_color(flags["color"], sys.stdout)
    return render(verified, Paper(color, terminal_width() if flags["output_file"] is None else None))


def _executed(
    diagnostics: Sequence[Diagnostic], machine: Machine, flags: dict[str, Any], settings: Settings, limits: Limits
) -> list[Verified]:
    asked = flags["device"]
    order = Order(
        device=accelerator(machine, asked) or (CPU if asked == CPU else SIMULATED),
        accelerators=flags["accelerators"],
        limits=limits,
        examples=dict(settings.verify.examples),
        root=settings.root,
        torch=machine.torch,
    )
    command = flags["with_command"] or settings.verify.with_command
    if not sys.stderr.isatty():
        return execute(diagnostics, machine, order, asked, flags["jobs"], command=command)
    with click.progressbar(diagnostics, label="executing", file=sys.stderr) as bar:
        return execute(diagnostics, machine, order, asked, flags["jobs"], lambda: bar.update(1), command)


def render(verified: Sequence[Verified], paper: Paper) -> str:
    """The verdicts as text, one block for each finding, in the order of the findings."""
    lines: list[str] = []
    for one in verified:
        lines += [*_block(one, paper), ""]
    return "\n".join([*lines, _summary(verified, paper)]) + "\n"


def _block(one: Verified, paper: Paper) -> Iterator[str]:
    diagnostic, judgement = one.diagnostic, one.judgement
    place = f"{diagnostic.filename}{concise.place(diagnostic)}".rstrip(":")
    verdict = paint(judgement.verdict.value, STYLES[judgement.verdict], paper.color)
    where = f"({judgement.rung.value} on {judgement.backend}, torch {judgement.torch})"
    code = paint(diagnostic.code, "strong", paper.color)
    yield f"{paint(escape(place), 'path', paper.color)} {code} {diagnostic.name}: {verdict} {where}"
    yield from _item("finding", diagnostic.message, paper)
    if judgement.claim:
        yield from _item("claim", judgement.claim, paper)
    if judgement.evidence.exception and judgement.verdict is not Verdict.INCONCLUSIVE:
        yield from _item("raised", judgement.evidence.exception, paper)
    inputs = judgement.evidence.inputs if judgement.rung is not Rung.PROBE else None
    if inputs:
        yield from _item("values", ", ".join(f"{key} = {value}" for key, value in inputs.items()), paper)
    observed = judgement.evidence.observed if judgement.rung is not Rung.PROBE else None
    if observed:
        yield from _item("observed", ", ".join(f"{key}: {value}" for key, value in observed.items()), paper)
    yield from _item("so", judgement.reason, paper)


def _item(title: str, text: str, paper: Paper) -> Iterator[str]:
    """A titled line under a heading, wrapped; a text of several lines keeps them."""
    margin = f"  {title + ':':<10}"
    clean = "\n".join(" ".join(escape(line.expandtabs()).split()) for line in text.strip().splitlines())
    head, *rest = wrap(clean, margin, " " * len(margin), paper.width)
    yield paint(margin, "dim", paper.color) + head[len(margin) :]
    for line in rest:
        yield line if line.startswith(" " * len(margin)) else " " * len(margin) + line.strip()


def _summary(verified: Sequence[Verified], paper: Paper) -> str:
    if not verified:
        return "Nothing to verify: `check` finds nothing here."
    apart = [one for one in verified if one.apart]
    others = [one for one in verified if not one.apart]
    lines = []
    if others:
        lines.append(f"{count(len(others), 'finding', 'findings')}: {_counted(others, paper)}.")
    if apart:
        codes = ", ".join(sorted({one.diagnostic.code for one in apart}))
        loads = f"{count(len(apart), 'load', 'loads')} ({codes}), counted apart: {_counted(apart, paper)}"
        lines.append(
            f"{loads}; each was executed alone, with a file of a GPU: that your program reads one is not shown."
        )
    return "\n".join([*lines, *_reasons(verified, paper)])


def _counted(verified: Sequence[Verified], paper: Paper) -> str:
    numbers = Counter(one.judgement.verdict for one in verified)
    counted = [verdict for verdict in Verdict if numbers[verdict]]
    return enumerate_words([f"{numbers[one]} {paint(one.value, STYLES[one], paper.color)}" for one in counted])


def _reasons(verified: Sequence[Verified], paper: Paper) -> Iterator[str]:
    """Why findings are inconclusive, the most frequent reason first, and under each what would help."""
    found = grouped(one.why for one in verified if one.why is not None)
    if not found:
        return
    yield ""
    yield "Inconclusive, and what would help:"
    width = len(str(found[0][0]))
    for number, why in found:
        helps = f": {why.advice}" if why.advice else ""
        yield f"  {number:>{width}}  {escape(why.group)}{escape(helps)}"
