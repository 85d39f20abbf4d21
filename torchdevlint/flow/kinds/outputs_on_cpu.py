"""Modules whose `forward` gives a buffer of the CPU, wherever they are: ``outputs = torch.zeros(n); outputs[t] = ..``.

A model of which nobody knows the class may be one of those that the file names, or that of the files that it imports.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.scope.origins import made_of
from torchdevlint.flow.scope.returned_factories import returned_factory
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.others import Imported, owner_of, resolved
from torchdevlint.flow.state.values import UNKNOWN, Cls, Library, Obj, Value
from torchdevlint.source.functions import forwards_in
from torchdevlint.source.nodes import inside, nodes_in, once_a_node, own_nodes_in


class _Memory:
    """Whether one of the Modules that a file names gives such a buffer; not looked for at first."""

    def __init__(self) -> None:
        self.gives: bool | None = None


def may_give_buffer(machine: Machine, module: Library) -> bool:
    """Whether a model may be of such a class, as a wrapper may hold one, or as nothing is known of it."""
    if any(isinstance(each, Obj) and gives_buffer(each.info) for each in _held_in(module)):
        return True
    if not _is_of_unknown_class(module):
        return False
    memory = machine.memory(_Memory)
    if memory.gives is None:
        memory.gives = any(map(_gives_buffer, _trees(machine)))
    return memory.gives


def gives_buffer(info: ClassInfo) -> bool:
    """Whether the `forward` of a class of another file gives such a buffer."""
    owner = info.all_methods.get("forward", (info,))[0]
    file = owner_of(owner.closure)
    return file is not None and owner.node in _giving(file.module.tree)


def _held_in(module: Library) -> list[Value]:
    """What a wrapper may hold."""
    return [] if module.inner is None else [each for _, each in alternatives(module.inner)]


def _is_of_unknown_class(module: Value) -> bool:
    if isinstance(module, Library) and module.inner is not None:
        return any(map(_is_of_unknown_class, _held_in(module)))
    return module == UNKNOWN or (isinstance(module, Library) and not module.name)


def _trees(machine: Machine) -> Iterator[ast.Module]:
    """The file itself, and the files of the project that its names come from."""
    yield machine.tree
    others = machine.others
    for value in list(machine.globals.values()) if others is not None else ():
        found = resolved(value, others)
        if isinstance(found, Cls) and (owner := owner_of(found.info.closure)) is not None:
            yield owner.module.tree
        for each in (value, found):
            module = others.project.module(each.path) if isinstance(each, Imported) else None  # type: ignore[union-attr]
            if module is not None:
                yield module.tree


@once_a_node
def _gives_buffer(tree: ast.Module) -> bool:
    """Whether a file has a class of which `forward` gives such a buffer, and that is no mere part of another one."""
    giving = _giving(tree)
    owners = nodes_in(tree, ast.ClassDef) if giving else []
    parts = {last_name(made.func) for owner in owners for made in nodes_in(owner, ast.Call)}
    return any(each.name not in parts for each in giving)


@once_a_node
def _giving(tree: ast.Module) -> frozenset[ast.ClassDef]:
    """The classes of a file of which `forward` gives such a buffer, which it makes or has from a part."""
    forwards = dict(forwards_in(tree))
    giving: set[ast.ClassDef] = set()
    more = {each for each, forward in forwards.items() if returned_factory(forward) is not None}
    while more:
        giving |= more
        more = {each for each, forward in forwards.items() if each not in giving and _hands_on(each, forward, giving)}
    return frozenset(giving)


def _hands_on(owner: ast.ClassDef, forward: ast.FunctionDef, giving: set[ast.ClassDef]) -> bool:
    """Whether `forward` returns what a part of such a class gave, or a slice or view of it, and moves it nowhere."""
    names = {each.name for each in giving}
    returned = [each.value for each in own_nodes_in(forward, ast.Return) if each.value is not None]
    if len(returned) != 1:
        return False
    bound = {each.id for each in inside(returned[0]) if isinstance(each, ast.Name)}
    values = [returned[0], *(value for name in sorted(bound) for value in made_of(forward, name))]
    parts = (each for value in values for each in inside(value))
    if any(isinstance(each, ast.Call) and last_name(each.func) in torch_api.MOVE_METHODS for each in parts):
        return False
    called = [dotted_path(stem.func) or "" for stem in map(_first_call, values) if isinstance(stem, ast.Call)]
    kept = [value for path in called if path.startswith("self.") for value in values_by_path(owner).get(path, ())]
    return any(isinstance(each, ast.Call) and last_name(each.func) in names for each in kept)


def _first_call(node: ast.expr) -> ast.expr:
    """``self.decoder(x)`` of ``self.decoder(x)[1:].transpose(0, 1)``."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and dotted_path(node.func) is None:
            node = node.func.value
        else:
            return node
