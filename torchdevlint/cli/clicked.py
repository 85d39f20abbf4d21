"""Flags as options of click, and the decorators that give them to a command."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from torchdevlint.cli.flags import CONFIG, SELECTION, Flag

F = TypeVar("F", bound=Callable[..., Any])


def selection(command: F) -> F:
    """The flags that choose rules, files and configuration."""
    return with_flags(command, SELECTION)


def configured(command: F) -> F:
    """The flag that names a configuration file, or holds keys of one."""
    return with_flags(command, (CONFIG,))


def with_flags(command: F, flags: Iterable[Flag]) -> F:
    """A command with more flags, which its help lists in their order."""
    for flag in reversed(tuple(flags)):
        command = _option(flag)(command)
    return command


def _option(flag: Flag) -> Callable[[F], F]:
    if flag.negated:
        return click.option(f"{flag.name}/{flag.negated}", default=None, help=flag.help)
    names = [name for name in (flag.short, flag.name) if name]
    default: dict[str, Any] = {} if flag.default is None else {"default": flag.default}
    if not (flag.takes or flag.choices):
        return click.option(*names, is_flag=True, help=flag.help)
    return click.option(
        *names,
        type=click.Choice(flag.choices) if flag.choices else _TYPES[flag.takes],
        multiple=flag.multiple,
        metavar=flag.metavar,
        help=flag.help,
        hidden=flag.hidden,
        **default,
    )


_TYPES: dict[str, Any] = {
    "text": click.STRING,
    "path": click.Path(path_type=Path),
    "file": click.Path(path_type=Path, dir_okay=False),
    "folder": click.Path(path_type=Path, file_okay=False),
    "number": click.IntRange(min=0),
}
