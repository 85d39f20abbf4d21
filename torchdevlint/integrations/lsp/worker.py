"""The one thread that lints, since the engine keeps what it knows of a project in one place."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from enum import IntEnum
from itertools import count
from queue import PriorityQueue
from typing import Any, TypeVar

STACK = 16 * 1024 * 1024
"""Bytes for the thread: what a main thread has at least, since code may be nested as deeply as there."""

T = TypeVar("T")


class Urgency(IntEnum):
    """What is done first; what is as urgent is done in the order in which it came."""

    FINDINGS = 0
    HINTS = 1
    WORKSPACE = 2


class Worker:
    """Does one piece of work after the other while the event loop answers. One that is cancelled is not begun."""

    def __init__(self) -> None:
        self._queue: PriorityQueue[tuple[Urgency, int, Future[Any], Callable[[], Any]]] = PriorityQueue()
        self._order = count()
        before = threading.stack_size(STACK)
        threading.Thread(target=self._run, name="lint", daemon=True).start()
        threading.stack_size(before)

    def submit(self, work: Callable[[], T], urgency: Urgency = Urgency.FINDINGS) -> asyncio.Future[T]:
        future: Future[T] = Future()
        self._queue.put((urgency, next(self._order), future, work))
        return asyncio.wrap_future(future)

    def _run(self) -> None:
        while True:
            _, _, future, work = self._queue.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001 (whoever waits is told)
                future.set_exception(error)
            else:
                future.set_result(result)
            del future, work
