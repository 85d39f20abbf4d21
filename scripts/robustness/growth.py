"""How the time grows with the size of the extremes: it must stay near to proportional."""

from __future__ import annotations

import re
from math import log

from .extremes import EXTREMES, HEAD
from .judged import Outcome, Sample
from .watched import Child

SIZES = (1, 2, 4)
NOTICED = 0.3
"""Seconds below which growth says nothing."""
STEEP = 1.5
"""The exponent that counts as out of proportion: 1 is proportional, 2 quadratic."""


def report(only: str, limit: float, child: Child) -> int:
    """Check every extreme in all sizes, print the times and what is wrong; give the exit code."""
    faults = 0
    for name, (size, make) in EXTREMES.items():
        if not re.search(only, name):
            continue
        outcomes: list[Outcome] = []
        for times in SIZES:
            if not any(each.faults for each in outcomes):
                outcomes.append(child.examine(Sample(name, _written(HEAD + make(size * times)))))
        grows = _exponent(outcomes)
        found = [fault for each in outcomes for fault in each.faults]
        found += [f"grows with the power {grows:.1f}"] if grows > STEEP else []
        faults += bool(found)
        times = "  ".join(f"{each.seconds:7.3f}{' deep' if each.refused else ''}" for each in outcomes)
        speed = f"{outcomes[-1].speed:8.0f} us/line" if outcomes[-1].lines > 50 else ""
        print(f"{name:32} {size:>9,} x 1, 2, 4: {times} s  ^{grows:4.1f} {speed}", *found[:2], sep="  ", flush=True)
    child.close()
    print(f"{len(EXTREMES)} extremes, faults: {faults}; limit {limit:g} s")
    return int(bool(faults))


def _exponent(outcomes: list[Outcome]) -> float:
    """Of the growth from the middle size to the largest; 0 where it cannot be told."""
    if len(outcomes) < len(SIZES) or outcomes[-1].seconds < NOTICED:
        return 0.0
    return log(outcomes[-1].seconds / outcomes[-2].seconds) / log(SIZES[-1] / SIZES[-2])


def _written(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
