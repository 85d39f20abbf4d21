"""The calls of targets that a process makes, with their arguments and receivers, as descriptions.

A profile function (`sys.setprofile`) is told of every call, and changes nothing: neither classes nor functions are
wrapped. What an object was constructed with is described as its ``__init__`` begins.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

from torchdevlint.runtime.execute.called import BEFORE, METHOD, MODULE, RECEIVER, Callee, Description, Values, as_call
from torchdevlint.runtime.execute.described import UndescribedError, described, path_of
from torchdevlint.runtime.execute.values import named

FROM_OUTSIDE, FROM_INSIDE = 3, 2
"""Calls that are kept of one target: those that code outside of the project makes, and its own."""
MOST_BEFORE = 4
MOST_MADE = 2
MOST_LOOKS = 400
"""Calls of one function that are looked at."""
LONGEST, LARGEST = 6_000, 900_000
_TORCH = f"{Path(torch.__file__).resolve().parent}{os.sep}"
_OF_TORCH = ("torch.distributions.", "torch.optim.", "torch.utils.data.")
_IGNORED, _CONSTRUCTOR = object(), object()
_NUMBERS = re.compile(r'"(data|low|high)": (\[[^]]*\]|[^,}]*)')


@dataclass(slots=True)
class _Object:
    """An object whose construction was seen; `before` are the calls that it got from outside."""

    one: Callable[[], Any]
    description: Description | None
    before: list[Description] = field(default_factory=list)


@dataclass(slots=True)
class _Kept:
    """What is kept of one target, without two of the same shapes."""

    outside: dict[str, Values] = field(default_factory=dict)
    inside: dict[str, Values] = field(default_factory=dict)


class Seen:
    """While entered, remembers the calls of targets; a context manager."""

    def __init__(self, targets: Sequence[Callee], root: str) -> None:
        self.root = root
        self._targets: dict[tuple[str, int], list[Callee]] = {}
        for target in targets:
            self._targets.setdefault((os.path.realpath(target.filename), target.line), []).append(target)
        self._packages = {target.module.partition(".")[0] for target in targets}
        self._codes: dict[CodeType, Any] = {}
        self._ours: dict[str, bool] = {}
        self._looks = Counter[CodeType]()
        self._objects: dict[int, _Object] = {}
        self._calls: dict[str, _Kept] = {}
        self._made: dict[str, dict[str, Description]] = {}
        self.on_change: Callable[[], None] | None = None
        """Called after a call was kept."""

    def __enter__(self) -> Seen:
        threading.setprofile(self._event)
        sys.setprofile(self._event)
        return self

    def __exit__(self, *_exc_info: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def told(self) -> dict[str, Any]:
        """The calls by the name of their target, and how classes were constructed, as plain data of bounded size."""
        calls: dict[str, list[Values]] = {}
        made: dict[str, list[Description]] = {}
        left = LARGEST
        for path, found in sorted(self._made.items()):
            left -= sum(map(len, found))
            if left > 0:
                made[path] = list(found.values())
        for name, kept in sorted(self._calls.items()):
            left -= sum(map(len, (*kept.outside, *kept.inside)))
            if left > 0:
                calls[name] = [*kept.outside.values(), *kept.inside.values()]
        return {"calls": calls, "made": made}

    def _event(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        known = self._codes.get(code)
        if known is None:
            known = self._codes[code] = self._known(code)
        if known is _IGNORED:
            return
        try:
            if known is _CONSTRUCTOR:
                self._construct(frame)
            else:
                self._call(frame, known)
        except UndescribedError:
            pass
        except Exception:  # noqa: BLE001 (properties and tensors of the user's may raise anything when looked at)
            self._codes[code] = _IGNORED

    def _known(self, code: CodeType) -> Any:
        if code.co_name == "__init__" and code.co_argcount:
            return _CONSTRUCTOR
        path = os.path.realpath(code.co_filename)
        return self._targets.get((path, code.co_firstlineno), _IGNORED)

    def _construct(self, frame: FrameType) -> None:
        code = frame.f_code
        one = frame.f_locals.get(code.co_varnames[0])
        cls = type(one)
        if not self._is_of_interest(cls):
            return
        known = self._objects.get(id(one))
        if known is not None and known.one() is one:
            return  # the constructor of a base class
        try:
            holder: Callable[[], Any] = weakref.ref(one)
        except TypeError:
            holder = lambda: one  # noqa: E731
        kept = self._objects[id(one)] = _Object(holder, None)
        function = inspect.unwrap(cls.__init__)  # type: ignore[misc]
        given = self._given(frame, 1, function if getattr(function, "__code__", None) is code else None)
        description: Description = {"is": "instance", "of": path_of(cls), **as_call(given)}
        if isinstance(one, torch.nn.Module):
            description["module"] = True
        kept.description = description
        text = json.dumps(description)
        if len(text) <= LONGEST and cls.__module__.partition(".")[0] in self._packages:
            found = self._made.setdefault(path_of(cls), {})
            if len(found) < MOST_MADE:
                found.setdefault(_NUMBERS.sub("", text), description)

    def _is_of_interest(self, cls: type) -> bool:
        name = cls.__module__
        of_torch = issubclass(cls, torch.nn.Module) or name.startswith(_OF_TORCH)
        return of_torch or name.partition(".")[0] in self._packages

    def _made_by(self, one: Any) -> Description | None:
        known = self._objects.get(id(one))
        if known is not None and known.one() is one:
            return known.description
        cls = type(one)
        if cls.__init__ is object.__init__ and cls.__module__.partition(".")[0] in self._packages:
            return {"is": "instance", "of": path_of(cls), "with": {}}
        return None

    def _call(self, frame: FrameType, targets: Sequence[Callee]) -> None:
        code = frame.f_code
        self._looks[code] += 1
        if self._looks[code] > MOST_LOOKS:
            self._codes[code] = _IGNORED
        found = self._chosen(frame, targets)
        if found is None:
            return
        target, function, receiver = found
        skip = 0 if function is None or isinstance(function, staticmethod) or target.kind not in (METHOD, MODULE) else 1
        values: dict[str, Description] = {}
        if receiver is not None:
            made = self._made_by(receiver)
            if made is None:
                raise UndescribedError("an object whose construction was not seen")
            values[RECEIVER] = made
        plain = inspect.unwrap(getattr(function, "__func__", function)) if function is not None else None
        given = self._given(frame, skip, plain)
        outside = self._is_from_outside(frame)
        self._keep(target, {**values, **given}, outside)
        known = self._objects.get(id(receiver)) if receiver is not None else None
        if known is not None and target.kind == METHOD and known.before:
            before = {f"{BEFORE}{number}": one for number, one in enumerate(known.before)}
            self._keep(target, {**values, **before, **given}, outside)
        if known is not None and outside and len(known.before) < MOST_BEFORE:
            method = target.qualname.partition(".")[2] or "forward"
            known.before.append({"is": "call", "method": method, **as_call(given)})

    def _chosen(self, frame: FrameType, targets: Sequence[Callee]) -> tuple[Callee, Any, Any] | None:
        """The target that is called, its function, and the receiver if it has one."""
        first = targets[0]
        if first.kind not in (METHOD, MODULE):
            return first, _attribute(sys.modules.get(first.module), first.qualname), None
        names = frame.f_code.co_varnames
        receiver = frame.f_locals.get(names[0]) if frame.f_code.co_argcount else None
        for target in targets:
            owner = named(f"{target.module}:{target.qualname.partition('.')[0]}")
            function = inspect.getattr_static(owner, target.qualname.partition(".")[2] or "forward", None)
            if isinstance(function, (staticmethod, classmethod)):
                return target, function, None
            if type(receiver) is owner or (isinstance(receiver, owner) and target is targets[-1]):
                return target, function, receiver
        return None

    def _given(self, frame: FrameType, skip: int, function: Any) -> Values:
        """The arguments of a call, those left at their default without. Raises UndescribedError."""
        code, names = frame.f_code, frame.f_code.co_varnames
        values = frame.f_locals
        last = code.co_argcount + code.co_kwonlyargcount
        rest = names[last] if code.co_flags & inspect.CO_VARARGS else ""
        more = names[last + bool(rest)] if code.co_flags & inspect.CO_VARKEYWORDS else ""
        starred = bool(rest and values[rest])
        defaults = {} if starred or function is None else _defaults(function)
        found: dict[str, Description] = {}

        def take(each: Sequence[str]) -> None:
            for name in each:
                if name not in defaults or not _is_default(values[name], defaults[name]):
                    found[name] = described(values[name], self._made_by)

        take(names[skip : code.co_argcount])
        if starred:
            found[f"*{rest}"] = described(tuple(values[rest]), self._made_by)
        take(names[code.co_argcount : last])
        if more and values[more]:
            found[f"**{more}"] = described(dict(values[more]), self._made_by)
        return found

    def _is_from_outside(self, frame: FrameType) -> bool:
        caller = frame.f_back
        while caller is not None and caller.f_code.co_filename.startswith(_TORCH):
            caller = caller.f_back
        if caller is None:
            return True
        path = caller.f_code.co_filename
        ours = self._ours.get(path)
        if ours is None:
            ours = self._ours[path] = os.path.realpath(path).startswith(self.root)
        return not ours

    def _keep(self, target: Callee, values: Values, outside: bool) -> None:
        text = json.dumps(values)
        if len(text) > LONGEST:
            return
        kept = self._calls.setdefault(target.name, _Kept())
        group, most = (kept.outside, FROM_OUTSIDE) if outside else (kept.inside, FROM_INSIDE)
        key = _NUMBERS.sub("", text)
        if key not in kept.outside and key not in kept.inside and len(group) < most:
            group[key] = values
            if self.on_change is not None:
                self.on_change()


def _attribute(module: Any, qualname: str) -> Any:
    found = module
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def _defaults(function: Any) -> Mapping[str, Any]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {one.name: one.default for one in parameters if one.default is not one.empty}


def _is_default(given: Any, default: Any) -> bool:
    if given is default:
        return True
    return type(given) is type(default) and isinstance(given, (bool, int, float, str)) and bool(given == default)
