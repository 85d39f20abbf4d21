"""Files that are changed without regard to what they mean: byte by byte, line by line, in their encoding."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from random import Random

from .pieces import COOKIES, ODD


def changed(data: bytes, other: bytes, random: Random) -> bytes:
    """`data` after one to six changes; `other` is what splices take pieces of."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        data = random.choice(_CHANGES)(data, other, random)
    return data


def _place(data: bytes, random: Random) -> int:
    return random.randrange(len(data) + 1)


def _piece(data: bytes, random: Random, longest: int = 200) -> tuple[int, int]:
    start = _place(data, random)
    return start, min(len(data), start + random.randrange(1, longest))


def _flip(data: bytes, _: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 4, 16)) if data else 0):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _overwrite(data: bytes, _: bytes, random: Random) -> bytes:
    start, end = _piece(data, random, 4)
    return data[:start] + random.randbytes(end - start) + data[end:]


def _delete(data: bytes, _: bytes, random: Random) -> bytes:
    start, end = _piece(data, random)
    return data[:start] + data[end:]


def _insert(data: bytes, _: bytes, random: Random) -> bytes:
    at = _place(data, random)
    return data[:at] + random.choice(ODD) + data[at:]


def _repeat(data: bytes, _: bytes, random: Random) -> bytes:
    start, end = _piece(data, random, 40)
    return data[:start] + data[start:end] * random.choice((2, 3, 50)) + data[end:]


def _splice(data: bytes, other: bytes, random: Random) -> bytes:
    at, (start, end) = _place(data, random), _piece(other, random, 2000)
    return data[:at] + other[start:end] + data[at:]


def _cross(data: bytes, other: bytes, random: Random) -> bytes:
    return data[: _place(data, random)] + other[_place(other, random) :]


def _truncate(data: bytes, _: bytes, random: Random) -> bytes:
    return data[: _place(data, random)]


def _lines(change: Callable[[list[bytes], Random], None]) -> Callable[[bytes, bytes, Random], bytes]:
    def changed(data: bytes, _: bytes, random: Random) -> bytes:
        lines = data.splitlines(keepends=True) or [b""]
        change(lines, random)
        return b"".join(lines)

    return changed


def _duplicate_line(lines: list[bytes], random: Random) -> None:
    lines.insert(random.randrange(len(lines)), random.choice(lines))


def _delete_line(lines: list[bytes], random: Random) -> None:
    del lines[random.randrange(len(lines))]


def _swap_lines(lines: list[bytes], random: Random) -> None:
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]


def _swap_indentation(lines: list[bytes], random: Random) -> None:
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    (first, rest), (second, remainder) = _indented(lines[one]), _indented(lines[other])
    lines[one], lines[other] = second + rest, first + remainder


def _tabs(lines: list[bytes], random: Random) -> None:
    for place in random.sample(range(len(lines)), min(len(lines), random.choice((1, 5, 1000)))):
        lines[place] = lines[place].replace(b"    ", b"\t")


def _end_lines(lines: list[bytes], random: Random) -> None:
    ending = random.choice((b"\r", b"\r\n", b"\n\r", b"\f\n", b"\\\n", b"", "\u2028".encode()))
    for place in random.sample(range(len(lines)), min(len(lines), random.choice((1, 5, 1000)))):
        lines[place] = lines[place].rstrip(b"\r\n") + ending


def _indented(line: bytes) -> tuple[bytes, bytes]:
    rest = line.lstrip(b" \t\f")
    return line[: len(line) - len(rest)], rest


def _declare(data: bytes, _: bytes, random: Random) -> bytes:
    """Declare another encoding, and more often than not really write the file in it."""
    encoding = random.choice(COOKIES)
    data = b"# -*- coding: " + encoding.encode() + b" -*-\n" + data
    if random.random() < 0.4:
        return data
    errors = "surrogatepass" if encoding.startswith("utf-") else "replace"
    try:
        text = data.decode("utf-8", "replace") + random.choice(("", "x = '\ud800'\n", "# \udcff\n"))
        written = text.encode(encoding, errors)
    except (LookupError, ValueError):
        return data
    return written if random.random() < 0.3 else data.split(b"\n", 1)[0] + b"\n" + written


def _mark(data: bytes, _: bytes, random: Random) -> bytes:
    return random.choice((codecs.BOM_UTF8, codecs.BOM_UTF8 * 2, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE)) + data


def _swap_words(data: bytes, other: bytes, random: Random) -> bytes:
    """Put one word of the other file in the place of one of this."""
    here, there = list(re.finditer(rb"\w+", data)), re.findall(rb"\w+", other)
    if not here or not there:
        return data
    word = random.choice(here)
    return data[: word.start()] + random.choice(there) + data[word.end() :]


_CHANGES: Sequence[Callable[[bytes, bytes, Random], bytes]] = (
    _flip, _overwrite, _delete, _insert, _insert, _insert, _repeat, _splice, _cross, _truncate, _declare, _mark,
    _swap_words, _swap_words,
    *map(_lines, (_duplicate_line, _delete_line, _swap_lines, _swap_indentation, _tabs, _end_lines)),
)  # fmt: skip
