"""The processes of one worker: the control and the accelerators, each with the project imported, and without it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from msgspec import Struct

from torchdevlint.runtime.child import GIB, Limits
from torchdevlint.runtime.execute.called import Values
from torchdevlint.runtime.execute.values import Description
from torchdevlint.runtime.hunt.modes import MODES
from torchdevlint.runtime.hunt.targets import Project, Target
from torchdevlint.runtime.verify.forked import ForkServer
from torchdevlint.runtime.verify.server import Answer, Server

FLAT, SIMULATED = "flat", "simulated"
SCRIPT = "script.py"
"""What a script is called while it is executed."""

Shown = dict[str, Any]
"""What a child says of a script."""


class Order(Struct, frozen=True):
    """How it is hunted: at most `tries` runs are spent on the search for values of a target."""

    project: Project
    tries: int = 60
    limits: Limits = Limits(30.0, 8 * GIB)
    jobs: int = 1
    modes: tuple[str, ...] = MODES
    command: str = ""
    """A command of the user's, whose calls are hunted first."""
    until: float = math.inf
    """When no further target is begun, by `time.monotonic`. A third of the time that is left is for examples."""


class Recorded(Struct, frozen=True):
    """Calls that were seen, by the name of their target, and how classes were constructed, by ``module:Class``."""

    calls: Mapping[str, Sequence[Values]] = {}
    made: Mapping[str, Sequence[Description]] = {}

    def joined(self, other: Recorded) -> Recorded:
        """These, and those that another process has seen."""
        return Recorded(_joined(self.calls, other.calls), _joined(self.made, other.made))


def _joined(one: Mapping[str, Sequence[Any]], other: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys((*one, *other))
    every = {name: [*one.get(name, ()), *other.get(name, ())] for name in names}
    return {name: [each for at, each in enumerate(found) if each not in found[:at]] for name, found in every.items()}


class Machines(ExitStack):
    """The servers of one worker. Those without the project (`fresh`) are shared by all workers."""

    def __init__(
        self,
        order: Order,
        above: ForkServer,
        modules: Sequence[tuple[str, str]],
        fresh: Mapping[str, Server],
    ) -> None:
        super().__init__()
        self.order, self.fresh = order, fresh
        self.known = {
            machine: self.enter_context(prepared(order, above, machine, modules)) for machine in (FLAT, SIMULATED)
        }

    def run(self, text: str, machine: str, fresh: bool = False) -> Shown:
        """What a script does on a machine, in a process of its own."""
        (shown,) = self.run_all([text], machine, fresh)
        return shown

    def run_all(self, texts: Sequence[str], machine: str, fresh: bool = False) -> list[Shown]:
        """What scripts do, one after the other in one process; where one of them ends it, each in its own."""
        if not texts:
            return []
        server = (self.fresh if fresh else self.known)[machine]
        seconds = self.order.limits.seconds * min(len(texts), 3)
        answer = server.ask({**request(self.order, "run", seconds), "name": SCRIPT, "texts": list(texts)})
        if answer.ended == "returned":
            return list(answer.value)
        if len(texts) > 1:
            return [self.run(text, machine, fresh) for text in texts]
        return [
            {
                "ended": "died",
                "exception": "",
                "text": why(answer),
                "story": None,
                "frames": [],
                "limits": [],
                "held": 0,
                "trace": answer.traceback,
            }
        ]

    def search(self, target: Target, seen: Recorded) -> Answer:
        """The ways through a target that run on the control, those that were seen first."""
        folder = dict(self.order.project.modules)[target.module]
        return self.known[FLAT].ask(
            {
                **request(self.order, "search", self.order.limits.seconds * 2),
                "target": target.row,
                "seen": list(seen.calls.get(target.name, ())),
                "made": list(seen.made.get(target.owner, ())),
                "folder": folder,
                "insert": not _is_installed(folder),
                "most": self.order.tries,
            }
        )

    def examples(self, modules: Sequence[str], targets: Sequence[Target]) -> Recorded:
        """The calls that the examples in the docstrings of modules make on the control."""
        answer = self.known[FLAT].ask(
            {
                **request(self.order, "examples", self.order.limits.seconds * 4),
                "modules": list(modules),
                "targets": [target.row for target in targets],
            }
        )
        return Recorded(**answer.value) if answer.ended == "returned" else Recorded()


def request(order: Order, what: str, seconds: float) -> dict[str, Any]:
    """What every request says."""
    return {
        "do": "hunt",
        "what": what,
        "seconds": seconds,
        "memory": order.limits.memory,
        "paths": list(order.project.folders),
        "root": order.project.root,
    }


def prepared(order: Order, above: ForkServer, machine: str, modules: Sequence[tuple[str, str]]) -> Server:
    """A server below a process that has imported torch, which is to become a machine and to import modules."""
    return Server({"machine": machine, "root": order.project.root, "modules": list(modules)}, above)


def why(answer: Answer) -> str:
    """Why there is no answer, in one line."""
    return answer.detail or (answer.output.strip().splitlines() or [""])[-1]


def _is_installed(folder: str) -> bool:
    return any(part in Path(folder).parts for part in ("site-packages", "dist-packages"))
