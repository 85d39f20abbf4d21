"""Methods that run only while an object is made, or before it moves itself, when nothing can have moved it yet."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.own_moves import is_before_own_move
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.machine import Machine
from torchdevlint.patterns import regex
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import nodes_in, once_a_node, own_nodes_in

_BEFORE_ITS_MOVE = "before self.to()"
"""Stands for a method that calls another before it moves its own object."""


def is_part_of_init(machine: Machine, info: ClassInfo, name: str, around: frozenset[str] = frozenset()) -> bool:
    """Whether all that reads a method is a call in the ``__init__`` of its class, of a base or of a subclass.

    Or in methods of these of which the same holds. A call in a function that ``__init__`` defines comes later, and what
    another class reads from its `self` is its own. The ``__init__`` of another Module asks what it has just made. What
    calls it before a ``self.to(device)`` of its own does so while the object is where it was made.
    """
    if name.startswith("__") or name in around:
        return False
    below = [each for each in machine.classes.values() if info in each.mro]
    family = list(dict.fromkeys(each for one in (info, *below) for each in one.mro))
    places: list[ast.AST] = [machine.tree, *(each.node for each in family if each.node not in machine.classes)]
    reads = [each for place in places for each in _reads_by_name(place).get(name, ())]
    if not reads:
        return False
    theirs = {id(each) for one in machine.classes.values() if one not in family for each in _own_reads(one.node)}
    reads = [each for each in reads if id(each) not in theirs]
    methods = {node: each for one in family for each, node in one.methods.items()}
    makers = (one for one in machine.classes.values() if one not in family and one.is_module)
    methods |= {one.methods["__init__"]: "__init__" for one in makers if "__init__" in one.methods}
    holders = [_holder(methods, each) for each in reads]
    callers = {each for each in holders if each != name}
    others = callers.difference(("__init__", _BEFORE_ITS_MOVE))
    return bool(callers) and all(
        each is not None and is_part_of_init(machine, info, each, around | {name}) for each in others
    )


_BUILDS = regex(r"_*(?:build|make|create|init|setup|configure)(?:_|$)(?!weight|param|optim|loss|data)")
"""Names of methods by which a base that is not known has the class make its layers."""


def is_built_by_base(info: ClassInfo, name: str, in_init: bool) -> bool:
    """Whether a base calls a method to have layers made: in its ``__init__``, or by its name if no base is known.

    What the class calls in its own ``__init__`` is seen there.
    """
    init = info.methods.get("__init__")
    if init is not None and name in _reads_by_name(init):
        return False
    if in_init:
        return True
    return not info.resolved and _BUILDS.match(name) is not None and not _is_read_here(info.node, name)


def _is_read_here(owner: ast.ClassDef, name: str) -> bool:
    """Whether a class itself calls one of its methods, other than by ``super()``."""
    return any(isinstance(each.value, ast.Name) for each in _reads_by_name(owner).get(name, ()))


def _holder(methods: dict[FunctionNode, str], read: ast.Attribute) -> str | None:
    """The name of the method that itself calls what is read, or that it does so before its move; None if none does."""
    method = next((each for each in methods if id(read) in _called_in(each)), None)
    if method is None:
        return None
    return _BEFORE_ITS_MOVE if is_before_own_move(method, read) else methods[method]


@once_a_node
def _called_in(method: ast.AST) -> frozenset[int]:
    """The very expressions that a method itself calls."""
    return frozenset(id(call.func) for call in own_nodes_in(method, ast.Call))


@once_a_node
def _own_reads(owner: ast.ClassDef) -> list[ast.Attribute]:
    """The attributes that the methods of a class read from `self` and ``super()``."""
    roots = ((each, each.value.func if isinstance(each.value, ast.Call) else each.value) for each in _reads(owner))
    return [each for each, root in roots if isinstance(root, ast.Name) and root.id in ("self", "super")]


@once_a_node
def _reads_by_name(scope: ast.AST) -> dict[str, list[ast.Attribute]]:
    found: dict[str, list[ast.Attribute]] = {}
    for node in _reads(scope):
        found.setdefault(node.attr, []).append(node)
    return found


def _reads(scope: ast.AST) -> list[ast.Attribute]:
    return [each for each in nodes_in(scope, ast.Attribute) if isinstance(each.ctx, ast.Load)]
