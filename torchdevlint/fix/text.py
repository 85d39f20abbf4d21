"""One file: its fixes are applied until there are none left to apply."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from torchdevlint.config import Settings
from torchdevlint.engine import check_bytes
from torchdevlint.fix import cells
from torchdevlint.fix.choice import is_applicable
from torchdevlint.fix.splice import splice
from torchdevlint.model import Diagnostic, FileResult, Fix, Problem
from torchdevlint.source.notebook import NOTEBOOK
from torchdevlint.source.text import UndecodableError, declared_encoding, decode
from torchdevlint.syntax.parse import ParseError, parse

MOST_PASSES = 20
"""After so many rounds of fixes that each left something to fix, they are taken to undo each other."""


class Fixed(Struct, frozen=True):
    """A file after its fixes: its content, what is left to report, and how often each rule was fixed.

    `content` is what it was where nothing could be applied.
    """

    content: bytes
    result: FileResult
    applied: Counter[str] = field(default_factory=Counter)


def fix_bytes(data: bytes, filename: str, settings: Settings) -> Fixed:
    """Apply fixes to a content, and to what they make of it, until none is left.

    Of fixes that exclude each other one is applied, and the others in the next round, if they are still there. A fix
    after which the file would not parse is left out, and a problem of the result.
    """
    content, applied, refused = data, Counter[str](), dict[str, Problem]()
    for _ in range(MOST_PASSES):
        result = check_bytes(content, filename, settings)
        wanted = [each for each in result.diagnostics if is_applicable(each, settings)]
        wanted = [each for each in wanted if each.code not in refused]
        if not wanted:
            return Fixed(content, _with(result, refused.values()), applied)
        new, done = apply_all(content, filename, wanted)
        if not done:
            refused.update((each.code, _refusal(filename, each)) for each in wanted)
        content = new
        applied.update(each.code for each in done)
    endless = Problem(filename, f"was not fixed, since there was something to fix after each of {MOST_PASSES} rounds")
    return Fixed(data, _with(check_bytes(data, filename, settings), [endless]))


def apply_all(data: bytes, filename: str, wanted: list[Diagnostic]) -> tuple[bytes, list[Diagnostic]]:
    """The content after all of the fixes, or else after those that leave it whole together, and which were applied."""
    whole = _applied(data, filename, wanted)
    if whole is not None:
        return whole
    best: tuple[bytes, list[Diagnostic]] = data, []
    for each in wanted:
        best = _applied(data, filename, [*best[1], each]) or best
    return best


def _applied(data: bytes, filename: str, wanted: list[Diagnostic]) -> tuple[bytes, list[Diagnostic]] | None:
    """The content after as many of the fixes as fit beside each other, and which those are; None if it is not whole."""
    make = cells.with_fixes if filename.endswith(NOTEBOOK) else _with_fixes
    try:
        new, accepted = make(data, filename, [each.fix for each in wanted if each.fix is not None])
    except (UndecodableError, ParseError, RecursionError, MemoryError):
        return None
    return None if new is None else (new, [each for each in wanted if each.fix in accepted])


def _with_fixes(data: bytes, _filename: str, fixes: Sequence[Fix]) -> tuple[bytes | None, tuple[Fix, ...]]:
    """The content with as many of `fixes` as fit beside each other, and which those are; None if it is not whole."""
    text = decode(data)
    new, accepted = splice(text, fixes)
    return (_encoded(new, data, text), accepted) if is_whole(new) else (None, ())


def is_whole(text: str) -> bool:
    """Whether a text is Python."""
    try:
        parse(text)
    except (ParseError, RecursionError, MemoryError):
        return False
    return True


def _encoded(new: str, data: bytes, text: str) -> bytes | None:
    """The new text in the encoding of the old content; None where that would change more than the fix does."""
    marked = data.startswith(codecs.BOM_UTF8)
    encoding, _ = declared_encoding(data[3:] if marked else data) or ("utf-8", 1)
    if codecs.lookup(encoding).name == "utf-8-sig":
        encoding = "utf-8"  # it would write a mark of its own
    mark = codecs.BOM_UTF8 if marked else b""
    try:
        return mark + new.encode(encoding) if mark + text.encode(encoding) == data else None
    except UnicodeError:
        return None


def _refusal(filename: str, diagnostic: Diagnostic) -> Problem:
    message = f"the fix of {diagnostic.code} in {diagnostic.line} leaves no valid code, and was not applied"
    return Problem(filename, message, diagnostic.code)


def _with(result: FileResult, problems: Iterable[Problem]) -> FileResult:
    return replace(result, problems=(*result.problems, *problems))
