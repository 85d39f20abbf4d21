"""The file that a frame names, on this machine: tracebacks come from other ones, in other folders, of other systems."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from msgspec import Struct

from torchdevlint.explain.frames import Frame
from torchdevlint.report import lines_of_file
from torchdevlint.report.summary import count

MOST_FILES = 50_000
"""Names in the folder below which a file is looked for by its name."""
CUT = 60
"""Letters of a line from which on what shows tracebacks may have cut it."""
SKIPPED = frozenset({"node_modules", "site-packages", "__pycache__", "venv", "env", "build", "dist"})


class Located(Struct, frozen=True):
    """Where a frame is here: `filename` as it is shown, the `row` it is at now, and what is to be said of that.

    `row` is not that of the traceback where the file has changed since and the same code stands in one other line; it
    is None where that line is not to be had.
    """

    filename: str
    row: int | None
    remark: str = ""


def located(frame: Frame, root: Path) -> Located | None:
    """The file of a frame: at its path, or below `root` at the longest end of its path that is there.

    None where there is no such file, or several files fit equally well.
    """
    if frame.cell is not None or not frame.path:
        return None
    found = next(_candidates(frame.path, root), None)
    return None if found is None else _at(frame, _shown(found))


def _candidates(path: str, root: Path) -> Iterator[Path]:
    """Files that a path may mean, the likeliest first."""
    parts = [part for part in _pure(path).parts if part not in (".", "..", "~", "/", "\\")]
    if not parts or not parts[-1].endswith(".py"):
        return
    plain = Path(path).expanduser()
    if plain.is_absolute() and _is_file(plain):
        yield plain
    for start in range(len(parts)):
        inside = root.joinpath(*parts[start:])
        if _is_file(inside):
            yield inside
            return
    fitting = sorted((_common(file, parts), file) for file in _named(root, parts[-1]))
    if fitting and (len(fitting) == 1 or fitting[-1][0] > fitting[-2][0]):
        yield fitting[-1][1]


def _pure(path: str) -> PurePosixPath | PureWindowsPath:
    return PureWindowsPath(path) if "\\" in path or path[1:2] == ":" else PurePosixPath(path)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _named(root: Path, name: str) -> Iterator[Path]:
    """All files of this name below a folder, without those that are no sources of a project."""
    left = MOST_FILES
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(each for each in folders if each not in SKIPPED and not each.startswith("."))
        left -= len(files)
        if name in files:
            yield Path(folder, name)
        if left < 0:
            return


def _common(file: Path, parts: Sequence[str]) -> int:
    """How many names two paths have in common, from their ends."""
    pairs = zip(reversed(file.parts), reversed(parts), strict=False)
    same = [mine == other for mine, other in pairs]
    return same.index(False) if False in same else len(same)


def _shown(path: Path) -> str:
    """A path as `check` would show it: relative to the current folder if it lies below that."""
    try:
        return path.resolve().relative_to(Path.cwd().resolve()).as_posix()
    except (OSError, ValueError):
        return path.as_posix()


def _at(frame: Frame, filename: str) -> Located:
    lines = list(lines_of_file(filename))
    while lines and not lines[-1].strip():
        lines.pop()
    wanted = " ".join(frame.code.split())
    here = " ".join(lines[frame.row - 1].split()) if frame.row <= len(lines) else None
    if here is not None and (not wanted or _same(here, wanted)):
        return Located(filename, frame.row)
    same = [row for row, line in enumerate(lines, 1) if wanted and " ".join(line.split()) == wanted]
    since = "the file has changed since"
    if here is None:
        since = f"{since}: it has {count(len(lines), 'line', 'lines')}"
    if len(same) == 1:
        return Located(filename, same[0], f"{since}, and this code is in line {same[0]} now")
    return Located(filename, None, f"{since}, and this code is not in it any more" if wanted else since)


def _same(here: str, wanted: str) -> bool:
    """Whether a line is the code that a traceback shows; of a long one it may show the beginning."""
    return here == wanted or (len(wanted) >= CUT and here.startswith(wanted))
