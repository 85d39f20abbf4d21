"""Wrappers around a Module: what they are as values, and on which GPU a `DataParallel` wants its model."""

from __future__ import annotations

import ast
from collections.abc import Container
from functools import lru_cache

from torchdevlint.flow.events import Wrapped
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import targets_by_value
from torchdevlint.flow.scope.names import dotted_path, public_path
from torchdevlint.flow.scope.two_arms import are_in_two_arms
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import TOP, Device, Origin, literal
from torchdevlint.flow.state.joins import alternatives, choose
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import UNKNOWN, Choice, Const, Dev, Func, Library, Obj, Seq, Value
from torchdevlint.flow.vouch.devices import remember
from torchdevlint.patterns import regex

_WRAPPERS = regex(r"[._]ddp$|[._]DDP$|\.(?:MM)?(?:Distributed)?DataParallel$")
"""How libraries and projects call what makes a `DataParallel`, a `DistributedDataParallel` or a class below them."""
DATA_PARALLEL = ("torch.nn.DataParallel", "torch.nn.parallel.DataParallel")


def wrap(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments) -> Value:
    """``DataParallel(model)`` and its kin: the model with a prefix before the keys of its state dict.

    A function that is compiled does what it did before.
    """
    inner = _not_wrapped_yet(frame, arguments.value(0, "module"), node, name)
    if name == "torch.compile" and not arguments.positional:
        return UNKNOWN
    if name == "torch.compile" and isinstance(inner, Func):
        return inner
    device = inner.device if isinstance(inner, (Library, Obj)) else TOP
    prefix = torch_api.WRAPPER_MODULES.get(name, "module.")
    if name not in DATA_PARALLEL:
        return Library(name, True, device, prefix, inner, made_at=node)
    remember(frame, state, node)
    wants, moves = _first_gpu(frame, state, node)
    wrapper = Library(name, True, wants if moves else device, prefix, inner, made_at=node, wants=wants)
    frame.machine.emit(Wrapped(frame, state, node, wrapper))
    return wrapper


def is_called_wrapper(frame: Frame, node: ast.Call, name: str) -> bool:
    """``model = smart_DDP(model)`` and ``model = MMDataParallel(model)``, of a file or library that is not seen."""
    if not node.args or not _is_name_of_wrapper(name):
        return False
    target = targets_by_value(frame.function or frame.machine.reading.tree_here).get(node)
    return target is not None and dotted_path(target) == dotted_path(node.args[0]) is not None


@lru_cache(maxsize=4096)
def _is_name_of_wrapper(name: str) -> bool:
    return _WRAPPERS.search(name) is not None and not name.startswith("torch.")


def _not_wrapped_yet(frame: Frame, model: Value, node: ast.Call, name: str) -> Value:
    """What an attribute held before a call wrapped it: what this very call gave is no part of it.

    Nor is what the other arm of a test wraps, nor a `DataParallel` that some paths alone have made, where a
    `DistributedDataParallel` is made, and the reverse: a process that drives all GPUs is none of several, whatever
    names the two conditions have.
    """
    others = _PARALLEL.difference((name.rpartition(".")[2],)) if name.endswith("DataParallel") else ()
    held = [each for each in alternatives(model) if not _is_of_other_arm(frame, each[1], node)]
    if not held:
        return UNKNOWN
    if len(held) == 1 and not isinstance(model, Choice):
        return model
    left = [each for each in held if not _is_left_out(each[1], node, others)]
    return choose(left or held)


def _is_left_out(value: Value, node: ast.Call, others: Container[str]) -> bool:
    return isinstance(value, Library) and (value.made_at is node or value.name.rpartition(".")[2] in others)


def _is_of_other_arm(frame: Frame, value: Value, node: ast.Call) -> bool:
    """Whether a wrapper is made in the other arm of a test that holds a place."""
    made_at = value.made_at if isinstance(value, Library) and value.prefix else None
    return made_at is not None and frame.function is not None and are_in_two_arms(frame.function, made_at, node)


_PARALLEL = frozenset({"DataParallel", "DistributedDataParallel"})


def _first_gpu(frame: Frame, state: State, call: ast.Call) -> tuple[Device | None, bool]:
    """The GPU on which a `DataParallel` wants its model, if that is sure: the first of its list, or of all.

    And whether the constructor moves the model there itself, as it does where the list has one.
    """
    if any(keyword.arg is None for keyword in call.keywords) or any(isinstance(e, ast.Starred) for e in call.args):
        return None, False
    given = device_ids(call)
    value = frame.evaluate(given, state) if given is not None else Const(None)
    if isinstance(value, Seq) and value.items:
        return named_gpu(value.items[0]), len(value.items) == 1
    is_all = given is None or value == Const(None) or is_all_gpus(given)
    return Device(Origin.LITERAL, "cuda", 0) if is_all else None, False


def has_one_gpu(module: Library) -> bool:
    """Whether a wrapper is told to use a single GPU: then it hands the call through."""
    ids = device_ids(module.made_at) if isinstance(module.made_at, ast.Call) else None
    return isinstance(ids, (ast.List, ast.Tuple)) and len(ids.elts) == 1


def scatters(module: Library) -> bool:
    """Whether a wrapper moves its inputs: DataParallel does, DistributedDataParallel if it is given a device."""
    tail = module.name.rpartition(".")[2]
    if tail == "DataParallel":
        return True
    call = module.made_at
    if tail != "DistributedDataParallel" or not isinstance(call, ast.Call):
        return False
    given = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg in (None, "device_ids"))]
    return any(not (isinstance(each, ast.Constant) and each.value is None) for each in given)


def device_ids(call: ast.Call) -> ast.expr | None:
    """The argument `device_ids`."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "device_ids"]
    return named[0] if named else call.args[1] if len(call.args) > 1 else None


def is_all_gpus(node: ast.expr) -> bool:
    """``list(range(torch.cuda.device_count()))``, also without the list."""
    called = []
    while isinstance(node, ast.Call) and len(node.args) <= 1:
        called.append(public_path(node.func))
        node = node.args[0] if node.args else node.func
    return called[-2:] == ["range", "torch.cuda.device_count"] and called[:-2] in ([], ["list"])


def named_gpu(value: Value) -> Device | None:
    """The GPU that a number, a string or a device names."""
    if isinstance(value, Const) and type(value.value) is int:
        return Device(Origin.LITERAL, "cuda", value.value)
    device = literal(value.value) if isinstance(value, Const) and isinstance(value.value, str) else None
    device = value.device if isinstance(value, Dev) else device
    known = device is not None and device.origin is Origin.LITERAL and device.name == "cuda"
    return device if known and device is not None and device.index is not None else None
