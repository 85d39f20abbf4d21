"""Containers of modules under names that are worked out: ``setattr(self, f"block{i}", [Block() for _ in ..])``.

A Module registers what it is given so as it does what is assigned to an attribute: a module, and no list of modules.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.facts.modules import ModulesInContainer
from torchdevlint.flow.kinds.held_modules import held_in
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.spelling import spelled
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Map, Obj, Seq, Value
from torchdevlint.source.nodes import inside, is_name, nodes_in

_ARGUMENTS = 3
_READ_ONLY = frozenset("setattr getattr print len enumerate zip range isinstance list tuple reversed".split())


def _note_set(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """A list or dict of modules that ``__init__`` puts under a name, and that another method reads by a name."""
    receiver, method = frame.receiver, frame.function
    if frame.context != "init" or not isinstance(receiver, Obj) or not receiver.info.is_module or method is None:
        return
    if len(node.args) != _ARGUMENTS or not is_name(node.args[0], "self"):
        return
    value = arguments.pairs[2][1]
    if not isinstance(value, (Seq, Map)) or held_in(value, others=frame.machine.others) != "modules":
        return
    used = _first_read(receiver.info)
    if used is None or "_apply" in receiver.info.all_methods or is_given_on(method, node.args[2], node):
        return
    machine, info = frame.machine, receiver.info
    is_dict = isinstance(value, Map)
    suggestion = "nn.ModuleDict" if is_dict else "nn.ModuleList"
    machine.record_anyway(
        ("container", node),
        lambda: ModulesInContainer(
            machine.span_of(node),
            _attribute(machine.text_of(node.args[1]), node.args[1]),
            info.name,
            "dict" if is_dict else "list",
            "modules",
            suggestion,
            machine.span_of(used),
            spelled=spelled(machine.tree, f"torch.{suggestion}"),
        ),
    )


def _attribute(text: str, name: ast.expr) -> str:
    """``block{i}`` of ``f"block{i}"``; what else gives the name, in braces."""
    if isinstance(name, ast.Constant):
        return str(name.value)
    return text[1:].strip("\"'") if isinstance(name, ast.JoinedStr) else f"{{{text}}}"


def _first_read(info: ClassInfo) -> ast.Call | None:
    """Where another method than ``__init__`` reads an attribute of `self` by a name."""
    for one in info.mro:
        for name, method in one.methods.items():
            for call in nodes_in(method, ast.Call) if name != "__init__" else ():
                if dotted_path(call.func) == "getattr" and call.args and is_name(call.args[0], "self"):
                    return call
    return None


def is_given_on(method: ast.AST, container: ast.expr, by: ast.AST) -> bool:
    """Whether a container that has a name, or what it holds, goes elsewhere than `by`, and may be registered there."""
    if not isinstance(container, ast.Name):
        return False
    held = {container.id}
    for loop in nodes_in(method, ast.For):
        held |= _names(loop.target) if held & _names(loop.iter) else set()
    for call in nodes_in(method, ast.Call):
        if call is by or dotted_path(call.func) in _READ_ONLY:
            continue
        given = [*call.args, *(each.value for each in call.keywords)]
        if any(held & _names(arg) for arg in given):
            return True
    stored = (each for each in nodes_in(method, ast.Assign) if isinstance(each.targets[0], ast.Attribute))
    return any(held & _names(each.value) for each in stored if each.targets[0] is not by)


def _names(node: ast.expr) -> set[str]:
    return {each.id for each in inside(node) if isinstance(each, ast.Name)}


FUNCTIONS = {"builtins.setattr": _note_set}
