"""How an exception of the user's is told in one line."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("torch", reason="the exceptions are those that torch hands on")

from torch._utils import ExceptionWrapper

from torchdevlint.runtime.execute.errors import told


def test_an_exception_is_told_as_python_prints_it() -> None:
    assert told(ValueError("no\nsuch size"), 6) == "ValueError: no\nsuc"


def test_of_one_that_a_thread_has_sent_the_first_is_told() -> None:
    try:
        int("one")
    except ValueError:
        sent = ExceptionWrapper(sys.exc_info(), where="in replica 1 on device 1")
    with pytest.raises(ValueError, match="Original Traceback") as raised:
        sent.reraise()
    assert told(raised.value) == "ValueError: invalid literal for int() with base 10: 'one' (in replica 1 on device 1)"
