"""Functions that PyTorch has deprecated in favour of ones for every device (TDL504, TDL505)."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from torchdevlint.flow.events import Decorated
from torchdevlint.flow.facts.portability import DefaultTensorType, DeprecatedAmp
from torchdevlint.flow.run.arguments import as_argument
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Const, Ref, Value
from torchdevlint.source.nodes import nodes_in, once_a_node

_AMP = {"autocast": (2, 4), "GradScaler": (2, 4), "custom_fwd": (2, 4), "custom_bwd": (2, 4)}
"""Names of ``torch.cuda.amp``, and the release that deprecated them."""
_MODULES = ("torch.cuda.amp", "torch.cuda.amp.autocast_mode", "torch.cuda.amp.grad_scaler")
_DEFAULT_TYPE = (2, 1)
_FOR_RELEASES = re.compile(r"version|hasattr|torch_?(?:ge|lt|gt|le|\d)|[a-z]_ge_|\bTORCH", re.IGNORECASE)
"""Tests that ask which release of torch is there."""
_DTYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
}
_TYPE = re.compile(r"torch\.(cuda\.)?(\w+)Tensor")


def _amp(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    _record_amp(frame, state, node, name.rpartition(".")[2], _replaced(frame, node, name.rpartition(".")[2]))


def _note_decorator(event: Decorated) -> None:
    """``@custom_fwd`` without a call; the others are calls."""
    head, _, tail = event.name.rpartition(".")
    if head in _MODULES and tail in _AMP:
        _record_amp(event.frame, event.state, event.node, tail, f'torch.amp.{tail}(device_type="cuda")')


def _record_amp(frame: Frame, state: State, node: ast.expr, name: str, replacement: str | None) -> None:
    machine = frame.machine
    if DeprecatedAmp not in machine.wanted or _for_older(frame, state, _AMP[name]) or _knows_successor(machine):
        return
    machine.record_anyway(
        ("deprecated", node),
        lambda: DeprecatedAmp(machine.span_of(node), name, machine.text_of(node), replacement),
    )


def _replaced(frame: Frame, node: ast.Call, name: str) -> str | None:
    """The call by its new name; its first argument was `enabled` for autocast, and is the device now."""
    if any(isinstance(each, ast.Starred) for each in node.args):
        return None
    text = frame.machine.text_of
    if name in _classes_asked_for(frame.machine.tree):
        return None
    positional = [text(each) for each in node.args]
    if name == "autocast" and positional:
        given = [as_argument(each, text(each)) for each in node.args]
        positional = [f"{keyword}={value}" for keyword, value in zip(_AUTOCAST, given, strict=False)]
    device = 'device_type="cuda"' if name.startswith("custom") else '"cuda"'
    rest = [*positional, *(text(each) for each in node.keywords)]
    if name.startswith("custom"):
        rest.append(device)
    else:
        rest.insert(0, device)
    return f"torch.amp.{name}({', '.join(rest)})"


@once_a_node
def _classes_asked_for(tree: ast.Module) -> frozenset[str]:
    """The last names of the classes that a file asks an object for: the new class is another one."""
    kinds: list[ast.expr] = [side for test in nodes_in(tree, ast.Compare) for side in (test.left, *test.comparators)]
    for call in nodes_in(tree, ast.Call):
        if dotted_path(call.func) in ("isinstance", "issubclass") and len(call.args) == 2:
            kinds += call.args[1].elts if isinstance(call.args[1], ast.Tuple) else [call.args[1]]
    return frozenset((dotted_path(each) or "").rpartition(".")[2] for each in kinds)


_AUTOCAST = ("enabled", "dtype", "cache_enabled")


def _knows_successor(machine: Machine) -> bool:
    """Whether the file uses ``torch.amp`` too: then it chooses by release."""
    imported = (each.module for each in nodes_in(machine.tree, ast.ImportFrom))
    return "torch.amp" in imported or any(
        dotted_path(each) == "torch.amp" for each in nodes_in(machine.tree, ast.Attribute)
    )


def _for_older(frame: Frame, state: State, since: tuple[int, int]) -> bool:
    """Whether the project, or a test around the place, is for releases before `since`."""
    target = re.match(r"(\d+)\.(\d+)", frame.machine.settings.target_torch or "")
    if target is not None and (int(target[1]), int(target[2])) < since:
        return True
    return any(_FOR_RELEASES.search(key) for key, _ in state.conditions)


def _default_type(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    machine = frame.machine
    if DefaultTensorType not in machine.wanted or _for_older(frame, state, _DEFAULT_TYPE):
        return
    value = arguments.value(0, "t")
    named = value.name if isinstance(value, Ref) else value.value if isinstance(value, Const) else None
    match = _TYPE.fullmatch(named) if isinstance(named, str) else None
    machine.record_anyway(
        ("deprecated", node),
        lambda: DefaultTensorType(machine.span_of(node), () if match is None else _same(match), machine.text_of(node)),
    )


def _same(match: re.Match[str]) -> tuple[str, ...]:
    """The calls that say the same as a type of tensors."""
    dtype = _DTYPES.get(match[2])
    if dtype is None:
        return ()
    of_dtype = () if match[1] and dtype == "float32" else (f"torch.set_default_dtype(torch.{dtype})",)
    return (*of_dtype, 'torch.set_default_device("cuda")') if match[1] else of_dtype


FUNCTIONS: dict[str, Callable[..., None]] = {
    **{f"{module}.{name}": _amp for module in _MODULES for name in _AMP},
    "torch.set_default_tensor_type": _default_type,
}


EVENTS = {Decorated: _note_decorator}
