"""Assignments to attributes of a Module that can register what they assign, without anything else changing."""

from __future__ import annotations

import ast

from torchdevlint.flow.run.built_of_own import registers_by_name
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.joins import alternatives, is_module
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.tensors import tensors_in
from torchdevlint.flow.state.values import NONE, Site, Tensor
from torchdevlint.model import Span
from torchdevlint.source.nodes import Assignment, assignments_in, nodes_in, once_a_node


def only_assignment(info: ClassInfo, attribute: str) -> Assignment | None:
    """The assignment to an attribute, if it is the only one, and the Module is ready for it.

    The class has no other attribute of that name, which would be in the way, and has called ``__init__`` of its base.
    """
    written = [each for one in info.mro for each in _written(one.node).get(attribute, ())]
    if len(written) != 1 or attribute in info.all_methods or any(_names(one, attribute) for one in info.mro):
        return None
    for one in info.mro:
        for name, method in one.methods.items():
            for assign in assignments_in(method):
                if assign.targets == written:
                    return assign if name != "__init__" or _is_ready(method, assign.node) else None
    return None


@once_a_node
def _written(owner: ast.ClassDef) -> dict[str, list[ast.Attribute]]:
    """What the text of a class assigns to attributes of `self`, or deletes."""
    found: dict[str, list[ast.Attribute]] = {}
    for each in nodes_in(owner, ast.Attribute):
        if isinstance(each.value, ast.Name) and each.value.id == "self" and not isinstance(each.ctx, ast.Load):
            found.setdefault(each.attr, []).append(each)
    return found


def _names(info: ClassInfo, attribute: str) -> bool:
    """Whether the body of a class binds a name."""
    targets = [target for each in info.node.body if isinstance(each, ast.Assign) for target in each.targets]
    targets += [each.target for each in info.node.body if isinstance(each, ast.AnnAssign) and each.value is not None]
    return any(isinstance(each, ast.Name) and each.id == attribute for each in targets)


def _is_ready(init: ast.AST, statement: ast.stmt | ast.expr) -> bool:
    """Whether ``super().__init__()``, or ``Base.__init__(self)``, stands before a statement."""
    called = (each for each in nodes_in(init, ast.Call) if isinstance(each.func, ast.Attribute))
    return any(each.func.attr == "__init__" and each.lineno < statement.lineno for each in called)  # type: ignore[attr-defined]


def kept_by(machine: Machine, attribute: str, site: Site) -> tuple[str, Span] | None:
    """The text and place of the assignment that keeps the tensor made at `site`, where it can register a buffer."""
    for info in machine.classes.values():
        value = info.attributes.get(attribute)
        if value is None or not info.is_module or not any(site in each.creations for each in tensors_in(value)):
            continue
        held = [each for _, each in alternatives(value)]
        if all(each == NONE or (isinstance(each, Tensor) and not each.parameter) for each in held):
            assign = only_assignment(info, attribute)
            return None if assign is None else (machine.text_of(assign.node), machine.span_of(assign.node))
    return None


def attribute_of(machine: Machine, site: Site) -> tuple[str, bool] | None:
    """The attribute of a Module of this file that holds the tensor made at `site`, and whether it is that tensor.

    What is in a list, a dict or a distribution is held, but is not the attribute itself.

    None for a class that overrides how it is moved in a way that may move it along.
    """
    held = [
        (_assigned_before(info.assigned_at.get(name), site), name, value)
        for info in machine.classes.values()
        if info.is_module
        for name, value in info.attributes.items()
        if any(site in tensor.creations and not tensor.parameter for tensor in tensors_in(value))
        and not may_move_along(info, name)
    ]
    if not held:
        return None
    _, name, value = max(held, key=lambda each: each[0])
    return name, any(isinstance(each, Tensor) for _, each in alternatives(value))


def _assigned_before(target: ast.AST | None, site: Site) -> int:
    """The line of an assignment, if it is not after the tensor was made: the nearest one is that of the tensor."""
    line = getattr(target, "lineno", 0)
    return line if line <= getattr(site.node, "lineno", 0) else -1


_MOVERS = ("_apply", "to", "cuda")
_ANY = frozenset({"setattr", "getattr", "vars", "__dict__", "__setattr__"})
_HANDS_ON = frozenset({*_MOVERS, "cpu", "float", "half", "double", "modules", "children", "parameters", "buffers"})


def may_move_along(info: ClassInfo, attribute: str) -> bool:
    """Whether the class overrides ``to`` and its kin in a way that may move an attribute that no Module registers.

    One that names what it moves, and not this, does not: ``super().to(device); self.mean = self.mean.to(device)``.
    """
    return any(_may_move(info.all_methods[name][1], attribute) for name in _MOVERS if name in info.all_methods)


def _may_move(mover: ast.AST, attribute: str) -> bool:
    words = {each.attr for each in nodes_in(mover, ast.Attribute)} | {each.id for each in nodes_in(mover, ast.Name)}
    if attribute in words or words & _ANY:
        return True
    own = (dotted_path(each.func) or "" for each in nodes_in(mover, ast.Call))
    return any(path.startswith("self.") and path.rpartition(".")[2] not in _HANDS_ON for path in own)


def is_part(info: ClassInfo, attribute: str) -> bool:
    """Whether an attribute is registered, so that it moves with its Module: a part, a Parameter, or what is called."""
    held = [value for one in info.mro if (value := one.attributes.get(attribute)) is not None]
    parts = [each for value in held for _, each in alternatives(value)]
    if any(is_module(each) or (isinstance(each, Tensor) and each.parameter) for each in parts):
        return True
    return any(registers_by_name(one, attribute) for one in info.mro) or _is_called(info, attribute)


def _is_called(info: ClassInfo, attribute: str) -> bool:
    """``self.encoder(x)``, of what was given to the Module."""
    calls = (call.func for one in info.mro for call in nodes_in(one.node, ast.Call))
    return any(isinstance(each, ast.Attribute) and dotted_path(each) == f"self.{attribute}" for each in calls)
