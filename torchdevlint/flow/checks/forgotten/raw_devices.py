"""Devices that a function is told, and forgets for one of its moves, or takes where it has a default for them (TDL310).

``self.device = device or "cuda"``, and then ``self.to(device)``: where nobody tells a device, that moves nothing. And
``def cuda(self, device=None)`` that hands `device` on to ``super().cuda(device)``, but not to ``self.head.cuda()``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from torchdevlint.flow.checks.forgotten.unread_devices import is_dismissed
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.facts.devices import DeviceNotForwarded
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.names import defaults, dotted_path, last_name, mentions_device, parameter_names
from torchdevlint.flow.scope.none_tests import none_test
from torchdevlint.flow.scope.parameters import reads
from torchdevlint.flow.state.machine import Machine
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import arguments_of, assignments_in, inside, nodes_in

_MOVES = frozenset({"to", "cuda"})


def _look(event: FileEnded) -> None:
    machine = event.machine
    if not imports_torch(machine.tree):
        return
    owners = {function: owner.name for owner in nodes_in(machine.tree, ast.ClassDef) for function in owner.body}
    for function in functions_in(machine.tree):
        name = f"{owners[function]}.{function.name}" if function in owners else function.name
        for each in filter(mentions_device, sorted(parameter_names(function))):
            if not _is_decided(function, each):
                _note_fallback(machine, function, name, each)
                if function.name in _MOVES and function in owners:
                    _note_forgotten(machine, function, name, each)


def _is_decided(function: FunctionNode, name: str) -> bool:
    """Whether it binds the parameter again, or asks for it: ``if device is not None: self.to(device)``."""
    if any(each.id == name and not isinstance(each.ctx, ast.Load) for each in nodes_in(function, ast.Name)):
        return True
    tests: list[ast.If | ast.Assert] = [*nodes_in(function, ast.If), *nodes_in(function, ast.Assert)]
    return any(_reads(each.test, name) for each in tests)


def _reads(node: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in inside(node))


def _note_fallback(machine: Machine, function: FunctionNode, scope: str, name: str) -> None:
    """``self.device = device or "cuda"; self.to(device)``."""
    if not any(each == name and isinstance(at, ast.Constant) and at.value is None for each, at in defaults(function)):
        return
    kept = [
        (each.targets[0], each.value)
        for each in assignments_in(function)
        if len(each.targets) == 1 and mentions_device(last_name(each.targets[0])) and _falls_back(each.value, name)
    ]
    for target, value in kept[:1]:
        for call in _moves_in(function):
            given = arguments_of(call)
            if call.lineno > value.lineno and len(given) == 1 and dotted_path(given[0]) == name:
                text = machine.text_of(target)
                key = ("raw device", function, name)
                machine.record_anyway(key, partial(_fact, machine, call, scope, name, "fallback", text, text, value))
                return


def _falls_back(value: ast.expr, name: str) -> bool:
    """``device or x``, ``x if device is None else device``, ``device if device else x``."""
    for each in inside(value):
        if isinstance(each, ast.BoolOp) and isinstance(each.op, ast.Or) and dotted_path(each.values[0]) == name:
            return True
        if isinstance(each, ast.IfExp):
            asked = none_test(each.test)
            told = each.orelse if asked else each.body
            if (asked is not None or dotted_path(each.test) == name) and dotted_path(told) == name:
                return True
    return False


def _note_forgotten(machine: Machine, function: FunctionNode, scope: str, name: str) -> None:
    """``super().cuda(device); self.head.cuda()``; and ``return self.to()``, where nothing reads `device`."""
    calls = list(_moves_in(function))
    told = [each for each in calls if any(_reads(given, name) for given in arguments_of(each))]
    alone = not told and not reads(function, name) and not is_dismissed(machine, function, name)
    for call in calls:
        if not arguments_of(call) and (told or (alone and last_name(call.func) == "to")):
            first = told[0] if told else call
            text = machine.text_of(call)
            key = ("raw device", function, name)
            kind = "forgotten" if told else "dropped"
            machine.record_anyway(key, partial(_fact, machine, call, scope, name, kind, text, name, first))
            return


def _moves_in(function: FunctionNode) -> Iterator[ast.Call]:
    for call in nodes_in(function, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _MOVES:
            yield call


def _fact(
    machine: Machine, call: ast.Call, scope: str, name: str, kind: str, target: str, suggestion: str, beside: ast.AST
) -> DeviceNotForwarded:
    text = machine.text_of(call)
    return DeviceNotForwarded(
        machine.span_of(call), scope, name, kind, target, suggestion, machine.span_of(beside), text, True, False
    )


SAYING = ("dev", "Dev", "DEV")
EVENTS = {FileEnded: _look}
