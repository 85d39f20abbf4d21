"""The two halves of an execution, each in a process of its own: the search on the control, and the run that counts."""

from __future__ import annotations

import ast
import json
import os
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import torch

from torchdevlint.runtime.execute import call, example, observe, overrides, own_examples, slices, statements
from torchdevlint.runtime.execute.alarm import Alarm
from torchdevlint.runtime.execute.answers import Answers
from torchdevlint.runtime.execute.called import INIT, RECEIVER
from torchdevlint.runtime.execute.callers import bring_from_elsewhere
from torchdevlint.runtime.execute.deciding import Deciding
from torchdevlint.runtime.execute.errors import CannotBeginError, told
from torchdevlint.runtime.execute.guards import PassedByError
from torchdevlint.runtime.execute.instrument import node_at, row_of
from torchdevlint.runtime.execute.lines import LineWatch
from torchdevlint.runtime.execute.machine import Machine, accelerated, control
from torchdevlint.runtime.execute.moved import moved_from_the_cpu
from torchdevlint.runtime.execute.observe import Observation
from torchdevlint.runtime.execute.put_right import put_right
from torchdevlint.runtime.execute.search import MOST_RUNS, Run, search
from torchdevlint.runtime.execute.slots import Slot
from torchdevlint.runtime.execute.target import Target, dotted, read_target
from torchdevlint.runtime.execute.values import DEFAULT, Setting, describe, is_placed
from torchdevlint.runtime.execute.watch import TAKE_ONE, Watch

PARAMETERS = 1_000
"""More than the expressions that a finding speaks of."""
RUNS_IN_TIME = 5
"""How many runs that take too long the search has time for; what takes longer is run with smaller tensors."""
STAND_INS = ("function", "namespace")
"""Kinds of values that stand for what is not known."""
CONTAINERS = ("list", "tuple", "dict", "loader")
_ALONE = {"checkpoint": statements.checkpoint, "environment": statements.environment}
"""How findings are executed whose flagged statement stands for itself."""


class Program(Protocol):
    """What the rungs have in common."""

    slots: list[Slot]

    wanted: tuple[frozenset[int], ...]
    """The statements that have to run."""
    complete: bool
    """Whether these are all that the finding speaks of."""

    def run(self, values: Mapping[str, Any], setting: Setting) -> tuple[Any, Any]: ...


def find(request: dict[str, Any]) -> dict[str, Any]:
    """On the control: the program of the finding, and values with which it runs through the flagged lines."""
    target, mode = read_target(request["finding"]), request["mode"]
    if mode in _ALONE:
        if request["rung"] == "slice" and not request.get("first", 0):
            return {"program": 0, "values": {}, "runs": 0}
        return {"program": None, "why": "the flagged statement is executed by itself", "runs": 0}
    setting = control(2 if request["accelerators"] else 0).settings(target.code)[0]
    reasons, runs, first = [], request.get("spent", 0), request.get("first", 0)
    watch, lines = Watch(target), LineWatch(target.path)
    watch.install()
    folder = Path.cwd()
    longest = max(int(request["seconds"]) // RUNS_IN_TIME, 1)
    programs, why_no_more = _all_programs(request, target)
    for number, program in enumerate(programs):
        if number < first:
            continue

        deciding = program.deciding if isinstance(program, call.CallProgram) else None

        def run(values: Mapping[str, Any], program: Program = program, deciding: Deciding | None = deciding) -> Run:
            lines.reset()
            watch.reset()
            _seed()
            with suppress(OSError):  # the run before may have removed it, or left it
                folder.mkdir(exist_ok=True)
                os.chdir(folder)
            error = None
            try:
                with Alarm(longest), lines, statements.KeysThatAreSaved() if mode == "prefix" else nullcontext():
                    program.run(values, setting)
            except BaseException as raised:  # noqa: BLE001 (SystemExit is an answer as well)
                error = raised
            rows = frozenset(lines.rows | watch.rows | _given(program, values))
            if error is not None and watch.has_run() and (mode == "test" or target.is_claimed(error)):
                return Run(None, rows.union(*_wanted(program, watch)))
            if deciding is None:
                return Run(error, rows)
            missed = [each for each in program.wanted if each.isdisjoint(rows)]
            of_error = () if error is None else deciding.of_error(error)
            return Run(error, rows, tuple(dict.fromkeys([*of_error, *deciding.of_missed(missed)])))

        place = getattr(program, "place", None)
        rung = request["rung"]
        if rung != "example" and place is not None and bring_from_elsewhere(target, place, rung != "slice"):
            reasons.append(f"what calls `{place.qualname}` gets its arguments from functions that are not known")
            continue
        share = (MOST_RUNS - runs) // (len(programs) - number)
        seen = program.seen(request["seen"]) if isinstance(program, call.CallProgram) and request.get("seen") else ()
        slots = moved_from_the_cpu(target, program.slots) if mode == "movement" else program.slots
        skip = request.get("skip", 0) if number == first else 0
        found = search(slots, run, _wanted(program, watch), share, seen, skip)
        runs += found.runs
        if found.values is not None:
            whole = {"later": found.later, "why": found.why} if found.later else {}
            return {"program": number, "values": found.values, "runs": runs, **whole}
        if not skip:
            reasons.append(found.why)
    return {"program": None, "why": "; ".join(dict.fromkeys([*reasons, *why_no_more])), "runs": runs}


def examples(request: dict[str, Any]) -> dict[str, Any]:
    """On the control: the calls that the file of a finding makes of its own functions, in examples and as a script."""
    target = read_target(request["finding"])
    control(2)
    module = call.load(target)
    callees = list(call.callees(target, module))
    return own_examples.calls_of_file(module.__name__, target.tree, callees, str(target.path.parent))


def _all_programs(request: dict[str, Any], target: Target) -> tuple[list[Program], list[str]]:
    """The programs of a rung, and why there are no more."""
    found: list[Program] = []
    try:
        found.extend(_programs(request, target))  # keeps what came before an exception
    except CannotBeginError as error:
        return found, [str(error)]
    return found, []


def _wanted(program: Program, watch: Watch) -> list[frozenset[int]]:
    """The statements that have to run, the flagged expressions in them, and the arguments that have to be given."""
    rows = frozenset().union(*program.wanted)
    inside = [number for number, region in enumerate(watch.told.regions) if region.row in rows]
    spoken_of = [frozenset({row}) for row in sorted(_rows_of_parameters(program).values(), reverse=True)]
    return [*program.wanted, *(frozenset({row_of(number)}) for number in inside), *spoken_of]


def _given(program: Program, values: Mapping[str, Any]) -> set[int]:
    """The rows of the parameters that the finding speaks of, without those that are left at their default."""
    inside = values.get(RECEIVER, DEFAULT).get("with", {})
    given = {**{f"{INIT}{key}": one for key, one in inside.items()}, **values}
    return {row for key, row in _rows_of_parameters(program).items() if given.get(key, DEFAULT)["is"] != "default"}


def _rows_of_parameters(program: Program) -> dict[str, int]:
    """Rows that no line and no expression has, by the key of the slot."""
    spoken_of = getattr(program, "spoken_of", ())
    keys = [slot.key for slot in program.slots if slot.key in spoken_of]
    return {key: row_of(PARAMETERS + number) for number, key in enumerate(keys)}


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
    machine = accelerated(request["device"], request["accelerators"])
    watch = Watch(target, machine.first)
    if mode == "test":
        watch.answers = Answers(node_at(target, target.at))
    watch.install()
    programs = _programs(request, target)
    program = next(each for number, each in enumerate(programs) if number == request["program"])
    values = request["values"]
    for setting in machine.settings(target.code):
        shown = _observed(program, values, mode, machine, setting, watch)
        if shown.comes_later:
            shown = _past_others(shown, watch, partial(_observed, program, values, mode, machine, setting, watch))
        if shown.symptom or (mode == "test" and shown.symptom is False):
            break
    if request["rung"] == "slice" and shown.symptom is not None:
        shown = _of_a_slice(program, values, shown, target)
    elif isinstance(program, call.CallProgram) and shown.symptom is False:
        why = put_right(watch, program.place.function, values)
        shown = Observation(None, why, observed=shown.observed) if why else shown
    inputs = {
        key.removeprefix(INIT): describe(one, setting)
        for key, one in values.items()
        if one["is"] not in ("default", "call")
    }
    others = shown.symptom is None and not getattr(program, "doubts", ())
    return {**shown.to_json(), "inputs": inputs, "others": others}


def _past_others(shown: Observation, watch: Watch, run: Callable[[], Observation]) -> Observation:
    """What another run shows in which device errors of other operands are let pass: the symptom, or nothing."""
    from torchdevlint.runtime.simulated import current

    simulation = current()
    if simulation is None:
        return shown
    simulation.lets_pass, watch.following.origin = watch.lets_pass, watch.origin
    try:
        later = run()
    finally:
        simulation.lets_pass = watch.following.origin = None
    later.passed = tuple(sorted(watch.passed))
    return later if later.symptom else shown


def _of_a_slice(program: Program, values: dict[str, Any], shown: Observation, target: Target) -> Observation:
    """What a slice shows counts if what it has left out cannot put the finding right; nothing is refuted by it."""
    doubts = list(getattr(program, "doubts", ()))
    if not shown.symptom:
        doubts.insert(0, "what was run is a part of the program only, and nothing went wrong")
    elif any(description["is"] == "function" for description in values.values()):
        doubts.append("a stand-in for an unknown function took part")
    doubts += _of_another_kind(program, values, target)
    if not doubts:
        return shown
    return Observation(None, doubts[0], shown.exception, shown.traceback, shown.observed, shown.passed)


def _of_another_kind(program: Program, values: dict[str, Any], target: Target) -> Iterator[str]:
    """A name that is read into NumPy, and was given a container of tensors for want of a tensor that would do."""
    node = node_at(target, target.at)
    of_numpy = target.code in TAKE_ONE and isinstance(node, ast.Call)
    names = {dotted(each) for each in node.args} if of_numpy else set()  # type: ignore[union-attr]
    for slot in program.slots:
        is_container = values.get(slot.key, DEFAULT)["is"] in CONTAINERS
        if slot.key in names and is_container and slot.candidates[0]["is"] not in CONTAINERS:
            yield f"a container of tensors stood in for `{slot.key}`"


def _observed(
    program: Program, values: dict[str, Any], mode: str, machine: Machine, setting: Setting, watch: Watch
) -> Observation:
    target = watch.target
    movement = observe.Movement(target) if mode == "movement" else None
    lines = LineWatch(target.path, None if movement is None else movement.on_line)
    keys = statements.KeysThatAreSaved()
    watch.reset()
    _seed()
    try:
        with lines, watch.following, keys if mode == "prefix" else nullcontext():
            result, instance = program.run(values, setting)
    except Exception as error:  # noqa: BLE001 (what the user's code raises is what is asked for)
        return _of_raised(error, program, values, setting, watch, None if movement is None else movement.seen)
    if movement is not None:
        return movement.seen or Observation(None, "the statement did not run to its end")
    if mode == "prefix":
        return keys.observation()
    if isinstance(watch.answers, Answers):
        return _answered(watch.answers, values, setting)
    if mode == "override":
        return overrides.of_override(result, instance, target, setting)
    if mode == "registration":
        return observe.of_registration(instance, target, setting)
    watch.rows |= lines.rows
    came_to = watch.rows | _given(program, values)
    if any(rows.isdisjoint(came_to) for rows in _wanted(program, watch)):
        return Observation(None, "on the accelerator it does not come to the flagged expression")
    if mode == "exception":
        return Observation(None, "it ran, and nothing was raised")
    if target.silent or target.code == "TDL012":
        if not (any(map(is_placed, values.values())) or observe.holds_tensors(instance)):
            return Observation(None, "it ran with a stand-in for the object that says the device")
        shown = observe.of_result(result, watch, machine, setting)
        if not shown.symptom and (empty := observe.without_value(instance, target)):
            return Observation(None, f"`self.{empty}` is None here", observed=shown.observed)
        return shown
    return _without_error(program, values, watch)


def _of_raised(
    error: Exception,
    program: Program,
    values: dict[str, Any],
    setting: Setting,
    watch: Watch,
    moved: Observation | None,
) -> Observation:
    """What an exception says; `moved` is what was seen of a move before it."""
    if isinstance(error, PassedByError):
        return Observation(None, str(error))
    if moved is not None:
        return moved
    if isinstance(watch.answers, Answers):
        return _answered(watch.answers, values, setting)
    if watch.has_run() and watch.target.is_claimed(error):
        return _claimed(program, error)
    return observe.of_error(error, watch, setting)


def _claimed(program: Program, error: Exception) -> Observation:
    """What the rule tells of has happened. What a value of ours lacks, the object of the program may have."""
    lacking = getattr(error, "obj", None)  # of an AttributeError
    if lacking is not None and any(one is lacking for one in getattr(program, "stand_ins", ())):
        return Observation(None, "what lacks the attribute is a stand-in for an object of the program")
    return observe.of_claim(error)


def _answered(answers: Answers, values: dict[str, Any], setting: Setting) -> Observation:
    """What a test said. A stand-in may say anything, so that it refutes nothing."""
    shown = answers.observation(setting)
    if shown.symptom is False and any(f'"is": "{kind}"' in json.dumps(values) for kind in STAND_INS):
        return Observation(None, "the test was asked of a stand-in for an unknown function or object")
    return shown


def _without_error(program: Program, values: dict[str, Any], watch: Watch) -> Observation:
    """Nothing went wrong. That refutes the finding only if it was the real thing that ran."""
    if not program.complete:
        return Observation(None, "what was run is a part of the program only, and nothing went wrong")
    text = json.dumps(values)
    if '"shape": []' in text:
        return Observation(None, "it ran with a 0-dim tensor, which may be on another device")
    if any(f'"is": "{kind}"' in text for kind in STAND_INS):
        return Observation(None, "it ran with a stand-in for an unknown function or object, and nothing went wrong")
    if not watch.is_met(alone=watch.target.code in TAKE_ONE):
        return Observation(None, "the operands of the finding, one of them on the accelerator, did not meet")
    return Observation(False)


def _programs(request: dict[str, Any], target: Target) -> Iterator[Program]:
    rung, mode = request["rung"], request["mode"]
    if rung == "example":
        yield from example.programs(target, request["examples"], request["paths"])
    elif rung == "slice":
        yield from slices.programs(target, mode)
    elif mode == "override":
        yield from call.programs(target, construction=not overrides.gives_nothing(target), alone=True)
    else:
        yield from call.programs(target, construction=mode == "registration")


def _seed() -> None:
    random.seed(0)
    torch.manual_seed(0)
