"""Comments that silence findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from torchdevlint import suppress
from torchdevlint.fix.splice import splice
from torchdevlint.fix.text import apply_all, is_whole
from torchdevlint.model import Applicability, Diagnostic, Edit, Fix, Span
from torchdevlint.source.notebook import Content, content_of
from torchdevlint.source.text import Source, UndecodableError
from torchdevlint.suppress import Pragma, Suppressions
from torchdevlint.syntax.document import parsed
from torchdevlint.syntax.errors import TooDeepError


def silencing(finding: Diagnostic, content: Content, ignore_noqa: bool = False) -> Fix | None:
    """The edit that silences a finding in the text of a content by a comment with its code; None where none would."""
    ((fix, _),) = comments([finding], content, ignore_noqa)
    new = Content(splice(content.text, [fix])[0], content.notebook)
    silent = is_whole(new.text) and not suppress.of(new, ignore_noqa=ignore_noqa).apply([finding])[0]
    return fix if silent else None


def silenced(data: bytes, findings: Sequence[Diagnostic], ignore_noqa: bool = False) -> tuple[bytes, list[Diagnostic]]:
    """A content with comments that silence findings in it, and the findings that no comment silences.

    Where the text would not be Python after a comment, it is left out.
    """
    left = list(findings)
    while left:
        filename = left[0].filename
        try:
            module = parsed(content_of(data, filename)).content
        except (UndecodableError, TooDeepError, RecursionError, MemoryError):
            return data, left
        placed = [each if module.notebook is None else module.notebook.in_module(each) for each in left]
        marked = [replace(those[0], fix=fix) for fix, those in comments(placed, module, ignore_noqa)]
        if module.notebook is not None:
            marked = [module.notebook.in_cells(each) for each in marked]
        new, done = apply_all(data, filename, [each for each in marked if each.fix is not None])
        after = suppress.of(parsed(content_of(new, filename)).content, ignore_noqa=ignore_noqa)
        remaining = [each for each, there in zip(left, placed, strict=True) if after.apply([there])[0]]
        if not done or len(remaining) == len(left):
            return data, left
        data, left = new, remaining
    return data, left


def comments(
    findings: Iterable[Diagnostic], content: Content, ignore_noqa: bool = False
) -> list[tuple[Fix, list[Diagnostic]]]:
    """The edits of a content's text that silence findings in it, one a comment, each with what it is for.

    A code is added to the comment that holds for the line, if there is one. A new one goes to the end of the line in
    which a ``# noqa`` has to stand; where flake8 reads one in a string of that line, and no other, or where those are
    ignored, it is this project's own.
    """
    suppressions, lines = suppress.of(content, ignore_noqa=ignore_noqa), Source(content.text).lines
    groups: dict[Pragma | int, list[Diagnostic]] = {}
    for finding in findings:
        groups.setdefault(suppressions.extendable(finding) or finding.noqa_row, []).append(finding)
    return [(_fix(place, those, lines, suppressions), those) for place, those in groups.items()]


def _fix(place: Pragma | int, those: list[Diagnostic], lines: Sequence[str], suppressions: Suppressions) -> Fix:
    codes = sorted({finding.code for finding in those})
    if isinstance(place, Pragma):
        edit = _extended(place, codes, lines[place.row - 1])
    else:
        line, listed = lines[place - 1], ",".join(codes)
        own = suppressions.ignore_noqa or suppressions.noqa_at(place) is not None
        comment = f"  # torchdevlint: ignore[{listed}]" if own else f"  # noqa: {listed}"
        edit = Edit(comment, Span(place, len(line.rstrip()) + 1, place, len(line) + 1))
    return Fix(Applicability.UNSAFE, f"Silence {', '.join(codes)} in this line", (edit,))


def _extended(pragma: Pragma, codes: list[str], line: str) -> Edit:
    """The edit that adds codes to a comment that holds some, as it holds them."""
    start, end = pragma.column, pragma.column + pragma.length
    comment = line[start:end]
    closing = "]" if pragma.kind == "ignore" else ""
    known = comment.removesuffix(closing).rstrip(", \t")
    separator = ", " if ", " in known else ","
    first = separator if pragma.keys else ""
    return Edit(f"{known}{first}{separator.join(codes)}{closing}", Span(pragma.row, start + 1, pragma.row, end + 1))
