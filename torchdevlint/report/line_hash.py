"""The fingerprint of a line that GitHub's code scanning recognises a finding by, wherever the line has moved.

The action that uploads SARIF computes it where it is missing and warns where it differs, so this gives the very same
values. A line stands for the 100 UTF-16 units from its start on, without blanks and tabs, with every newline as a line
feed, and filled up behind the end of the file. They are the digits of a number to the base 37, of which the last 64
bits are taken; after a colon follows how many lines have had the same number so far.
Source: https://github.com/github/codeql-action/blob/main/src/fingerprints.ts
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Collection, Sequence

LENGTH, BASE = 100, 37
_BLANKS = str.maketrans("", "", " \t")
_END = b"\xff\xff" + bytes(2 * LENGTH)


def line_hashes(lines: Sequence[str], rows: Collection[int]) -> dict[int, str]:
    """The fingerprints of the given rows (1-based); none for a row that the file does not have."""
    bare = [line.translate(_BLANKS) + "\n" for line in lines]
    units = [line.encode("utf-16-le", "surrogatepass") for line in bare]
    data = b"".join(units)[:-2] + _END
    seen: Counter[bytes] = Counter()
    found: dict[int, str] = {}
    start = 0
    for row, line in enumerate(units, start=1):
        window = data[start : start + 2 * LENGTH]
        seen[window] += 1
        if row in rows:
            found[row] = f"{_number(window):x}:{seen[window]}"
        start += len(line)
    return found


def _number(window: bytes) -> int:
    number = 0
    for unit in struct.unpack(f"<{LENGTH}H", window):
        number = (number * BASE + unit) % 2**64
    return number
