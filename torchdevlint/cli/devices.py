"""``torchdevlint devices``: the hardware and the backends that `verify` and `run` can use here."""

from __future__ import annotations

import json
import sys

import click

from torchdevlint.cli.console import emit, wants_color
from torchdevlint.cli.refused import Refused
from torchdevlint.report.terminal import escape, paint
from torchdevlint.runtime.backends import CPU, META, SIMULATED, Backend, Machine, to_json
from torchdevlint.runtime.child import GIB
from torchdevlint.runtime.verify import UnusableError, survey

USES = {
    "hardware": "executes everything",
    "simulated": "accelerators on the CPU, for `run` and pytest: placements, errors and values, no kernels",
    "cpu": "what shows without an accelerator, such as reading a GPU checkpoint",
    "valueless": "stands in for an accelerator where only the placement matters",
}
WIDTH = max(map(len, (CPU, META, SIMULATED)))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="How they are written.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours in text.")
def devices(output_format: str, color: str) -> int:
    """Show the hardware and backends that `verify` and `run` can use here."""
    try:
        machine = survey()
    except UnusableError as error:
        raise Refused(str(error)) from error
    if output_format == "json":
        emit(json.dumps(to_json(machine), indent=2) + "\n")
    else:
        emit(render(machine, wants_color(color, sys.stdout)))
    return 0


def render(machine: Machine, color: bool) -> str:
    lines = [f"torch {machine.torch}, Python {machine.python}, {machine.platform}", ""]
    for backend in machine.backends:
        lines += _backend(backend, color)
    if not machine.accelerators:
        lines += ["", "No accelerator was found: `run` simulates them, `verify` is inconclusive where it needs one."]
    if machine.trouble:
        lines += ["", f"An accelerator could not be asked: {escape(' '.join(machine.trouble.split()))}"]
    return "\n".join(lines) + "\n"


def _backend(backend: Backend, color: bool) -> list[str]:
    version = f"  {escape(backend.version)}" if backend.version else ""
    lines = [f"{paint(f'{backend.name:<{WIDTH}}', 'strong', color)} {USES[backend.kind]}{version}"]
    for index, device in enumerate(backend.devices):
        memory = f", {device.memory / GIB:.0f} GiB" if device.memory else ""
        number = f"{backend.name}:{index}  " if backend.kind == "hardware" else ""
        lines.append(f"{'':<{WIDTH}} {number}{escape(device.name)}{memory}")
    return lines
