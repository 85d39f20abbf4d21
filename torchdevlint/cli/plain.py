"""A plain command line of `check`, read without click, which takes a tenth of the time of a run over a small file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from torchdevlint.cli.flags import CHECK, Flag

COMPLETING = "_TORCHDEVLINT_COMPLETE"
"""Set where a shell asks click for completions."""

_BY_NAME = {name: flag for flag in CHECK for name in (flag.name, flag.short, flag.negated) if name}


class _NotPlainError(Exception):
    """Something that is for click to understand, or to refuse."""


def plainly(arguments: Sequence[str]) -> tuple[tuple[str, ...], dict[str, Any]] | None:
    """The paths and the flags that the arguments of `check` name; None for what is not plain.

    Plain are flags that are spelt out, with values that fit, and paths. What this gives, click gives as well; a test
    holds both against each other. Whatever else there may be, such as ``-qv``, ``--help`` or a mistake, is for click.
    """
    if COMPLETING in os.environ:
        return None
    flags = {flag.parameter: flag.unset for flag in CHECK}
    paths: list[str] = []
    rest = iter(arguments)
    try:
        for each in rest:
            if each == "-" or not each.startswith("-"):
                paths.append(each)
            else:
                _read(each, rest, flags)
    except _NotPlainError:
        return None
    return tuple(paths), flags


def _read(argument: str, rest: Iterator[str], flags: dict[str, Any]) -> None:
    """Put what a flag says into the table; its value may be the next of the `rest`."""
    name, equals, value = argument.partition("=")
    flag = _BY_NAME.get(name)
    if flag is None or (equals and not argument.startswith("--")):
        raise _NotPlainError
    if not (flag.takes or flag.choices):
        if equals:
            raise _NotPlainError
        flags[flag.parameter] = name != flag.negated
        return
    given = _value(flag, value if equals else next(rest, "-"))
    flags[flag.parameter] = (*flags[flag.parameter], given) if flag.multiple else given


def _value(flag: Flag, text: str) -> object:
    if text.startswith("-") or (flag.choices and text not in flag.choices):
        raise _NotPlainError
    if flag.takes == "number":
        if not (text.isascii() and text.isdigit()):
            raise _NotPlainError
        return int(text)
    if flag.takes in ("path", "file", "folder"):
        if not text or os.path.lexists(text):  # whether it can be used, click finds out
            raise _NotPlainError
        return Path(text)
    return text
