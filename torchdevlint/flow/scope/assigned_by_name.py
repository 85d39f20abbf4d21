"""Attributes of `self` that a class assigns under computed names: ``setattr(self, name, value.to(device))``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.class_text import methods_of
from torchdevlint.flow.scope.names import dotted_path, is_dtype, last_name, names_one_of
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import nodes_in, once_a_node, parts_of_sequence

_KEEPS_PLACE = frozenset(
    "getattr float double half bfloat16 int long short bool clone detach contiguous requires_grad_ deepcopy".split()
)
_OWN = frozenset({"getattr", "vars"})


def assigns_by_name(node: ast.ClassDef, attribute: str) -> bool:
    """Whether a class assigns the attribute under a name that it computes, such as the name of a loop.

    A method other than ``__init__`` puts there whatever the caller wants. ``__init__`` counts where it puts back what
    the attribute holds, moved or registered: what it makes or is given under other names changes nothing.
    """
    names = _names_assigned(node)
    return names is None or attribute in names


@once_a_node
def _names_assigned(node: ast.ClassDef) -> frozenset[str] | None:
    """The names of the attributes that a class assigns by computed names; None where they may be any."""
    found: set[str] = set()
    for name, method in methods_of(node).items():
        for call in nodes_in(method, ast.Call):
            if not _sets_own(call) or (name == "__init__" and not _puts_back(call, method)):
                continue
            names = _names_of(call.args[1], method, node)
            if names is None:
                return None
            found.update(names)
    return frozenset(found)


def _sets_own(call: ast.Call) -> bool:
    """``setattr(self, name, value)``."""
    if not isinstance(call.func, ast.Name) or call.func.id != "setattr" or len(call.args) != 3:
        return False
    return isinstance(call.args[0], ast.Name) and call.args[0].id == "self"


def _names_of(name: ast.expr, method: FunctionNode, owner: ast.ClassDef) -> list[str] | None:
    """What a name of an attribute can be: a literal, or one of those that a loop goes through."""
    if isinstance(name, ast.Constant):
        return [str(name.value)]
    loops = [loop for loop in _loops(method) if dotted_path(loop.target) == dotted_path(name) is not None]
    listed = [_listed(loop.iter, method, owner) for loop in loops]
    if not listed or any(each is None for each in listed):
        return None
    return [text for each in listed if each is not None for text in each]


def _loops(method: FunctionNode) -> Iterator[ast.For | ast.comprehension]:
    yield from nodes_in(method, ast.For)
    yield from nodes_in(method, ast.comprehension)


def _listed(source: ast.expr, method: FunctionNode, owner: ast.ClassDef) -> list[str] | None:
    """The texts of ``("mean", "std")``, also by a name that the method or the body of the class binds once."""
    path = dotted_path(source)
    if path is not None:
        bound = [*values_by_path(method).get(path, ())] or _bound_by(owner, path)
        if len(bound) != 1:
            return None
        source = bound[0]
    parts = parts_of_sequence(source)
    if not isinstance(source, (ast.Tuple, ast.List)) or not all(isinstance(each, ast.Constant) for each in parts):
        return None
    return [str(each.value) for each in parts if isinstance(each, ast.Constant)]


def _bound_by(owner: ast.ClassDef, path: str) -> list[ast.expr]:
    """What the body of a class binds a name to that a method reads as ``self.NAMES``."""
    holder, _, name = path.rpartition(".")
    own = values_by_path(owner).get(name, []) if holder in ("self", "cls", owner.name) else []
    return own if path not in values_by_path(owner) else []


def _puts_back(call: ast.Call, method: FunctionNode) -> bool:
    """Whether it assigns what an attribute held before, and may have moved or registered it."""
    made = _as_made(call.args[2], method)
    if not any(_moves(each) for value in made for each in _calls(value)):
        return False
    name = dotted_path(call.args[1])
    loops = (each.iter for each in _loops(method) if names_one_of(name, parts_of_sequence(each.target)))
    return any(map(_reads_own, (*made, *loops)))


def _as_made(value: ast.expr, method: FunctionNode) -> list[ast.expr]:
    """An expression, and what the method binds the names in it to."""
    names = [value.id] if isinstance(value, ast.Name) else [each.id for each in nodes_in(value, ast.Name)]
    bound = values_by_path(method)
    return [value, *(each for name in dict.fromkeys(names) for each in bound.get(name, ()))]


def _moves(call: ast.Call) -> bool:
    """Whether a call may give its argument on another device, or as something that moves with the Module."""
    if last_name(call.func) == "to":
        return not all(map(is_dtype, call.args)) or any(each.arg == "device" for each in call.keywords)
    return last_name(call.func) not in _KEEPS_PLACE


def _reads_own(node: ast.expr) -> bool:
    """``getattr(self, name)``, ``vars(self)`` or ``self.__dict__``."""
    if any(each.attr == "__dict__" for each in nodes_in(node, ast.Attribute)):
        return True
    called = (each for each in _calls(node) if isinstance(each.func, ast.Name) and each.args)
    return any(each.func.id in _OWN and dotted_path(each.args[0]) == "self" for each in called)  # type: ignore[attr-defined]


def _calls(node: ast.expr) -> list[ast.Call]:
    """The calls in an expression, which may be one itself."""
    return [*([node] if isinstance(node, ast.Call) else ()), *nodes_in(node, ast.Call)]
