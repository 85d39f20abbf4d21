"""The patterns of ``match``: what the names hold that they capture."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.state.joins import element_of, unpacked
from torchdevlint.flow.state.values import UNKNOWN, Map, Record, Seq, Tensor, Unknown, Value


def captured(pattern: ast.pattern, subject: Value) -> Iterator[tuple[str, Value]]:
    """Each name that `pattern` binds, with what it holds if `subject` matches."""
    if isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None:
            yield from captured(pattern.pattern, subject)
        if pattern.name is not None:
            yield pattern.name, subject
    elif isinstance(pattern, ast.MatchSequence):
        yield from _of_sequence(pattern, unpacked(subject))
    elif isinstance(pattern, ast.MatchMapping):
        for key, inner in zip(pattern.keys, pattern.patterns, strict=True):
            yield from captured(inner, _under(subject, key.value if isinstance(key, ast.Constant) else None))
        if pattern.rest is not None:
            yield pattern.rest, UNKNOWN
    elif isinstance(pattern, ast.MatchClass):
        yield from _of_class(pattern, subject)
    else:
        for each in ast.walk(pattern):
            name = getattr(each, "name", None)
            if isinstance(name, str):
                yield name, UNKNOWN


def _of_sequence(pattern: ast.MatchSequence, subject: Value) -> Iterator[tuple[str, Value]]:
    items = subject.items if isinstance(subject, Seq) else None
    known = items is not None and len(items) == len(pattern.patterns)
    for place, inner in enumerate(pattern.patterns):
        if isinstance(inner, ast.MatchStar):
            if inner.name is not None:
                yield inner.name, Seq(None, element_of(subject))
        else:
            yield from captured(inner, items[place] if known and items is not None else element_of(subject))


def _of_class(pattern: ast.MatchClass, subject: Value) -> Iterator[tuple[str, Value]]:
    """``Pair(left, right=r)`` takes a record apart; of other instances nothing is known."""
    names = subject.kind.fields if isinstance(subject, Record) else ()
    held = dict(subject.items) if isinstance(subject, Record) else {}
    for place, inner in enumerate(pattern.patterns):
        yield from captured(inner, held.get(names[place], UNKNOWN) if place < len(names) else UNKNOWN)
    for name, inner in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
        yield from captured(inner, held.get(name, UNKNOWN))


def _under(subject: Value, key: object) -> Value:
    if isinstance(subject, Map):
        found: Value = dict(subject.items).get(key, subject.element)
        return found
    return subject if isinstance(subject, Unknown) or (isinstance(subject, Tensor) and subject.opaque) else UNKNOWN
