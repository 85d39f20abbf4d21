"""The one thread that lints, since the engine keeps what it knows of a project in one place."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from functools import partial
from itertools import count
from queue import PriorityQueue
from typing import Any, TypeVar

STACK = 16 * 1024 * 1024
"""Bytes for the thread: what a main thread has at least, since code may be nested as deeply as there."""

T = TypeVar("T")


class Urgency(IntEnum):
    """What is done first; what is as urgent is done in the order in which it came."""

    FINDINGS = 0
    BELIEFS = 1
    WORKSPACE = 2


class _Job:
    def __init__(self, urgency: Urgency, order: int, work: Callable[[], Any], result: asyncio.Future[Any]) -> None:
        self.key = urgency, order
        self.work, self.result = work, result

    def __lt__(self, other: _Job) -> bool:
        return self.key < other.key


class Worker:
    """Does one piece of work after the other while the event loop answers.

    What is cancelled is not begun.
    """

    def __init__(self) -> None:
        self._queue: PriorityQueue[_Job] = PriorityQueue()
        self._order = count()
        before = threading.stack_size(STACK)
        threading.Thread(target=self._run, name="lint", daemon=True).start()
        threading.stack_size(before)

    def submit(self, work: Callable[[], T], urgency: Urgency = Urgency.FINDINGS) -> asyncio.Future[T]:
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.put(_Job(urgency, next(self._order), work, result))
        return result

    def _run(self) -> None:
        while True:
            job = self._queue.get()
            if job.result.cancelled():
                continue
            try:
                done = partial(job.result.set_result, job.work())
            except BaseException as error:  # noqa: BLE001 (whoever waits is told)
                done = partial(job.result.set_exception, error)
            with suppress(RuntimeError):  # the server has ended meanwhile
                job.result.get_loop().call_soon_threadsafe(_settle, job.result, done)
            del job, done


def _settle(result: asyncio.Future[Any], done: Callable[[], None]) -> None:
    if not result.cancelled():
        done()
