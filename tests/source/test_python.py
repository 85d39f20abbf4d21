"""Python's parser in several threads, and in a fork that is made meanwhile."""

from __future__ import annotations

import ast
import gc
import os
import sys
import warnings
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import pytest

from tests.conftest import needs_fork
from torchdevlint.source.python import expression_of, literal_of, module_of

TEXT = "x = (a + b) * [c, d, {e: f}]\n" * 200
ESCAPE = "'\\d'"
"""An escape that Python does not know, and warns of."""


class Cycle:
    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def collecting() -> Iterator[None]:
    """Threads take turns all the time, also in the midst of a parse: whenever a collection runs code of Python."""
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(20)
    sys.setswitchinterval(1e-6)
    yield
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)


def parse_while_things_are_collected(_: int) -> None:
    for _ in range(12):
        seen: list[int] = []
        cycle = Cycle()
        watched = weakref.ref(cycle, lambda _, seen=seen: [seen.append(each) for each in range(50)])  # type: ignore[misc]
        del cycle
        assert len(module_of(TEXT).body) == 200
        del watched


@pytest.mark.usefixtures("collecting")
def test_threads_that_parse_do_not_disturb_each_other() -> None:
    """By `ast.parse` alone about ten of these 48 fail in Python 3.11.7, with a SystemError."""
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(parse_while_things_are_collected, range(4))) == [None] * 4


@pytest.mark.usefixtures("collecting")
def test_what_is_warned_of_afterwards_is_as_before() -> None:
    with warnings.catch_warnings():
        before = list(warnings.filters)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(module_of, [TEXT] * 16))
        assert warnings.filters == before


@pytest.mark.filterwarnings("error")
def test_nothing_is_warned_of() -> None:
    assert isinstance(module_of(ESCAPE).body[0], ast.Expr)
    assert isinstance(expression_of(ESCAPE), ast.Constant)
    assert literal_of(ESCAPE) == "\\d"


@needs_fork
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_can_parse_although_another_thread_was_parsing() -> None:
    done = Event()

    def parse_on() -> None:
        while not done.is_set():
            module_of(TEXT)

    thread = Thread(target=parse_on, daemon=True)
    thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if not child:
                import signal

                signal.alarm(20)
                module_of("x")
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        done.set()
        thread.join()
