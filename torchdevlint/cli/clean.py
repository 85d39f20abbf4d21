"""``torchdevlint clean``: remove what `check` keeps between runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from torchdevlint.cache import clean as removed
from torchdevlint.cli.clicked import configured
from torchdevlint.cli.console import remark
from torchdevlint.cli.options import cache_folder, loaded
from torchdevlint.cli.refused import Refused
from torchdevlint.files import exists


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("path", default=".", metavar="[PATH]")
@click.option("--isolated", is_flag=True, help="Read no configuration file.")
@configured
@click.option(
    "--cache-dir",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where results are kept.  [default: .torchdevlint_cache beside the configuration]",
)
def clean(path: str, **flags: Any) -> int:
    """Remove the kept results that `torchdevlint check PATH` would use.

    A folder that `check` did not make stays as it is.
    """
    if not exists(Path(path)):
        raise Refused(f"{path}: no such file or folder")
    folder = cache_folder(flags["cache_dir"], loaded(flags, paths=[path]).run)
    try:
        gone = removed(folder)
    except OSError as error:
        raise click.ClickException(f"cannot remove {folder}: {error.strerror or error}") from error
    if gone:
        remark(f"removed {folder}")
    elif exists(folder):
        remark(f"not removed: {folder} is no cache of torchdevlint, or holds something else")
    else:
        remark(f"nothing to remove: there is no {folder}")
    return 0
