"""Where a finding is, and what is said of it, in the terms of formats that only know files and lines."""

from __future__ import annotations

import os
from pathlib import Path

from torchdevlint.model import Applicability, Diagnostic, Fix, Span
from torchdevlint.report.concise import place

START = Span(1, 1, 1, 1)


def span_in_file(diagnostic: Diagnostic) -> Span:
    """The span in the lines of the file.

    Those of a notebook are JSON, in which a cell has no lines: what is found there is put at the start of the file,
    and its message tells the place (`told`).
    """
    return diagnostic.span if diagnostic.cell is None else START


def told(diagnostic: Diagnostic) -> str:
    """The message, in a notebook after the cell and the place in it."""
    if diagnostic.cell is None:
        return diagnostic.message
    return f"{place(diagnostic).lstrip(':')} {diagnostic.message}"


def sentences(diagnostic: Diagnostic) -> list[str]:
    """The finding in a first sentence of its own, all that is shown where room is scarce, and what follows from it."""
    message = told(diagnostic)
    lines = [message if message.endswith((".", "!", "?")) else f"{message}."]
    lines += [f"At run time: {diagnostic.symptom}"] if diagnostic.symptom else []
    lines += [f"Help: {diagnostic.help}"] if diagnostic.help else []
    return lines


def offered(diagnostic: Diagnostic) -> Fix | None:
    """The fix that a program may apply to the file: one that is more than shown, and not of a notebook's cell."""
    fix = diagnostic.fix
    if fix is None or fix.applicability is Applicability.DISPLAY or diagnostic.cell is not None:
        return None
    return fix


def below(filename: str, folder: str | None = None) -> str:
    """A name relative to `folder` (an absolute path; the current one without it) if the file is in it."""
    name = filename if folder is None else Path(os.path.abspath(filename)).as_posix()  # noqa: PTH100 (follows no links)
    return name.removeprefix(f"{Path(folder or Path.cwd()).as_posix().rstrip('/')}/")


def whole(text: str) -> str:
    """`text` without halves of characters, which strict readers of JSON refuse."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
