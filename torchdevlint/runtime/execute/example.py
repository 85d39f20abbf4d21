"""The user's own entry: a function of theirs builds what was flagged, and says what to call it with."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from torchdevlint.runtime.execute.errors import CannotBeginError
from torchdevlint.runtime.execute.slots import Slot
from torchdevlint.runtime.execute.target import Target, import_name
from torchdevlint.runtime.execute.values import Setting, named


class ExampleProgram:
    """`package.module:function` gives ``object, argument, ...`` or ``object, (arguments), {keywords}``."""

    def __init__(self, target: Target, factory: str) -> None:
        self.wanted = target.spans
        self.complete = True
        self.slots: list[Slot] = []
        try:
            self.factory = named(factory)
        except Exception as error:
            raise CannotBeginError(f"`{factory}` cannot be imported: {type(error).__name__}: {error}") from error

    def run(self, values: Mapping[str, Any], setting: Setting) -> tuple[Any, Any]:
        """What the object gives for its arguments, after all of them were moved."""
        torch.manual_seed(0)
        flagged, arguments, keywords = _parts(self.factory())
        if isinstance(flagged, torch.nn.Module):
            flagged = flagged.to(setting.modules)
        return flagged(*moved(arguments, setting), **moved(keywords, setting)), flagged


def programs(target: Target, examples: Mapping[str, str], paths: Sequence[str]) -> Iterator[ExampleProgram]:
    """The entries that are given for the class or the function of the finding. Raises CannotBeginError without one."""
    folder, module = import_name(target.path)
    sys.path[:0] = dict.fromkeys([str(folder), *paths])
    keys = [f"{module}:{name}" for place in target.places for name in _names(place.qualname)]
    found = [examples[key] for key in dict.fromkeys(keys) if key in examples]
    if not found:
        raise CannotBeginError(f"there is no example for {' or '.join(dict.fromkeys(keys)) or module}")
    for factory in found:
        yield ExampleProgram(target, factory)


def _names(qualname: str) -> tuple[str, ...]:
    owner, _, _ = qualname.partition(".")
    return (qualname, owner)


def _parts(built: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    if not isinstance(built, tuple):
        return built, (), {}
    flagged, *rest = built
    if rest and isinstance(rest[0], tuple) and len(rest) <= 2 and all(isinstance(each, dict) for each in rest[1:]):
        return flagged, rest[0], rest[1] if len(rest) > 1 else {}
    return flagged, tuple(rest), {}


def moved(value: Any, setting: Setting) -> Any:
    """Tensors and Modules in lists, tuples and dicts, moved to where the setting wants them."""
    if isinstance(value, torch.Tensor):
        return value.to(setting.tensors)
    if isinstance(value, torch.nn.Module):
        return value.to(setting.modules)
    if isinstance(value, dict):
        return {key: moved(each, setting) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(moved(each, setting) for each in value)
    return value
