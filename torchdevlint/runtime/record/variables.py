"""What the user's code calls the operands of an operation that fails: the variables in which they are.

An operand is looked for by identity, and by the bytes that it shares, from the frame that the error is reported at: in
its variables, in attributes, in containers, in the parameters and buffers of Modules. What is found nowhere, such as a
value in the middle of an expression, has no name here.
"""

from __future__ import annotations

import contextlib
import linecache
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import FrameType, FunctionType, ModuleType
from typing import Any

import torch

from torchdevlint.runtime.record.recorder import UNREGISTERED, UNTOLD, OperandStory
from torchdevlint.runtime.record.sites import user_frame

DEPTH = 3
LARGEST = 64
"""Items of one container that are looked at."""
MOST = 20_000
"""Values that are looked at for one error."""
_PLAIN = (ModuleType, FunctionType, type, str, bytes, int, float, complex, torch.device, torch.dtype)


def named(stories: Sequence[OperandStory], tensors: Sequence[torch.Tensor]) -> list[OperandStory]:
    """`stories` of `tensors`, one for each, with the variables that hold them, and whose they are."""
    found = list(stories)
    with contextlib.suppress(Exception):  # the objects are the program's own: anything may go wrong
        frame = user_frame()
        if frame is None:
            return found
        held = list(_variables(frame))
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        found = [_named(one, tensor, held, line) for one, tensor in zip(stories, tensors, strict=True)]
    return found


def _named(
    story: OperandStory, tensor: torch.Tensor, held: Sequence[tuple[str, torch.Tensor, str]], line: str
) -> OperandStory:
    storage = _storage(tensor)
    same = [one for one in held if one[1] is tensor or (storage is not None and _storage(one[1]) == storage)]
    if not same:
        return story
    said = frozenset(re.findall(r"\w+", line))
    name = min(same, key=lambda one: (not _says(line, said, one[0]), _root(one[0]) not in said, one[1] is not tensor))[
        0
    ]
    owner = next((owner for _, _, owner in same if owner == UNREGISTERED), "") or story.owner
    owner = owner or next((owner for _, _, owner in same if owner), "")
    return replace(story, variable=name, owner=owner)


def _says(line: str, words: frozenset[str], name: str) -> bool:
    return name in words if name.isidentifier() else name in line


def _root(name: str) -> str:
    return re.split(r"[.\[]", name, maxsplit=1)[0]


def _variables(frame: FrameType) -> Iterator[tuple[str, torch.Tensor, str]]:
    """Name, tensor, and whose it is, of all tensors that the code of `frame` can name; its own variables first."""
    scopes = [frame.f_locals] if frame.f_locals is frame.f_globals else [frame.f_locals, frame.f_globals]
    seen = 0
    for scope in scopes:
        for name, value in list(scope.items()):
            if name.startswith("__"):
                continue
            for found in _inside(name, value, DEPTH, ""):
                yield found
                seen += 1
                if seen > MOST:
                    return


def _inside(name: str, value: Any, depth: int, owner: str) -> Iterator[tuple[str, torch.Tensor, str]]:
    if isinstance(value, torch.Tensor):
        yield name, value, owner or ("parameter" if isinstance(value, torch.nn.Parameter) else "")
    elif not depth or isinstance(value, _PLAIN) or value is None:
        return
    elif isinstance(value, torch.nn.Module):
        yield from _of_module(name, value, depth, owner)
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value[:LARGEST]):
            yield from _inside(f"{name}[{number}]", item, depth - 1, owner)
    elif isinstance(value, dict):
        for key, item in list(value.items())[:LARGEST]:
            yield from _inside(f"{name}[{_key(key)}]", item, depth - 1, owner)
    else:
        for attribute, item in list(getattr(value, "__dict__", {}).items())[:LARGEST]:
            yield from _inside(f"{name}.{attribute}", item, depth - 1, owner)


def _of_module(name: str, module: torch.nn.Module, depth: int, owner: str) -> Iterator[tuple[str, torch.Tensor, str]]:
    """What is registered, and what its Modules have as plain attributes, with Modules in containers."""
    for path, parameter in torch.nn.Module.named_parameters(module):
        yield f"{name}{_written(path)}", parameter, owner or "parameter"
    for path, buffer in torch.nn.Module.named_buffers(module):
        yield f"{name}{_written(path)}", buffer, owner or "buffer"
    for path, inner in torch.nn.Module.named_modules(module):
        at = f"{name}{_written(path)}" if path else name
        for attribute, value in list(vars(inner).items()):
            if attribute.startswith("_") or isinstance(value, torch.nn.Module):
                continue
            contained = UNREGISTERED if isinstance(value, (list, tuple, dict)) else owner
            for found in _inside(f"{at}.{attribute}", value, depth - 1, contained):
                is_parameter = isinstance(found[1], torch.nn.Parameter)
                yield found if is_parameter else (found[0], found[1], owner)


def _key(key: Any) -> str:
    """A key as one writes it; an object, such as a parameter, may say anything of itself."""
    if isinstance(key, str) and key.isprintable() and '"' not in key:
        return f'"{key}"'
    return repr(key) if type(key) in (str, int, bool) else UNTOLD


def _written(path: str) -> str:
    """``.0.weight`` of a Module's path as one writes it: ``[0].weight``."""
    return "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in path.split("."))


def _storage(tensor: torch.Tensor) -> int | None:
    try:
        return int(torch._C.TensorBase.untyped_storage(tensor)._cdata)
    except (NotImplementedError, RuntimeError, ValueError):
        return None  # sparse, or a wrapper of functorch
