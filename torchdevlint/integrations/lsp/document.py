"""What an editor shows, and what `check` would say of it if it were saved so. Knows nothing of a protocol."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from torchdevlint import baseline
from torchdevlint.api import check_source, load_settings
from torchdevlint.config import ConfigError, Settings, overlay
from torchdevlint.discover import excluded
from torchdevlint.fix.text import fix_bytes
from torchdevlint.model import Diagnostic, FileResult, Problem
from torchdevlint.source.notebook import sources
from torchdevlint.source.text import Source, decode, encoded


class Page(Struct, frozen=True, dict=True):
    """A text on the screen, with what names it there: a file, or a cell of a notebook.

    `cell` is the number of a cell, from 1, and `run` the number of its last execution. What is no Python has no text.
    """

    uri: str
    text: str
    cell: int | None = None
    is_python: bool = True
    run: int | None = None

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The rows without their line endings."""
        return Source(self.text).lines


class Shown(Struct, frozen=True, dict=True):
    """What is linted as one: the page of a file, or the pages of all cells of a notebook."""

    filename: str
    pages: tuple[Page, ...]

    @cached_property
    def data(self) -> bytes:
        """The bytes that an editor would save, as far as they tell anything."""
        if len(self.pages) == 1 and self.pages[0].cell is None:
            return encoded(self.pages[0].text)
        return json.dumps({"cells": [_saved(page) for page in self.pages], "metadata": {}, "nbformat": 4}).encode()

    def page(self, cell: int | None) -> Page:
        """The page that a finding names by its cell."""
        return self.pages[cell - 1 if cell else 0]

    def of_uri(self, uri: str) -> Page | None:
        """The page of this URI, if there is one."""
        return next((page for page in self.pages if page.uri == uri), None)

    def lines(self, _filename: str, cell: int | None = None, /) -> Sequence[str]:
        return self.page(cell).lines


class Linted(Struct, frozen=True, dict=True):
    """What is shown, and what was found in it; columns of findings count from the texts as they are here."""

    shown: Shown
    settings: Settings
    result: FileResult

    def findings(self, page: Page) -> list[Diagnostic]:
        return [each for each in self.result.diagnostics if each.cell == page.cell]

    def fixed(self) -> list[tuple[Page, str]]:
        """The pages after all safe fixes. Raises UndecodableError for what cannot be saved as it is."""
        shown, settings = self.shown, overlay(self.settings, unsafe_fixes=False)
        new = fix_bytes(shown.data, shown.filename, settings).content
        if shown.pages and shown.pages[0].cell is None:
            return [(shown.pages[0], decode(new))]
        pairs = zip(shown.pages, sources(new), strict=True)
        return [(page, text) for page, text in pairs if page.is_python and text is not None]


def lint(shown: Shown) -> Linted:
    """What `check` finds in a file if it is as it is shown, under the settings that it would find for that file.

    A file that is excluded has no findings. A configuration that cannot be used is a problem of the result.
    """
    settings, filename = Settings(), shown.filename
    try:
        settings = load_settings(filename)
        if excluded(filename, settings):
            return Linted(shown, settings, FileResult(filename))
        result = check_source(shown.data, filename, settings)
        return Linted(shown, settings, replace(result, diagnostics=_not_in_baseline(result, shown, settings)))
    except ConfigError as error:
        problem = Problem(None, f"torchdevlint: {error}")
        return Linted(shown, settings, FileResult(filename, problems=(problem,)))


def _saved(page: Page) -> dict[str, object]:
    kind = "code" if page.is_python else "raw"
    return {"cell_type": kind, "execution_count": page.run, "metadata": {}, "outputs": [], "source": page.text}


def _not_in_baseline(result: FileResult, shown: Shown, settings: Settings) -> tuple[Diagnostic, ...]:
    """The findings that the baseline of the configuration does not hide. Raises ConfigError."""
    if settings.baseline is None or not result.diagnostics:
        return result.diagnostics
    known = baseline.read(settings.root / settings.baseline)
    return tuple(baseline.apply(result.diagnostics, known, shown.lines))
