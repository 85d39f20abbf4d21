"""Suppression comments: which findings they take away, and which of them take away nothing or cannot be read.

``# noqa`` is read as flake8 (6 and later) reads it, which was compared with its source: the comment is searched for in
the text of the line, even within a string; only the first one counts; the word may be in any case, but the codes
may not; a code stands for all that start with it; ``# noqa:`` without a readable code means every code; and lines
joined by a string or a backslash are one line. A line that starts with ``# flake8: noqa`` takes the whole file out.

``# torchdevlint:`` is followed by a directive: ``ignore``, ``file-ignore``, ``off`` or ``on`` with codes or names of
rules, separated by commas, in brackets, or without any for every rule; or ``reveal``, which silences nothing. They
count as comments only, not within strings. ``ignore`` holds for its line, where it also takes away a finding that
*ends* there, which is where formatters put a comment; alone on a line it holds for the statement below. ``off`` and
``on`` stand alone and are switches: ``off`` within a region that is off already changes nothing, and ``on`` ends all.
"""

from __future__ import annotations

from torchdevlint.suppress.comments import Pragma, Rows, may_be_unused
from torchdevlint.suppress.holding import UNUSED, Suppressions, of, read
from torchdevlint.suppress.invalid import find_invalid
from torchdevlint.suppress.unused import find_unused

__all__ = ["UNUSED", "Pragma", "Rows", "Suppressions", "find_invalid", "find_unused", "may_be_unused", "of", "read"]
