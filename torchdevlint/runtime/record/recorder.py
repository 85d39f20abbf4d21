"""What happened between devices while a program ran: transfers, synchronisations, device errors, stragglers.

A backend calls the active `Recorder` (`active()`, None where nobody records) from any thread. Its record is written as
JSON into a folder, one file a process, where `account` reads it. Nothing here raises into the program.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchdevlint.runtime.record.elsewhere import Elsewhere, elsewhere
from torchdevlint.runtime.record.sites import Place, Site, line_of, site_of, user_line
from torchdevlint.symptoms import is_of_places

if TYPE_CHECKING:
    from torchdevlint.runtime.record.stragglers import Stragglers
    from torchdevlint.runtime.record.visited import Visited

STORY = "torchdevlint_story"
"""The attribute of an exception that holds what `Recorder.failed` was told. Plain data: it is pickled with it."""
COPY = "a copy to the CPU"
OWN = str(Path(__file__).parents[2]) + os.sep
UNSUPPORTED = "NotSimulated"
"""The exception of the simulated backend for what it cannot do: no verdict on the program, but a limitation."""
UNREGISTERED = "parameter of a module in a Python container, which does not move with the Module that has it"
"""The owner of such an operand."""
UNTOLD = "..."
"""Stands in the variable of an operand for a key that is an object: an optimizer keeps its state by parameter."""
MOST_ERRORS = 50
LONGEST_TEXT = 4_000
BETWEEN_WRITES = 5.0
"""Seconds after which a long run's record is written again, in case the process is killed."""

OF_A_VECTOR = re.compile(r"only for scalar outputs|cannot be converted to Scalar")
"""What torch says to a loss that `DataParallel` has made a vector."""


@dataclass(frozen=True, slots=True)
class OperandStory:
    """One operand of a failed operation, and how it came to be where it was.

    `created` is the line that made it and `how` with which function; `moved` the line that brought it to `device`, if
    it was made elsewhere. `lost` is the line of a move of this tensor whose result was thrown away. `owner` says whose
    parameter, buffer or attribute it is, if that is known. `name` is that of torch's schema, and `variable` what the
    user's code calls it, empty where it has no name. `marks` are those of `record.marks`.
    """

    name: str
    device: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    created: Place = None
    how: str = ""
    moved: Place = None
    lost: Place = None
    owner: str = ""
    variable: str = ""
    marks: int = 0


class Recorder:
    """The record of one process. `folder` is where it is written, None for one that stays in memory.

    `backend` is ``simulated`` or the type of real accelerators, and `kind` their type in both cases.
    """

    def __init__(
        self, folder: Path | None = None, backend: str = "simulated", accelerators: int = 0, kind: str = "cuda"
    ) -> None:
        self.folder = folder
        self.backend = backend
        self.accelerators = accelerators
        self.kind = kind
        self.visited: Visited | None = None
        """Lines that are asked for, and were executed."""
        self.created_at: Callable[[Any], Place] = lambda tensor: None
        """The line that made a tensor, for the report on stragglers; set by a backend that knows."""
        self.used: Callable[[], bool] | None = None
        """Whether there was ever a tensor on an accelerator; set by a backend that knows."""
        self._begin()
        if hasattr(os, "register_at_fork"):
            begin = weakref.WeakMethod(self._begin)
            os.register_at_fork(after_in_child=lambda: (again := begin()) is not None and again())

    def _begin(self) -> None:
        self.lock = threading.RLock()  # an event may come from a finaliser, in the middle of another
        self.started = time.time()
        self.written = time.monotonic()
        self.events = 0
        self.transfers: dict[tuple[int, str, str], list[Any]] = {}
        self.syncs: dict[tuple[int, str], list[Any]] = {}
        self.errors: dict[str, dict[str, Any]] = {}
        self.raised = 0
        self.limitations: dict[str, Site | None] = {}
        self.ending: str | None = None
        self.left_behind: Stragglers | None = None
        self.scalars_were_gathered = False
        self.tests = False
        """Whether a test runner says which errors were not handled."""

    def moved(self, nbytes: int, source: str, target: str, blocking: bool) -> None:
        """A transfer of `nbytes` between two devices. One to the CPU that blocks is a wait for the accelerator, too."""
        site = user_line()
        waits = blocking and target == "cpu"
        with self.lock:
            if waits:
                self.syncs.setdefault((id(site), COPY), [site, 0])[1] += 1
            row = self.transfers.setdefault((id(site), source, target), [site, 0, 0, 0])
            row[1] += 1
            row[2] += nbytes
            row[3] += blocking
        self._tick()

    def synced(self, operation: str) -> None:
        """The program waited for an accelerator, without having said so, in `operation`."""
        site = user_line()
        with self.lock:
            self.syncs.setdefault((id(site), operation), [site, 0])[1] += 1
        self._tick()

    def limitation(self, text: str) -> None:
        """Something the backend could not do as an accelerator would, so that nothing is known of what follows."""
        if text not in self.limitations:
            self.limitations[text] = user_line()

    def failed(self, error: BaseException, operands: Sequence[OperandStory] = (), operation: str = "") -> None:
        """A device error that is about to be raised. It is reported if nobody handles it, else only counted."""
        with contextlib.suppress(Exception):
            self._note(error, user_line(), operands, operation)

    def uncaught(self, error: BaseException | None, where: str) -> dict[str, Any] | None:
        """An error that nobody handled, in `where` (words for the user). Gives its story if it is a device error.

        An error that was raised from, or while handling, a device error counts as that one.
        """
        if error is None:
            return None
        with contextlib.suppress(Exception):
            cut(error)
        if type(error).__name__ == UNSUPPORTED:
            self.limitations.setdefault(str(error), line_of(error.__traceback__))
            return None
        story = story_of(error)
        of_a_vector = self.scalars_were_gathered and OF_A_VECTOR.search(str(error))
        if story is None and (of_a_vector or is_of_places(str(error))):
            told = elsewhere(str(error))
            story = self._note(error, (told and told.site) or line_of(error.__traceback__), told=told)
        if story is None:
            return None
        with self.lock:
            known = self.errors.setdefault(story["key"], story)
            known["status"], known["where"] = "uncaught", known["where"] or story["where"] or where
        self.write()
        return known

    def scalars_gathered(self) -> None:
        """`DataParallel` has made a vector of the scalars of its replicas."""
        self.scalars_were_gathered = True

    def module_moved(self, module: Any, device: str) -> None:
        """A whole module was moved to an accelerator: what of it stayed behind is reported at the end."""
        from torchdevlint.runtime.record.stragglers import Stragglers

        with contextlib.suppress(Exception):
            if self.left_behind is None:
                self.left_behind = Stragglers(self.created_at)
            self.left_behind.look(module, str(device), user_line())

    def finish(self, ending: BaseException | None = None) -> None:
        """The process ends, by `ending` if an exception ended it."""
        if ending is not None:
            self.ending = f"{type(ending).__name__}: {ending}"[:LONGEST_TEXT]
            self.uncaught(ending, "")
        self.write(final=True)

    def snapshot(self, final: bool = False) -> dict[str, Any]:
        """The record as JSON; the stragglers are in a final one only."""
        stragglers = self.left_behind.found() if final and self.left_behind is not None else []
        with self.lock:
            return {
                "pid": os.getpid(),
                "started": self.started,
                "final": final,
                "program": sys.argv,
                "rank": os.environ.get("RANK"),
                "torch": getattr(sys.modules.get("torch"), "__version__", None),
                "backend": self.backend,
                "accelerators": self.accelerators,
                "kind": self.kind,
                "ending": self.ending,
                "tests": self.tests,
                "raised": self.raised,
                "used": None if self.used is None else self.used(),
                "errors": list(self.errors.values()),
                "transfers": [
                    {"site": plain(site), "source": source, "target": target}
                    | {"count": count, "bytes": size, "blocking": blocking}
                    for (_, source, target), (site, count, size, blocking) in list(self.transfers.items())
                ],
                "syncs": [
                    {"site": plain(site), "operation": operation, "count": count}
                    for (_, operation), (site, count) in list(self.syncs.items())
                ],
                "stragglers": stragglers,
                "visited": {path: sorted(rows) for path, rows in self.visited.seen.items()} if self.visited else {},
                "limitations": [{"text": text, "site": plain(site)} for text, site in list(self.limitations.items())],
            }

    def write(self, final: bool = False) -> None:
        """Write the record, whole or not at all."""
        if self.folder is None:
            return
        with contextlib.suppress(Exception):
            self.written = time.monotonic()
            target = self.folder / f"{os.getpid()}-{self.started:.6f}.json"
            draft = target.with_suffix(f".{threading.get_ident()}")
            draft.write_text(json.dumps(self.snapshot(final)), "utf-8")
            draft.replace(target)

    def _note(
        self,
        error: BaseException,
        site: Site | None,
        operands: Sequence[OperandStory] = (),
        operation: str = "",
        told: Elsewhere | None = None,
    ) -> dict[str, Any]:
        story: dict[str, Any] = {
            "exception": type(error).__name__ if told is None else told.exception,
            "text": (str(error) if told is None else told.text)[:LONGEST_TEXT],
            "operation": operation,
            "site": plain(site),
            "operands": [_plain_operand(operand) for operand in operands],
            "status": "raised",
            "where": "" if told is None else told.where,
            "count": 1,
        }
        with self.lock:
            self.raised += 1
            same = next((key for key, one in self.errors.items() if _like(one, story)), None)
            story["key"] = same or f"{os.getpid()}-{self.started:.6f}-{self.raised}"
            new = same is None and len(self.errors) < MOST_ERRORS
            if same is not None:
                self.errors[same]["count"] += 1
            elif new:
                self.errors[story["key"]] = dict(story)
        with contextlib.suppress(Exception):
            setattr(error, STORY, story)
        if new:
            self.write()
        return story

    def _tick(self) -> None:
        self.events += 1
        if not self.events % 256 and time.monotonic() - self.written > BETWEEN_WRITES:
            self.write()


def plain(place: Place) -> dict[str, Any] | None:
    """A place as JSON."""
    site = site_of(place)
    return None if site is None else asdict(site)


def cut(error: BaseException) -> None:
    """Cut this package's own calls off the end of a traceback: where the error is raised there would be torch's C++."""
    if STORY not in vars(error) and type(error).__name__ != UNSUPPORTED:
        return  # what a defect of ours raised must show where
    step, last = error.__traceback__, error.__traceback__
    while step is not None:
        if not step.tb_frame.f_code.co_filename.startswith(OWN):
            last = step
        step = step.tb_next
    if last is not None:
        last.tb_next = None


def _plain_operand(operand: OperandStory) -> dict[str, Any]:
    return {
        "name": operand.name,
        "device": operand.device,
        "shape": list(operand.shape),
        "dtype": operand.dtype.removeprefix("torch."),
        "created": plain(operand.created),
        "how": operand.how,
        "moved": plain(operand.moved),
        "lost": plain(operand.lost),
        "owner": operand.owner,
        "variable": operand.variable,
        "marks": operand.marks,
    }


def story_of(error: BaseException) -> dict[str, Any] | None:
    """What is known of the device error that `error` is, or was raised from, or while handling."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        story: dict[str, Any] | None = getattr(one, STORY, None)
        if story is not None:
            return story
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
    return None


def _like(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one[name] == other[name] for name in ("site", "exception", "text"))


_ACTIVE: list[Recorder] = []


def active() -> Recorder | None:
    """The recorder of this process, if something is being recorded."""
    return _ACTIVE[-1] if _ACTIVE else None


def start(recorder: Recorder) -> Recorder:
    """Make `recorder` the active one, until `stop`."""
    _ACTIVE.append(recorder)
    return recorder


def stop(recorder: Recorder) -> None:
    with contextlib.suppress(ValueError):
        _ACTIVE.remove(recorder)


def uncaught_in(error: BaseException, where: str) -> None:
    """An error ends the process in which it was raised, `where`; told if something is recorded."""
    recorder = active()
    if recorder is not None:
        recorder.ending = f"{type(error).__name__}: {error}"
        recorder.uncaught(error, where)
