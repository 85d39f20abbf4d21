"""Comments that look like suppressions and cannot mean what their authors want."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from torchdevlint.config import nearest
from torchdevlint.flow.facts.files import InvalidSuppression
from torchdevlint.model import Edit, Span
from torchdevlint.patterns import regex
from torchdevlint.rules import find, identified, prefixes
from torchdevlint.suppress.comments import DIRECTIVES, KEY, MARK, Comment, Pragma, is_readable
from torchdevlint.suppress.holding import Suppressions
from torchdevlint.suppress.unused import removable

_WORD = regex(r"\s*(?P<word>[\w-]*)(?P<rest>[^#]*)")
_BARE = regex(r"\s*(?:[\[:=(]\s*)?(?P<codes>[A-Z]{1,3}\d+(?:\s*,\s*[A-Z]{1,3}\d+)*)\s*[])]?(?!\w)")
_OF_OTHERS = regex(r"[A-Z]+\d+", re.IGNORECASE)
_NEAR = 0.8
"""How alike, from 0 to 1, two words are of which one is a slip of the other."""


def find_invalid(suppressions: Suppressions) -> Iterator[InvalidSuppression]:
    """The comments that cannot mean what their authors want.

    That is what cannot be followed in comments of ours, and keys in them and in ``# noqa`` that fit no rule.
    """
    if not suppressions.may_be_unused:
        return
    if not suppressions.ignore_noqa:
        for pragma in suppressions.noqa_comments():
            yield from _keys(pragma, suppressions.lines[pragma.row - 1])
    for comment in suppressions.comments:
        yield from _unreadable(comment)
    for pragma in suppressions.own:
        yield from _keys(pragma, suppressions.lines[pragma.row - 1])
        if pragma.kind in ("off", "on") and not pragma.alone:
            yield InvalidSuppression(_span(pragma.row, pragma.column, pragma.length), pragma.kind, "place")
    for pragma, key in suppressions.regions.stray:
        if key is not None and not _is_known(key):
            continue
        edit = None
        if pragma.keys is None or len(pragma.keys) == 1:
            edit = Edit("", removable(pragma, suppressions.lines, suppressions.cells)[0])
        at = _span(pragma.row, pragma.column, pragma.length)
        yield InvalidSuppression(at, key or "", "closing", edit=edit, sure=True)


def _keys(pragma: Pragma, line: str) -> Iterator[InvalidSuppression]:
    """The keys of a comment that fit no rule. What may be a code of another tool is none of our business."""
    end = pragma.column + pragma.length
    keys = pragma.keys or ()
    for match in KEY.finditer(line, pragma.keys_at, end) if keys else ():
        key = match[0].rstrip("]")
        if key not in keys or _is_legal(pragma, key):
            continue
        ours = _prefix(key)
        if ours is None and (pragma.kind == "noqa" or _OF_OTHERS.fullmatch(key)):
            continue
        found = _nearest_code(key, ours) if ours is not None else _nearest_name(key)
        at = _span(pragma.row, match.start(), len(key))
        edit = Edit(found[1], at) if found[1] else None
        yield InvalidSuppression(at, key, "code" if ours is not None else "name", found[0], edit, found[2])


def _is_legal(pragma: Pragma, key: str) -> bool:
    """Whether a key names a rule, or a group of rules as the beginning of their codes.

    A code that lacks its last digit begins others as well. In a comment of ours that is a slip, since groups are told
    apart by their first digit.
    """
    if pragma.kind == "noqa":
        return any(code.startswith(key) for code in identified())
    return _is_known(key) and (find(key) is not None or len(re.sub(r"\D", "", key)) <= 1)


def _is_known(key: str) -> bool:
    return find(key) is not None or any(code.startswith(key.upper()) for code in identified())


def _prefix(key: str) -> str | None:
    """The prefix of our rules, or of those of an installed package, with which a key begins as a code does."""
    for prefix in prefixes():
        if re.match(rf"{prefix}(?:$|[\s_-]?[0-9O])", key, re.IGNORECASE):
            return prefix
    return None


def _nearest_code(key: str, prefix: str) -> tuple[str, str, bool]:
    """The nearest code, what to write in its place, empty where that is not plain, and whether that is sure."""
    codes = identified()
    digits = re.sub(r"[^0-9O]", "", key[len(prefix) :].upper()).replace("O", "0")
    plain = f"{prefix}{int(digits):03}" if digits else ""
    if plain in codes:
        return plain, plain, len(digits) == 3
    return nearest(key, [code for code in codes if code.startswith(prefix)] or codes), "", False


def _nearest_name(key: str) -> tuple[str, str, bool]:
    """The same for the name of a rule."""
    names = [rule.name for rule in identified().values()]
    folded = key.lower().replace("_", "-")
    if folded in names:
        return folded, folded, True
    close = _close(folded, names, 2)
    return (close[0], close[0] if len(close) == 1 else "", False) if close else ("", "", False)


def _unreadable(comment: Comment) -> Iterator[InvalidSuppression]:
    """What begins like a comment of ours and is none that can be followed."""
    row, column, text = comment
    for mark in MARK.finditer(text):
        if is_readable(text, mark.start()):
            continue
        said = _WORD.match(text, mark.end())
        assert said is not None  # it matches anything
        word, start = said["word"], said.start("word")
        if word not in DIRECTIVES:
            found, sure = _nearest_directive(word, said["rest"])
            at = _span(row, column + (start if word else mark.start()), len(word or mark[0]))
            yield InvalidSuppression(at, word, "directive", found, Edit(found, at) if found else None, sure)
            continue
        at = _span(row, column + mark.start(), len(text[: said.end()].rstrip()) - mark.start())
        bare = _BARE.match(text, said.end("word"))
        edit = None
        if bare:
            edit = Edit(f"[{bare['codes']}]", _span(row, column + bare.start(), len(bare[0].rstrip())))
        yield InvalidSuppression(at, word, "brackets", "", edit, bare is not None)


def _nearest_directive(word: str, rest: str) -> tuple[str, bool]:
    """The directive that a word is a slip of, empty if there is none, and whether it can be put there safely.

    That is so where it silences rules that are named, in this line or statement alone, or nothing.
    """
    close = _close(word.lower().replace("_", "-"), DIRECTIVES, 1)
    found = close[0] if close else ""
    listed = re.match(r"\s*\[([^][]+)\]", rest)
    named = listed is not None and all(_is_known(key) for key in KEY.findall(listed[1]))
    return found, found == "reveal" or (found == "ignore" and named)


def _close(word: str, words: Sequence[str], most: int) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(word, words, n=most, cutoff=_NEAR)


def _span(row: int, column: int, length: int) -> Span:
    return Span(row, column + 1, row, column + length + 1)
