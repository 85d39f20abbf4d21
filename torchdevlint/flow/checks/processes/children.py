"""What functions do that are run in other processes than the one that starts them."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from torchdevlint.flow.run.functions import run_function
from torchdevlint.flow.scope.names import defaults, first_name
from torchdevlint.flow.state.devices import Device, Origin, on_cpu
from torchdevlint.flow.state.entries import Entry
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.touch import Touch
from torchdevlint.flow.state.values import (
    NONE,
    UNKNOWN,
    Choice,
    Closure,
    Const,
    Dev,
    Func,
    Library,
    Map,
    Obj,
    Partial,
    Record,
    Seq,
    Tensor,
    Value,
)
from torchdevlint.patterns import regex

FORKABLE = frozenset({"cuda", "xpu"})
"""Kinds of accelerators that a forked process cannot use once its parent did."""
_HOST = regex(r"cpu|host|offload", re.IGNORECASE)
_CONFIGURED = regex(r"(?<!len\()\bself\.|cuda|gpu|device|arg|opt|conf|cfg|flag|param", re.IGNORECASE)
"""Conditions that may tell one configuration of a program from another, and not one sample from another."""


def run_in_child(
    frame: Frame, node: ast.AST, function: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]
) -> tuple[Touch | None, Value]:
    """What a function does first with an accelerator in a process of its own, and what it gives; records nothing."""
    machine = frame.machine
    while isinstance(function, Partial):
        arguments = [*(value for _, value in function.positional), *arguments]
        keywords = {**{name: value for name, (_, value) in function.keywords}, **keywords}
        function = function.function
    if isinstance(function, Obj):
        function = function.info.method("__call__", function) or UNKNOWN
    if not isinstance(function, Func) or machine.in_child:
        return None, UNKNOWN
    receiver, entered = function.receiver, machine.entered.copy()
    outside = Frame(machine, Entry("function", ""), Closure(()), "", receiver=receiver, context="function")
    state = State({})
    machine.muted += 1
    try:
        if isinstance(receiver, Obj):
            _remake(outside, state, node, receiver)
        machine.in_child = True
        given = run_function(outside, state, node, function, arguments, keywords)
    finally:
        machine.in_child = False
        machine.muted -= 1
        machine.entered = entered
    return state.touched, given


def _remake(outside: Frame, state: State, node: ast.AST, made: Obj) -> None:
    """Let the state know what this instance has in its attributes, as ``__init__`` left it in the parent."""
    init = made.info.method("__init__", made)
    if init is not None and made.made_of is not None:
        positional, keywords = made.made_of
        run_function(outside, state, node, init, positional, dict(keywords))
        state.touched, state.conditions = None, ()


def depends_on_configuration(state: State) -> bool:
    """Whether a program comes here only if it is configured so, for all that is known."""
    return any(_CONFIGURED.search(key) for key, _ in state.conditions)


def needs_accelerator(frame: Frame, device: Device) -> bool:
    """Whether a child puts something on an accelerator that a forked process cannot use, if it comes here."""
    if device.origin is Origin.LITERAL:
        return device.name in FORKABLE
    return device.origin is Origin.EXPRESSION and not may_be_cpu(frame, device)


def is_placed(value: Value) -> TypeGuard[Tensor]:
    """Whether it is a tensor that was put on an accelerator which forks, and pinned memory, have to do with."""
    if not isinstance(value, Tensor) or not value.steps:
        return False
    if value.device.origin is Origin.LITERAL:
        return value.device.name in FORKABLE
    return value.device.origin is Origin.EXPRESSION and not _HOST.search(value.device.name)


def may_be_cpu(frame: Frame, device: Device) -> bool:
    """Whether an expression is called something of the CPU, or is an attribute that is given the CPU, or nothing.

    So is a parameter for which nothing has to be given.
    """
    if device.origin is not Origin.EXPRESSION:
        return False
    default = dict(defaults(frame.function)).get(device.name) if frame.function is not None else None
    if _HOST.search(device.name) or (isinstance(default, ast.Constant) and default.value in ("cpu", None)):
        return True
    receiver = frame.receiver
    if first_name(device.name) != "self" or not isinstance(receiver, Obj):
        return False
    name = device.name.partition(".")[2]
    held = [each.attributes[name] for each in receiver.info.mro if name in each.attributes]
    given = [each for value in held for _, each in alternatives(value)]
    if any(_is_cpu(each) or each == UNKNOWN for each in given):
        return True
    return NONE in given and not any(map(_is_literal, given))


def _is_cpu(value: Value) -> bool:
    return value == Const("cpu") or (isinstance(value, Dev) and on_cpu(value.device))


def _is_literal(value: Value) -> bool:
    if isinstance(value, Dev):
        return value.device.origin is Origin.LITERAL
    return isinstance(value, Const) and value != NONE


def placed_in(value: Value) -> Tensor | None:
    """A tensor on an accelerator that a value surely is, or holds as a container or data set; else None."""
    if isinstance(value, Tensor):
        return value if is_placed(value) else None
    if isinstance(value, Choice):
        found = [placed_in(each) for _, each in value.alternatives]
        return found[0] if all(each is not None for each in found) else None
    parts: Sequence[Value] = ()
    if isinstance(value, Seq):
        parts = (*value.items, *value.members) if value.items is not None else (*value.members, value.element)
    elif isinstance(value, Map):
        parts = (*(each for _, each in value.items), value.element)
    elif isinstance(value, Record):
        parts = [each for _, each in value.items]
    elif isinstance(value, Library) and not value.module:
        parts = value.children
    return next((tensor for each in parts if (tensor := placed_in(each)) is not None), None)
