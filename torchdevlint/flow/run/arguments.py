"""The arguments of one call, evaluated."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from torchdevlint.flow.run.flags import as_handed_on
from torchdevlint.flow.scope.names import dotted_path, mentions_device, names_of_item
from torchdevlint.flow.scope.signatures import takes
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import CPU, DEFAULT, TOP, Device, Origin, literal, on_cpu
from torchdevlint.flow.state.joins import alternatives, element_of, unpacked
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.others import owner_of
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import (
    UNKNOWN,
    Choice,
    Const,
    Dev,
    Dtype,
    Func,
    Map,
    Number,
    Ref,
    Seq,
    Tensor,
    Text,
    Unknown,
    Value,
)


def evaluate_arguments(frame: Frame, node: ast.Call, state: State) -> Arguments:
    arguments = Arguments([], {})
    for each in node.args:
        if not isinstance(each, ast.Starred):
            value = frame.evaluate(each, state)
            if type(value) is Const:
                value = as_handed_on(frame, each, value, state)
            arguments.positional.append((each, value))
            continue
        value = unpacked(frame.evaluate(each.value, state))
        if isinstance(value, Seq) and value.items is not None:
            arguments.positional += [(each.value, item) for item in value.items]
        else:
            arguments.star_at = None if arguments.starred else len(arguments.positional)
            arguments.starred = True
            if isinstance(value, Seq) or (isinstance(value, Tensor) and value.opaque):
                arguments.positional.append((each.value, element_of(value)))
            else:
                arguments.star_at = None
    for keyword in node.keywords:
        value = frame.evaluate(keyword.value, state)
        if keyword.arg is not None:
            if type(value) is Const:
                value = as_handed_on(frame, keyword.value, value, state)
            arguments.keywords[keyword.arg] = (keyword.value, value)
            continue
        arguments.double_starred = arguments.double_starred or not (isinstance(value, Map) and value.closed)
        if isinstance(value, Map):
            for key, item in value.items:
                if isinstance(key, str):
                    arguments.keywords.setdefault(key, (keyword.value, item))
        if arguments.double_starred:
            element = value.element if isinstance(value, Map) else value
            written = isinstance(value, Map) and bool(value.items)  # which may be all that it holds
            placed = isinstance(element, Tensor) or (isinstance(element, Unknown) and element.given is not None)
            known = placed and arguments.rest is None and not written
            arguments.rest = (keyword.value, element if known else UNKNOWN)
    return arguments


def is_tagged_choice(value: Value) -> TypeGuard[Choice]:
    """Whether a device depends on branches that were taken here, so that each alternative can be followed."""
    return isinstance(value, Choice) and all(
        conditions and isinstance(each, (Dev, Const)) for conditions, each in value.alternatives
    )


def as_device(frame: Frame, node: ast.expr, value: Value) -> Device:
    """The device that an argument in the place of a device names."""
    if isinstance(value, Dev):
        return value.device
    if isinstance(value, Const):
        if isinstance(value.value, str):
            return literal(value.value)
        if value.value is None:
            return DEFAULT
        return Device(Origin.LITERAL, "cuda", value.value) if isinstance(value.value, int) else TOP
    if isinstance(value, Number):
        return Device(Origin.EXPRESSION, _text(frame, node))
    if isinstance(value, Tensor):
        return value.device
    if isinstance(value, Ref) and names_a_device(value):
        return TOP if owner_of(frame.closure) is not None else Device(Origin.EXPRESSION, _text(frame, node))
    if isinstance(value, (Unknown, Text)) and owner_of(frame.closure) is not None:
        return literal("cuda") if _names_cuda(node) else TOP
    if isinstance(value, (Unknown, Choice, Text)):
        found = (
            {as_device(frame, node, each) for _, each in alternatives(value)} if isinstance(value, Choice) else set()
        )
        if TOP in found:
            return TOP
        if found and all(map(on_cpu, found)):
            return CPU
        return found.pop() if len(found) == 1 else Device(Origin.EXPRESSION, _text(frame, node))
    return TOP


def names_a_device(value: Ref) -> bool:
    """Whether it is what a file that is not seen calls a device: ``settings.device``, ``from config import DEVICE``."""
    return not value.name.startswith("torch.") and mentions_device(value.name.rpartition(".")[2])


def _names_cuda(node: ast.expr) -> bool:
    """Whether it is ``f"cuda:{n}"``: one GPU, whichever."""
    first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else None
    return isinstance(first, ast.Constant) and str(first.value).startswith("cuda")


def move_target(frame: Frame, node: ast.expr, value: Value) -> Device | None:
    """The device in ``t.to(value)``; None if it is a dtype, TOP if it may be either.

    Where a tensor of the default device is, there is no telling: who makes it elsewhere moves the other one too.
    """
    if isinstance(value, Dtype):
        return None
    if isinstance(value, (Dev, Tensor)) and value.creations:
        return TOP
    if isinstance(value, (Dev, Tensor, Number)) or (isinstance(value, Const) and isinstance(value.value, (str, int))):
        return as_device(frame, node, value)
    name = next(names_of_item(node))
    if "dtype" in name or "precision" in name:
        return None
    if isinstance(value, Choice):
        targets = {move_target(frame, node, each) for _, each in alternatives(value)}
        if targets == {None}:
            return None
        return Device(Origin.EXPRESSION, _text(frame, node)) if None not in targets and TOP not in targets else TOP
    if mentions_device(name) or name in ("rank", "local_rank", "gpu", "gpu_id"):
        return Device(Origin.EXPRESSION, _text(frame, node))
    return TOP


def _text(frame: Frame, node: ast.expr) -> str:
    return dotted_path(node) or frame.machine.text_of(node)


def as_argument(node: ast.expr, text: str) -> str:
    """The text of an expression as it may stand behind the ``=`` of a keyword argument."""
    return f"({text})" if isinstance(node, (ast.NamedExpr, ast.Yield, ast.YieldFrom)) else text


def does_not_fit(state: State, function: Func, values: Sequence[Value], keywords: Mapping[str, Value]) -> bool:
    """Whether a call raises TypeError by its arguments, so that nothing is run from here on."""
    count = len(values) + (function.receiver is not None)
    if function.plain and not takes(function.node, count, keywords):
        state.alive = False
        return True
    return False
