"""Which lines of a file or a folder were executed, in any thread, and what is seen from a frame that leaves a line."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

Row = tuple[str, int]
OnLine = Callable[[FrameType, int, int], None]
"""Called with a frame of the file, the row that it leaves (0 at its start), and the one it comes to (0 at its end)."""


class LineWatch:
    """While entered, remembers the lines of `path` that begin to run; a context manager.

    `path` is a file, or a folder for all files in it. `places` are the lines with their files.
    """

    def __init__(self, path: Path | str, on_line: OnLine | None = None) -> None:
        self.path = os.path.realpath(path)
        self.folder = f"{self.path}{os.sep}" if Path(path).is_dir() else ""
        self.on_line = on_line
        self.places: set[Row] = set()
        self._known: dict[CodeType, bool] = {}

    @property
    def rows(self) -> set[int]:
        """The lines without their files."""
        return {row for _, row in self.places}

    def __enter__(self) -> LineWatch:
        threading.settrace(self._call)
        sys.settrace(self._call)
        return self

    def __exit__(self, *_exc_info: object) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def reset(self) -> None:
        self.places = set()

    def _call(self, frame: FrameType, event: str, _argument: Any) -> Any:
        code = frame.f_code
        ours = self._known.get(code)
        if ours is None:
            ours = self._known[code] = self._has(code)
        if not ours:
            return None
        if self.on_line is None:
            return self._line
        at = 0

        def line(frame: FrameType, event: str, _argument: Any) -> Any:
            nonlocal at
            if event in ("line", "return"):
                row = frame.f_lineno if event == "line" else 0
                if row:
                    self.places.add((frame.f_code.co_filename, row))
                assert self.on_line is not None
                self.on_line(frame, at, row)
                at = row
            return line

        return line

    def _line(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            self.places.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line

    def _has(self, code: CodeType) -> bool:
        path = os.path.realpath(code.co_filename)
        return path.startswith(self.folder) if self.folder else path == self.path
