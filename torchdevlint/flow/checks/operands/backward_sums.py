"""Sums of the CPU that take up what a program sends backward: a loss is where its model is, whoever made it.

``total = torch.tensor(0.0)``, and in the loop ``loss.backward(); total += loss.detach()``. Where `loss` comes from need
not be known: nothing but a tensor with a gradient goes backward, and the sum is the output of the addition.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.events import Augmented, Mixed
from torchdevlint.flow.kinds.sizes import is_one_element
from torchdevlint.flow.scope.names import variable_of
from torchdevlint.flow.scope.programs import functions_of_program, mentions_accelerators
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.flow.state.devices import DEFAULT, Device, Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Step, Tensor, Unknown
from torchdevlint.source.nodes import assignments_in, nodes_in, once_a_node

_STAYS_A_TENSOR = frozenset("detach clone mean sum".split())
_LEAVES = frozenset("item cpu numpy tolist float".split())
"""Methods and functions whose result is a number, or on the CPU."""


def _note_sum(event: Augmented) -> None:
    """``total += loss``, where the total is one number of the CPU."""
    frame, state, node = event.frame, event.state, event.node
    loss = _loss_in(node.value)
    if loss is None or not isinstance(event.value, Unknown) or not isinstance(node.target, ast.Name):
        return
    if not isinstance(node.op, ast.Add) or frame.depth or state.guarded or not _may_be_elsewhere(frame):
        return
    scope: Scope = frame.function or frame.machine.tree
    sent = _sent_backward(scope).get(loss)
    total = state.env.get(node.target.id)
    if sent is None or not isinstance(total, Tensor) or not _is_sum_of_the_cpu(frame, total):
        return
    there = Device(Origin.EXPRESSION, f"{loss}.device")
    step = Step(f"`{loss}` goes backward here, from where its model is", sent)
    target = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
    pair = (target, total), (node.value, Tensor(there, 0, (), (step,)))
    frame.machine.emit(Mixed(frame, state, node, "`+=`", *pair, True))


def _loss_in(node: ast.expr) -> str | None:
    """The loss that is added as it is, detached, or scaled by something, by its name or as an attribute of `self`."""
    while (name := variable_of(node)) is None:
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
            node = node.left
        elif isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _STAYS_A_TENSOR:
            node = node.func.value
        else:
            return None
    return name


def _may_be_elsewhere(frame: Frame) -> bool:
    """Whether it is no part of a program whose file knows no accelerator."""
    machine = frame.machine
    alone = frame.function is None or frame.function in functions_of_program(machine.tree)
    return not alone or mentions_accelerators(machine.reading.source.text)


def _is_sum_of_the_cpu(frame: Frame, total: Tensor) -> bool:
    made_here = bool(total.creations) and all(site.scope == frame.scope for site in total.creations)
    return total.device == DEFAULT and made_here and (total.ndim == 0 or is_one_element(total))


@once_a_node
def _sent_backward(scope: Scope) -> dict[str, ast.Call]:
    """The variables of what a scope sends backward, with the calls; without those that later hold a number."""
    found: dict[str, ast.Call] = {}
    for call in nodes_in(scope, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
            scaled = call.func.value.args if isinstance(call.func.value, ast.Call) else []
            for each in (call.func.value, *scaled, *call.args[:1]):
                if (name := variable_of(each)) is not None:
                    found.setdefault(name, call)
    for assign in assignments_in(scope):
        if any(_leaves(each) for each in nodes_in(assign.value, ast.Call)):
            for target in assign.targets:
                found.pop(variable_of(target) or "", None)
    return found


def _leaves(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in _LEAVES


EVENTS = {Augmented: _note_sum}
