"""Changes of texts, put together as the editor means them; and places in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from torchdevlint.integrations.lsp.places import UNITS, Places, rows_of
from torchdevlint.integrations.lsp.texts import Texts

TEXTS = st.text(st.sampled_from("ab\n\r\u00fc\U0001f525\x0c\u2028"), max_size=14)
ENCODINGS = sorted(UNITS)


def position(text: str, offset: int, encoding: str) -> types.Position:
    """The position of an offset, worked out from the whole text; one between the halves of a line ending is its end."""
    if text[offset - 1 : offset + 1] == "\r\n" and offset:
        offset += 1
    rows = rows_of(text[:offset])
    codec, size = UNITS[encoding]
    return types.Position(len(rows) - 1, len(rows[-1].encode(codec)) // size)


@given(TEXTS, TEXTS, st.data(), st.sampled_from(ENCODINGS))
def test_a_change_of_a_part_is_that_of_the_whole(text: str, typed: str, data: st.DataObject, encoding: str) -> None:
    start, end = sorted(data.draw(st.integers(0, len(text))) for _ in range(2))
    at, to = position(text, start, encoding), position(text, end, encoding)
    start, end = (each + (text[each - 1 : each + 1] == "\r\n" and each > 0) for each in (start, end))
    texts = Texts(encoding)
    texts.open(types.TextDocumentItem("file:///a.py", "python", 1, text))
    change = types.TextDocumentContentChangePartial(types.Range(at, to), typed)
    texts.change(types.VersionedTextDocumentIdentifier(2, "file:///a.py"), [change])
    new = texts.texts["file:///a.py"]
    assert new.content == text[:start] + typed + text[end:]
    assert new.rows == rows_of(new.content)
    assert new.version == 2


@given(TEXTS, st.data(), st.sampled_from(ENCODINGS))
def test_a_place_and_its_position_are_one(text: str, data: st.DataObject, encoding: str) -> None:
    rows = rows_of(text)
    row = data.draw(st.integers(1, len(rows)))
    column = data.draw(st.integers(1, len(rows[row - 1].rstrip("\r\n")) + 1))
    places = Places(rows, encoding)
    assert places.place(places.position(row, column)) == (row, column)


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 12), ("utf-16", 10), ("utf-32", 9)])
def test_places_in_each_encoding(encoding: str, column: int) -> None:
    places = Places(("a", "x = '\U0001f525', b"), encoding)
    assert places.position(2, 10) == types.Position(1, column)
    assert places.position(3, 7) == places.position(2, 99) == places.position(99, 1)
    assert Places((), encoding).position(1, 1) == types.Position(0, 0)


def test_a_position_that_is_not_there_is_the_nearest_that_is() -> None:
    places = Places(rows_of("x = '\U0001f525'\r\nb"))
    assert places.place(types.Position(0, 6)) == (1, 6), "the middle of a character"
    assert places.place(types.Position(0, 99)) == (1, 8)
    assert places.place(types.Position(1, 99)) == places.place(types.Position(7, 0)) == (2, 2)
    assert Places(()).place(types.Position(0, 3)) == (0, 1)


def test_what_is_not_open_cannot_be_changed() -> None:
    texts = Texts()
    whole = types.TextDocumentContentChangeWholeDocument("x")
    with pytest.raises(KeyError):
        texts.change(types.VersionedTextDocumentIdentifier(2, "file:///a.py"), [whole])
    assert texts.units == []
    assert texts.shown("file:///a.py") is None
