"""Containers of modules as attributes of a Module that other code puts together (TDL102).

``down = nn.Module()`` and ``down.block = [Block() for _ in range(n)]``: a Module registers what it is given so as it
does what its own class assigns.
"""

from __future__ import annotations

import ast
from functools import partial

from torchdevlint.flow.checks.registration.set_by_name import is_given_on
from torchdevlint.flow.events import AttributeAssigned
from torchdevlint.flow.facts.modules import ModulesInContainer
from torchdevlint.flow.kinds.held_modules import held_in
from torchdevlint.flow.scope.assigned import targets_by_value
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.spelling import spelled
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.values import Library, Map, Seq, Value
from torchdevlint.source.nodes import nodes_in

_OPEN = "torch.nn.Module"
"""What has no forward of its own is there to hold others."""


def _note_assigned(event: AttributeAssigned) -> None:
    frame, target, value = event.frame, event.node, event.value
    if not isinstance(event.receiver, Library):
        return
    if not any(isinstance(each, (Seq, Map)) for _, each in alternatives(value)):
        return
    machine, method, holder = frame.machine, frame.function, dotted_path(target.value)
    if event.receiver.name != _OPEN or method is None or holder is None or machine.reading.is_elsewhere:
        return
    if held_in(value, others=machine.others) != "modules":
        return
    written = next((each for each, at in targets_by_value(method).items() if at is target), None)
    if written is None or _is_meant(written) or is_given_on(method, written, target):
        return
    used = next((each for each in nodes_in(machine.tree, ast.Attribute) if _reads(each, target)), None)
    if used is not None:
        machine.record_anyway(("container", target), partial(_fact, machine, target, holder, value, used))


def _is_meant(value: ast.expr) -> bool:
    """Whether it hides one module, or lists parts that are attributes as well."""
    parts = value.elts if isinstance(value, (ast.List, ast.Tuple)) else getattr(value, "values", [])
    hides_one = len(parts) == 1 and isinstance(parts[0], ast.Name)
    return hides_one or any(isinstance(each, ast.Attribute) for each in parts)


def _reads(node: ast.Attribute, target: ast.Attribute) -> bool:
    return node.attr == target.attr and isinstance(node.ctx, ast.Load)


def _fact(
    machine: Machine, target: ast.Attribute, holder: str, value: Value, used: ast.Attribute
) -> ModulesInContainer:
    is_dict = any(isinstance(each, Map) for _, each in alternatives(value))
    suggestion = "nn.ModuleDict" if is_dict else "nn.ModuleList"
    return ModulesInContainer(
        machine.span_of(target),
        target.attr,
        "Module",
        "dict" if is_dict else "list",
        "modules",
        suggestion,
        machine.span_of(used),
        spelled=spelled(machine.tree, f"torch.{suggestion}"),
        holder=holder,
    )


EVENTS = {AttributeAssigned: _note_assigned}
