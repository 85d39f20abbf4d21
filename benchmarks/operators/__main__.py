"""``python -m benchmarks.operators``: run torch's database of operators on a backend, and compare two such runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from benchmarks.operators import record
from benchmarks.operators.worker import BROKEN


@click.group()
def main() -> None:
    """Every operator of torch's database with its tensors in two places."""


@main.command()
@click.argument("backend", type=click.Choice(["real", "simulated"]))
@click.argument("output", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--at-once", type=click.IntRange(1), default=1)
@click.option("--seconds", type=float, default=3600.0)
def run(backend: str, output: Path, at_once: int, seconds: float) -> None:
    """Run all programs on BACKEND, and write one line for each to OUTPUT."""
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="torchdevlint-operators-") as folder:
        files = [Path(folder) / f"{part}.jsonl" for part in range(at_once)]
        command = [sys.executable, "-m", "benchmarks.operators.worker", backend]
        running = {part: _start([*command, str(part), str(at_once), str(file)]) for part, file in enumerate(files)}
        while running and time.monotonic() < end:
            for part, process in list(running.items()):
                if process.poll() is None:
                    continue
                del running[part]
                if process.returncode and process.returncode != BROKEN:
                    running[part] = _start([*command, str(part), str(at_once), str(files[part])])
            time.sleep(0.05)
        for process in running.values():
            process.kill()
        seen: dict[str, dict[str, object]] = {}
        for file in files:
            for line in file.read_text("utf-8").splitlines() if file.is_file() else ():
                row = json.loads(line)
                seen[row["id"]] = {**seen.get(row["id"], {}), **row}
    rows = [row if len(row) > 1 else {**row, "raises": "died", "text": ""} for _, row in sorted(seen.items())]
    output.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    click.echo(f"{output}: {len(rows)} programs, {sum(row.get('raises') == 'died' for row in rows)} died")


@main.command()
@click.argument("outcomes", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--gpu", required=True, help="Its name, as torch tells it.")
@click.option("--torch", required=True, help="The release it was run with.")
def store(outcomes: Path, gpu: str, torch: str) -> None:
    """Keep what `run real` has written to OUTCOMES."""
    name = re.sub(r"[^a-z0-9.]+", "-", f"{gpu}-torch-{torch.partition('+')[0]}".lower())
    record.write(record.FOLDER / f"{name}.json", {"gpu": gpu, "torch": torch}, record.read_lines(outcomes))


@main.command()
@click.argument("outcomes", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--show", is_flag=True, help="Each program that differs, with both outcomes.")
def compare(outcomes: Path, show: bool) -> None:
    """Hold what `run simulated` has written to OUTCOMES against each record."""
    simulated = record.read_lines(outcomes)
    for path in sorted(record.FOLDER.glob("*.json")):
        stamp, real = record.read(path)
        found = record.compare(real, simulated)
        total = sum(map(len, found.values()))
        counts = ", ".join(f"{verdict} {len(names)}" for verdict, names in found.items())
        click.echo(f"{stamp['gpu']}, torch {stamp['torch']}: {total} programs: {counts}")
        for verdict, names in found.items() if show else ():
            for name in names if verdict != record.AGREES else ():
                click.echo(f"{verdict}: {name}\n  real:      {real[name]}\n  simulated: {simulated[name]}")


def _start(command: list[str]) -> subprocess.Popen[bytes]:
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=quiet, stderr=quiet)


if __name__ == "__main__":
    main()
