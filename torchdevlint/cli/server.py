"""``torchdevlint server``: the language server, which an editor starts and speaks to."""

from __future__ import annotations

import sys

import click

from torchdevlint.cli.console import remark
from torchdevlint.cli.refused import Refused

NO_PYGLS = 'the language server needs pygls 2: pip install "torchdevlint[lsp]"'


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
def server() -> int:
    """Speak the language server protocol on standard input and output, until the client ends it.

    An editor starts this; how it is told to is in the documentation on editors.
    """
    try:
        import pygls.lsp.server  # noqa: F401
    except ImportError as error:
        raise Refused(NO_PYGLS) from error
    from torchdevlint.integrations.lsp.server import serve

    if sys.stdin.isatty():
        remark("an editor is meant to start this and to write its requests here; Ctrl-D ends it")
    serve()
    return 0
