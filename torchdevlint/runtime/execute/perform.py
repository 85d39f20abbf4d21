"""The two halves of an execution, each in a process of its own: the search on the control, and the run that counts."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any, Protocol

import torch

from torchdevlint.runtime.execute import call, example, observe, slices, statements
from torchdevlint.runtime.execute.callers import bring_from_elsewhere
from torchdevlint.runtime.execute.errors import CannotBeginError, told
from torchdevlint.runtime.execute.lines import LineWatch
from torchdevlint.runtime.execute.machine import Machine, accelerated, control
from torchdevlint.runtime.execute.observe import Observation
from torchdevlint.runtime.execute.search import Run, search
from torchdevlint.runtime.execute.slots import Slot
from torchdevlint.runtime.execute.target import Target, read_target
from torchdevlint.runtime.execute.values import Setting, describe

_ALONE = {"checkpoint": statements.checkpoint, "environment": statements.environment}
"""How findings are executed whose flagged statement stands for itself."""


class Program(Protocol):
    """What the rungs have in common."""

    slots: list[Slot]

    wanted: tuple[frozenset[int], ...]
    """The statements that have to run."""
    complete: bool
    """Whether these are all that the finding speaks of."""

    def run(self, values: dict[str, Any], setting: Setting) -> tuple[Any, Any]: ...


def find(request: dict[str, Any]) -> dict[str, Any]:
    """On the control: the program of the finding, and values with which it runs through the flagged lines."""
    target, mode = read_target(request["finding"]), request["mode"]
    if mode in _ALONE:
        if request["rung"] == "slice" and not request.get("first", 0):
            return {"program": 0, "values": {}, "runs": 0}
        return {"program": None, "why": "the flagged statement is executed by itself", "runs": 0}
    setting = control(0 if target.on_cpu else 2).settings(target.code)[0]
    reasons, runs = [], 0
    watch = LineWatch(target.path)
    try:
        for number, program in enumerate(_programs(request, target)):

            def run(values: dict[str, Any], program: Program = program) -> Run:
                watch.reset()
                _seed()
                try:
                    with watch, statements.KeysThatAreSaved() if mode == "prefix" else nullcontext():
                        program.run(values, setting)
                except BaseException as error:  # noqa: BLE001 (SystemExit is an answer as well)
                    if target.is_claimed(error, watch.rows):
                        return Run(None, frozenset(watch.rows).union(*program.wanted))
                    return Run(error, frozenset(watch.rows))
                return Run(None, frozenset(watch.rows))

            if number < request.get("first", 0):
                continue
            place = getattr(program, "place", None)
            if request["rung"] != "example" and place is not None and bring_from_elsewhere(target, place):
                reasons.append(f"what calls `{place.qualname}` gets its arguments from functions that are not known")
                continue
            found = search(program.slots, run, program.wanted)
            runs += found.runs
            if found.values is not None:
                return {"program": number, "values": found.values, "runs": runs}
            reasons.append(found.why)
    except CannotBeginError as error:
        reasons.append(str(error))
    return {"program": None, "why": "; ".join(dict.fromkeys(reasons)), "runs": runs}


def execute(request: dict[str, Any]) -> dict[str, Any]:
    """On the accelerator: the same program with the same values, and what it shows."""
    target, mode = read_target(request["finding"]), request["mode"]
    if mode in _ALONE:
        try:
            shown = _ALONE[mode](target)
            if shown.symptom is False:
                shown = Observation(None, "by itself the statement shows no symptom", observed=shown.observed)
            return {**shown.to_json(), "inputs": {}}
        except CannotBeginError as error:
            why = str(error)
        except Exception as error:  # noqa: BLE001 (the user's own statement)
            why = f"by itself the statement raises {told(error)}"
        return {**Observation(None, why).to_json(), "inputs": {}}
    machine = accelerated(request["device"], 0 if target.on_cpu else request["accelerators"])
    programs = _programs(request, target)
    program = next(each for number, each in enumerate(programs) if number == request["program"])
    values = request["values"]
    for setting in machine.settings(target.code):
        shown = _observed(program, values, target, mode, machine, setting)
        if shown.symptom:
            break
    if request["rung"] == "slice" and shown.symptom is not None:
        shown = _of_a_slice(program, values, shown)
    inputs = {
        slot.key.removeprefix("init."): describe(values[slot.key], setting)
        for slot in program.slots
        if values[slot.key]["is"] != "default"
    }
    return {**shown.to_json(), "inputs": inputs}


def _of_a_slice(program: Program, values: dict[str, Any], shown: Observation) -> Observation:
    """What a slice shows counts if what it has left out cannot put the finding right; nothing is refuted by it."""
    doubts = list(getattr(program, "doubts", ()))
    if not shown.symptom:
        doubts.insert(0, "what was run is a part of the program only, and nothing went wrong")
    elif any(description["is"] == "function" for description in values.values()):
        doubts.append("a stand-in for an unknown function took part")
    if not doubts:
        return shown
    return Observation(None, doubts[0], shown.exception, shown.traceback, shown.observed)


def _observed(
    program: Program, values: dict[str, Any], target: Target, mode: str, machine: Machine, setting: Setting
) -> Observation:
    movement = observe.Movement(target) if mode == "movement" else None
    presence = observe.Presence(program.wanted, setting.device)
    watch = LineWatch(target.path, presence.on_line if movement is None else movement.on_line)
    keys = statements.KeysThatAreSaved()
    _seed()
    try:
        with watch, keys if mode == "prefix" else nullcontext():
            result, instance = program.run(values, setting)
    except Exception as error:  # noqa: BLE001 (what the user's code raises is what is asked for)
        if movement is not None and movement.seen is not None:
            return movement.seen
        if target.is_claimed(error, watch.rows):
            return observe.of_claim(error)
        return observe.of_error(error, target)
    if movement is not None:
        return movement.seen or Observation(None, "the statement did not run to its end")
    if mode == "prefix":
        return keys.observation()
    if mode == "exception":
        return Observation(None, "it ran, and nothing was raised")
    if mode == "registration":
        return observe.of_registration(instance, target, setting)
    if any(rows.isdisjoint(watch.rows) for rows in program.wanted):
        return Observation(None, "on the accelerator it does not come to the flagged line")
    if target.silent or target.code == "TDL012":
        return observe.of_result(result, target, machine, setting)
    return _without_error(program, values, presence)


def _without_error(program: Program, values: dict[str, Any], presence: observe.Presence) -> Observation:
    """Nothing went wrong. That refutes the finding only if it was the real thing that ran."""
    if not program.complete:
        return Observation(None, "what was run is a part of the program only, and nothing went wrong")
    if not presence.seen:
        return Observation(None, "nothing that is on the accelerator came to the flagged line")
    text = json.dumps(values)
    if '"shape": []' in text:
        return Observation(None, "it ran with a 0-dim tensor, which may be on another device")
    if any(f'"is": "{kind}"' in text for kind in ("function", "namespace")):
        return Observation(None, "it ran with a stand-in for an unknown function or object, and nothing went wrong")
    return Observation(False)


def _programs(request: dict[str, Any], target: Target) -> Iterator[Program]:
    rung, mode = request["rung"], request["mode"]
    if rung == "example":
        yield from example.programs(target, request["examples"], request["paths"])
    elif rung == "slice":
        yield from slices.programs(target, mode)
    else:
        yield from call.programs(target, construction=mode == "registration")


def _seed() -> None:
    random.seed(0)
    torch.manual_seed(0)
