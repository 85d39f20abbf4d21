"""One document of an editor: what `check` would say of the text that is on the screen. Knows nothing of a protocol."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from torchdevlint import baseline, select
from torchdevlint.config import ConfigError, Settings, load, overlay
from torchdevlint.discover import excluded
from torchdevlint.engine import check_bytes
from torchdevlint.fix.text import fix_bytes
from torchdevlint.model import Diagnostic, FileResult, Problem
from torchdevlint.project.tree import forget
from torchdevlint.source.text import Source, declared_encoding, decode


class Linted(Struct, frozen=True, dict=True):
    """A text and what was found in it; columns of findings count from the text as it is here."""

    filename: str
    text: str
    settings: Settings
    result: FileResult

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The rows without their line endings."""
        return Source(self.text).lines

    def fixed(self) -> str:
        """The text after all safe fixes. Raises UndecodableError for a text that cannot be saved as it is."""
        return decode(fix_bytes(encoded(self.text), self.filename, overlay(self.settings, unsafe_fixes=False)).content)


def lint(filename: str, text: str) -> Linted:
    """What `check` finds in a file if it has this text, under the settings that it would find for that file.

    A file that is excluded has no findings. A configuration that cannot be used is a problem of the result.
    """
    settings = Settings()
    try:
        settings = load(Path(filename))
        select.check(settings)
        if excluded(filename, settings):
            return Linted(filename, text, settings, FileResult(filename))
        forget()
        result = check_bytes(encoded(text), filename, settings)
        return Linted(filename, text, settings, replace(result, diagnostics=_not_in_baseline(result, text, settings)))
    except ConfigError as error:
        problem = Problem(None, f"torchdevlint: {error}")
        return Linted(filename, text, settings, FileResult(filename, problems=(problem,)))


def encoded(text: str) -> bytes:
    """The bytes that an editor would save: in the encoding that the text declares, if that has all its characters."""
    data = text.encode("utf-8", "surrogatepass")
    encoding, _ = declared_encoding(data) or ("utf-8", 1)
    try:
        return text.encode(encoding)
    except (LookupError, ValueError):
        return data


def _not_in_baseline(result: FileResult, text: str, settings: Settings) -> tuple[Diagnostic, ...]:
    """The findings that the baseline of the configuration does not hide. Raises ConfigError."""
    if settings.baseline is None or not result.diagnostics:
        return result.diagnostics
    known = baseline.read(settings.root / settings.baseline)
    lines = Source(text).lines
    return tuple(baseline.apply(result.diagnostics, known, lambda *_: lines))
