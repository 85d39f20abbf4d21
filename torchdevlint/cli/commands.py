"""All commands, as click runs them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import click

from torchdevlint import __version__
from torchdevlint.cli import COMMANDS, PROGRAM
from torchdevlint.cli.refused import Refused

EPILOG = "Exit codes: 0 nothing found, 1 findings, 2 the tool could not do its job (2 wins over 1)."


class Commands(click.Group):
    """Imports a command only to run it or to show its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(COMMANDS[cmd_name][0]), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=Commands,
    epilog=EPILOG,
    subcommand_metavar="[COMMAND] [PATH]...",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
def cli() -> None:
    """Find PyTorch device-placement bugs before a GPU does.

    `torchdevlint PATH...` is short for `torchdevlint check PATH...`.
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command, and give its exit code. Raises Refused and KeyboardInterrupt."""
    try:
        code = cli.main(list(arguments), prog_name=PROGRAM, standalone_mode=False, obj=tuple(arguments))
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        usage = error.ctx.get_usage() if isinstance(error, click.UsageError) and error.ctx else ""
        raise Refused(error.format_message(), usage) from error
    except click.Abort as error:
        raise KeyboardInterrupt from error
    return code if isinstance(code, int) else 0


def usage_of(name: str) -> str:
    """How a command is used."""
    above = click.Context(cli, info_name=PROGRAM)
    command = cli.get_command(above, name)
    return click.Context(command or cli, info_name=name, parent=above).get_usage()
