"""Tensors that a factory makes on the CPU, and that are moved at once (TDL601)."""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchdevlint.flow.facts.transfers import FactoryThenMove
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.arguments import as_argument
from torchdevlint.flow.run.moves import method_device, to_device
from torchdevlint.flow.scope.names import dotted_path, mentions_device
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT, VALUELESS_TYPES, Origin, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Dtype, Tensor, Unknown, Value
from torchdevlint.source.nodes import nodes_in

_FACTORIES = frozenset(
    f"torch.{name}" for name in "zeros ones full empty arange eye linspace logspace tril_indices triu_indices".split()
)
"""What gives the same numbers wherever it runs."""
_KEEPS = torch_api.DTYPE_METHODS | frozenset(
    "view reshape unsqueeze squeeze expand permute transpose t flatten repeat type".split()
)
"""Methods between factory and move that work in any place."""
_NO_DEVICE = frozenset({"device", "out", "requires_grad", "pin_memory"})


def _move(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    machine = frame.machine
    if FactoryThenMove not in machine.wanted or not isinstance(receiver, Tensor) or len(receiver.creations) != 1:
        return
    site, callee = receiver.creations[0], node.func
    if receiver.device != DEFAULT or site.function not in _FACTORIES or not isinstance(callee, ast.Attribute):
        return
    made = _made_by(callee.value)
    if made is not site.node or made is None or (made.args[:1] and isinstance(made.args[0], ast.Starred)):
        return
    if any(each.arg is None or each.arg in _NO_DEVICE for each in made.keywords):
        return
    taken = _arguments(frame, node, callee.attr, arguments)
    if taken is None:
        return
    machine.record(
        ("moved", node),
        lambda: FactoryThenMove(
            machine.span_of(node),
            site.function,
            machine.text_of(made),
            f".{callee.attr}({', '.join(machine.text_of(each) for each in (*node.args, *node.keywords))})",
            taken,
            made is callee.value,
            machine.span_of(made),
            machine.span_of(callee.value),
            _clashes(frame, state, node, made, taken) or ("dtype=" in taken and made is not callee.value),
            _converts(callee.value),
        ),
        state,
    )


def _made_by(node: ast.expr) -> ast.Call | None:
    """The call that a chain of methods starts with, if none of them needs another tensor."""
    while isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in _KEEPS:
            return node
        node = node.func.value
    return None


def _clashes(frame: Frame, state: State, move: ast.Call, made: ast.Call, taken: str) -> bool:
    """Whether the factory is told a type that the move changes, or nothing says what the move is given."""
    if "dtype=" in taken:
        return any(each.arg == "dtype" for each in made.keywords)
    if not move.args or not isinstance(frame.evaluate(move.args[0], state), Unknown):
        return False
    return not mentions_device(frame.machine.text_of(move.args[0]).rpartition(".")[2])


def _converts(node: ast.expr) -> bool:
    """Whether a chain of methods changes the type of what it starts with."""
    calls = (node, *nodes_in(node, ast.Call))
    return any(
        isinstance(each, ast.Call)
        and isinstance(each.func, ast.Attribute)
        and each.func.attr in (*torch_api.DTYPE_METHODS, "type")
        for each in calls
    )


def _arguments(frame: Frame, node: ast.Call, method: str, arguments: Arguments) -> str | None:
    """``device=..`` for a factory that does the move's work, with ``dtype=..`` where it does that too."""
    device = to_device(frame, arguments) if method in ("to", "type_as") else method_device(frame, method, arguments)
    if "memory_format" in arguments.keywords:
        return None
    if device is None or device.origin is Origin.TOP or on_cpu(device) or device.name in VALUELESS_TYPES:
        return None
    text = frame.machine.text_of
    if method in torch_api.DEVICE_METHODS:
        given = arguments.get(0, "device")
        if given is None or device.origin is Origin.LITERAL:
            return f'device="{device.describe()}"'
        return f"device={as_argument(given[0], text(given[0]))}"
    first = arguments.keywords.get("device") or arguments.keywords.get("other") or arguments.positional[0]
    if isinstance(first[1], Tensor) or method == "type_as" or "other" in arguments.keywords:
        if dotted_path(first[0]) is None:
            return None
        return f"device={text(first[0])}.device, dtype={text(first[0])}.dtype"
    of_dtype = [each for each, value in arguments.pairs if isinstance(value, Dtype)]
    said = [("device", first[0]), *(("dtype", each) for each in of_dtype)]
    return ", ".join(f"{name}={as_argument(each, text(each))}" for name, each in said)


METHODS: dict[str, Callable[..., None]] = dict.fromkeys(("to", "type_as", *sorted(torch_api.DEVICE_METHODS)), _move)
