"""Suppressions that silence nothing, and what to delete so that they are gone."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from torchdevlint.flow.facts.files import UnusedSuppression
from torchdevlint.model import Diagnostic, Severity, Span
from torchdevlint.rules import find, identified, identities
from torchdevlint.suppress.comments import Pragma
from torchdevlint.suppress.holding import UNUSED, Suppressions, Used


def find_unused(
    suppressions: Suppressions, ran: Collection[str], used: Collection[Used]
) -> Iterator[UnusedSuppression]:
    """The comments of which one key, or all that they stand for, took nothing away; in order.

    `ran` are the codes of the rules that were selected for this file and ran on it to the end: only their keys are
    judged. `used` is what took findings away (`Suppressions.apply`). A comment of ours for every rule is judged if each
    rule that is on by default ran, and has a use as well if it hides that another one has none.
    """
    if not (ran and suppressions.noqa and suppressions.may_be_unused):
        return
    noqa = () if suppressions.ignore_noqa else suppressions.noqa_comments()
    pragmas = sorted((*noqa, *suppressions.own), key=lambda one: (one.row, one.column))
    found: list[tuple[Pragma, tuple[str, ...]]] = []
    for pragma in pragmas:
        keys = tuple(key for key in pragma.keys or () if (pragma, key) not in used and _is_judged(pragma, key, ran))
        found += [(pragma, keys)] if keys and _silences(pragma) else []
    hiding = set(used)
    if UNUSED in ran:
        for pragma, _ in found:
            hiding.update(suppressions.by_comments(_told_of(pragma)))
    if all(rule.code in ran for rule in identities() if rule.default and not rule.preview):
        blank = (each for each in pragmas if each.keys is None and each.kind in ("ignore", "off"))
        found += [(each, ()) for each in blank if _silences(each) and (each, None) not in hiding]
        found.sort(key=lambda one: (one[0].row, one[0].column))
    alone = _closed_alone(suppressions) if any(pragma.kind == "off" for pragma, _ in found) else {}
    for pragma, keys in found:
        at, comment = removable(pragma, suppressions.lines, suppressions.cells)
        closing = alone.get(pragma)
        places = () if closing is None else (removable(closing, suppressions.lines, suppressions.cells)[0],)
        yield UnusedSuppression(at, comment, keys, places)


def removable(pragma: Pragma, lines: Sequence[str], cells: Collection[int] = ()) -> tuple[Span, str]:
    """What to delete so that a suppression is gone and nothing else changes, and its text.

    With it go the blanks before it, or the whole line if there is nothing else in it, together with as many of the
    blank lines below as are above it. A remark after the codes stays a comment, and so does a comment of another tool.
    """
    line = lines[pragma.row - 1]
    start, end = pragma.column, pragma.column + pragma.length
    rest = line[end:]
    if not rest.strip():
        start, end = len(line[:start].rstrip()), len(line)
        if start == 0 and pragma.row < len(lines):
            last = pragma.row + _blank_lines(pragma.row, lines, cells)
            return Span(pragma.row, 1, last + 1, 1), "\n".join([*lines[pragma.row - 1 : last], ""])
    else:
        end += len(rest) - len(rest.lstrip())
        if not rest.lstrip().startswith("#"):
            start += re.match(r"#\s*", line[start:]).end()  # type: ignore[union-attr]
    return Span(pragma.row, start + 1, pragma.row, end + 1), line[start:end]


def _blank_lines(row: int, lines: Sequence[str], cells: Collection[int]) -> int:
    """How many lines below a row can go with it, so that no more stay blank than were on one side."""
    above = below = 0
    while row - above >= 2 and row - above not in cells and not lines[row - above - 2].strip():
        above += 1
    top = row - above == 1 or row - above in cells
    while row + below + 1 < len(lines) and row + below + 1 not in cells and not lines[row + below].strip():
        below += 1
    return below if top else min(above, below)


def _is_judged(pragma: Pragma, key: str, ran: Collection[str]) -> bool:
    """Whether a key names a rule that ran. In a noqa one in the wrong case names none."""
    rule = find(key)
    if rule is None or rule.code not in ran or rule.code == UNUSED:
        return False
    return pragma.kind != "noqa" or key == rule.code


def _silences(pragma: Pragma) -> bool:
    """Whether a comment can silence something: ``on`` does not, and ``off`` beside code is read by nobody."""
    return pragma.kind != "on" and (pragma.kind != "off" or pragma.alone)


def _told_of(pragma: Pragma) -> Diagnostic:
    """What is said of an unused comment, as far as other comments hold for it."""
    rule = identified()[UNUSED]
    at = Span(pragma.row, pragma.column + 1, pragma.row, pragma.column + pragma.length + 1)
    return Diagnostic("", at, rule.code, rule.name, "", Severity.WARNING, "", "", "", pragma.row)


def _closed_alone(suppressions: Suppressions) -> dict[Pragma, Pragma]:
    """The ``on`` that goes with an ``off``, where it ends the regions of no other, and another ends none of these."""
    opened, closed = suppressions.regions.opened(), suppressions.regions.closed()
    found: dict[Pragma, Pragma] = {}
    for pragma, regions in opened.items():
        ends = {region.closed for region in regions}
        closing = ends.pop()
        if not ends and closing is not None and all(each.opened is pragma for each in closed[closing]):
            found[pragma] = closing
    return found
