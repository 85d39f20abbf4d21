"""Which of the lines that somebody asks for were executed by this process, in any thread."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from types import CodeType, FrameType
from typing import Any


class Visited:
    """Remembers the lines of some files that begin to run. `lines` maps the real path of a file to its rows."""

    def __init__(self, lines: Mapping[str, Sequence[int]]) -> None:
        self.lines = {path: frozenset(rows) for path, rows in lines.items()}
        self.seen: dict[str, set[int]] = {}
        self._known: dict[CodeType, str] = {}

    def watch(self) -> None:
        """From now on, in this thread, in the functions that it is in, and in new threads."""
        threading.settrace(self._call)
        sys.settrace(self._call)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if self._path_of(frame.f_code) and frame.f_trace is None:
                frame.f_trace = self._line
            frame = frame.f_back

    def _path_of(self, code: CodeType) -> str:
        path = self._known.get(code)
        if path is None:
            real = os.path.realpath(code.co_filename)
            path = self._known[code] = real if real in self.lines else ""
        return path

    def _call(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        return self._line if self._path_of(frame.f_code) else None

    def _line(self, frame: FrameType, event: str, _argument: Any) -> Any:
        path = self._path_of(frame.f_code)
        if event == "line" and frame.f_lineno in self.lines[path]:
            self.seen.setdefault(path, set()).add(frame.f_lineno)
        return self._line
