"""What is known at one point of one path."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from torchdevlint.flow.state.conditions import compatible, extended
from torchdevlint.flow.state.devices import Device
from torchdevlint.flow.state.joins import alternatives, choose, fewer
from torchdevlint.flow.state.tensors import in_common
from torchdevlint.flow.state.touch import Touch
from torchdevlint.flow.state.values import NONE, Choice, Conditions, Names, Value


class State:
    """What is known at one point of one path.

    `env` maps names and `paths` dotted paths (``self.h``, ``batch['x']``) to values; `conditions` are the branches
    taken; `touched` is the call that froze or initialised CUDA; `without_accelerator` whether only a machine without
    one comes here; `default_device` the device of an enclosing ``with torch.device(..)``; `guarded` whether a test for
    an accelerator encloses it, and `cuda_of` the tensor that a test asks whether it is on CUDA; `tried` whether the
    function handles the RuntimeError that torch raises here. No path is longer than `deepest`, by `depth_of`.
    """

    __slots__ = (
        "alive",
        "conditions",
        "cuda_of",
        "deepest",
        "default_device",
        "env",
        "guarded",
        "paths",
        "touched",
        "tried",
        "without_accelerator",
    )

    def __init__(
        self,
        env: Names,
        paths: dict[str, Value] | None = None,
        conditions: Conditions = (),
        touched: Touch | None = None,
        without_accelerator: bool = False,
        default_device: Device | None = None,
        guarded: bool = False,
        cuda_of: ast.expr | None = None,
        alive: bool = True,
        tried: bool = False,
        deepest: int | None = None,
    ) -> None:
        self.env = env
        self.paths = {} if paths is None else paths
        self.conditions = conditions
        self.touched = touched
        self.without_accelerator = without_accelerator
        self.default_device = default_device
        self.guarded = guarded
        self.cuda_of = cuda_of
        self.alive = alive
        self.tried = tried
        self.deepest = deepest if deepest is not None else max(map(depth_of, paths)) if paths else 0

    def bind(self, path: str, value: Value) -> None:
        """Let a name or path hold a value, where it is held now."""
        if path in self.env:
            self.env[path] = value
        else:
            self.paths[path] = value
            self.deepest = max(self.deepest, depth_of(path))

    @property
    def touched_before(self) -> Touch | None:
        """The touch of CUDA, unless it is on a path that excludes this one."""
        touched = self.touched
        return touched if touched is None or compatible(touched.conditions, self.conditions) else None

    def take_names(self, other: State) -> None:
        """Let all names and paths hold what they hold at another point, from where nothing goes on."""
        self.env, self.paths, self.deepest = other.env, other.paths, other.deepest

    def copy(self) -> State:
        return State(
            dict(self.env),
            dict(self.paths),
            self.conditions,
            self.touched,
            self.without_accelerator,
            self.default_device,
            self.guarded,
            self.cuda_of,
            self.alive,
            self.tried,
            self.deepest,
        )


def depth_of(path: str) -> int:
    """How many attributes and items a path goes through: 2 for ``self.a['k']``."""
    return path.count(".") + path.count("[")


def one_of_few(choice: Choice) -> Value:
    """What is called of a choice, where that is not None: few alternatives, or else what they have in common."""
    there = without_none(choice)
    if len(there.alternatives) > _MAX_DISTRIBUTED:
        there = Choice(tuple(fewer(list(there.alternatives))))  # a test more, and a tensor is where it was
    return there if len(there.alternatives) <= _MAX_DISTRIBUTED else in_common(there)


_MAX_DISTRIBUTED = 3


def without_none(choice: Choice) -> Choice:
    """`choice` where it is not None, as what could not be imported is: reading an attribute of None ends the run."""
    there = tuple(each for each in choice.alternatives if each[1] != NONE)
    return Choice(there) if there and len(there) < len(choice.alternatives) else choice


def under_each(state: State, choice: Choice, transfer: Callable[[Value], Value]) -> Value:
    """Apply `transfer` to each alternative that is possible here, with its conditions added to the path's."""
    before = state.conditions
    results = []
    for conditions, each in alternatives(choice, before):
        state.conditions = extended(before, conditions)
        results.append((conditions, transfer(each)))
    state.conditions = before
    return choose(results)


def only(value: Value, kind: type) -> Any:
    """`value` if it is of that kind, or the one alternative that is; else None."""
    if isinstance(value, kind):
        return value
    found = [each for _, each in alternatives(value) if isinstance(each, kind)]
    return found[0] if len(found) == 1 and isinstance(value, Choice) else None
