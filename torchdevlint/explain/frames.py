"""The frames of a traceback, and which of them are the user's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from torchdevlint.explain.lines import clean
from torchdevlint.patterns import regex


class Frame(Struct, frozen=True):
    """One frame: a line of a file, or of a `cell` of a notebook (then `path` is empty, or that of no real file).

    `code` is the source of that line as the traceback shows it, without indentation; `mark` the 0-based range of
    letters of it that Python has underlined. `installed` is true of what lies beside torch.
    """

    path: str
    row: int
    function: str = ""
    code: str = ""
    mark: tuple[int, int] | None = None
    cell: int | None = None
    installed: bool = False

    @property
    def place(self) -> str:
        return f"cell {self.cell}, line {self.row}" if self.cell is not None else f"{self.path}:{self.row}"

    @property
    def is_users(self) -> bool:
        return self.cell is not None or not (self.installed or LIBRARY.search(self.path))


LIBRARY = regex(
    r"[/\\](?:site|dist)-packages[/\\]|^(?:site|dist)-packages[/\\]|[/\\]lib(?:64)?[/\\]python\d"
    r"|[/\\][Ll]ib[/\\](?:\w+[/\\])*\w+\.py$"
    r"|^<|[/\\]torch[/\\](?:nn|utils|optim|autograd|cuda|distributed|multiprocessing|_\w+|functional|serialization"
    r"|jit|fx|amp)\b"
    r"|^torch[/\\]|[/\\]bin[/\\][\w.-]+$|[/\\]pydevd|[/\\]debugpy|\.vscode[/\\]extensions|[/\\]PyCharm"
    r"|[/\\]python\d\.\d+[/\\]\w+\.py$|^\w+\.egg[/\\]|\.egg[/\\]"
)
"""Files of Python, of PyTorch, of installed packages, of launchers and debuggers."""

_TORCH = regex(r"(.+[/\\])torch[/\\](?:nn|utils|cuda|_tensor\.py|tensor\.py|functional\.py|serialization\.py|autograd)")
_PYTHON = regex(r'File "(?P<path>[^"]{1,1000})", line (?P<row>\d{1,9})(?:, in (?P<function>.{0,200}))?')
_IPYTHON = regex(r"^\s*File (?P<path>[~./\\\w][^\"\n]{0,1000}?):(?P<row>\d{1,9}), in (?P<function>[\w.<>]+)?")
_IPYTHON_7 = regex(
    r"^\s*(?P<path>(?:~|\.{0,2}[/\\]|[A-Za-z]:[/\\])[^\"\n]{0,1000}?\.py|<ipython-input-(?P<cell>\d+)-\w+>) "
    r"in (?P<function>[\w<>.]+)?"
)
_CELL = regex(r"^\s*(?:Cell |Input )In ?\[(?P<cell>\d+)\], (?:in )?(?:<cell )?line:? (?P<row>\d{1,9})")
_ARROW = regex(r"^\s*-+> ?(?P<row>\d{1,9}) ?(?P<code>.*)")
_RICH = regex(
    r"^\s?(?P<path>(?:[~/.\w]|[A-Za-z]:)[^\s\":]{0,1000}\.py|<stdin>):(?P<row>\d{1,9}) in (?P<function>[\w<>]+)\s*$"
)
_RICH_ARROW = regex(r"^\s*❱ ?(?P<row>\d{1,9}) ?[│|]? ?(?P<code>.*)")
_PYTEST = regex(
    r"^(?P<path>(?:[A-Za-z]:[/\\])?[^\s\":]{1,1000}\.py):(?P<row>\d{1,9}): (?:in (?P<function>[\w<>.]+)|[A-Z]\w*|$)"
)
_WARNING = regex(r"^(?P<path>(?:[A-Za-z]:[/\\])?[^\":]{1,1000}\.py):(?P<row>\d{1,9}): \w*Warning: ")
_MARKS = regex(r"^\s*[~^]+[~^ ]*$")


def user_frame(frames: Sequence[Frame]) -> Frame | None:
    """The innermost frame of the user's own code."""
    return next((one for one in reversed(frames) if one.is_users), None)


def _told_apart(frames: Sequence[Frame]) -> Iterator[Frame]:
    """`frames`, where those of packages that lie beside torch are no user's: they were installed where it was."""
    beside = {found[1] for one in frames if (found := _TORCH.match(one.path))}
    for one in frames:
        yield replace(one, installed=True) if one.path.startswith(tuple(beside)) else one


def frames_of(window: Sequence[str], below: Sequence[str] = ()) -> tuple[Frame, ...]:
    """The frames in the lines of a traceback, the innermost last. `below` are lines behind the error, for pytest."""
    frames: list[Frame] = []
    code = ""
    lines = [clean(line) for line in window]
    for index, line in enumerate(lines):
        shown = _ARROW.match(line) or _RICH_ARROW.match(line)
        if shown is not None and frames:
            frames[-1] = replace(frames[-1], row=int(shown["row"]), code=shown["code"].rstrip(" │┃").strip())
            continue
        if window[index].lstrip().startswith(">   "):  # what pytest points at
            code = window[index].lstrip()[1:].strip()
        found = _frame(line)
        if found is None:
            continue
        if found.code == _BEHIND:
            found = replace(found, code=_next(lines, index) if found.function else code)
            code = ""
        elif found.code == _BELOW:
            found = _with_code(found, lines[index + 1 : index + 4])
        frames.append(found)
    frames += _behind(below, code)
    return tuple(_told_apart([one for one in frames if one.row > 0]))


def warned_at(line: str, following: Sequence[str]) -> Frame | None:
    """The place that a warning says it is of, before its own name."""
    found = _WARNING.match(line)
    if found is None:
        return None
    return Frame(found["path"], int(found["row"]), code=clean(following[0]).strip() if following else "")


_BEHIND, _BELOW = "\0behind", "\0below"
"""Where the code of a frame stands, until it is read: before the place, or in the next line."""


def _frame(line: str) -> Frame | None:
    if "File " in line or "Cell " in line or "Input In" in line or " in " in line or ".py:" in line:
        for pattern, code in (
            (_PYTHON, _BELOW),
            (_IPYTHON, ""),
            (_CELL, ""),
            (_IPYTHON_7, ""),
            (_RICH, ""),
            (_PYTEST, _BEHIND),
        ):
            found = pattern.search(line) if pattern is _PYTHON else pattern.match(line)
            if found is not None:
                return _made(found.groupdict(), code)
    return None


def _made(found: dict[str, str | None], code: str) -> Frame:
    path, cell = found.get("path") or "", found.get("cell")
    if path.startswith("<ipython-input"):
        path = ""
    notebook = re.search(r"ipykernel_\d+[/\\](\d+)\.py$", path)
    number = int(cell) if cell else 0 if notebook else None
    function = (found.get("function") or "").strip().partition("(")[0]
    return Frame(path, int(found.get("row") or 0), function, code, cell=number)


def _with_code(frame: Frame, following: Sequence[str]) -> Frame:
    """A frame of Python with the line of code below it, and the marks below that."""
    if not following or not following[0].strip() or _frame(following[0]) is not None:
        return replace(frame, code="")
    shown = following[0]
    code = shown.strip()
    mark = None
    if len(following) > 1 and _MARKS.match(following[1]):
        start = len(following[1]) - len(following[1].lstrip()) - (len(shown) - len(shown.lstrip()))
        mark = (max(start, 0), start + len(following[1].strip()))
    return replace(frame, code=code, mark=mark)


def _next(lines: Sequence[str], index: int) -> str:
    return lines[index + 1].strip() if index + 1 < len(lines) else ""


def _behind(below: Iterable[str], code: str) -> list[Frame]:
    """The place that pytest writes behind an error, which is that of the last code that it pointed at."""
    for line in below:
        text = clean(line)
        found = _PYTEST.match(text)
        if found is not None:
            return [replace(_made(found.groupdict(), ""), code=code)]
        if text.startswith(("____", "====", "----", "FAILED ")):
            break
    return []
