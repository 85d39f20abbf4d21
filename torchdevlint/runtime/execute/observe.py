"""What a run on an accelerator shows of one finding: the symptom, its absence, or nothing."""

from __future__ import annotations

import ast
import itertools
import os
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch

from torchdevlint.runtime.execute.errors import LONGEST, text_of, told
from torchdevlint.runtime.execute.machine import Machine
from torchdevlint.runtime.execute.target import Region, Target, dotted, statement_at
from torchdevlint.runtime.execute.values import Setting, tensors_in
from torchdevlint.runtime.execute.watch import Watch
from torchdevlint.runtime.modules import registered_tensors
from torchdevlint.runtime.record.marks import marks_of
from torchdevlint.runtime.record.recorder import UNSUPPORTED, cut, plain, story_of
from torchdevlint.symptoms import is_of_places

_OWN_CHECK = re.compile(
    r"same device\b.*\bcpu and (cuda|xpu|mps)|same device\b.*\b(cuda|xpu|mps)\S* and cpu", re.DOTALL
)
"""What a program says that compares devices itself, before the operation that would raise."""


@dataclass(slots=True)
class Observation:
    """`symptom` is True if it happened, False if the flagged lines ran without it, None if neither can be said."""

    symptom: bool | None
    reason: str = ""
    exception: str | None = None
    traceback: str | None = None
    observed: dict[str, Any] = field(default_factory=dict)
    passed: tuple[int, ...] = ()
    """The lines of other device errors, which came first and were let pass."""
    comes_later: bool = False
    """Another device error came first, so that letting it pass may show more."""

    def to_json(self) -> dict[str, Any]:
        return {
            "symptom": self.symptom,
            "reason": self.reason,
            "exception": self.exception,
            "traceback": self.traceback,
            "observed": self.observed,
            "passed": list(self.passed),
        }


def of_error(error: BaseException, watch: Watch, setting: Setting) -> Observation:
    """Whether an exception is the device error that the finding speaks of: by the operand that is out of place."""
    target, text = watch.target, text_of(error)
    whole, in_short = f"{type(error).__name__}: {text}", told(error, 300)
    if type(error).__name__ == UNSUPPORTED:
        return Observation(None, f"a simulated accelerator cannot do this: {text}")
    story = story_of(error)
    raised = _rows_of(error, target)
    if story is None and _OWN_CHECK.search(text) and raised and _is_at_work(watch, raised[-1]):
        return Observation(True, "", whole)
    if story is None and not is_of_places(text):
        return Observation(None, f"on the accelerator it ends with another error than on the CPU: {in_short}", whole)
    steps = _steps_of(error)
    operands = [] if story is None else story["operands"]
    observed = {operand["name"] or f"operand {number}": operand["device"] for number, operand in enumerate(operands, 1)}
    elsewhere = [operand for operand in operands if operand["device"] != str(setting.device)]
    if operands and not elsewhere and not is_of_places(text):
        return Observation(None, f"the accelerator refuses it for another reason than its place: {in_short}", whole)
    tainted = any(operand["marks"] & watch.tainted for operand in operands)
    if any(_is_of(operand, watch) for operand in elsewhere or operands) and not tainted:
        return Observation(True, "", whole, steps, observed)
    if not operands and raised and _is_at_work(watch, raised[-1]):
        return Observation(True, "", whole, steps, observed)
    where = f"line {raised[-1]}" if raised else "other code"
    reason = f"another device error comes first, at {where}: {in_short}"
    return Observation(None, reason, whole, steps, observed, comes_later=True)


def _is_of(operand: dict[str, Any], watch: Watch) -> bool:
    """Whether an operand comes from a flagged expression, or was given to one."""
    target = watch.target
    ways = ("created", "lost", "moved") if target.code == "TDL012" else ("created", "lost")
    places = [place for place in map(operand.get, ways) if place is not None and same_file(place["filename"], target)]
    flagged = (target.at, *target.also)
    return watch.is_ours(operand["marks"]) or any(region.has(place) for place in places for region in flagged)


def _is_at_work(watch: Watch, row: int) -> bool:
    """Whether what was raised at a line was raised by a flagged expression, or where a note says that it is used."""
    if row not in watch.target.rows:
        return False
    if row == watch.target.at.row and _is_assigned(watch.target):
        return True
    notes = frozenset(range(len(watch.told.regions))) - watch.told.at
    return watch.at_work(watch.told.at) or (watch.has_run() and watch.at_work(notes))


def _is_assigned(target: Target) -> bool:
    """Whether an attribute that is flagged is assigned to, ``p.grad = g``: no expression is at work at that time."""
    path, flagged = statement_at(target.tree.body, target.at), target.at
    targets = getattr(path[-1], "targets", ()) if path else ()
    assigned = [each for each in targets if isinstance(each, ast.Attribute)]
    return any((each.lineno, each.col_offset) == (flagged.row, flagged.column - 1) for each in assigned)


def of_claim(error: BaseException) -> Observation:
    """For an exception that the rule tells of in so many words."""
    return Observation(True, "", f"{type(error).__name__}: {text_of(error)}", _steps_of(error))


def _steps_of(error: BaseException) -> str:
    """The traceback as the user is told it."""
    cut(error)
    return "".join(traceback.format_exception(type(error), error, _from_user(error)))[-LONGEST:]


def of_result(result: Any, watch: Watch, machine: Machine, setting: Setting) -> Observation:
    """For findings at which nothing raises: where the tensors are that the flagged expression made."""
    target = watch.target
    seen: dict[str, Any] = {}
    found = False
    for number, made in enumerate(tensors_in(result)):
        site = machine.recorder.created_at(made)
        place = None if site is None else plain(site)
        ours = watch.is_ours(marks_of(made)) or (
            place is not None and same_file(place["filename"], target) and target.at.has(place)
        )
        seen[f"result {number}"] = str(made.device)
        found = found or ours
        if made.device != setting.device and ours:
            return Observation(True, "", observed={"result": str(made.device), "arguments": str(setting.device)})
    if not seen:
        return Observation(None, "what it returns holds no tensor")
    if target.code == "TDL012" or not found or not watch.has_come_from_there():
        return Observation(None, "nothing that the flagged expression makes is in what it returns", observed=seen)
    if any(each != str(setting.device) for each in seen.values()):
        return Observation(None, "something else that it returns is not on the accelerator", observed=seen)
    return Observation(False, observed=seen)


def holds_tensors(instance: Any) -> bool:
    """Whether what a method was called on is a Module with parameters or buffers, which were moved."""
    return isinstance(instance, torch.nn.Module) and any(True for _ in registered_tensors(instance))


def without_value(instance: Any, target: Target) -> str:
    """An attribute that the flagged statement reads of an object, and that is None: it shows nothing of its place."""
    return next((each for each in attributes(target) if getattr(instance, each, each) is None), "")


class Movement:
    """Watches a statement that drops what it has moved: where the tensor is when the statement is over."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.seen: Observation | None = None
        self.before = ""
        self.statement = next(iter(statement_at(target.tree.body, target.at)[-1:]), None)
        around = reversed(statement_at(target.tree.body, target.at)) if target.code == "TDL002" else ()
        self.loop = next((each for each in around if isinstance(each, ast.For)), None)
        self.calls = list(_moves(self.statement, target.at)) if self.statement is not None else []

    def on_line(self, frame: FrameType, before: int, row: int) -> None:
        if (self.seen is not None and self.seen.symptom) or self.statement is None or not self.calls:
            return
        first, last = self.statement.lineno, self.statement.end_lineno or self.statement.lineno
        for call in self.calls:
            if first <= row <= last and not first <= before <= last:
                self._look(frame, call, ended=False)
            if first <= before <= last:
                self._look(frame, call, ended=True)

    def _look(self, frame: FrameType, call: ast.Call, ended: bool) -> None:
        assert isinstance(call.func, ast.Attribute)
        kept_in: ast.expr = self.loop.iter if self.loop is not None else call.func.value
        made_by: ast.expr = call
        dropped = self.statement.value if isinstance(self.statement, ast.Expr) else None
        if isinstance(dropped, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            kept_in, made_by = dropped.generators[0].iter, dropped
        try:
            kept, moved = list(_all_in(_value(frame, kept_in))), list(_all_in(_value(frame, made_by)))
        except Exception:  # noqa: BLE001 (the program's own expressions)
            return
        if not kept or not moved:
            return
        at, made = _where(kept[0]), _where(moved[0])
        if not ended:
            self.before = at
            return
        if at != made:
            self.seen = Observation(True, observed={"after the statement": at, "what it made": made})
        elif self.before not in (at, ""):
            self.seen = Observation(False, observed={"before the statement": self.before, "after the statement": at})
        else:
            self.seen = Observation(None, "there was nothing to move", observed={"after the statement": at})


def of_registration(instance: Any, target: Target, setting: Setting) -> Observation:
    """What a moved Module holds at the flagged attribute: modules that stayed, a tensor that is no parameter."""
    names, checked = attributes(target), 0
    for name in names:
        held = getattr(instance, name, None)
        for inner in _modules_in(held):
            inside = {**dict(torch.nn.Module.named_parameters(inner)), **dict(torch.nn.Module.named_buffers(inner))}
            left = {key: str(one.device) for key, one in inside.items() if one.device != setting.device}
            checked += len(inside)
            if left:
                return Observation(True, observed={f"self.{name}: {key}": place for key, place in left.items()})
        known = set(map(id, registered_tensors(instance)))
        for one in tensors_in(held):
            if id(one) not in known:
                told = (
                    "is no parameter of the Module" if one is held else f"holds what is no parameter, on {one.device}"
                )
                return Observation(True, observed={f"self.{name}": told})
            checked += 1
    if not checked:
        return Observation(None, "the flagged attribute holds no tensor here")
    return Observation(False, observed={f"self.{name}": "moved with the Module" for name in names})


def attributes(target: Target) -> list[str]:
    """The attributes of `self` that the flagged statements bind or fill."""
    found: dict[str, None] = {}
    for region in (target.at, *target.notes):
        for statement in statement_at(target.tree.body, region)[-1:]:
            for node in ast.walk(statement):
                path = dotted(node) or ""
                if path.startswith("self.") and path.count(".") == 1:
                    found[path.partition(".")[2]] = None
    return list(found) or _all_attributes(target)


def _all_attributes(target: Target) -> list[str]:
    """Those that the flagged function binds: what is flagged is one of them, under another name at first."""
    nodes = [node for place in target.places[:1] for node in ast.walk(place.function)]
    bound = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
    return list(dict.fromkeys(node.attr for node in bound if dotted(node.value) == "self"))


def _modules_in(value: Any, depth: int = 3) -> Iterator[torch.nn.Module]:
    if isinstance(value, torch.nn.Module):
        yield value
    elif depth and isinstance(value, dict):
        for each in value.values():
            yield from _modules_in(each, depth - 1)
    elif depth and isinstance(value, (list, tuple)):
        for each in value:
            yield from _modules_in(each, depth - 1)


def _all_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in a value, also in what can be iterated only once."""
    plain = isinstance(value, (torch.Tensor, dict, list, tuple)) or not hasattr(value, "__iter__")
    return tensors_in(value if plain else list(itertools.islice(iter(value), 8)))


def _moves(statement: ast.stmt, at: Region) -> Iterator[ast.Call]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.lineno >= at.row:
            yield node


def _value(frame: FrameType, node: ast.expr) -> Any:
    names = {**frame.f_globals, **frame.f_locals}  # as one, since what a comprehension reads is not looked up in locals
    code = compile(ast.fix_missing_locations(ast.Expression(node)), "<verify>", "eval")
    return eval(code, names)  # noqa: S307 (the user's own expression)


def _where(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} on {tensor.device}"


def same_file(filename: str, target: Target) -> bool:
    return os.path.realpath(filename) == os.path.realpath(target.path)


def _rows_of(error: BaseException, target: Target) -> list[int]:
    """The lines of the flagged file on the way to the exception, the innermost last."""
    rows = []
    step = error.__traceback__
    while step is not None:
        if same_file(step.tb_frame.f_code.co_filename, target):
            rows.append(step.tb_lineno)
        step = step.tb_next
    return rows


def _from_user(error: BaseException) -> Any:
    """The traceback without the frames of this package at its beginning."""
    step = error.__traceback__
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    while step is not None and step.tb_frame.f_code.co_filename.startswith(here):
        step = step.tb_next
    return step
