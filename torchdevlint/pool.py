"""Work on many files in many processes: results in order, and a dead worker costs its file, not the run.

However this process ends, its workers end with it; where none can be started, it does their work itself.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

from torchdevlint.frames import in_one_piece

T = TypeVar("T")
R = TypeVar("R")

CHUNK = 32
"""At most so many files are sent to a worker at once."""
AHEAD = 3
"""So many chunks a worker are under way, which bounds what waits for the reader."""
_NO_POOL = (OSError, ImportError, NotImplementedError)
"""What is raised where the system gives no more processes, files or memory, or has no semaphores at all."""


def each(work: Callable[[T], R], dead: Callable[[T], R], files: Sequence[T], jobs: int) -> Iterator[R]:
    """``work(file)`` for each file, or what stands for one, in order, in `jobs` processes.

    `work` must be picklable and must not raise. A file whose worker died gives ``dead(file)``. The workers are gone
    when the iterator is exhausted, closed or interrupted.
    """
    size = max(1, min(CHUNK, len(files) // (jobs * AHEAD)))
    waiting = deque(files[start : start + size] for start in range(0, len(files), size))
    while waiting:
        under_way: deque[tuple[Sequence[T], Future[list[R]]]] = deque()
        try:
            yield from _until_broken(work, waiting, under_way, jobs)
        except BrokenProcessPool:
            for chunk, future in under_way:
                if future.done() and future.exception() is None:
                    yield from future.result()
                else:
                    yield from _one_by_one(work, dead, chunk)
        except _NO_POOL:
            for chunk in (*(chunk for chunk, _ in under_way), *waiting):
                yield from map(work, chunk)
            return


def _until_broken(
    work: Callable[[T], R],
    waiting: deque[Sequence[T]],
    under_way: deque[tuple[Sequence[T], Future[list[R]]]],
    jobs: int,
) -> Iterator[R]:
    """Move chunks from `waiting` through `under_way`; a dead worker leaves what it was about in there."""
    with _pool(jobs) as pool:
        while waiting or under_way:
            while waiting and len(under_way) < jobs * AHEAD:
                with _starting():
                    future = pool.submit(_chunk, work, waiting[0])
                under_way.append((waiting[0], future))
                waiting.popleft()
            results = under_way[0][1].result()
            under_way.popleft()
            yield from results


def _one_by_one(work: Callable[[T], R], dead: Callable[[T], R], files: Sequence[T]) -> Iterator[R]:
    """The chunk of a broken pool, with one worker, renewed whenever it dies: its file is the one that kills."""
    remaining = deque(files)
    while remaining:
        try:
            with _pool(1) as pool:
                while remaining:
                    with _starting():
                        future = pool.submit(work, remaining[0])
                    result = future.result()
                    remaining.popleft()
                    yield result
        except (BrokenProcessPool, *_NO_POOL):
            yield dead(remaining.popleft())


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """A pool whose workers are ended at once when its user gives up."""
    strangers = set(multiprocessing.active_children())
    with _starting():
        executor = ProcessPoolExecutor(jobs, initializer=_begin)
    with executor as pool:
        try:
            yield pool
        except BaseException:
            _end(pool, set(multiprocessing.active_children()) - strangers)
            raise


def _end(pool: ProcessPoolExecutor, workers: set[multiprocessing.process.BaseProcess]) -> None:
    """End workers at once, of which one may be in the middle of a result.

    The thread of the pool that reads results would wait for the rest of it as long as this process holds the other end
    of the pipe as well, and the pool for its thread.
    """
    results = getattr(pool, "_result_queue", None)
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join()
    if results is not None:
        results._writer.close()


@contextmanager
def _starting() -> Iterator[None]:
    """What workers that are started meanwhile inherit.

    Ctrl-C reaches the whole process group, and this process alone answers it: when it has seen to its workers. And
    nothing is imported from the current folder, where Python looks first when it starts a worker afresh.
    """
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if hasattr(signal, "pthread_sigmask") else None
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@in_one_piece
def _chunk(work: Callable[[T], R], files: Sequence[T]) -> list[R]:
    return [work(file) for file in files]


def _begin() -> None:
    """The first thing that a worker does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that was killed sends no word, and its workers would wait for more work for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
