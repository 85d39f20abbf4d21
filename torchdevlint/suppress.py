"""Suppression comments: which findings they take away, and which of them take away nothing.

``# noqa`` is read as flake8 (6 and later) reads it, which was compared with its source: the comment is searched for in
the text of the line, even within a string; only the first one counts; the word may be in any case, but the codes
may not; a code stands for all that start with it; ``# noqa:`` without a readable code means every code; and lines
joined by a string or a backslash are one line. A line that starts with ``# flake8: noqa`` takes the whole file out.

``# torchdevlint: ignore[TDL001]`` and ``# torchdevlint: file-ignore[TDL001]`` hold the codes or names of rules,
separated by commas, or nothing at all for every rule. They count as comments only, not within strings, and
``ignore`` also takes away a finding that *ends* in its line, which is where formatters put a comment.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator
from functools import cache, cached_property

from msgspec import Struct

from torchdevlint.flow.facts.files import UnusedSuppression
from torchdevlint.model import Diagnostic, Span
from torchdevlint.rules import find, prefixes

UNUSED = "TDL900"
"""The rule about unused suppressions: a comment that names it is never unused itself."""

_NOQA = re.compile(r"# noqa(?::\s?(?P<keys>(?:[A-Z]+[0-9]+[,\s]*)+))?", re.IGNORECASE)
_NOQA_FILE = re.compile(r"^[^\S\n]*# flake8[:=][^\S\n]*noqa", re.IGNORECASE | re.MULTILINE)
_OWN = re.compile(
    r"#\s*torchdevlint:\s*(?P<kind>file-ignore|ignore)(?![\w-])(?:\s*\[(?P<keys>[^][]*)\]|(?!\s*(?:[:=(]\s*)?[A-Z]{1,3}\d))"
)
_REVEAL = re.compile(r"#\s*torchdevlint:\s*reveal(?![\w-])")
_SEPARATOR = re.compile(r"[,\s]+")

Rows = tuple[int, int]
"""The first and the last row of a line that goes over several."""


class Pragma(Struct, frozen=True):
    """One suppression in the text: `kind` is ``noqa``, ``ignore`` or ``file-ignore``; `keys` None stands for all.

    `column` is the 0-based place of its ``#`` in the line and `length` how far it goes from there.
    """

    kind: str
    row: int
    column: int
    length: int
    keys: tuple[str, ...] | None

    def matching(self, diagnostic: Diagnostic) -> tuple[str, ...] | None:
        """The keys that name a finding's rule; None if none does. Without keys, every finding is meant."""
        if self.keys is None:
            return ()
        if self.kind == "noqa":
            return tuple(key for key in self.keys if diagnostic.code.startswith(key)) or None
        return (
            tuple(key for key in self.keys if key == diagnostic.name or diagnostic.code.startswith(key.upper())) or None
        )


class Suppressions(Struct, frozen=True, dict=True):
    """The suppressions of one text. Nothing is read before a finding or a comment makes it necessary.

    Without `noqa`, flake8 applies its own comments and nothing is unused; with `ignore_noqa`, those comments hold for
    nobody. `known` is what `joined_at` gave for the rows of all findings, where that is kept of an earlier run.
    """

    text: str
    noqa: bool
    known: tuple[Rows, ...] | None = None
    ignore_noqa: bool = False

    def apply(
        self, diagnostics: Iterable[Diagnostic], ran: Collection[str] = ()
    ) -> tuple[list[Diagnostic], list[UnusedSuppression]]:
        """The findings that stay, and the suppressions that were not needed.

        `ran` are the codes of the rules that were selected for this file and ran on it to the end; only they can be
        found unused. Findings of TDL900 itself are passed through a second call, without `ran`.
        """
        used: set[tuple[Pragma, str]] = set()
        kept = [diagnostic for diagnostic in diagnostics if not self._suppressed(diagnostic, used)]
        return kept, list(self._unused(ran, used)) if ran else []

    def behind_file_noqa(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """The findings that nothing but a ``# flake8: noqa`` takes away."""
        return [each for each in diagnostics if not self._on_line(each)] if self._whole_file else []

    def noqa_row(self, row: int) -> int:
        """The row on which a ``# noqa`` for a finding in `row` has to stand: the last one of the joined lines.

        Inside flake8, which knows for itself, it is `row`, and the text need not be tokenized.
        """
        return row if not self.noqa else self._joined.get(row, (row, row))[1]

    def joined_at(self, rows: Iterable[int]) -> tuple[Rows, ...]:
        """First and last row of the joined lines that any of these rows is in."""
        return tuple(sorted({self._joined[row] for row in rows if row in self._joined}))

    @cached_property
    def revealed(self) -> tuple[int, ...]:
        """The rows that ask what is believed of them: ``# torchdevlint: reveal``. One of its own asks for the next."""
        if not self._has_own:
            return ()
        return tuple(row for row, _, comment in self._comments if _REVEAL.search(comment))

    def extendable(self, diagnostic: Diagnostic) -> Pragma | None:
        """The comment with codes that would silence a finding if it held its code too."""
        noqa = self.noqa_at(diagnostic.span.row) if self._has_noqa else None
        if noqa is not None and noqa.keys is not None and noqa in self._noqa_comments():
            return noqa
        here = (self._line(diagnostic.span.row), self._line(diagnostic.span.end_row))
        own = (pragma for line in here for pragma in self._own_by_line.get(line, ()))
        return next((pragma for pragma in own if pragma.kind == "ignore" and pragma.keys is not None), None)

    def _suppressed(self, diagnostic: Diagnostic, used: set[tuple[Pragma, str]]) -> bool:
        by_comments = self._on_line(diagnostic)
        used.update((pragma, key) for pragma, keys in by_comments for key in keys)
        return bool(by_comments) or self._whole_file

    def _on_line(self, diagnostic: Diagnostic) -> list[tuple[Pragma, tuple[str, ...]]]:
        """The comments that take a finding away, other than ``# flake8: noqa``, and the keys by which they do."""
        candidates = ((pragma, pragma.matching(diagnostic)) for pragma in self._candidates(diagnostic.span))
        return [(pragma, keys) for pragma, keys in candidates if keys is not None]

    def _candidates(self, span: Span) -> Iterator[Pragma]:
        """The suppressions that hold where a finding stands."""
        if self._has_noqa and (noqa := self.noqa_at(span.row)):
            yield noqa
        if not self._own:
            return
        for line in {0, self._line(span.row), self._line(span.end_row)}:
            yield from self._own_by_line.get(line, ())

    def _unused(self, ran: Collection[str], used: set[tuple[Pragma, str]]) -> Iterator[UnusedSuppression]:
        if not self.noqa or not may_be_unused(self.text):
            return
        noqa = () if self.ignore_noqa else self._noqa_comments()
        for pragma in sorted((*noqa, *self._own), key=lambda one: (one.row, one.column)):
            unused = tuple(
                key
                for key in pragma.keys or ()
                if (rule := find(key)) and rule.code in ran and rule.code != UNUSED and (pragma, key) not in used
            )
            if unused:
                at, comment = self._removable(pragma)
                yield UnusedSuppression(at, comment, unused)

    def _noqa_comments(self) -> Iterator[Pragma]:
        for row, column, comment in self._comments:
            for match in _NOQA.finditer(comment):
                yield _noqa(match, row, column + match.start())

    def noqa_at(self, row: int) -> Pragma | None:
        """The ``# noqa`` that counts in a row, if there is one."""
        first, last = self._joined.get(row, (row, row))
        if first not in self._noqa_by_line:
            self._noqa_by_line[first] = self._noqa_between(first, last)
        return self._noqa_by_line[first]

    def _noqa_between(self, first: int, last: int) -> Pragma | None:
        text = "\n".join(self._lines[first - 1 : last]) + "\n"
        match = _NOQA.search(text)
        if not match:
            return None
        before = text[: match.start()]
        return _noqa(match, first + before.count("\n"), len(before) - before.rfind("\n") - 1)

    def _removable(self, pragma: Pragma) -> tuple[Span, str]:
        """What to delete so that a suppression is gone and nothing else changes, and its text.

        With it go the blanks before it, or the whole line if there is nothing else in it. A remark after the codes
        stays a comment, and so does a comment of another tool.
        """
        line = self._lines[pragma.row - 1]
        start, end = pragma.column, pragma.column + pragma.length
        rest = line[end:]
        if not rest.strip():
            start, end = len(line[:start].rstrip()), len(line)
            if start == 0 and pragma.row < len(self._lines):
                return Span(pragma.row, 1, pragma.row + 1, 1), line + "\n"
        else:
            end += len(rest) - len(rest.lstrip())
            if not rest.lstrip().startswith("#"):
                start += re.match(r"#\s*", line[start:]).end()  # type: ignore[union-attr]
        return Span(pragma.row, start + 1, pragma.row, end + 1), line[start:end]

    def _line(self, row: int) -> int:
        """The first row of the lines that are joined with this one."""
        return self._joined.get(row, (row, row))[0]

    @cached_property
    def _lines(self) -> list[str]:
        return re.split(r"\r\n|\r|\n", self.text)

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
        return "noqa" in self._folded and _NOQA_FILE.search("\n".join(self._lines)) is not None

    @cached_property
    def _own(self) -> tuple[Pragma, ...]:
        if not self._has_own:
            return ()
        return tuple(
            Pragma(match["kind"], row, column + match.start(), len(match[0]), _keys(match["keys"]))
            for row, column, comment in self._comments
            for match in _OWN.finditer(comment)
        )

    @cached_property
    def _own_by_line(self) -> dict[int, list[Pragma]]:
        """The project's own comments by the line that they stand in, those for the whole file under 0."""
        found: dict[int, list[Pragma]] = {}
        for pragma in self._own:
            line = 0 if pragma.kind == "file-ignore" else self._line(pragma.row)
            found.setdefault(line, []).append(pragma)
        return found

    @cached_property
    def _noqa_by_line(self) -> dict[int, Pragma | None]:
        """What was found in the lines that were looked at, by the first row of each; findings share lines."""
        return {}

    @cached_property
    def _joined(self) -> dict[int, Rows]:
        """First and last row of each joined line, by row; where they are known, of lines with findings alone.

        That is not enough for comments that may be unused, which can stand on any line.
        """
        fits = self.known is not None and all(0 < first <= last <= len(self._lines) for first, last in self.known)
        if self.known is None or not fits or may_be_unused(self.text):
            return self._scan[0]
        return {row: each for each in self.known for row in range(each[0], each[1] + 1)}

    @property
    def _comments(self) -> list[tuple[int, int, str]]:
        return self._scan[1]

    @cached_property
    def _scan(self) -> tuple[dict[int, Rows], list[tuple[int, int, str]]]:
        """First and last row of each joined line, by row; and row, column and text of each comment of interest.

        In a text that cannot be tokenized no line is joined with another, and a line may hold a comment anywhere.
        """
        joined: dict[int, Rows] = {}
        comments: list[tuple[int, int, str]] = []
        unset = len(self._lines) + 2
        first, last = unset, 0
        try:
            for kind, token, (row, column), (end_row, _), _ in tokenize.generate_tokens(
                io.StringIO("\n".join(self._lines)).readline
            ):
                if kind in (tokenize.ENDMARKER, tokenize.DEDENT):
                    continue
                first, last = min(first, row), max(last, end_row)
                if kind == tokenize.COMMENT and _of_interest(token):
                    comments.append((row, column, token))
                elif kind in (tokenize.NL, tokenize.NEWLINE):
                    if last > first:
                        joined.update(dict.fromkeys(range(first, last + 1), (first, last)))
                    first, last = unset, 0
        except (tokenize.TokenError, SyntaxError, ValueError):
            return {}, [
                (row, line.index("#"), line[line.index("#") :])
                for row, line in enumerate(self._lines, start=1)
                if "#" in line and _of_interest(line)
            ]
        return joined, comments


def may_be_unused(text: str) -> bool:
    """Whether a text may hold suppressions that name rules."""
    return "torchdevlint:" in text or _noqa_of_rules().search(text) is not None


def read(
    text: str, noqa: bool = True, known: tuple[Rows, ...] | None = None, ignore_noqa: bool = False
) -> Suppressions:
    """The suppressions of a decoded file."""
    return Suppressions(text, noqa, known, ignore_noqa)


@cache
def _noqa_of_rules() -> re.Pattern[str]:
    return re.compile(rf"# noqa[^\r\n]*(?:{'|'.join(prefixes())})", re.IGNORECASE)


def _of_interest(text: str) -> bool:
    return "torchdevlint:" in text or "noqa" in text.lower()


def _noqa(match: re.Match[str], row: int, column: int) -> Pragma:
    """`length` leaves out the blanks that the expression takes in after the last code."""
    return Pragma("noqa", row, column, len(match[0].rstrip()), _keys(match["keys"]))


def _keys(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(key for key in _SEPARATOR.split(text) if key)
