"""What a Module does not register: modules and parameters in Python containers."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import partial

from msgspec.structs import replace

from torchdevlint.flow.checks.registration import contents
from torchdevlint.flow.checks.registration.argument_modules import holds_argument_modules
from torchdevlint.flow.checks.registration.element_moves import moves_elements
from torchdevlint.flow.checks.registration.filled_later import is_filled_later
from torchdevlint.flow.checks.registration.foreign_layers import holds_foreign_layers
from torchdevlint.flow.checks.registration.registered_beside import assignments, is_registered
from torchdevlint.flow.checks.registration.registered_parameters import has_parameters_of, is_kept_apart
from torchdevlint.flow.checks.registration.registering import only_assignment
from torchdevlint.flow.checks.registration.returned_containers import chosen_at, returned_as
from torchdevlint.flow.events import AttributeRefused, Initialised, ItemAssigned
from torchdevlint.flow.facts.modules import ModulesInContainer
from torchdevlint.flow.kinds.held_modules import held_in, parts_of
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.constant_modules import is_constant
from torchdevlint.flow.scope.assigned import targets_by_value, values_by_target
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.scope.spelling import spelled
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.others import OtherFiles
from torchdevlint.flow.state.values import (
    NONE,
    UNKNOWN,
    Choice,
    Library,
    Map,
    Obj,
    Seq,
    Unknown,
    Value,
)
from torchdevlint.source.nodes import assignments_in, nodes_in


class _Memory:
    """What is put into the dicts that Modules keep, under keys that are worked out: by class and attribute."""

    def __init__(self) -> None:
        self.put: dict[tuple[ClassInfo, str], list[Value]] = {}


def _note_item(event: ItemAssigned) -> None:
    """``self.layers[f"conv_{i}"] = nn.Conv2d(..)``: a dict forgets what is under such keys where that differs."""
    path, frame = dotted_path(event.node.value) or "", event.frame
    if frame.entry.kind == "init" and isinstance(event.base, Map) and isinstance(frame.receiver, Obj):
        put = frame.machine.memory(_Memory).put.setdefault((frame.receiver.info, path.removeprefix("self.")), [])
        put += [event.value] if len(put) < _MOST_PUT else []


_MOST_PUT = 8


def _note_refused(event: AttributeRefused) -> None:
    """A list or dict of modules is assigned where the attribute holds a module: that raises."""
    machine, info, target, value = event.frame.machine, event.receiver.info, event.node, event.value

    def make() -> ModulesInContainer:
        fact = _fact(machine, info, target.attr, target, _kind(info, target, value), "modules", None, value)
        return replace(fact, instead_of=machine.span_of(info.assigned_at[target.attr]))

    machine.record_anyway(("container", target), make)


def _note_initialised(event: Initialised) -> None:
    """After what builds a Module: the attributes with lists or dicts of modules which nothing registers (TDL102)."""
    machine, info, state = event.machine, event.info, event.state
    if info.is_module or contents.is_composite(info):
        own = ((each.removeprefix("self."), value) for each, value in state.paths.items() if each.startswith("self."))
        look_at(machine, info, event.method, own)


def look_at(machine: Machine, info: ClassInfo, method: str, held: Iterable[tuple[str, Value]]) -> None:
    """Look at what attributes hold after a method that builds them."""
    for attribute, value in held:
        if attribute not in info.assigned_at:
            continue
        value = _where_assigned(info, attribute, value)
        holds = held_in(_with_put(machine, info, attribute, value), others=machine.others) if info.is_module else None
        if holds is None or _is_meant_there(info, _place_of(info, attribute)):
            kind = _told_by_text(info, attribute, value, machine.others)
            if kind is None:
                continue
            holds = "modules"
        else:
            kind = _kind(info, _place_of(info, attribute), value)
        place = _place_of(info, attribute)
        used = _first_read(info, attribute, method)
        if used is None or is_registered(info, attribute, place, machine.others):
            continue
        if is_kept_apart(info, attribute) or has_parameters_of(info, attribute, value, machine.others):
            continue
        if moves_elements(info, attribute, kind) and _holds_constants(value):
            continue
        key = ("container", chosen_at(info, place, machine.others))
        machine.record_anyway(key, partial(_fact, machine, info, attribute, place, kind, holds, used, value))


def _with_put(machine: Machine, info: ClassInfo, attribute: str, value: Value) -> Value:
    """A dict, or all that was put into it where it knows of nothing."""
    put = machine.memory(_Memory).put.get((info, attribute), ())
    return Seq(tuple(put), UNKNOWN) if put and isinstance(value, Map) and value.element == UNKNOWN else value


def _place_of(info: ClassInfo, attribute: str) -> ast.AST:
    """Where an attribute is first assigned: rather what registers nothing than what does in another arm, or None."""
    first = info.assigned_at[attribute]
    if not _is_no_container(_assigned_at(info, first)):
        return first
    others = (each.targets[0] for each in assignments(info, attribute) if not _is_no_container(each.value))
    return next(others, first)


def _is_no_container(value: ast.expr | None) -> bool:
    """Whether it registers what it holds, or is None."""
    return _is_told_to_the_module(value) or (isinstance(value, ast.Constant) and value.value is None)


def _is_told_to_the_module(value: ast.expr | None) -> bool:
    """`nn.ModuleList` and the like, or a Parameter."""
    return contents.registers(value) or (isinstance(value, ast.Call) and last_name(value.func) == "Parameter")


def _where_assigned(info: ClassInfo, attribute: str, value: Value) -> Value:
    """What an attribute holds where it is there at all: the only assignment to it may stand under a condition."""
    if not isinstance(value, Choice) or only_assignment(info, attribute) is None:
        return value
    assigned = tuple(each for each in value.alternatives if not isinstance(each[1], Unknown))
    return assigned[0][1] if len(assigned) == 1 else value


def _kind(info: ClassInfo, place: ast.AST, value: Value) -> str:
    """``dict``, ``tuple`` or ``list``: what is assigned at `place`."""
    written = _assigned_at(info, place)
    return "dict" if isinstance(value, Map) else "tuple" if isinstance(written, ast.Tuple) else "list"


def _assigned_at(info: ClassInfo, place: ast.AST) -> ast.expr | None:
    found = (values_by_target(one.node).get(place) for one in info.mro)
    return next((each for each in found if each is not None), None)


def _ends_with_comma(machine: Machine, node: ast.expr | None) -> bool:
    """Whether a tuple of one has no parentheses: ``self.layer = nn.Linear(4, 2),``."""
    return isinstance(node, ast.Tuple) and len(node.elts) == 1 and not machine.text_of(node).startswith("(")


def _told_by_text(info: ClassInfo, attribute: str, value: Value, others: OtherFiles | None) -> str | None:
    """The kind of a container of modules whose classes are not known here."""
    if not isinstance(value, (Unknown, Choice, Seq, Map)) and value != NONE:
        return None
    given = contents.holds_given_modules(info, attribute)
    given = given or holds_argument_modules(info, attribute, others)
    if given is not None:
        return given
    if info.is_module and is_filled_later(info, attribute, value, others):
        return "dict" if isinstance(value, Map) else "list"
    plain = [each for _, each in alternatives(value) if not isinstance(each, Library)]  # else in a ModuleList
    if info.is_module and len(plain) == 1 and isinstance(plain[0], (Seq, Map)):
        return _kind_of(plain[0]) if holds_foreign_layers(info, attribute, others) else None
    return None


def _kind_of(value: Seq | Map) -> str:
    return "dict" if isinstance(value, Map) else "list"


def _fact(
    machine: Machine,
    info: ClassInfo,
    attribute: str,
    place: ast.AST,
    kind: str,
    holds: str,
    used: ast.AST | None,
    value: Value,
) -> ModulesInContainer:
    is_dict = kind == "dict"
    names = {
        ("modules", True): "nn.ModuleDict",
        ("modules", False): "nn.ModuleList",
        ("parameters", True): "nn.ParameterDict",
        ("parameters", False): "nn.ParameterList",
    }
    at, returned = chosen_at(info, place, machine.others), returned_as(info, place, machine.others)
    written = _replaceable(machine, info, attribute, value, holds) if at is place else None
    return ModulesInContainer(
        machine.span_of(at),
        attribute,
        info.name,
        kind,
        holds,
        names[holds, is_dict],
        None if used is None else machine.span_of(used),
        "" if written is None else machine.text_of(written),
        None if written is None else machine.span_of(written),
        spelled(machine.tree, f"torch.{names[holds, is_dict]}"),
        _ends_with_comma(machine, _assigned_at(info, place)),
        returned_at=None if returned in (None, at) else machine.span_of(returned),
    )


_SHARED = frozenset({"append", "extend", "insert", "keys", "values", "items"})
"""Methods that lists and dicts share with the Modules that take their place."""
_MADE = (ast.List, ast.ListComp, ast.Tuple, ast.Dict, ast.BinOp, ast.Call)
"""Expressions that make a list or dict which has no other name."""


def _replaceable(machine: Machine, info: ClassInfo, attribute: str, value: Value, holds: str) -> ast.expr | None:
    """What is assigned to the attribute, if it is made there and used in no way that only a list or dict can be."""
    assign = only_assignment(info, attribute)
    made = assign.value if assign and isinstance(assign.node, ast.Assign) else None  # an annotation asks for a list
    if not isinstance(made, _MADE) or holds != held_in(value, 1, machine.others):
        return None
    if isinstance(value, Map) and not (isinstance(made, ast.Dict) and made.keys and all(map(_is_name, made.keys))):
        return None
    path = f"self.{attribute}"
    uses = [each for one in info.mro for each in nodes_in(one.node, ast.Attribute) if dotted_path(each.value) == path]
    sums = [side for one in info.mro for each in nodes_in(one.node, ast.BinOp) for side in (each.left, each.right)]
    if any(each.attr not in _SHARED for each in uses) or path in tuple(map(dotted_path, sums)):
        return None
    return made if not isinstance(made, ast.Tuple) or machine.text_of(made).startswith("(") else None


def _is_name(key: ast.expr | None) -> bool:
    """Whether a key can be that of a `ModuleDict`."""
    name = key.value if isinstance(key, ast.Constant) else None
    return isinstance(name, str) and name.isidentifier() and name not in torch_api.MODULE_ATTRIBUTES


def _holds_constants(value: Value) -> bool:
    """Whether there is nothing to train or to save in a container: then only where its modules are is of interest."""
    if not isinstance(value, (Seq, Map)):
        return False
    # what is put into it in one case is unknown in the other, where nothing is
    inside = [each for part in parts_of(value) for _, each in alternatives(part) if each not in (NONE, UNKNOWN)]
    return bool(inside) and all(is_constant(each) for each in inside)


def _first_read(info: ClassInfo, attribute: str, built_by: str) -> ast.AST | None:
    """The first place that reads ``self.<attribute>``, outside of ``__init__`` and the method that builds it."""
    for each in info.mro:
        for name, method in each.methods.items():
            if name in ("__init__", built_by):
                continue
            reads = (node for node in nodes_in(method, ast.Attribute) if node.attr == attribute)
            own = (node for node in reads if isinstance(node.ctx, ast.Load) and dotted_path(node.value) == "self")
            found = next(own, None)
            if found is not None and not _gives_what_is_registered(info, name):
                return found
    return None


def _gives_what_is_registered(info: ClassInfo, method: str) -> bool:
    """Whether a class calls a method only to keep what it gives: ``self.backbone = self._choose(name)``."""
    classes = [one.node for one in info.mro]
    calls = {each for one in classes for each in nodes_in(one, ast.Call) if dotted_path(each.func) == f"self.{method}"}
    targets = [target for one in classes for value, target in targets_by_value(one).items() if value in calls]
    kept = [each for each in targets if (dotted_path(each) or "").startswith("self.")]
    return bool(calls) and len(kept) == len(calls)


def _is_meant_there(info: ClassInfo, place: ast.AST) -> bool:
    value = _assigned_at(info, place)
    return value is not None and any(_is_meant(value, each) for each in info.mro)


def _is_meant(value: ast.expr, info: ClassInfo) -> bool:
    """Whether what is assigned is an argument as it came, hides one module, or lists members that have names."""
    init = info.methods.get("__init__")
    given = (
        init is not None
        and isinstance(value, ast.Name)
        and value.id in {each.arg for each in nodes_in(init.args, ast.arg)}
    )
    return given or _hides_one(value) or _lists_members(value, info)


def _hides_one(value: ast.expr) -> bool:
    """``self.teacher = [teacher]``: a list around one name keeps a module from being registered, on purpose."""
    return isinstance(value, ast.List) and len(value.elts) == 1 and isinstance(value.elts[0], ast.Name)


def _lists_members(value: ast.expr, info: ClassInfo) -> bool:
    """``[self.first, third]``, ``list(net)``: each part, or the whole, is an attribute or is assigned to one."""
    kept = {
        node.value.id
        for node in assignments_in(info.node)
        if isinstance(node.value, ast.Name) and isinstance(node.targets[0], ast.Attribute)
    }
    parts = [part.value if isinstance(part, ast.Starred) else part for part in _listed(value)]
    return bool(parts) and all(
        isinstance(part, ast.Attribute) or (isinstance(part, ast.Name) and part.id in kept) for part in parts
    )


def _listed(value: ast.expr) -> list[ast.expr]:
    """What a display holds; for ``list(net)`` and ``list(net.children())``, the module that has the elements."""
    if isinstance(value, ast.Dict):
        return value.values
    if isinstance(value, (ast.List, ast.Tuple)):
        return value.elts
    if isinstance(value, ast.Call) and last_name(value.func) in ("list", "tuple") and len(value.args) == 1:
        whole = value.args[0]
        asked = whole.func if isinstance(whole, ast.Call) else None
        return [asked.value if isinstance(asked, ast.Attribute) and asked.attr == "children" else whole]
    return []


EVENTS = {
    ItemAssigned: _note_item,
    AttributeRefused: _note_refused,
    Initialised: _note_initialised,
}
