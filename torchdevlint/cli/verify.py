"""``torchdevlint verify``: execute what `check` flags, and give every finding a verdict with its evidence."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from torchdevlint.cli.console import complain, emit, remark, terminal_width, wants_color
from torchdevlint.cli.options import Refused, selection, settings_from
from torchdevlint.config import ConfigError
from torchdevlint.discover import discover
from torchdevlint.engine import check_paths
from torchdevlint.model import Diagnostic
from torchdevlint.report.json import to_dict
from torchdevlint.report.summary import count, enumerate_words
from torchdevlint.report.terminal import escape, paint, wrap
from torchdevlint.runtime.child import Limits
from torchdevlint.runtime.verdict import Judgement, Verdict, Verified, to_json
from torchdevlint.runtime.verify import UnusableError, require_torch, survey
from torchdevlint.runtime.verify import verify as execute

STYLES = {Verdict.CONFIRMED: "error", Verdict.REFUTED: "good", Verdict.INCONCLUSIVE: "warning"}


@dataclass(frozen=True, slots=True)
class Paper:
    """What text is written on: whether it takes colours, and its width in cells (None: nothing is wrapped)."""

    color: bool
    width: int | None


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@selection
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="How verdicts are written.")
@click.option("--device", default="auto", metavar="DEVICE", help="auto, cpu, or a device such as cuda or cuda:1.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds for one execution.  [default: 30]"
)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours in text.")
def verify(paths: tuple[str, ...], **flags: Any) -> int:
    """Execute what `check` flags, in child processes, and print a verdict for each finding.

    In this version that is the rule's probe, the minimal program that shows what the rule claims: it proves the claim
    on this machine. Your own code is read, and not executed.

    \b
    confirmed     the symptom happened, and did not happen in the repaired form
    refuted       the pattern ran and nothing went wrong
    inconclusive  it could not be executed, and why

    Exit codes: 1 if anything is confirmed, 2 if the tool could not do its job, 0 otherwise.
    """
    settings = settings_from(Path(next(iter(paths), ".")), flags)
    limits = Limits(flags["timeout"] or settings.verify.timeout)
    try:
        require_torch()
        found = discover(paths or (".",), settings)
        run = check_paths(found.files, settings)
        verified = execute(run.diagnostics, survey(), flags["device"], limits)
    except (ConfigError, UnusableError) as error:
        raise Refused(str(error)) from error
    if flags["output_format"] == "json":
        rows = [{**to_dict(one.diagnostic), **to_json(one.judgement)} for one in verified]
        emit(json.dumps(rows, indent=2) + "\n")
    else:
        emit(render(verified, Paper(wants_color(flags["color"], sys.stdout), terminal_width())))
    problems = (*found.problems, *run.problems)
    for note in found.notes:
        remark(f"note: {note}")
    for problem in problems:
        complain(problem, wants_color(flags["color"], sys.stderr))
    if problems:
        return 2
    return 1 if any(one.judgement.verdict is Verdict.CONFIRMED for one in verified) else 0


def render(verified: Sequence[Verified], paper: Paper) -> str:
    """The verdicts as text. Findings that share a rule and its judgement stand together."""
    groups: dict[str, tuple[Judgement, list[Diagnostic]]] = {}
    for one in verified:
        groups.setdefault(one.diagnostic.code, (one.judgement, []))[1].append(one.diagnostic)
    lines: list[str] = []
    for code in sorted(groups):
        judgement, diagnostics = groups[code]
        lines += [*_group(judgement, diagnostics, paper), ""]
    return "\n".join([*lines, _summary(verified, paper)]) + "\n"


def _group(judgement: Judgement, diagnostics: Sequence[Diagnostic], paper: Paper) -> Iterator[str]:
    first = diagnostics[0]
    verdict = paint(judgement.verdict.value, STYLES[judgement.verdict], paper.color)
    where = f"({judgement.rung.value} on {judgement.backend}, torch {judgement.torch})"
    yield f"{paint(first.code, 'strong', paper.color)} {first.name}: {verdict} {where}"
    if judgement.claim:
        yield from _item("claim", judgement.claim, paper)
    if judgement.evidence.exception:
        yield from _item("raised", judgement.evidence.exception, paper)
    for name, values in (judgement.evidence.observed or {}).items():
        pairs = values.items() if isinstance(values, dict) else [("value", values)]
        yield from _item(name, ", ".join(f"{key}: {value}" for key, value in pairs), paper)
    yield from _item("so", judgement.reason, paper)
    for diagnostic in diagnostics:
        place = f"{diagnostic.filename}:{diagnostic.span.row}:{diagnostic.span.column}"
        yield f"  {paint(escape(place), 'path', paper.color)} {escape(diagnostic.message)}"


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
    numbers = Counter(one.judgement.verdict for one in verified)
    counted = [verdict for verdict in Verdict if numbers[verdict]]
    parts = [f"{numbers[verdict]} {paint(verdict.value, STYLES[verdict], paper.color)}" for verdict in counted]
    return f"{count(len(verified), 'finding', 'findings')}: {enumerate_words(parts)}."
