"""The arms of ``x.is_cuda``: which alternatives of `x` are left where it is on an accelerator."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.tested_places import asked_off_host
from torchdevlint.flow.state.conditions import extended
from torchdevlint.flow.state.devices import on_cpu
from torchdevlint.flow.state.joins import alternatives, choose
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Choice, Tensor


def asks_for_cuda(test: ast.expr) -> bool:
    """``x.is_cuda``, ``not x.is_cuda``, ``x.device.type == "cuda"``."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    return any(asked_off_host(test, outcome) is not None for outcome in (True, False))


def refine_cuda(frame: Frame, test: ast.expr, holds: State | None, fails: State | None) -> None:
    """Where ``x.is_cuda`` holds, `x` is none of its alternatives that are on the CPU."""
    if not isinstance(test, (ast.Attribute, ast.Compare)):
        return
    for arm, outcome in ((holds, True), (fails, False)):
        tensor = asked_off_host(test, outcome) if arm is not None else None
        path = dotted_path(tensor) if tensor is not None else None
        if arm is None or tensor is None or path is None:
            continue
        value = frame.evaluate(tensor, arm)
        if type(value) is not Choice:
            continue
        held = alternatives(value, arm.conditions)
        left = [each for each in held if not (type(each[1]) is Tensor and on_cpu(each[1].device))]
        if not left:
            arm.alive = False
        elif len(left) < len(held):
            if len(left) == 1:
                arm.conditions = extended(arm.conditions, left[0][0])
            (arm.env if path in arm.env else arm.paths)[path] = choose(left)
