"""The parent's side: finds the targets of a project, has each of them executed, and sorts what fails."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import LifoQueue
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from torchdevlint.runtime.child import GIB, Limits
from torchdevlint.runtime.hunt import compare, judge, modes, script
from torchdevlint.runtime.hunt.findings import BUG, LIMIT, UNREPRODUCED, Failure, Hunted, Place
from torchdevlint.runtime.hunt.targets import PROGRESS, Project, Target
from torchdevlint.runtime.verify.server import Answer, Server

FLAT, SIMULATED = "flat", "simulated"
SCRIPT = "script.py"
"""What a script is called while it is executed."""
SURVEY_SECONDS = 600.0
DIFFERENT = "another result"
"""Stands for the exception where there is none."""


class Order(Struct, frozen=True):
    """How it is hunted: at most `tries` runs are spent on the search for values of a target."""

    project: Project
    tries: int = 60
    limits: Limits = Limits(30.0, 8 * GIB)
    jobs: int = 1
    modes: tuple[str, ...] = modes.MODES


class Surveyed(Struct, frozen=True):
    """The targets of a project, and the modules that could not be imported, with the reason."""

    targets: tuple[Target, ...]
    failed: Mapping[str, str]


def survey(order: Order) -> Surveyed:
    """Import every module in a child process. One that ends the process is left out of the next one."""
    waiting = list(order.project.modules)
    failed: dict[str, str] = {}
    with Server(_prepared(order, FLAT, ())) as server:
        while True:
            answer = server.ask({**_request(order, "survey", SURVEY_SECONDS), "modules": waiting})
            if answer.ended == "returned":
                targets = {Target(*row) for row in answer.value["targets"]}
                return Surveyed(tuple(sorted(targets)), {**failed, **answer.value["failed"]})
            at = _at_work(server)
            if not any(name == at for name, _ in waiting):
                return Surveyed((), {**failed, "": _why(answer)})
            failed[at] = f"importing it ends the process: {_why(answer)}"
            waiting = [(name, place) for name, place in waiting if name != at]


def _at_work(server: Server) -> str:
    """The module whose import was begun last."""
    try:
        return "" if server.folder is None else (server.folder / PROGRESS).read_text("utf-8")
    except OSError:
        return ""


def hunt(
    order: Order, surveyed: Surveyed, targets: Sequence[Target], done: Callable[[Hunted], None] = lambda _: None
) -> list[Hunted]:
    """What becomes of each target, in their order."""
    modules = tuple(each for each in order.project.modules if each[0] not in surveyed.failed)
    idle: LifoQueue[_Machines] = LifoQueue()
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(order.jobs))
        fresh = {machine: stack.enter_context(Server(_prepared(order, machine, ()))) for machine in (FLAT, SIMULATED)}
        for _ in range(order.jobs):
            idle.put(stack.enter_context(_Machines(order, modules, fresh)))
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)

        def work(target: Target) -> Hunted:
            machines = idle.get()
            try:
                hunted = _hunted(target, order, machines)
            finally:
                idle.put(machines)
            done(hunted)
            return hunted

        return list(pool.map(work, targets))


class _Machines(ExitStack):
    """The processes of one worker: the control and the accelerators; all workers share those without the project."""

    def __init__(self, order: Order, modules: Sequence[tuple[str, str]], fresh: Mapping[str, Server]) -> None:
        super().__init__()
        self.order, self.fresh = order, fresh
        self.known = {
            machine: self.enter_context(Server(_prepared(order, machine, modules))) for machine in (FLAT, SIMULATED)
        }

    def run(self, text: str, machine: str, fresh: bool = False) -> dict[str, Any]:
        """What a script does on a machine."""
        server = (self.fresh if fresh else self.known)[machine]
        request = _request(self.order, "run", self.order.limits.seconds)
        answer = server.ask({**request, "name": SCRIPT, "text": text})
        if answer.ended == "returned":
            return dict(answer.value)
        return {
            "ended": "died",
            "exception": "",
            "text": _why(answer),
            "story": None,
            "frames": [],
            "limits": [],
            "held": 0,
            "trace": answer.traceback,
        }

    def search(self, target: Target) -> Answer:
        folder = dict(self.order.project.modules)[target.module]
        return self.known[FLAT].ask(
            {
                **_request(self.order, "search", self.order.limits.seconds * 2),
                "target": [target.module, target.qualname, target.kind, target.filename, target.line],
                "folder": folder,
                "insert": not _is_installed(folder),
                "most": self.order.tries,
            }
        )


def _hunted(target: Target, order: Order, machines: _Machines) -> Hunted:
    answer = machines.search(target)
    if answer.ended != "returned":
        return Hunted(target, why=f"the search for values {answer.ended}: {_why(answer)}")
    calls = [script.Call(target, **one) for one in answer.value["calls"]]
    runs = answer.value["runs"]
    if not calls:
        return Hunted(target, why=answer.value["why"], runs=runs)
    failures: dict[tuple[Any, ...], Failure] = {}
    ran: dict[str, None] = {}
    for number, call in enumerate(calls):
        for mode, failure in _failures(call, order, machines, everything=not number):
            ran[mode] = None
            if failure is not None:
                failures.setdefault((failure.sort, failure.key), failure)
    return Hunted(target, tuple(failures.values()), "", runs, tuple(ran))


def _failures(
    call: script.Call, order: Order, machines: _Machines, everything: bool
) -> Iterator[tuple[str, Failure | None]]:
    """Each mode that runs on the control, with what fails on the accelerator. After a failure others prove little."""
    control = machines.run(script.plain(call).text, FLAT)
    if control["ended"] != "ran":
        return
    paths = tuple(one["path"] for one in control["result"] if one.get("grad"))
    for mode, one in modes.scripts(call, paths):
        if mode not in order.modes or (mode != modes.CALL and not everything):
            continue
        expected = control if mode == modes.CALL else machines.run(one.text, FLAT)
        if expected["ended"] != "ran":
            continue
        failure = _failure(mode, one, expected, machines)
        yield mode, failure
        if failure is not None and mode == modes.CALL:
            return


def _failure(mode: str, one: script.Script, control: dict[str, Any], machines: _Machines) -> Failure | None:
    shown = machines.run(one.text, SIMULATED)
    if shown["ended"] == "ran":
        return _difference(mode, one, control, shown, machines)

    def again(call: script.Call) -> dict[str, Any]:
        text = next((other.text for name, other in modes.scripts(call, _paths(control)) if name == mode), "")
        return machines.run(text, SIMULATED)

    if shown["ended"] == "died":
        sort, why = LIMIT, shown["text"]
    else:
        sort, why = judge.sort_of(one, shown, SCRIPT, again if mode in modes.SIMPLE else None, control)
    failure = _of_shown(mode, one, shown, sort, why)
    return _confirmed(failure, machines) if sort == BUG else failure


def _difference(
    mode: str, one: script.Script, control: dict[str, Any], shown: dict[str, Any], machines: _Machines
) -> Failure | None:
    """A result that is another one on the accelerator, where two runs on the control agree."""
    told = compare.differ(control["result"], shown["result"])
    if not told or shown["limits"] or mode not in modes.SIMPLE:
        return None
    if any(_differs(control, machines.run(text, FLAT)) for text in (one.text, _reseeded(one.text))):
        return None  # it is not the same there either
    failure = replace(_of_shown(mode, one, shown, BUG, "two runs on the control agree"), exception=DIFFERENT, text=told)
    control, shown = (machines.run(one.text, machine, fresh=True) for machine in (FLAT, SIMULATED))
    if control["ended"] == shown["ended"] == "ran" and _differs(control, shown):
        return failure
    return replace(failure, sort=UNREPRODUCED, why="its script does not show it")


def _differs(control: Mapping[str, Any], shown: Mapping[str, Any]) -> bool:
    return shown["ended"] != "ran" or bool(compare.differ(control["result"], shown["result"]))


def _reseeded(text: str) -> str:
    """The same script, with other random numbers in the call itself."""
    return re.sub(r"^( *)result = ", r"\1torch.manual_seed(1)\n\1result = ", text, count=1, flags=re.MULTILINE)


def _of_shown(mode: str, one: script.Script, shown: Mapping[str, Any], sort: str, why: str) -> Failure:
    operand, given = judge.stray(shown, SCRIPT, one.device)
    frames = shown["frames"]
    return Failure(
        target=one.call.target,
        mode=mode,
        sort=sort,
        why=why,
        script=one.text,
        exception=shown["exception"],
        text=shown["text"],
        raised=Place(*frames[-1]) if frames else None,
        operand=judge.words(operand),
        origin=None if operand is None or given else judge.place_of(operand["lost"] or operand["created"]),
        trace=shown.get("trace", ""),
    )


def _confirmed(failure: Failure, machines: _Machines) -> Failure:
    """The same, if its script shows it in processes that have imported nothing of the project yet; else it is none."""
    control = machines.run(failure.script, FLAT, fresh=True)
    shown = machines.run(failure.script, SIMULATED, fresh=True)
    same = shown["exception"] == failure.exception and (
        (Place(*shown["frames"][-1]) if shown["frames"] else None) == failure.raised
    )
    if control["ended"] == "ran" and shown["ended"] == "raised" and same:
        return failure
    why = control["text"] if control["ended"] != "ran" else shown["text"] or "its script runs through"
    return replace(failure, sort=UNREPRODUCED, why=f"its script does not show it: {why}")


def _paths(control: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(one["path"] for one in control.get("result", []) if one.get("grad"))


def _request(order: Order, what: str, seconds: float) -> dict[str, Any]:
    return {
        "do": "hunt",
        "what": what,
        "seconds": seconds,
        "memory": order.limits.memory,
        "paths": list(order.project.folders),
        "root": order.project.root,
    }


def _prepared(order: Order, machine: str, modules: Sequence[tuple[str, str]]) -> dict[str, Any]:
    return {"machine": machine, "root": order.project.root, "modules": list(modules)}


def _is_installed(folder: str) -> bool:
    return any(part in Path(folder).parts for part in ("site-packages", "dist-packages"))


def _why(answer: Answer) -> str:
    return answer.detail or (answer.output.strip().splitlines() or [""])[-1]


def at_once(wanted: int | None) -> int:
    return wanted or min(4, os.cpu_count() or 1)
