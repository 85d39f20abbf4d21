"""What is seen of the flagged expressions while a program runs: that they did their work, and with which tensors."""

from __future__ import annotations

import builtins
import gc
import inspect
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Protocol

import torch

from torchdevlint.runtime.execute.imported import Finder
from torchdevlint.runtime.execute.instrument import WATCH, Flagged, flagged, row_of
from torchdevlint.runtime.execute.target import Target
from torchdevlint.runtime.modules import registered_tensors
from torchdevlint.runtime.record.marks import Following, mark, marks_of
from torchdevlint.runtime.record.sites import user_line

_NOTHING_IN_IT = (ModuleType, FunctionType, BuiltinFunctionType, type, str, bytes, int, float, bool)
MOST_TENSORS = 256
TAKE_ONE = frozenset({"TDL006"})
"""Rules whose operation takes one tensor."""


@dataclass(slots=True)
class Evaluation:
    """One evaluation of an expression that has begun. `operands` counts those that are there."""

    number: int
    thread: int
    operands: int = 0
    tensors: int = 0
    accelerated: bool = False
    values: list[Any] = field(default_factory=list)
    """The operands themselves, where answers are kept."""


@dataclass(slots=True)
class Seen:
    """What is known of one expression in one run. `met`: it did its work, and two tensors or more, one of them of the
    accelerator, were its operands; `alone` says so of one, and `gave_there` of a tensor in what it gave.
    """

    evaluated: bool = False
    met: bool = False
    alone: bool = False
    gave_there: bool = False


class Answered(Protocol):
    """Where the answers of a flagged test are kept (`answers.Answers`)."""

    given: list[Any]

    def take(self, operands: Sequence[Any], answer: Any) -> None: ...


@dataclass
class Watch:
    """Receives what wrapped code tells. `device` is where the accelerator's tensors are, None on the control.

    Wrapped code finds it in `builtins` under its `name`; its marks begin at the bit `shift`.
    """

    target: Target
    device: torch.device | None = None
    name: str = WATCH
    shift: int = 0
    told: Flagged = field(init=False)
    rows: set[int] = field(default_factory=set)
    open: list[Evaluation] = field(default_factory=list)
    answers: Answered | None = None
    """Is told what a flagged test was asked, and what it said."""

    def __post_init__(self) -> None:
        self.told = flagged(self.target)
        self.seen: dict[int, Seen] = {}
        self.followed: set[int] = set()
        self.before: set[int] | None = None
        self.bits = sum(1 << (self.shift + number) for number in self.told.at)
        self.following = Following(self.operated)
        self.tainted = 1 << (self.shift + len(self.told.regions))
        """The mark of what took part in an operation that was let pass, and of what came of it."""
        self.was_there = self.tainted << 1
        """The mark of what was made of something on the accelerator. On the CPU, the program has brought it there."""
        self.passed: set[int] = set()

    def install(self) -> None:
        """From now on the file of the finding is imported with its expressions wrapped."""
        setattr(builtins, self.name, self)
        sys.meta_path.insert(0, Finder(str(self.target.path), [(self.told, self.name)]))

    def reset(self) -> None:
        """Forget the last run; what was evaluated as the file was imported, before the first one, stays known."""
        if self.before is None:
            self.before = set(self.seen)
        self.rows, self.open, self.seen, self.followed = set(), [], {}, set()
        if self.answers is not None:
            self.answers.given.clear()

    # What wrapped code calls.

    def begin(self, number: int) -> int:
        self.open.append(Evaluation(number, threading.get_ident()))
        return number

    def operand(self, number: int, value: Any) -> Any:
        evaluation = self._now(number)
        if evaluation is not None:
            evaluation.operands += 1
            if self.answers is not None:
                evaluation.values.append(value)
            for tensor in held(value):
                evaluation.tensors += 1
                evaluation.accelerated = evaluation.accelerated or self._is_there(tensor)
                self._mark(tensor, number)
        return value

    def method(self, number: int, receiver: Any, name: str) -> Any:
        """A method as an operand: the tensor that it belongs to, or the Module that it is."""
        bound = getattr(receiver, name)
        of_tensors = isinstance(receiver, (torch.Tensor, list, tuple, dict))
        self.operand(number, bound if isinstance(bound, torch.nn.Module) else receiver if of_tensors else None)
        return bound

    def inside(self, number: int, value: Any) -> Any:
        evaluation = self._now(number)
        if evaluation is not None and not evaluation.accelerated:
            evaluation.accelerated = any(map(self._is_there, held(value)))
        return value

    def done(self, number: int, value: Any) -> Any:
        evaluation = self._now(number)
        if evaluation is not None:
            self.open.remove(evaluation)
            seen = self.seen.setdefault(number, Seen())
            seen.evaluated = True
            seen.met = seen.met or (evaluation.accelerated and evaluation.tensors > 1)
            seen.alone = seen.alone or (evaluation.accelerated and evaluation.tensors > 0)
            seen.gave_there = seen.gave_there or any(map(self._is_there, held(value)))
            if self.answers is not None and number in self.told.at:
                self.answers.take(evaluation.values, value)
        self.rows.add(row_of(number))
        for tensor in held(value):
            self._mark(tensor, number)
        return value

    def lets_pass(self, given: Sequence[torch.Tensor]) -> bool:
        """Whether a device error is none of the finding's.

        What met a parameter on the accelerator has to go there, so that nothing is unknown of the result, and a buffer
        is as good. So has what nobody has ever moved. What the program itself has brought to the CPU may belong there,
        and then the right result is there as well.
        """
        if any(self.is_ours(marks_of(tensor)) for tensor in given):
            return False
        site = user_line()
        self.passed.add(0 if site is None else site.line)
        here = [tensor for tensor in given if not self._is_there(tensor)]
        is_open = any(marks_of(tensor) & self.was_there for tensor in here) or len(here) == len(given)
        if is_open and not any(_is_of_module(tensor) and self._is_there(tensor) for tensor in given):
            for tensor in here:
                mark(tensor, self.tainted)
        return True

    def origin(self, given: Sequence[torch.Tensor]) -> int:
        """The mark of what is made of these tensors."""
        return self.was_there if any(map(self._is_there, given)) else 0

    # What is asked afterwards.

    def is_met(self, alone: bool) -> bool:
        """Whether everything flagged did its work with a tensor of the accelerator and the finding's operands.

        An operation counts by what went into it, `alone` if it takes one tensor only; what makes a tensor by the
        operations that this tensor, or what became of it, took part in.
        """
        if not self.told.at or not self.has_come_from_there():
            return False
        return all(
            number in self.followed or ((one := self.seen.get(number)) and (one.alone if alone else one.met))
            for number in self.told.at
        )

    def has_come_from_there(self) -> bool:
        """Whether all that the notes point to was evaluated: what is given in its place says nothing of it."""
        noted = set(range(len(self.told.regions))) - self.told.at
        return noted <= self.seen.keys() | (self.before or set())

    def at_work(self, numbers: Sequence[int] | frozenset[int]) -> bool:
        """Whether one of the expressions had all its operands and has not ended: where an exception comes from."""
        return any(one.number in numbers and 0 < self.told.operands[one.number] <= one.operands for one in self.open)

    def has_run(self) -> bool:
        """Whether something flagged was evaluated, or was at work when the run ended."""
        return self.at_work(self.told.at) or any(number in self.seen for number in self.told.at)

    def is_ours(self, marks: int) -> bool:
        """Whether a tensor with these marks comes from a flagged expression, or was an operand of one."""
        return bool(marks & self.bits)

    def _now(self, number: int) -> Evaluation | None:
        thread = threading.get_ident()
        return next((one for one in reversed(self.open) if (one.number, one.thread) == (number, thread)), None)

    def _is_there(self, tensor: torch.Tensor) -> bool:
        return self.device is not None and tensor.device.type == self.device.type != "cpu"

    def _mark(self, tensor: torch.Tensor, number: int) -> None:
        if self.device is not None and number in self.told.at:
            mark(tensor, 1 << (self.shift + number))

    def operated(self, given: Sequence[torch.Tensor]) -> None:
        """An operation of marked tensors has ended well."""
        if len(given) < 2 or not any(map(self._is_there, given)):
            return
        for number in self.told.at - self.followed:
            if any(marks_of(tensor) >> (self.shift + number) & 1 for tensor in given):
                self.followed.add(number)


def _is_of_module(tensor: torch.Tensor) -> bool:
    """Whether it is a parameter or buffer of a Module, or a view of one, as ``weight.t()`` in `linear`."""
    whole = tensor if tensor._base is None else tensor._base
    if isinstance(whole, torch.nn.Parameter):
        return True
    held_by = (one for one in gc.get_objects() if issubclass(type(one), torch.nn.Module))
    return any(whole is buffer for module in held_by for buffer in module.__dict__.get("_buffers", {}).values())


def held(value: Any, depth: int = 3) -> Iterator[torch.Tensor]:
    """The tensors in a value: in lists, tuples, dicts, Modules, and in the fields of an object; not too many."""
    return islice(_held(value, depth), MOST_TENSORS)


def _held(value: Any, depth: int) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, torch.nn.Module):
        yield from registered_tensors(value)
    elif isinstance(value, _NOTHING_IN_IT) or not depth:
        return
    elif isinstance(value, dict):
        for each in list(value.values()):
            yield from _held(each, depth - 1)
    elif isinstance(value, (list, tuple, set)):
        for each in value:
            yield from _held(each, depth - 1)
    elif isinstance(fields := inspect.getattr_static(value, "__dict__", None), dict):
        for each in list(fields.values()):
            yield from _held(each, depth - 1)
