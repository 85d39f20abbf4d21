"""Tracebacks as people paste them, read from any amount of text around them.

Known are those of Python (also with marks under the code, in exception groups, chained, re-raised from worker processes
as "Original Traceback"), of IPython and notebooks (with arrows, colours, and the links of editors), of pytest (``E``
lines), of rich (boxes), and their lines behind the prefixes of torchrun, Ray, docker and loggers.

Reading takes time in proportion to the text. In a long one, a line counts as an error only if it names an exception.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from torchdevlint.explain.frames import Frame, frames_of, user_frame, warned_at
from torchdevlint.explain.lines import clean, stream
from torchdevlint.patterns import regex
from torchdevlint.symptoms import Recognised, recognise

SHORT = 2_000
"""Lines up to which a text may hold errors that do not name their exception."""
ERRORS = 3_000
"""Errors of a text that are looked at, from its end."""
ABOVE = 1_500
"""Lines above an error that are looked through for its frames."""
BELOW = 40
"""Lines below an error in which pytest says where it was."""
CONTINUED = 12
"""Lines of one exception's text."""
WHOLE = 50_000
"""Letters of an exception's text that are looked at; those of a state dict are long."""
LONGEST = 600
"""Letters of an exception's text that are kept."""
TRIED = 8
"""Errors of one kind that are tried for one with a line of the user's."""

_HEAD = regex(r"(?<![\w.])((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Iteration))(?:: |:?$|\((?=['\"]))")
_WORDS = ("rror", "xception", "arning", "Iteration")
"""One of these is in every line that `_HEAD` matches."""
_HEADER = "Traceback (most recent call last)"
_ENDS = regex(
    r"^\s*$|Traceback \(most recent call last\)|^\s*File [\"~/<]|^The above exception|^During handling of"
    r"|^Exception raised from|^frame #\d|^\s*(?:\d+%)?\|[^|]*\||^[-=_+╭╰]{5,}|^\[?\d{4}-\d\d-\d\d"
    r"|^\S+\.py:\d+: |^FAILED |^\$ |^Process "
)
"""What does not belong to the text of an exception any more."""
_NOT_RAISED = regex(r"^\s*(?:raise|except|#|FAILED|ERROR) |^\S+\.py:\d+: \w+$|\s{4,}Traceback \(most recent")
"""Lines with the name of an exception that are code, a summary, or the headline of a traceback."""


class Pasted(Struct, frozen=True):
    """One error of a text. `row` is its 1-based line there; `recognised` is None where it is not in the tables.

    `exception` is empty where only a text stands there. `frames` are those of its traceback, the innermost last; `user`
    is the innermost of the user's own code, if any; `process` is what stands before the lines of one of several.
    """

    exception: str
    text: str
    row: int
    recognised: Recognised | None = None
    frames: tuple[Frame, ...] = ()
    user: Frame | None = None
    process: str = ""

    @property
    def said(self) -> str:
        """As Python writes it."""
        return f"{self.exception}: {self.text}" if self.exception and self.text else self.exception or self.text

    @property
    def is_of_devices(self) -> bool:
        return self.recognised is not None and self.recognised.symptom.is_of_devices


def read(text: str) -> tuple[Pasted | None, list[Pasted]]:
    """The error of a text that is to be explained, with its frames, and one of each further kind, the first first.

    It is the last one about devices, else the last that is in the tables, else the last; of several that say the same,
    the last one whose traceback shows a line of the user's.
    """
    lines = text.splitlines()
    found = list(_errors(lines))
    if not found:
        return None, []
    if not any(one.is_of_devices for one in found):
        found = [_beside(lines, one) if index < TRIED else one for index, one in enumerate(found)]
    best = min(range(len(found)), key=lambda index: (_rank(found[index]), index))
    of_kind = [one for one in found if _kind(one) == _kind(found[best])]
    tried = [_placed(lines, one) for one in of_kind[:TRIED]]
    chosen = next((one for one in tried if one.user is not None), tried[0])
    others: dict[object, Pasted] = {}
    for one in reversed(found):
        others.setdefault(_kind(one), one)
    return chosen, [one for kind, one in others.items() if kind != _kind(chosen)]


def _rank(error: Pasted) -> int:
    return 0 if error.is_of_devices else 1 if error.recognised is not None else 2


def _kind(error: Pasted) -> object:
    return error.recognised.symptom.name if error.recognised is not None else (error.exception, error.text)


def _errors(lines: Sequence[str]) -> Iterator[Pasted]:
    """The errors of a text, the last first, without their frames."""
    short = len(lines) <= SHORT
    continued = _continuations(lines) if short else frozenset()
    left = ERRORS
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index]
        named = any(word in line for word in _WORDS)
        if not named and (not short or index in continued):
            continue
        if not short and "\x1b" not in line and not _HEAD.search(line):
            continue
        cleaned = clean(line)
        head = _HEAD.search(cleaned) if named and not _NOT_RAISED.search(cleaned) else None
        if head is not None:
            left -= 1
            said = cleaned[head.end() :]
            yield _read(lines, index, head[1], said.rstrip("\"')") if head[0].endswith("(") else said)
        elif short and index not in continued:
            recognised = recognise(cleaned)
            if recognised is not None:
                yield Pasted("", " ".join(cleaned.split())[:LONGEST], index + 1, recognised)
        if not left:
            return


def _continuations(lines: Sequence[str]) -> frozenset[int]:
    """The lines that continue the text of an exception that stands above."""
    found: set[int] = set()
    for index, line in enumerate(lines):
        if any(word in line for word in _WORDS) and _HEAD.search(clean(line)):
            found.update(range(index + 1, index + 1 + len(_further(lines, index))))
    return frozenset(found)


def _read(lines: Sequence[str], index: int, exception: str, said: str) -> Pasted:
    further = _further(lines, index)
    whole = "\n".join([said, *further])[:WHOLE]
    rough = recognise(said)
    recognised = recognise(whole) if further else rough
    if (
        rough is not None
        and rough.symptom.is_of_devices
        and (recognised is None or rough.symptom != recognised.symptom)
    ):
        recognised = rough
    shown = said if recognised is None or rough == recognised else whole
    return Pasted(exception, " ".join(shown.split())[:LONGEST], index + 1, recognised, process=stream(lines[index]))


def _further(lines: Sequence[str], index: int) -> list[str]:
    """The lines below that belong to the text of an exception."""
    found = []
    for line in lines[index + 1 : index + CONTINUED]:
        text = clean(line)
        if _ENDS.search(text) or _HEAD.match(text.strip()):
            break
        found.append(text)
    return found


def _beside(lines: Sequence[str], error: Pasted) -> Pasted:
    """An error whose text is Python's own, recognised by the line that raised it."""
    if error.recognised is not None:
        return error
    placed = _placed(lines, error)
    raising = placed.user or (placed.frames[-1] if placed.frames else None)
    return replace(placed, recognised=recognise(error.text, raising.code if raising is not None else ""))


def _placed(lines: Sequence[str], error: Pasted) -> Pasted:
    """An error with the frames of its traceback."""
    frames = _frames(lines, error.row - 1)
    return replace(error, frames=frames, user=user_frame(frames))


def _frames(lines: Sequence[str], index: int) -> tuple[Frame, ...]:
    """The frames of the error in a line: those up to the header of its traceback, or of the one around it if none of
    these is the user's.
    """
    warned = warned_at(clean(lines[index]), lines[index + 1 : index + 2])
    if warned is not None:
        return (warned,)
    if _NOT_RAISED.search(clean(lines[index])):
        return ()
    mine = stream(lines[index])
    window = [line for line in lines[max(0, index - ABOVE) : index] if stream(line) == mine]
    below = lines[index : index + BELOW]
    frames: tuple[Frame, ...] = ()
    for start in _starts(window):
        frames = frames_of(window[start:], below) or frames
        if user_frame(frames) is not None:
            break
    return frames


def _starts(window: Sequence[str]) -> Iterator[int]:
    """Where the traceback above a line may begin: the headers from near to far, else what follows another error."""
    headers = [index for index in range(len(window) - 1, -1, -1) if _HEADER in window[index]]
    yield from headers
    if not headers:
        ends = (at for at in range(len(window) - 1, -1, -1) if _is_end(window[at]))
        yield next(ends, -1) + 1


def _is_end(line: str) -> bool:
    """Whether a line is the end of another traceback, or the title of a test's."""
    if line.startswith("____"):
        return True
    return any(word in line for word in _WORDS) and _HEAD.match(clean(line).strip()) is not None
