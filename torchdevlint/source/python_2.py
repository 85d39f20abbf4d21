"""Code for Python 2, as what Python 3 says of it and the kernel of a notebook tell."""

from __future__ import annotations

from torchdevlint.patterns import regex
from torchdevlint.source.python import module_of

_REFUSED = (
    "Missing parentheses in call to 'print'",
    "Missing parentheses in call to 'exec'",
    "multiple exception types must be parenthesized",
    "leading zeros in decimal integer literals are not permitted",
)
"""How Python 3 refuses what Python 2 accepted."""
_TABS = "inconsistent use of tabs"
_RAISE = regex(rb"(?m)^([ \t]*(?:\w[^#\n]*:[ \t]*)?)raise[ \t]+[\w.]+[ \t]*,.*$")
"""``raise IOError, "no such file"``, of which Python 3 only says that it is invalid."""
_KERNEL = regex(rb'"name"\s*:\s*"python2"|"version"\s*:\s*"2\.\d+\.\d+"')


def is_for_python_2(data: bytes, reason: str, in_notebook: bool) -> bool:
    """Whether a file, of which the parser says `reason`, is for Python 2; in a notebook its kernel says so.

    For Python 2 a tab ends at the next eighth column.
    """
    if in_notebook:
        return _KERNEL.search(data) is not None
    if reason.startswith(_REFUSED):
        return True
    as_today = _RAISE.sub(rb"\1pass", data)
    if as_today == data and not reason.startswith(_TABS):
        return False
    try:
        module_of(as_today.expandtabs(8))
    except (SyntaxError, ValueError) as error:
        return str(error).startswith(_REFUSED)
    return True
