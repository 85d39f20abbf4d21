"""Containers of modules that a method returns, and that a Module keeps (TDL102).

Where another place assigns what comes back, that place and the ``return`` belong together. A method that a class writes
for the ``__init__`` of a base, which keeps what it gives, is where the class itself chooses the container.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from torchdevlint.flow.checks.registration.contents import registers
from torchdevlint.flow.checks.registration.registered_beside import is_registered
from torchdevlint.flow.checks.registration.set_by_name import is_given_on
from torchdevlint.flow.events import Returned
from torchdevlint.flow.facts.modules import ModulesInContainer
from torchdevlint.flow.kinds.element_calls import calls_elements
from torchdevlint.flow.kinds.held_modules import held_in
from torchdevlint.flow.scope.assigned import assignments_by_path, values_by_target
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.others import OtherFiles, named
from torchdevlint.flow.state.values import Func, Map, Obj, Seq
from torchdevlint.source.nodes import assignments_in, is_inside, nodes_in, once_a_node


def returned_as(info: ClassInfo, place: ast.AST, others: OtherFiles | None) -> ast.expr | None:
    """What a method or function returns as the container that is assigned at `place`; None if it comes from none."""
    call, position = _call_at(info, place)
    if isinstance(call, ast.Subscript) and isinstance(call.slice, ast.Constant):
        position = call.slice.value if isinstance(call.slice.value, int) else None
        call = call.value
    function = _function(info, call, others) if isinstance(call, ast.Call) else None
    for each in nodes_in(function, ast.Return) if function is not None else ():
        value = each.value
        if position is not None:
            parts = value.elts if isinstance(value, ast.Tuple) else []
            value = parts[position] if -len(parts) <= position < len(parts) else None
        if value is not None and not registers(value) and getattr(value, "value", value) is not None:
            return value
    return None


def chosen_at(info: ClassInfo, place: ast.AST, others: OtherFiles | None) -> ast.AST:
    """Where a class chooses the container that is assigned at `place`: there, or where it returns it to a base."""
    if is_inside(place, info.node):
        return place
    returned = returned_as(info, place, others)
    own = returned is not None and is_inside(returned, info.node)
    return returned if returned is not None and own else place


def _call_at(info: ClassInfo, place: ast.AST) -> tuple[ast.expr | None, int | None]:
    """What is assigned at a place, and which part of it the place gets, if it is unpacked there."""
    for one in info.mro:
        whole = values_by_target(one.node).get(place)
        if whole is not None:
            return whole, None
        for each in assignments_in(one.node):
            target = each.targets[0]
            if isinstance(target, ast.Tuple) and place in target.elts:
                return each.value, target.elts.index(place)
    return None, None


def _function(info: ClassInfo, call: ast.Call, others: OtherFiles | None) -> ast.AST | None:
    path = dotted_path(call.func) or ""
    if path.startswith("self."):
        return info.all_methods.get(path.removeprefix("self."), (info, None))[1]
    found = named(info.found(call.func), call.func, others)
    return found.node if isinstance(found, Func) else None


def _note_returned(event: Returned) -> None:
    """``def _build_blocks(self): return [nn.Linear(4, 4)]``, of which a base keeps what comes back."""
    frame, value = event.frame, event.value
    info = frame.receiver.info if isinstance(frame.receiver, Obj) else None
    if info is None or not info.is_module or not any(isinstance(each, (Seq, Map)) for _, each in alternatives(value)):
        return
    name = getattr(frame.function, "name", "")
    if frame.function is None or info.methods.get(name) is not frame.function:
        return
    machine = frame.machine
    holds, given_on = held_in(value, others=machine.others), is_given_on(frame.function, event.node, event.node)
    for attribute in _kept_by_bases(info, name) if holds is not None else ():
        assert holds is not None
        called = any(calls_elements(each, attribute) for each in info.mro)
        if called and not (given_on or is_registered(info, attribute, event.node, machine.others)):
            kind = "dict" if any(isinstance(each, Map) for _, each in alternatives(value)) else "list"
            suggestion = f"nn.{'Module' if holds == 'modules' else 'Parameter'}{kind.capitalize()}"
            at = machine.span_of(event.node)
            fact = ModulesInContainer(at, attribute, info.name, kind, holds, suggestion, None)
            machine.record_anyway(("container", event.node), partial(_same, fact))


def _same(fact: ModulesInContainer) -> ModulesInContainer:
    return fact


def _kept_by_bases(info: ClassInfo, method: str) -> Iterator[str]:
    """The attributes by which the ``__init__`` of a base keeps what a method gives, and that nothing else assigns."""
    for base in info.mro[1:]:
        kept = _kept_from(base.methods["__init__"]).get(method, ()) if "__init__" in base.methods else ()
        for path in kept:
            if sum(len(assignments_by_path(one.node).get(path, ())) for one in info.mro) == 1:
                yield path.removeprefix("self.")


@once_a_node
def _kept_from(init: ast.AST) -> dict[str, list[str]]:
    """The attributes that a constructor assigns by method that gives them: ``self.blocks = self._build_blocks()``."""
    found: dict[str, list[str]] = {}
    for path, (each, *_) in assignments_by_path(init).items():
        callee = dotted_path(each.value.func) or "" if isinstance(each.value, ast.Call) else ""
        if path.startswith("self.") and callee.startswith("self.") and callee.count(".") == 1:
            found.setdefault(callee.removeprefix("self."), []).append(path)
    return found


EVENTS = {Returned: _note_returned}
