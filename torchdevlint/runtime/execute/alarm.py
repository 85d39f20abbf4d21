"""A limit on the time of what is executed in this process."""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn


class TooLongError(BaseException):
    """Something takes too long; not an `Exception`, so that few handlers swallow it."""


class Alarm:
    """Raises `TooLongError` in the main thread after some seconds, where the system has such a signal."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds if hasattr(signal, "SIGALRM") else 0

    def __enter__(self) -> None:
        if self.seconds:
            signal.signal(signal.SIGALRM, _ring)
            signal.alarm(self.seconds)

    def __exit__(self, *_exc_info: object) -> None:
        if self.seconds:
            signal.alarm(0)


def _ring(_number: int, _frame: FrameType | None) -> NoReturn:
    raise TooLongError
