"""What an editor shows, and what `check` would say of it if it were saved so. Knows nothing of a protocol."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from torchdevlint import baseline, select
from torchdevlint.beliefs import Beliefs, with_findings
from torchdevlint.config import ConfigError, Configuration, Settings, overlay
from torchdevlint.discover import excluded, reported
from torchdevlint.engine import check_bytes
from torchdevlint.fix.text import fix_bytes
from torchdevlint.garbage import few_collections
from torchdevlint.model import Belief, Diagnostic, FileResult, Problem
from torchdevlint.project.tree import forget
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
    """What is shown, what was found in it, and what is believed of it; columns count from the texts as they are here.

    `beliefs` are None where there are none: for what cannot be read, is excluded, or has nothing to do with torch.
    They are put in words when they are asked for, which is work for the thread that lints.
    """

    shown: Shown
    settings: Settings
    result: FileResult
    beliefs: Beliefs | None = None

    def findings(self, page: Page) -> list[Diagnostic]:
        return [each for each in self.result.diagnostics if each.cell == page.cell]

    @property
    def assigned(self) -> tuple[Belief, ...]:
        """The targets of assignments whose device is known. They are looked up when this is read first."""
        return self.beliefs.assigned if self.beliefs is not None else ()

    @property
    def has_assigned(self) -> bool:
        """Whether `assigned` was looked up already."""
        return self.beliefs is None or "assigned" in self.beliefs.__dict__

    def believed(self, page: Page, row: int, column: int) -> Belief | None:
        """What is believed of the smallest expression at a place of a page, if there is something to say of it.

        There is nothing to say of what is written out, or of a name that is no other than its own.
        """
        found = () if self.beliefs is None or not page.is_python else self.beliefs.at(row, column, page.cell)
        belief = next(iter(found), None)
        if belief is None or belief.text[:1] in "0123456789'\"" or belief.text in ("None", "True", "False"):
            return None
        return None if belief.description.startswith(f"`{belief.text}`") else belief

    def fixed(self) -> list[tuple[Page, str]]:
        """The pages after all safe fixes. Raises UndecodableError for what cannot be saved as it is."""
        shown, settings = self.shown, overlay(self.settings, unsafe_fixes=False)
        new = fix_bytes(shown.data, shown.filename, settings).content
        if shown.pages and shown.pages[0].cell is None:
            return [(shown.pages[0], decode(new))]
        pairs = zip(shown.pages, sources(new), strict=True)
        return [(page, text) for page, text in pairs if page.is_python and text is not None]


def lint(shown: Shown, believing: bool = True) -> Linted:
    """What `check` in the current folder finds in a file if it is as it is shown, and what is believed of it.

    A file that is excluded has no findings. A configuration that cannot be used is a problem of the result.
    """
    settings, filename = Settings(), shown.filename
    try:
        settings = Configuration(finished=_usable).of(filename)
        if excluded(filename, settings):
            return Linted(shown, settings, FileResult(filename))
        forget()
        with few_collections():
            of = shown.data, reported(filename), settings
            result, beliefs = with_findings(*of) if believing else (check_bytes(*of), None)
        result = replace(result, diagnostics=_not_in_baseline(result, shown, settings))
        return Linted(shown, settings, result, beliefs)
    except ConfigError as error:
        problem = Problem(None, f"torchdevlint: {error}")
        return Linted(shown, settings, FileResult(filename, problems=(problem,)))


def _usable(settings: Settings) -> Settings:
    select.check(settings)
    return settings


def _saved(page: Page) -> dict[str, object]:
    kind = "code" if page.is_python else "raw"
    return {"cell_type": kind, "execution_count": page.run, "metadata": {}, "outputs": [], "source": page.text}


def _not_in_baseline(result: FileResult, shown: Shown, settings: Settings) -> tuple[Diagnostic, ...]:
    """The findings that the baseline of the configuration does not hide. Raises ConfigError."""
    if settings.baseline is None or not result.diagnostics:
        return result.diagnostics
    known = baseline.read(settings.root / settings.baseline)
    return tuple(baseline.apply(result.diagnostics, known, shown.lines))
