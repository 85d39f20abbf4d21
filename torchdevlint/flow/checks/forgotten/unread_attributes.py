"""Devices that an object is told and keeps, and that none of its methods reads (TDL310).

``self.device = device`` says where the object works, and a method of it gives ``torch.eye(self.size)``. Objects whose
class has bases elsewhere, or is read from outside, may be asked for their device by others; one that moves things has
another way.
"""

from __future__ import annotations

import ast
import re
from functools import partial

from torchdevlint.flow.checks.forgotten.unread_devices import is_dismissed
from torchdevlint.flow.checks.operands.made_here import is_made_here
from torchdevlint.flow.events import FileEnded, FunctionEnded
from torchdevlint.flow.facts.devices import DeviceNotForwarded
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.class_text import methods_of, writes_behind_names
from torchdevlint.flow.scope.names import dotted_path, parameter_names, public_path
from torchdevlint.flow.scope.parameters import reads_all
from torchdevlint.flow.scope.returned_factories import returned_factory
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.tensors import tensors_in
from torchdevlint.patterns import regex
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import assignments_in, is_below, nodes_in, once_a_node

_NAME = "device"
_BASES = frozenset({"nn.Module", "torch.nn.Module", "Module", "object", "ABC", "abc.ABC"})
_SHOWING = frozenset({"__repr__", "__str__", "extra_repr"})
_OF_DATA = regex(r"data|loader|sampler|collat|transform|token|reader", re.IGNORECASE)
"""Words in the names of what prepares data, on the CPU."""
_TAKES_NONE = torch_api.CPU_FACTORIES | torch_api.LEGACY_CONSTRUCTORS


def _note_end(event: FunctionEnded) -> None:
    """A method gives a tensor of the default device, of an object that was told another one."""
    frame, owner, function = event.frame, event.frame.owner, event.frame.function
    if owner is None or frame.depth or not isinstance(function, ast.FunctionDef) or function.name.startswith("__"):
        return
    if function in frame.machine.pipeline or not (frame.returned or frame.yields):
        return
    kept = _kept_in(owner.node)
    if kept is None or _is_read(frame.machine, owner, kept):
        return
    for value in (*(value for _, _, value in frame.returned), *frame.yields):
        for tensor in tensors_in(value):
            site = tensor.creations[0] if tensor.creations else None
            if site is not None and is_made_here(frame, tensor) and not is_bookkeeping(function.name):
                _record(frame.machine, owner, kept, site.node, site.function)
                return


def _note_file_end(event: FileEnded) -> None:
    """The same of methods that only others of the class run, by their text."""
    machine = event.machine
    for owner in machine.classes.values() if f" = {_NAME}" in machine.reading.source.text else ():
        kept = _kept_in(owner.node)
        if kept is None or _is_read(machine, owner, kept):
            continue
        for method in owner.methods.values():
            if _is_private(method.name) and method not in machine.pipeline and not method.decorator_list:
                made = returned_factory(method)
                if made is not None:
                    _record(machine, owner, kept, made, public_path(made.func))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _record(machine: Machine, owner: ClassInfo, kept: str, made: ast.AST, maker: str) -> None:
    init = owner.methods["__init__"]
    given = next(each for each in nodes_in(init.args, ast.arg) if each.arg == _NAME)
    takes = maker.rpartition(".")[2] not in _TAKES_NONE
    fact = partial(
        DeviceNotForwarded,
        machine.span_of(made),
        owner.name,
        _NAME,
        "unread",
        maker,
        f"device=self.{kept}" if takes else f".to(self.{kept})",
        machine.span_of(given),
        _NAME,
        False,
        False,
    )
    machine.record_anyway(("unread attribute", owner.node), fact)


@once_a_node
def _kept_in(node: ast.ClassDef) -> str | None:
    """The attribute that keeps the device which ``__init__`` is told, if that is all that is done with it."""
    init = methods_of(node).get("__init__")
    if init is None or _NAME not in parameter_names(init) or _has_others(node, init):
        return None
    kept = [each for each in assignments_in(init) if _is_told(each.value)]
    path = dotted_path(kept[0].targets[0]) or "" if len(kept) == 1 else ""
    said = [each for each in nodes_in(init, ast.Name) if each.id == _NAME]
    if not path.startswith("self.") or path.count(".") > 1 or not all(is_below(each, kept[0].node) for each in said):
        return None
    return path.removeprefix("self.")


def _has_others(node: ast.ClassDef, init: FunctionNode) -> bool:
    """Whether others may read what the class keeps, or it moves things without saying where to."""
    if any(public_path(each) not in _BASES for each in node.bases) or node.decorator_list or node.keywords:
        return True
    if writes_behind_names(node) or reads_all(init) or _OF_DATA.search(node.name):
        return True
    asked = {each.attr for each in nodes_in(node, ast.Attribute)}
    return not asked.isdisjoint(torch_api.PLACING_METHODS)


def _is_told(value: ast.expr) -> bool:
    """``device``, ``torch.device(device)``, and a default for None."""
    if isinstance(value, ast.Call) and public_path(value.func) == "torch.device" and len(value.args) == 1:
        value = value.args[0]
    if isinstance(value, ast.BoolOp):
        value = value.values[0]
    elif isinstance(value, ast.IfExp):
        return any(isinstance(each, ast.Name) and each.id == _NAME for each in (value.body, value.orelse))
    return isinstance(value, ast.Name) and value.id == _NAME


def _is_read(machine: Machine, owner: ClassInfo, kept: str) -> bool:
    """Whether anything of the file reads the attribute, but for the text that shows the object."""
    init = owner.methods["__init__"]
    if is_dismissed(machine, init, _NAME):
        return True
    shown = [method for name, method in owner.methods.items() if name in _SHOWING]
    for each in nodes_in(machine.tree, ast.Attribute):
        if each.attr != kept or not isinstance(each.ctx, ast.Load) or public_path(each) == "torch.device":
            continue
        of_others = dotted_path(each.value) != "self" and (kept.startswith("_") or is_below(each, owner.node))
        if not of_others and not any(is_below(each, method) for method in shown):
            return True
    return False


EVENTS = {FunctionEnded: _note_end, FileEnded: _note_file_end}
