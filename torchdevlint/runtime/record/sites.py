"""Where in the user's code something happened: the innermost line that is the user's, found fast enough for every call.

A frame is *internal* (torch, torchdevlint, the standard library), of a *library* (site-packages, generated code), or
the *user's*. A kind is remembered for each file name, a `Site` for each instruction, so that a look-up costs about one
microsecond plus a table access for each frame between it and the user's.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

INTERNAL, LIBRARY, USER = range(3)
INSTALLED = ("site-packages", "dist-packages")
TORCH = ("torch", "torchgen", "functorch", "torchdevlint")
REMEMBERED = 100_000
"""Sites that are kept; a program that generates code without end must not fill the memory."""


@dataclass(frozen=True, slots=True)
class Site:
    """A line of a file, and the function it is in.

    `column`, `end_line` and `end_column` delimit the expression that was running, in UTF-8 bytes from 0, where the
    interpreter knows it (Python 3.11 and newer); `end_line` is 0 otherwise. `inside` is the line of a library that the
    user's line had called, or None.
    """

    filename: str
    line: int
    function: str
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    inside: Site | None = None


Place = Site | tuple[CodeType, int] | None
"""A line, or the code and the instruction from which it can be worked out when it is needed (`site_of`)."""


def user_line(frame: FrameType | None = None) -> Site | None:
    """The innermost line of the user's in the calling thread, else of a library; None if there is neither.

    `frame` is where the look begins, for a caller that knows of frames that need not be looked at.
    """
    kinds = _KINDS
    library: FrameType | None = None
    if frame is None:
        frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        kind = kinds[name] if name in kinds else _classified(name)
        if kind:
            if kind == USER:
                if library is None:
                    known = _SITES.get((id(frame.f_code), frame.f_lasti))
                    if known is not None:
                        return known[0]
                return _site(frame.f_code, frame.f_lasti, library and (library.f_code, library.f_lasti))
            if library is None:
                library = frame
        frame = frame.f_back
    return None if library is None else _site(library.f_code, library.f_lasti, None)


def user_place(frame: FrameType) -> Place:
    """What `user_line(frame)` says, where `frame` is the user's in a form that takes a third of the time: `site_of`."""
    code = frame.f_code
    if _KINDS.get(code.co_filename) == USER:
        return code, frame.f_lasti
    return user_line(frame)


def user_frame() -> FrameType | None:
    """The frame that `user_line` tells of."""
    library: FrameType | None = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        kind = _classified(frame.f_code.co_filename)
        if kind == USER:
            return frame
        library = library or (frame if kind == LIBRARY else None)
        frame = frame.f_back
    return library


def line_of(traceback: TracebackType | None) -> Site | None:
    """What `user_line` would have said where the exception with this traceback was raised."""
    steps = []
    while traceback is not None:
        steps.append((traceback.tb_frame.f_code, traceback.tb_lasti))
        traceback = traceback.tb_next
    library: tuple[CodeType, int] | None = None
    for code, instruction in reversed(steps):
        kind = _classified(code.co_filename)
        if kind == USER:
            return _site(code, instruction, library)
        if kind == LIBRARY and library is None:
            library = (code, instruction)
    return None if library is None else _site(*library, None)


def site_of(place: Place) -> Site | None:
    """A site from a code object and the offset of an instruction in it; what is a site, or nothing, stays as it is."""
    return _site(*place, None) if isinstance(place, tuple) else place


def from_json(data: dict[str, Any] | None) -> Site | None:
    return None if data is None else Site(**{**data, "inside": from_json(data.get("inside"))})


def is_users(filename: str) -> bool:
    """Whether a file is neither torch's, nor the standard library's, nor an installed package's."""
    return classify(filename) == USER


def adopt(folder: str) -> None:
    """What is below `folder` is the user's from now on, be it installed: it is what is looked at."""
    _ADOPTED.append(folder)
    for table in (_KINDS, _SITES):
        table.clear()


def classify(filename: str) -> int:
    """`INTERNAL`, `LIBRARY` or `USER`. What has no file counts as a library: ``<string>`` is what a dataclass
    generates, and the program of ``python -c``, which is then the only one.
    """
    if filename.startswith("<"):
        return INTERNAL if filename.startswith(("<frozen", "<__array_function__", "<eval_with_key>")) else LIBRARY
    path = os.path.abspath(filename)  # noqa: PTH100 (Path.resolve follows links)
    if any(path.startswith(folder) for folder in _ADOPTED):
        return USER
    if any(path.startswith(root) for root in _roots()):
        return INTERNAL
    parts = Path(path).parts
    installed = [number for number, part in enumerate(parts) if part in INSTALLED]
    if installed:
        return INTERNAL if parts[installed[-1] + 1] in TORCH else LIBRARY
    return INTERNAL if any(path.startswith(root) for root in _STANDARD) else USER


_KINDS: dict[str, int] = {}
_ADOPTED: list[str] = []
_SITES: dict[tuple[int, ...], tuple[Site, object]] = {}
_STANDARD = tuple(
    sorted(
        {sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")}
        | {str(Path(os.__file__).parent) + os.sep}
    )
)


def _roots() -> list[str]:
    """The folders of this package and of torch, which may be a checkout."""
    roots = [str(Path(__file__).parents[2]) + os.sep]
    torch = getattr(sys.modules.get("torch"), "__file__", None)
    return [*roots, str(Path(torch).parent) + os.sep] if torch else roots


def _classified(filename: str) -> int:
    kind = _KINDS.get(filename)
    if kind is None:
        kind = _KINDS[filename] = classify(filename)
    return kind


def _site(code: CodeType, instruction: int, library: tuple[CodeType, int] | None) -> Site:
    key = (id(code), instruction) if library is None else (id(code), instruction, id(library[0]), library[1])
    known = _SITES.get(key)
    if known is not None:
        return known[0]
    if len(_SITES) > REMEMBERED:
        _SITES.clear()
    site = _made(code, instruction, None if library is None else _made(*library, None))
    _SITES[key] = (site, (code, library))  # the code objects stay alive, so that their ids stay theirs
    return site


def _made(code: CodeType, instruction: int, inside: Site | None) -> Site:
    name = getattr(code, "co_qualname", code.co_name).replace("<locals>.", "")
    line = end = column = end_column = None
    if hasattr(code, "co_positions"):
        line, end, column, end_column = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    if line is None or end is None or column is None or end_column is None:
        return Site(code.co_filename, _line(code, instruction), name, inside=inside)
    return Site(code.co_filename, line, name, column, end, end_column, inside)


def _line(code: CodeType, instruction: int) -> int:
    for start, stop, line in code.co_lines():
        if start <= instruction < stop and line is not None:
            return line
    return code.co_firstlineno
