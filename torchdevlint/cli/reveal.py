"""``torchdevlint reveal``: what the linter believes of the expressions in a line, or of the one at a column."""

from __future__ import annotations

import gc
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec import Struct

from torchdevlint.cli.console import emit, terminal_width, wants_color
from torchdevlint.cli.refused import Refused
from torchdevlint.model import Belief
from torchdevlint.patterns import regex
from torchdevlint.source.notebook import NOTEBOOK

_PLACE = regex(r"(?P<file>.+?):(?P<numbers>\d+(?::\d+){0,2})", re.DOTALL)


class Place(Struct, frozen=True):
    """What was asked for: a row, perhaps a column, and in a notebook the number of a cell; all from 1."""

    file: str
    row: int
    column: int | None = None
    cell: int | None = None


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("place", metavar="FILE:LINE[:COLUMN]")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="How it is written.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours in text.")
def reveal(place: str, output_format: str, color: str) -> int:
    """Show what is believed of an expression: its kind, its device, its history, or why it is unknown.

    Without a column, all that a line has. In a notebook, FILE.ipynb:CELL:LINE[:COLUMN], with cells counted from 1 as
    in findings. Exits with 0, also where the answer is "unknown", and with 2 if nothing stands at the place.
    """
    from torchdevlint.report.beliefs import render, to_dict

    asked = placed(place)
    lines, found = _believed(asked)
    if output_format == "json":
        emit(json.dumps([to_dict(belief, asked.file) for belief in found], indent=2) + "\n")
        return 0
    width = terminal_width()
    emit(render(found, asked.file, lines, width, wants_color(color, sys.stdout)))
    return 0


def placed(text: str) -> Place:
    """The place that an argument names. Raises Refused."""
    match = _PLACE.fullmatch(text)
    if match is None:
        raise Refused(f"`{text}` names no line: write FILE:LINE or FILE:LINE:COLUMN")
    file, numbers = match["file"], [int(each) for each in match["numbers"].split(":")]
    if 0 in numbers:
        raise Refused(f"lines and columns count from 1, and `{text}` says 0")
    if file.endswith(NOTEBOOK):
        if len(numbers) == 1:
            raise Refused(f"`{text}` names no cell: write FILE.ipynb:CELL:LINE or FILE.ipynb:CELL:LINE:COLUMN")
        return Place(file, numbers[1], numbers[2] if len(numbers) == 3 else None, numbers[0])
    if len(numbers) == 3:
        raise Refused(f"`{text}` has one number too many: write FILE:LINE or FILE:LINE:COLUMN")
    return Place(file, numbers[0], numbers[1] if len(numbers) == 2 else None)


def _believed(place: Place) -> tuple[Sequence[str], Sequence[Belief]]:
    """The lines of the file or cell, and what is believed at the place. Raises Refused."""
    from torchdevlint import beliefs
    from torchdevlint.config import ConfigError, load
    from torchdevlint.files import content
    from torchdevlint.source.text import UndecodableError
    from torchdevlint.syntax.errors import InvalidSyntaxError, TooDeepError

    file = Path(place.file)
    try:
        if file.is_dir():
            raise Refused(f"{place.file} is a folder: name a file and a line in it")
        # All that is made stays until the end, and looking for cycles in it would take as long as to make it.
        gc.disable()
        held = beliefs.of_bytes(content(place.file), place.file, load(file))
    except FileNotFoundError:
        raise Refused(f"there is no file {place.file}") from None
    except OSError as error:
        raise Refused(f"{place.file} cannot be read: {error.strerror or error}") from None
    except ConfigError as error:
        raise Refused(str(error)) from None
    except (InvalidSyntaxError, UndecodableError) as error:
        raise Refused(f"{place.file} cannot be read as Python: {error.reason} (line {error.row})") from None
    except (TooDeepError, RecursionError, MemoryError):
        raise Refused(f"{place.file} is too deeply nested to be analysed") from None
    lines = held.lines(place.cell)
    if lines is None:
        raise Refused(f"{place.file} has no cell {place.cell} of Python code")
    where = f"{place.file}" if place.cell is None else f"cell {place.cell} of {place.file}"
    count = len(lines) - (not lines[-1])
    if place.row > count:
        raise Refused(f"there is no line {place.row}: {where} has {count}")
    line = lines[place.row - 1]
    if place.column is not None and place.column > len(line):
        raise Refused(f"there is no column {place.column} in line {place.row}, which has {len(line)}")
    found = held.at(place.row, place.column, place.cell)
    if not found:
        raise Refused(f"nothing stands at {_described(place)} that has a value: {_kind_of(line)}")
    return lines, found if place.column is None else found[:1]


def _described(place: Place) -> str:
    return f"line {place.row}" + (f", column {place.column}" if place.column is not None else "")


def _kind_of(line: str) -> str:
    """What a line without a value is, in words."""
    text = line.strip()
    if not text:
        return "the line is blank"
    return "the line is a comment" if text.startswith("#") else f"`{text}`"
