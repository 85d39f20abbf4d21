"""The parent's side: finds the targets of a project, has each of them executed, and sorts what fails."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import reduce
from queue import LifoQueue
from threading import Lock
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from torchdevlint.runtime.hunt import compare, judge, modes, script
from torchdevlint.runtime.hunt.findings import BUG, CONTRACT, UNREPRODUCED, Failure, Hunted, Place
from torchdevlint.runtime.hunt.machines import (
    FLAT,
    SCRIPT,
    SIMULATED,
    Machines,
    Order,
    Recorded,
    Shown,
    prepared,
    request,
    why,
)
from torchdevlint.runtime.hunt.order import in_turn
from torchdevlint.runtime.hunt.targets import PROGRESS, Target
from torchdevlint.runtime.verify.forked import ForkServer
from torchdevlint.runtime.verify.server import Server

SURVEY_SECONDS = 600.0
NOTHING = Recorded()
NOT_REACHED = "the time was up (--stop-after)"
_RANDOM = re.compile(r"^( *)(?=result = |.*(?:[=(]|, )torch\.device\(device\))", re.MULTILINE)
"""Before a line that calls the target, or that constructs something on the device."""
SEEDS = range(1, 9)
"""Few random results, as the order of four things, are the same for two seeds now and then."""
DIFFERENT = "another result"
"""Stands for the exception where there is none."""


class Surveyed(Struct, frozen=True):
    """The targets of a project, and the modules that could not be imported, with the reason."""

    targets: tuple[Target, ...]
    failed: Mapping[str, str]


def survey(order: Order, above: ForkServer) -> Surveyed:
    """Import every module in a child process. One that ends the process is left out of the next one."""
    waiting = list(order.project.modules)
    failed: dict[str, str] = {}
    with prepared(order, above, FLAT, ()) as server:
        while True:
            answer = server.ask({**request(order, "survey", SURVEY_SECONDS), "modules": waiting})
            if answer.ended == "returned":
                targets = {Target(*row) for row in answer.value["targets"]}
                return Surveyed(tuple(sorted(targets)), {**failed, **answer.value["failed"]})
            at = _at_work(server)
            if not any(name == at for name, _ in waiting):
                return Surveyed((), {**failed, "": why(answer)})
            failed[at] = f"importing it ends the process: {why(answer)}"
            waiting = [(name, place) for name, place in waiting if name != at]


def _at_work(server: Server) -> str:
    """The module whose import was begun last."""
    try:
        return "" if server.folder is None else (server.folder / PROGRESS).read_text("utf-8")
    except OSError:
        return ""


def hunt(
    order: Order,
    above: ForkServer,
    surveyed: Surveyed,
    targets: Sequence[Target],
    done: Callable[[Hunted], None] = lambda _: None,
    recorded: Recorded = NOTHING,
) -> list[Hunted]:
    """What becomes of each target, in their order. `done` is called after each one, by one thread at a time.

    `recorded` are calls that were seen; those that the examples of the targets' modules make come to them. For what is
    not begun in time (`order.until`), `done` is not called.
    """
    if not targets:
        return []
    modules = tuple(each for each in order.project.modules if each[0] not in surveyed.failed)
    idle: LifoQueue[Machines] = LifoQueue()
    telling = Lock()
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(order.jobs))
        fresh = {machine: stack.enter_context(prepared(order, above, machine, ())) for machine in (FLAT, SIMULATED)}
        for _ in range(order.jobs):
            idle.put(stack.enter_context(Machines(order, above, modules, fresh)))
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)

        now = time.monotonic()
        looking_until = now + (order.until - now) / 3

        def examples(module: str) -> Recorded:
            if time.monotonic() > looking_until:
                return NOTHING
            machines = idle.get()
            try:
                return machines.examples([module], surveyed.targets)
            finally:
                idle.put(machines)

        of_interest = list(dict.fromkeys(target.module for target in in_turn(targets)))
        seen = reduce(Recorded.joined, pool.map(examples, of_interest), recorded)

        def work(target: Target) -> Hunted:
            if time.monotonic() > order.until:
                return Hunted(target, why=NOT_REACHED)
            machines = idle.get()
            try:
                hunted = _hunted(target, order, machines, seen)
            finally:
                idle.put(machines)
            with telling:
                done(hunted)
            return hunted

        hunted = {one.target: one for one in pool.map(work, in_turn(targets))}
        return [hunted[target] for target in targets]


def _hunted(target: Target, order: Order, machines: Machines, seen: Recorded) -> Hunted:
    answer = machines.search(target, seen)
    if answer.ended != "returned":
        return Hunted(target, why=f"the search for values {answer.ended}: {why(answer)}")
    calls = [script.Call(target, **one) for one in answer.value["calls"]]
    runs = answer.value["runs"]
    if not calls:
        return Hunted(target, why=answer.value["why"], runs=runs)
    failures: dict[tuple[Any, ...], Failure] = {}
    ran: dict[str, None] = {}
    for mode, failure in _outcomes(calls, order, machines):
        ran[mode] = None
        if failure is not None:
            failures.setdefault((failure.sort, failure.key), failure)
    return Hunted(target, tuple(failures.values()), "", runs, tuple(ran))


def _outcomes(calls: Sequence[script.Call], order: Order, machines: Machines) -> Iterator[tuple[str, Failure | None]]:
    """Each mode that runs on the control, with what fails on the accelerator.

    All calls are made plainly; the first that works is used in all modes. After a failure other modes prove little.
    """
    plain = [(modes.CALL, script.plain(call)) for call in calls]
    works: tuple[script.Call, Shown] | None = None
    for mode, one, control, shown in _executed(plain, machines):
        failure = _failure(mode, one, control, shown, machines)
        if failure is None and works is None:
            works = one.call, control
        if mode in order.modes:
            yield mode, failure
    if works is None:
        return
    paths = tuple(one["path"] for one in works[1]["result"] if one.get("grad"))
    left_out = {modes.CALL, *(() if works[1]["gathered"] else (modes.PARALLEL,))}
    wanted = [mode for mode in order.modes if mode not in left_out]
    others = [(mode, one) for mode, one in modes.scripts(works[0], paths) if mode in wanted]
    for mode, one, control, shown in _executed(others, machines):
        yield mode, _failure(mode, one, control, shown, machines)


def _executed(
    scripts: Sequence[tuple[str, script.Script]], machines: Machines
) -> Iterator[tuple[str, script.Script, Shown, Shown]]:
    """The scripts that run on the control, with what they do there and on the accelerator.

    What fails after others in one process is executed alone: a store of the project's may hold what they left.
    """
    controls = machines.run_all([one.text for _, one in scripts], FLAT)
    able = [(*each, control) for each, control in zip(scripts, controls, strict=True) if control["ended"] == "ran"]
    shown = machines.run_all([one.text for _, one, _ in able], SIMULATED)
    for number, ((mode, one, control), there) in enumerate(zip(able, shown, strict=True)):
        failed_after_others = number > 0 and there["ended"] == "raised"
        yield mode, one, control, machines.run(one.text, SIMULATED) if failed_after_others else there


def _failure(mode: str, one: script.Script, control: Shown, shown: Shown, machines: Machines) -> Failure | None:
    if shown["ended"] == "ran":
        return _difference(mode, one, control, shown, machines)

    def again(call: script.Call) -> Shown:
        text = next((each.text for name, each in modes.scripts(call, one.paths) if name == mode), "")
        return machines.run(text, SIMULATED)

    if mode == modes.PARALLEL and machines.run(modes.halved(one.call).text, FLAT)["ended"] != "ran":
        return _of_shown(mode, one, shown, CONTRACT, "it takes no half of its arguments, so that none can be scattered")
    sort, reason = judge.sort_of(one, shown, SCRIPT, again if mode in modes.SIMPLE else None, control)
    failure = _of_shown(mode, one, shown, sort, reason)
    return _confirmed(failure, machines) if sort == BUG else failure


def _difference(mode: str, one: script.Script, control: Shown, shown: Shown, machines: Machines) -> Failure | None:
    """A result that is another one on the accelerator, where two runs on the control agree."""
    told = compare.differ(control["result"], shown["result"])
    if not told or shown["limits"] or mode not in modes.SIMPLE:
        return None
    others = (reseeded(one.text, seed) for seed in SEEDS)
    if any(_differs(control, machines.run(text, FLAT)) for text in (one.text, *others)):
        return None  # it is not the same there either
    failure = replace(_of_shown(mode, one, shown, BUG, "two runs on the control agree"), exception=DIFFERENT, text=told)
    control, shown = (machines.run(one.text, machine, fresh=True) for machine in (FLAT, SIMULATED))
    if control["ended"] == shown["ended"] == "ran" and _differs(control, shown):
        return failure
    return replace(failure, sort=UNREPRODUCED, why="its script does not show it")


def _differs(control: Mapping[str, Any], shown: Mapping[str, Any]) -> bool:
    return shown["ended"] != "ran" or bool(compare.differ(control["result"], shown["result"]))


def reseeded(text: str, seed: int = 1) -> str:
    """The same script, with other random numbers in the call itself and in what is made there by its constructor.

    A layer that gets the device draws from another generator there, so that what is drawn after it is something else.
    """
    return _RANDOM.sub(rf"\1torch.manual_seed({seed})\n\1", text)


def _of_shown(mode: str, one: script.Script, shown: Shown, sort: str, reason: str) -> Failure:
    operand, given = judge.stray(shown, SCRIPT, one.device)
    frames = shown["frames"]
    return Failure(
        target=one.call.target,
        mode=mode,
        sort=sort,
        why=reason,
        script=one.text,
        exception=shown["exception"],
        text=shown["text"],
        raised=Place(*frames[-1]) if frames else None,
        operand=judge.words(operand),
        origin=None if operand is None or given else judge.place_of(operand["lost"] or operand["created"]),
        trace=shown.get("trace", ""),
    )


def _confirmed(failure: Failure, machines: Machines) -> Failure:
    """The same, if its script shows it in processes that have imported nothing of the project yet; else it is none."""
    control = machines.run(failure.script, FLAT, fresh=True)
    shown = machines.run(failure.script, SIMULATED, fresh=True)
    same = shown["exception"] == failure.exception and (
        (Place(*shown["frames"][-1]) if shown["frames"] else None) == failure.raised
    )
    if control["ended"] == "ran" and shown["ended"] == "raised" and same:
        return failure
    reason = control["text"] if control["ended"] != "ran" else shown["text"] or "its script runs through"
    return replace(failure, sort=UNREPRODUCED, why=f"its script does not show it: {reason}")


def at_once(wanted: int | None) -> int:
    return wanted or min(4, os.cpu_count() or 1)
