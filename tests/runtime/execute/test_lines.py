"""Which lines of a file began to run, and what is seen of its frames."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from torchdevlint.runtime.execute.lines import LineWatch

SOURCE = """\
def total(x):
    y = 0
    for each in x:
        y += each
    if y > 100:
        y = 100
    return y


def fails(x):
    y = x
    raise ValueError(y)
"""


@pytest.fixture
def watched(tmp_path: Path) -> tuple[Path, dict[str, Callable[..., Any]]]:
    path = tmp_path / "model.py"
    namespace: dict[str, Any] = {}
    exec(compile(SOURCE, str(path), "exec"), namespace)
    return path, namespace


def test_the_lines_that_ran(watched: tuple[Path, dict[str, Callable[..., Any]]]) -> None:
    path, functions = watched
    watch = LineWatch(path)
    with watch:
        assert functions["total"]([1, 2]) == 3
    assert watch.rows == {2, 3, 4, 5, 7}
    watch.reset()
    assert watch.rows == set()
    functions["total"]([1])
    assert watch.rows == set(), "it only watches while it is entered"
    with watch, pytest.raises(ValueError, match="5"):
        functions["fails"](5)
    assert watch.rows == {11, 12}


def test_other_files_are_not_watched(watched: tuple[Path, dict[str, Callable[..., Any]]], tmp_path: Path) -> None:
    _, functions = watched
    watch = LineWatch(tmp_path / "other.py")
    with watch:
        functions["total"]([1])
    assert watch.rows == set()


def test_a_link_is_the_file_that_it_leads_to(
    watched: tuple[Path, dict[str, Callable[..., Any]]], tmp_path: Path
) -> None:
    path, functions = watched
    path.write_text(SOURCE)
    link = tmp_path / "link.py"
    try:
        link.symlink_to(path)
    except OSError:
        pytest.skip("this system makes no links")
    watch = LineWatch(link)
    with watch:
        functions["total"]([1])
    assert 4 in watch.rows


def test_threads_are_watched(watched: tuple[Path, dict[str, Callable[..., Any]]]) -> None:
    path, functions = watched
    watch = LineWatch(path)
    with watch:
        thread = threading.Thread(target=functions["total"], args=([1],))
        thread.start()
        thread.join()
    assert 4 in watch.rows


@pytest.mark.parametrize("seen", [True, False])
def test_a_frame_is_seen_when_it_leaves_a_line(watched: tuple[Path, dict[str, Callable[..., Any]]], seen: bool) -> None:
    path, functions = watched
    steps: list[tuple[int, int, Any]] = []

    def look(frame: FrameType, before: int, row: int) -> None:
        steps.append((before, row, frame.f_locals.get("y")))

    watch = LineWatch(path, look if seen else None)
    with watch:
        functions["total"]([5])
    expected = [(0, 2, None), (2, 3, 0), (3, 4, 0), (4, 3, 5), (3, 5, 5), (5, 7, 5), (7, 0, 5)]
    assert steps == (expected if seen else [])
    assert watch.rows == {2, 3, 4, 5, 7}


def test_what_was_tracing_does_not_go_on() -> None:
    before = sys.gettrace()
    try:
        with LineWatch(Path(__file__)):
            assert sys.gettrace() is not None
        assert sys.gettrace() is None
    finally:
        sys.settrace(before)
