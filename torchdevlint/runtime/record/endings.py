"""Where errors reach the top, and where processes end: the places that finish a record.

Python tells of an uncaught exception in `sys.last_value` before it runs exit handlers (Python/pythonrun.c
`_PyErr_PrintEx`), in `threading.excepthook` for threads, and not at all in a `multiprocessing` child, which catches it
in ``BaseProcess._bootstrap`` (`start.boot` sees to those). ``os._exit`` and ``os.exec*`` end a program without exit
handlers.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from torchdevlint.runtime.importing import when_imported
from torchdevlint.runtime.record.recorder import Recorder

NOT_AN_ERROR = (SystemExit, KeyboardInterrupt)


def watch(recorder: Recorder) -> None:
    """Finish the record of `recorder` however this process and its forks end."""
    atexit.register(lambda: recorder.finish(_last_error()))
    for name in ("_exit", "execv", "execve"):
        setattr(os, name, _before(getattr(os, name), recorder))
    sys.excepthook = _main_hook(recorder, sys.excepthook)
    threading.excepthook = _thread_hook(recorder, threading.excepthook)
    when_imported("asyncio.base_events", functools.partial(_watch_asyncio, recorder))
    when_imported("unittest.result", functools.partial(_watch_unittest, recorder))


def _last_error() -> BaseException | None:
    error: BaseException | None = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return error


def _before(end: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    @functools.wraps(end)
    def ending(*arguments: Any) -> Any:
        recorder.write(final=True)
        return end(*arguments)

    return ending


def _main_hook(recorder: Recorder, previous: Callable[..., Any]) -> Callable[..., Any]:
    """The record is written before a traceback is shown. A program that sets a hook of its own loses nothing else."""

    def hook(kind: Any, error: BaseException, trace: Any) -> None:
        if not isinstance(error, NOT_AN_ERROR):
            recorder.uncaught(error, "")
        previous(kind, error, trace)

    return hook


def _thread_hook(recorder: Recorder, previous: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def hook(arguments: Any) -> None:
        name = arguments.thread.name if arguments.thread is not None else "?"
        recorder.uncaught(arguments.exc_value, f"the thread {name}")
        previous(arguments)

    return hook


def _watch_asyncio(recorder: Recorder, module: ModuleType) -> None:
    """What a task of asyncio raised, and nobody asked for, is told by the loop alone."""
    original = module.BaseEventLoop.call_exception_handler

    @functools.wraps(original)
    def handler(loop: Any, context: Any) -> Any:
        recorder.uncaught(context.get("exception"), "a task of asyncio")
        return original(loop, context)

    module.BaseEventLoop.call_exception_handler = handler


def _watch_unittest(recorder: Recorder, module: ModuleType) -> None:
    for name in ("addError", "addFailure", "addSubTest"):
        setattr(module.TestResult, name, _test_hook(recorder, getattr(module.TestResult, name)))


def _test_hook(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def hook(result: Any, test: Any, *arguments: Any) -> Any:
        error = arguments[-1][1] if arguments and arguments[-1] is not None else None
        recorder.uncaught(error, f"the test {test}")
        return original(result, test, *arguments)

    return hook
