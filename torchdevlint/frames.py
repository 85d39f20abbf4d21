"""Where Python keeps the frames of the functions that are being run."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

_SLOTS = 65_000
"""A frame of so many values takes half a megabyte, for which Python asks the system for a whole one."""


def in_one_piece(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """`function`, where the frames of all that it calls lie in one piece of memory.

    Since 3.11 CPython keeps frames in pieces of 16 kilobytes: it asks the system for another one where a call does not
    fit, and gives it back when that call returns. A recursion that goes to and fro over the end of a piece, as that
    over expressions does all the time, spends a twentieth of its time with that. A piece for a large frame is up to
    twice as large as the frame, and what is called finds room behind it. Nothing of the frame itself is used, so its
    memory is never touched.
    """

    def called(*given: Given.args, **options: Given.kwargs) -> Result:
        return function(*given, **options)

    called.__code__ = called.__code__.replace(co_stacksize=_SLOTS)
    return wraps(function)(called)
