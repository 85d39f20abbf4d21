"""The suppressions of one text, and which of them hold where."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from torchdevlint.model import Diagnostic, Span
from torchdevlint.source.notebook import Content
from torchdevlint.suppress import comments
from torchdevlint.suppress.below import held_below
from torchdevlint.suppress.comments import NOQA, NOQA_FILE, REVEAL, Comment, Pragma, Rows
from torchdevlint.suppress.regions import regions

if TYPE_CHECKING:
    from torchdevlint.suppress.regions import Regions

UNUSED = "TDL900"
"""The rule about unused suppressions: a comment that names it is never unused itself."""

Used = tuple[Pragma, str | None]
"""A suppression and the key by which it took a finding away, None for one that stands for all."""


class Suppressions(Struct, frozen=True, dict=True):
    """The suppressions of one text. Nothing is read before a finding or a comment makes it necessary.

    Without `noqa`, flake8 applies its own comments and nothing is unused; with `ignore_noqa`, those comments hold for
    nobody. `known` is what `joined_at` gave for the rows of all findings, where that is kept of an earlier run. `cells`
    are the first rows of the cells of a notebook: what stands in one of them holds there.
    """

    text: str
    noqa: bool
    known: tuple[Rows, ...] | None = None
    ignore_noqa: bool = False
    cells: tuple[int, ...] = ()

    def apply(self, diagnostics: Iterable[Diagnostic]) -> tuple[list[Diagnostic], set[Used]]:
        """The findings that stay, and the suppressions that took the others away."""
        used: set[Used] = set()
        kept = [diagnostic for diagnostic in diagnostics if not self._suppressed(diagnostic, used)]
        return kept, used

    def behind_file_noqa(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """The findings that nothing but a ``# flake8: noqa`` takes away."""
        return [each for each in diagnostics if not self.by_comments(each)] if self._whole_file else []

    def noqa_row(self, row: int) -> int:
        """The row on which a ``# noqa`` for a finding in `row` has to stand: the last one of the joined lines.

        Inside flake8, which knows for itself, it is `row`, and the text need not be tokenized.
        """
        return row if not self.noqa else self._joined.get(row, (row, row))[1]

    def joined_at(self, rows: Iterable[int]) -> tuple[Rows, ...]:
        """First and last row of the joined lines that any of these rows is in."""
        return tuple(sorted({self._joined[row] for row in rows if row in self._joined}))

    def extendable(self, diagnostic: Diagnostic) -> Pragma | None:
        """The comment with codes that would silence a finding if it held its code too."""
        noqa = self.noqa_at(diagnostic.span.row) if self._has_noqa else None
        if noqa is not None and noqa.keys is not None and noqa in self.noqa_comments():
            return noqa
        own = self._ignoring(diagnostic.span)
        return next((pragma for pragma in own if pragma.kind == "ignore" and pragma.keys is not None), None)

    def by_comments(self, diagnostic: Diagnostic) -> list[Used]:
        """The comments that take a finding away, other than ``# flake8: noqa``, and the keys by which they do.

        One without keys does not take away what is said of itself, since nothing would ever be said of it then.
        """
        span, code = diagnostic.span, diagnostic.code
        found: list[Used] = []
        if self._has_noqa and (noqa := self.noqa_at(span.row)):
            keys = noqa.keys and [key for key in noqa.keys if code.startswith(key)]
            found += [(noqa, None)] if keys is None else [(noqa, key) for key in keys]
        if not self.own:
            return found
        for pragma in self._ignoring(span):
            if pragma.keys is None:
                found.append((pragma, None))
            else:
                keys = [key for key in pragma.keys if key == diagnostic.name or code.startswith(key.upper())]
                found += [(pragma, key) for key in keys]
        found += [(region.opened, region.key) for region in self.regions.around(diagnostic)]
        return found if code != UNUSED else [each for each in found if not _is_about(span, *each)]

    def noqa_comments(self) -> Iterator[Pragma]:
        """Every ``# noqa`` that is a comment, also those that do not count since they are not the first of a line."""
        for row, column, comment in self.comments:
            for match in NOQA.finditer(comment):
                yield comments.noqa_of(match, row, column + match.start())

    def noqa_at(self, row: int) -> Pragma | None:
        """The ``# noqa`` that counts in a row, if there is one."""
        first, last = self._joined.get(row, (row, row))
        if first not in self._noqa_by_line:
            self._noqa_by_line[first] = self._noqa_between(first, last)
        return self._noqa_by_line[first]

    @property
    def comments(self) -> list[Comment]:
        """All comments that may be of interest."""
        return self._scan[1]

    @cached_property
    def lines(self) -> list[str]:
        return re.split(r"\r\n|\r|\n", self.text)

    @cached_property
    def own(self) -> tuple[Pragma, ...]:
        """The project's own comments that can be followed."""
        return tuple(comments.own_comments(self.comments, self.lines)) if self._has_own else ()

    @cached_property
    def regions(self) -> Regions:
        ends = (*(cell - 1 for cell in self.cells if cell > 1), len(self.lines))
        return regions((each for each in self.own if each.kind in ("off", "on") and each.alone), ends)

    @cached_property
    def revealed(self) -> tuple[int, ...]:
        """The rows that ask what is believed of them: ``# torchdevlint: reveal``. One of its own asks for the next."""
        if not self._has_own:
            return ()
        return tuple(row for row, _, comment in self.comments if REVEAL.search(comment))

    @cached_property
    def may_be_unused(self) -> bool:
        """Whether there may be something to say of the comments."""
        return comments.may_be_unused(self.text)

    def _suppressed(self, diagnostic: Diagnostic, used: set[Used]) -> bool:
        by_comments = self.by_comments(diagnostic)
        used.update(by_comments)
        return bool(by_comments) or self._whole_file

    def _ignoring(self, span: Span) -> Iterator[Pragma]:
        """The ``ignore`` and ``file-ignore`` comments that hold where a finding stands, whatever they name."""
        if not self.own:
            return
        for line in dict.fromkeys((self._line(span.row), self._line(span.end_row), 0)):
            yield from self._own_by_line.get(line, ())
        yield from self._below.get(span.row, ())

    def _noqa_between(self, first: int, last: int) -> Pragma | None:
        text = "\n".join(self.lines[first - 1 : last]) + "\n"
        match = NOQA.search(text)
        if not match:
            return None
        before = text[: match.start()]
        return comments.noqa_of(match, first + before.count("\n"), len(before) - before.rfind("\n") - 1)

    def _line(self, row: int) -> int:
        """The first row of the lines that are joined with this one."""
        return self._joined.get(row, (row, row))[0]

    @cached_property
    def _folded(self) -> str:
        return self.text.lower()

    @cached_property
    def _has_own(self) -> bool:
        return "torchdevlint:" in self.text

    @cached_property
    def _has_noqa(self) -> bool:
        return self.noqa and not self.ignore_noqa and "# noqa" in self._folded

    @cached_property
    def _whole_file(self) -> bool:
        """Whether a ``# flake8: noqa``, on whichever line, takes away every finding."""
        if not self.noqa or self.ignore_noqa:
            return False
        return "noqa" in self._folded and NOQA_FILE.search("\n".join(self.lines)) is not None

    @cached_property
    def _own_by_line(self) -> dict[int, list[Pragma]]:
        """The ``ignore`` comments by the line that they stand in, those for the whole file under 0."""
        found: dict[int, list[Pragma]] = {}
        for pragma in self.own:
            if pragma.kind in ("ignore", "file-ignore"):
                line = 0 if pragma.kind == "file-ignore" else self._line(pragma.row)
                found.setdefault(line, []).append(pragma)
        return found

    @cached_property
    def _below(self) -> dict[int, list[Pragma]]:
        """The ``ignore`` comments that hold for each row since they stand above it."""
        return held_below((each for each in self.own if each.kind == "ignore" and each.alone), self.lines, self.cells)

    @cached_property
    def _noqa_by_line(self) -> dict[int, Pragma | None]:
        """What was found in the lines that were looked at, by the first row of each; findings share lines."""
        return {}

    @cached_property
    def _joined(self) -> dict[int, Rows]:
        """First and last row of each joined line, by row; where they are known, of lines with findings alone.

        That is not enough for comments that may be unused, which can stand on any line.
        """
        fits = self.known is not None and all(0 < first <= last <= len(self.lines) for first, last in self.known)
        if self.known is None or not fits or self.may_be_unused:
            return self._scan[0]
        return {row: each for each in self.known for row in range(each[0], each[1] + 1)}

    @cached_property
    def _scan(self) -> tuple[dict[int, Rows], list[Comment]]:
        return comments.scanned(self.lines)


def _is_about(span: Span, pragma: Pragma, key: str | None) -> bool:
    """Whether a place lies in a comment of ours that names no rule."""
    inside = pragma.column < span.column <= pragma.column + pragma.length
    return key is None and pragma.kind in ("ignore", "off") and pragma.row == span.row and inside


def read(
    text: str,
    noqa: bool = True,
    known: tuple[Rows, ...] | None = None,
    ignore_noqa: bool = False,
    cells: Sequence[int] = (),
) -> Suppressions:
    """The suppressions of a decoded file."""
    return Suppressions(text, noqa, known, ignore_noqa, tuple(cells))


def of(content: Content, known: tuple[Rows, ...] | None = None, ignore_noqa: bool = False) -> Suppressions:
    """The suppressions of a file or a notebook."""
    cells = () if content.notebook is None else (cell.first for cell in content.notebook.cells)
    return read(content.text, True, known, ignore_noqa, tuple(cells))
