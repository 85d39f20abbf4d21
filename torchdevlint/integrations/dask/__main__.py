"""``python -m torchdevlint.integrations.dask INPUT.. --out DIR``: `lint_to_parquet` from the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import click

from torchdevlint.config import ConfigError, Settings, load
from torchdevlint.report.terminal import one_line


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Where the table grows.")
@click.option("--workers", type=click.IntRange(min=0), default=0, help="Processes; 0, the default: one a core.")
@click.option("--scheduler", metavar="ADDRESS", help="Work on a Dask cluster, such as tcp://host:8786, instead.")
@click.option(
    "--config", type=click.Path(path_type=Path, dir_okay=False), help="The settings, in a file; none is looked for."
)
def main(inputs: tuple[str, ...], out: Path, workers: int, scheduler: str | None, config: Path | None) -> None:
    """Lint folders and archives, and have a table of what was found below DIR; `-` reads inputs, one a line.

    What is in the table already is not linted again. Exit codes: 0 nothing found, 1 findings, 2 something could not be
    linted: each is a row with its error.
    """
    try:
        from torchdevlint.integrations.dask import lint_to_parquet

        from distributed import Client  # isort: skip (its absence is told by the line above)
    except ImportError as error:
        _fail(str(error))
    names = [name for each in inputs for name in (sys.stdin.read().splitlines() if each == "-" else [each]) if name]
    try:
        settings = Settings() if config is None else load(Path(), config=config)
        if scheduler is None:
            summary = lint_to_parquet(names, out, settings, workers)
        else:
            with Client(scheduler):
                summary = lint_to_parquet(names, out, settings)
    except (ConfigError, OSError) as error:
        _fail(str(error))
    for name, said in summary.errors:
        click.echo(f"error: {one_line(f'{name}: {said}')}", err=True)
    click.echo(
        f"{summary.inputs:,} inputs, {summary.linted:,} of them linted now: {summary.files:,} files, "
        f"{summary.lines:,} lines, {summary.findings:,} findings\n{summary.table}"
    )
    sys.exit(2 if summary.errors else 1 if summary.findings else 0)


def _fail(message: str) -> NoReturn:
    click.echo(f"error: {one_line(message)}", err=True)
    sys.exit(2)


if __name__ == "__main__":
    main(prog_name="python -m torchdevlint.integrations.dask")
