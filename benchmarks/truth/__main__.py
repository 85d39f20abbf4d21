"""``python -m benchmarks.truth``: record on a GPU, compare the simulated backend, list, table."""

from __future__ import annotations

import json
import platform
import sys
from datetime import datetime, timezone
from pathlib import Path

import click

from benchmarks.truth.case import Case
from benchmarks.truth.cases import ALL
from benchmarks.truth.compare import (
    Judged,
    contradictions,
    counts,
    disagreements,
    judge,
    tell,
    tell_expected,
)
from benchmarks.truth.execute import REAL, SIMULATED, Run, run
from benchmarks.truth.records import FOLDER, Stamp, by_case, stamps, write
from benchmarks.truth.table import render

_CASES = click.option("--only", default="", metavar="TEXT", help="Only the cases whose id contains TEXT.")
_AT_ONCE = click.option("--at-once", type=click.IntRange(1), default=None, help="Processes at a time.")


class _DidNotWorkError(click.ClickException):
    exit_code = 2  # 1 is a comparison that found differences


@click.group()
def main() -> None:
    """What real CUDA does, and whether the simulated backend does the same."""


@main.command()
@click.option("--output", type=click.Path(path_type=Path, file_okay=False), default=FOLDER, help="Folder of the file.")
@_CASES
@_AT_ONCE
def record(output: Path, only: str, at_once: int | None) -> None:
    """Run the cases on the GPU of this machine and write what happened. Cases for two GPUs need two."""
    chosen = _chosen(only)
    first = _run([], REAL, at_once)
    there = first.machine["devices"]
    if not there:
        raise click.ClickException("torch finds no CUDA device here; without one there is nothing to record")
    done = _run([case for case in chosen if case.devices <= there], REAL, at_once)
    stamp = Stamp(
        torch=done.machine["torch"],
        cuda=done.machine["cuda"] or f"ROCm {done.machine['hip']}",
        gpu=done.machine["gpu"],
        devices=there,
        date=datetime.now(timezone.utc).date().isoformat(),
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
    )
    path = write(output, stamp, chosen, done.observed)
    died = sum(seen["outcome"] == "died" for seen in done.observed.values())
    click.echo(f"{path}: {len(done.observed)} of {len(chosen)} cases recorded on {stamp.gpu}, {died} of them died")


@main.command()
@click.option("--json", "as_json", is_flag=True, help="The counts and the differing cases as JSON.")
@_CASES
@_AT_ONCE
def compare(as_json: bool, only: str, at_once: int | None) -> None:
    """Run the cases on the simulated backend.

    Exit status 1 if it differs from a record without a listed reason, 2 if the cases cannot be run.
    """
    judged, _ = _judged(only, at_once)
    wrong = disagreements(judged)
    if as_json:
        click.echo(json.dumps(_as_json(judged), indent=1))
    else:
        _show(judged)
    sys.exit(1 if wrong else 0)


@main.command()
@_AT_ONCE
def table(at_once: int | None) -> None:
    """The markdown table of docs/runtime.md."""
    judged, done = _judged("", at_once)
    click.echo(render(judged, stamps(), done.machine["torch"]), nl=False)


@main.command("list")
@click.option("--programs", is_flag=True, help="With their programs.")
@_CASES
def list_cases(programs: bool, only: str) -> None:
    """Every case with what a source states of it."""
    for case in _chosen(only):
        click.echo(f"{case.id}  {tell_expected(case.expects) if case.expects else ''}".rstrip())
        if programs:
            click.echo("".join(f"    {line}\n" for line in case.program.splitlines()))


def _chosen(only: str) -> list[Case]:
    return [case for case in ALL if only in case.id]


def _run(cases: list[Case], backend: str, at_once: int | None) -> Run:
    try:
        return run(cases, backend, at_once)
    except RuntimeError as error:
        raise _DidNotWorkError(str(error)) from error


def _judged(only: str, at_once: int | None) -> tuple[list[Judged], Run]:
    chosen = _chosen(only)
    done = _run(chosen, SIMULATED, at_once)
    return judge(chosen, done.observed, by_case(chosen)), done


def _show(judged: list[Judged]) -> None:
    click.echo(f"{'group':<14} cases recorded agree excused disagree unrecorded stated met")
    for name, count in counts(judged).items():
        click.echo(
            f"{name:<14} {count.cases:5} {count.recorded:8} {count.agree:5} {count.excused:7} {count.disagree:8} "
            f"{count.unrecorded:10} {count.stated:6} {count.met:3}"
        )
    for one in disagreements(judged):
        assert one.recorded is not None
        click.echo(f"\nDIFFERS {one.case.id}\n  simulated: {tell(one.observed)}\n  recorded:  {tell(one.recorded)}")
    for one in contradictions(judged):
        assert one.case.expects is not None
        click.echo(f"\nNOT AS STATED {one.case.id}\n  simulated: {tell(one.observed)}")
        click.echo(f"  stated:    {tell_expected(one.case.expects)}")
    for one in judged:
        if one.excused:
            click.echo(f"\nEXCUSED {one.case.id}: {one.excused}")


def _as_json(judged: list[Judged]) -> dict[str, object]:
    names = ("cases", "recorded", "agree", "disagree", "excused", "unrecorded", "stated", "met")
    return {
        "groups": {name: {key: getattr(count, key) for key in names} for name, count in counts(judged).items()},
        "disagree": {
            one.case.id: {"simulated": tell(one.observed), "recorded": tell(one.recorded or {"outcome": "died"})}
            for one in disagreements(judged)
        },
        "not as stated": {
            one.case.id: {"simulated": tell(one.observed), "stated": tell_expected(one.case.expects)}
            for one in contradictions(judged)
            if one.case.expects
        },
        "excused": {one.case.id: one.excused for one in judged if one.excused},
    }


if __name__ == "__main__":
    main()
