"""``torchdevlint check`` as a command of click."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from torchdevlint.cli.check import checked
from torchdevlint.cli.clicked import with_flags
from torchdevlint.cli.flags import CHECK


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@partial(with_flags, flags=CHECK)
def check(paths: tuple[str, ...], **flags: Any) -> int:
    """Lint Python files and folders; no PATH means the current folder, `-` standard input."""
    return checked(paths, flags, click.get_current_context().obj)
