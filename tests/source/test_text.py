"""Decoding as Python does it, and places as people count them."""

from __future__ import annotations

import ast
import bisect
import codecs
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchdevlint.model import Span
from torchdevlint.source.text import Source, UndecodableError, decode

COOKIE = "# -*- coding: {} -*-\n"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        ("é = 1\n".encode(), "é = 1\n"),
        (codecs.BOM_UTF8 + "é = 1\r\n".encode(), "é = 1\r\n"),
        (codecs.BOM_UTF8 + (COOKIE.format("utf8") + "é").encode(), COOKIE.format("utf8") + "é"),
        ((COOKIE.format("latin-1") + "s = 'é'").encode("latin-1"), COOKIE.format("latin-1") + "s = 'é'"),
        ((COOKIE.format("cp1252") + "s = '€'").encode("cp1252"), COOKIE.format("cp1252") + "s = '€'"),
        ((COOKIE.format("shift_jis") + "s = '表'").encode("shift_jis"), COOKIE.format("shift_jis") + "s = '表'"),
        (b"#!/usr/bin/python\n# vim: set fileencoding=latin-1 :\n# \xe9", None),
        (b"\n# coding: latin-1\n# \xe9", None),
        (b"# coding: latin-1 \xe9\n", None),
        (b"a = 1\rb = 2\r\nc = 3\n", "a = 1\rb = 2\r\nc = 3\n"),
    ],
)
def test_text_is_what_python_reads(data: bytes, text: str | None) -> None:
    assert decode(data) == (data.decode("latin-1") if text is None else text)


@pytest.mark.parametrize(
    ("data", "reason", "row"),
    [
        (b"a = 1\nb = '\xe9'\n", "byte 0xe9 is not valid utf-8", 2),
        (b"a = 1\rb = '\xe9'\n", "byte 0xe9 is not valid utf-8", 2),
        (b"a = 1\n# coding: latin-1\nb = '\xe9'\n", "byte 0xe9 is not valid utf-8", 3),
        (b"# coding: ascii\n\n\xc3\xa9\n", "byte 0xc3 is not valid ascii", 3),
        (b"\n# coding: klingon\n", "unknown encoding: klingon", 2),
        (b"# coding: rot13\n", "unknown encoding: rot13", 1),
        (b"# coding: base64\n", "unknown encoding: base64", 1),
        (b"# coding: undefined\n", "the text is not valid undefined", 1),
        (codecs.BOM_UTF8 + b"# coding: klingon\n", "unknown encoding: klingon", 1),
        (
            codecs.BOM_UTF8 + b"# coding: latin-1\n",
            "the file has a UTF-8 byte order mark but declares the encoding latin-1",
            1,
        ),
        (b"a = 1\n\nb = '\0'\n", "source code cannot contain NUL characters", 3),
        ("a = 1".encode("utf-16"), "UTF-16 is not an encoding for Python source", 1),
        ("a = 1".encode("utf-16-le"), "source code cannot contain NUL characters", 1),
    ],
)
def test_what_python_cannot_decode_is_refused_with_its_row(data: bytes, reason: str, row: int) -> None:
    with pytest.raises(UndecodableError) as caught:
        decode(data)
    assert (caught.value.reason, caught.value.row) == (reason, row)
    with pytest.raises((SyntaxError, ValueError)):
        compile(data, "refused.py", "exec")


@given(st.binary(max_size=60), st.sampled_from(["", "utf-8", "latin-1", "utf-7", "utf-16", "idna", "punycode", "big5"]))
def test_any_bytes_give_a_text_or_an_undecodable_error(data: bytes, encoding: str) -> None:
    head = COOKIE.format(encoding).encode() if encoding else b""
    refusal = None
    try:
        decode(head + data)
    except UndecodableError as error:
        refusal = error
    if refusal is not None:
        assert refusal.reason
        assert 1 <= refusal.row <= 1 + (head + data).count(b"\n") + (head + data).count(b"\r")


def test_only_python_newlines_end_a_row() -> None:
    assert Source("a\r\nb\rc\nd\x0ce\x0bf\x1cg\x85h\u2028i").lines == ("a", "b", "c", "d\x0ce\x0bf\x1cg\x85h\u2028i")
    assert Source("").lines == ("",)
    assert Source("a\n").lines == ("a", "")


def located(text: str, kind: type[ast.AST] = ast.Call) -> tuple[Source, list[ast.AST]]:
    tree = ast.parse(text)
    return Source(text, tree), [node for node in ast.walk(tree) if isinstance(node, kind)]


def test_columns_count_code_points_from_1_and_ends_are_exclusive() -> None:
    source, (call,) = located("é = '𝕏'; y = f(x)\n")
    assert source.span(call) == Span(1, 14, 1, 18)
    assert source.segment(call) == "f(x)"


def test_a_span_over_several_rows_of_any_newline() -> None:
    source, (call,) = located("a = 1\rb = 2\r\nx = f(\r\n  'ü', é\r)\n")
    assert source.span(call) == Span(3, 5, 5, 2)
    assert source.segment(call) == "f(\r\n  'ü', é\r)"


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("x = f'{f(1)}'\n", "f'{f(1)}'"),
        ("x = 1; é = 'a' f'''\n{g}\n  {f(1)}'''\n", "'a' f'''\n{g}\n  {f(1)}'''"),
        ("x = g[f'{a:{f(1)}}']\n", "f'{a:{f(1)}}'"),
        ("""x = F"{f'{f(1)}'}"\n""", """F"{f'{f(1)}'}\""""),
        ("x = rf'{f(1)!r:>3}'\n", "rf'{f(1)!r:>3}'"),
    ],
)
def test_a_node_in_an_f_string_takes_the_place_of_the_outermost_one(text: str, whole: str) -> None:
    source, (call,) = located(text)
    assert source.segment(call) == whole


def test_an_f_string_does_not_touch_what_stands_beside_it() -> None:
    source, calls = located("f(1, f'{f(2)}')\n")
    assert [source.segment(call) for call in calls] == ["f(1, f'{f(2)}')", "f'{f(2)}'"]


def test_a_node_without_an_end_is_empty() -> None:
    node = ast.Name(id="x", ctx=ast.Load(), lineno=1, col_offset=2)
    node.end_lineno = node.end_col_offset = None
    assert Source("ab x").span(node) == Span(1, 3, 1, 3)


def test_offsets_beyond_the_text_are_drawn_back() -> None:
    source = Source("ab\ncd")
    assert [source.offset(1, 1), source.offset(2, 2), source.offset(2, 9), source.offset(7, 1)] == [0, 4, 5, 5]


def test_segments_agree_with_the_standard_library() -> None:
    text = decode(Path(bisect.__file__).read_bytes())
    tree = ast.parse(text)
    source = Source(text, tree)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    assert len(nodes) > 30
    for node in nodes:
        assert source.segment(node) == ast.get_source_segment(text, node)


@pytest.mark.parametrize("codec", ["future_annotations", "future-annotations", "future_fstrings"])
def test_codecs_that_spare_an_old_python_newer_syntax_are_utf_8(codec: str) -> None:
    text = f"# -*- coding: {codec} -*-\nname: str = 'é'\n"
    assert decode(text.encode()) == text
    with pytest.raises(UndecodableError, match="not valid utf-8"):
        decode(text.encode("latin-1"))
