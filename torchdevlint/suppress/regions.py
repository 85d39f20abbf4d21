"""Regions between ``# torchdevlint: off`` and ``# torchdevlint: on``."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from torchdevlint.model import Diagnostic
from torchdevlint.patterns import regex
from torchdevlint.rules import find
from torchdevlint.suppress.comments import Pragma

_CODE = regex(r"[A-Za-z]+\d*")


class Region(Struct, frozen=True):
    """The rows in which one key of an ``off`` is off, both ends included; `key` None stands for every rule.

    `closed` is the ``on`` that ends it, None at the end of the file or of the cell.
    """

    first: int
    last: int
    key: str | None
    opened: Pragma
    closed: Pragma | None


class Regions(Struct, frozen=True):
    """The regions of a file by what is off in them, which for one key never overlap and are in order.

    `stray` are the ``on`` comments that end nothing, with the key that was not off, None for one without keys.
    """

    off: dict[str | None, list[Region]]
    stray: tuple[tuple[Pragma, str | None], ...] = ()

    def around(self, diagnostic: Diagnostic) -> Iterator[Region]:
        """The regions in which a finding begins and its rule is off."""
        code = diagnostic.code
        for key in (None, diagnostic.name, *(code[:end] for end in range(1, len(code) + 1))):
            regions = self.off.get(key, ())
            at = bisect_right(regions, diagnostic.span.row, key=_first) - 1
            if at >= 0 and diagnostic.span.row <= regions[at].last:
                yield regions[at]

    def opened(self) -> dict[Pragma, list[Region]]:
        """The regions that each ``off`` begins; one that is off already begins none."""
        found: dict[Pragma, list[Region]] = {}
        for region in self:
            found.setdefault(region.opened, []).append(region)
        return found

    def closed(self) -> dict[Pragma, list[Region]]:
        """The regions that each ``on`` ends."""
        found: dict[Pragma, list[Region]] = {}
        for region in self:
            if region.closed is not None:
                found.setdefault(region.closed, []).append(region)
        return found

    def __iter__(self) -> Iterator[Region]:
        for regions in self.off.values():
            yield from regions


def regions(pragmas: Iterable[Pragma], ends: Sequence[int]) -> Regions:
    """The regions that comments in order of their rows begin and end; `ends` are the last rows of the cells.

    ``off`` and ``on`` are switches, as in a formatter, and no brackets: ``on`` ends whatever is off, and
    ``on[TDL0]`` the regions of all keys that it stands for.
    """
    off: dict[str | None, list[Region]] = {}
    stray: list[tuple[Pragma, str | None]] = []
    open_: dict[str | None, tuple[str | None, Pragma]] = {}
    rest = list(pragmas)
    at = 0

    def close(key: str | None, last: int, closed: Pragma | None) -> None:
        written, opened = open_.pop(key)
        off.setdefault(key, []).append(Region(opened.row, last, written, opened, closed))

    for end in ends:
        while at < len(rest) and rest[at].row <= end:
            pragma = rest[at]
            at += 1
            for key in (None,) if pragma.keys is None else pragma.keys:
                if pragma.kind == "off":
                    open_.setdefault(_folded(key), (key, pragma))
                    continue
                closing = [each for each in open_ if _ends(key, each)]
                stray += [] if closing else [(pragma, key)]
                for each in closing:
                    close(each, pragma.row, pragma)
        for key in list(open_):
            close(key, end, None)
    return Regions(off, tuple(stray))


def _first(region: Region) -> int:
    return region.first


def _folded(key: str | None) -> str | None:
    """Codes may be in any case, names may not."""
    return key.upper() if key is not None and _CODE.fullmatch(key) else key


def _ends(key: str | None, opened: str | None) -> bool:
    if key is None:
        return True
    rule = find(key)
    known = (key,) if rule is None else (rule.code, rule.name)
    return opened is not None and (opened in known or opened.startswith(_folded(key) or key))
