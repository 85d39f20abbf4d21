"""Findings of one cause become one finding, whose related places are the others."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import pairwise

from msgspec.structs import replace

from torchdevlint.model import Applicability, Diagnostic, Fix, Related

_MOST_LINES = 8
"""How many further lines a message names."""
_SURENESS = (Applicability.SAFE, Applicability.UNSAFE, Applicability.DISPLAY)


def joined(found: Iterable[Diagnostic], kept: Collection[Diagnostic]) -> list[Diagnostic]:
    """The findings that are reported, in the order of every output.

    `found` are all findings of one file, `kept` those that no comment silences. The first of a cause speaks for all, so
    that what silences it silences them all; a comment at another one leaves just that one out.
    """
    causes: dict[Hashable, list[Diagnostic]] = {}
    for each in sorted(found, key=lambda diagnostic: diagnostic.sort_key):
        causes.setdefault(key(each), []).append(each)
    return [_one([each for each in group if each in kept]) for group in causes.values() if group[0] in kept]


def key(diagnostic: Diagnostic) -> Hashable:
    """What findings of one file share if they are one. In a notebook they are of one cell, which is run by itself."""
    if not diagnostic.cause:
        return diagnostic.code, diagnostic.cell, diagnostic.span
    return diagnostic.code, diagnostic.cell, diagnostic.severity, diagnostic.cause


def _one(group: Sequence[Diagnostic]) -> Diagnostic:
    first, *others = group
    if not others:
        return first
    rows = sorted({each.span.row for each in others} - {first.span.row})
    also = _also(rows)
    known = {(each.filename, each.cell, each.span) for each in first.related}
    related = (Related("here too", each.filename, each.span, each.cell) for each in others)
    return replace(
        first,
        message=f"{first.message}{also}",
        also=also,
        related=(*first.related, *(each for each in related if (each.filename, each.cell, each.span) not in known)),
        fix=_fix([each.fix for each in group], also),
    )


def _also(rows: Sequence[int]) -> str:
    """The further lines in words, for those who are shown no related places."""
    if not rows:
        return ""
    named = ", ".join(map(str, rows[:_MOST_LINES]))
    more = f" and {len(rows) - _MOST_LINES} more" if len(rows) > _MOST_LINES else ""
    return f" (also in line{'s' * (len(rows) > 1)} {named}{more})"


def _fix(fixes: Sequence[Fix | None], also: str) -> Fix | None:
    """One fix for all, as sure as the least sure of them; None if one is missing, or if they touch each other."""
    whole = [each for each in fixes if each is not None]
    edits = sorted({edit for each in whole for edit in each.edits}, key=lambda edit: edit.span)
    ends = ((one.span.end_row, one.span.end_column, other.span) for one, other in pairwise(edits))
    if len(whole) < len(fixes) or any((row, column) >= (after.row, after.column) for row, column, after in ends):
        return None
    sure = max((each.applicability for each in whole), key=_SURENESS.index)
    return Fix(sure, f"{whole[0].message}{also}", tuple(edits))
