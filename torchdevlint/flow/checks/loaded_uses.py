"""What is done with what a load gave: who reads it as NumPy or as text has a file without tensors of an accelerator."""

from __future__ import annotations

import ast
import sys

from torchdevlint.flow import torch_api
from torchdevlint.flow.checks.host_reads import reads_on_host
from torchdevlint.flow.kinds.uses import bindings_in
from torchdevlint.flow.state.machine import Frame, FunctionNode
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Ref
from torchdevlint.source.nodes import nodes_in, once_a_node

_OF_TEXT = frozenset("split strip lower upper startswith endswith encode".split())
_TAKES_HOST_DATA = frozenset({"torch.from_numpy", "builtins.open", "os.path.join", "builtins.set", "builtins.sorted"})
_LEAVES_IN_PLACE = {"get", "pop"} | torch_api.METHOD_TENSOR - torch_api.DEVICE_METHODS.keys() - {"to", "type"}
"""Methods that give a part, or what is on the same device."""


Source = ast.expr | str
"""What an expression is taken out of: a call, or the name of a variable."""


def is_read_by_host(frame: Frame, load: ast.Call) -> bool:
    """Whether the function reads what it has loaded, or a part of it, in a way that refuses tensors of an accelerator.

    Where there is one such a program raises just there, or the file is without them. What goes into a model is no
    such data, whatever else is done with it.
    """
    scope = frame.function or frame.machine.tree
    given, asked = _calls_by_source(scope)
    sources: tuple[Source, ...] = (load, *sorted(_names_of_parts(scope, load)))
    takes = [call for source in sources for call in given.get(source, ())]
    methods = [each for source in sources for each in asked.get(source, ())]
    name, lines = _bound_next(scope, load)
    takes += [call for call in given.get(name, ()) if call.lineno in lines]
    methods += [each for each in asked.get(name, ()) if each[1].lineno in lines]
    if any(isinstance(call.func, ast.Attribute) and call.func.attr == "load_state_dict" for call in takes):
        return False
    if any(method in _OF_TEXT or (method == "numpy" and not call.keywords) for method, call in methods):
        return True
    return any(_takes_host_data(frame, call) for call in takes)


def _bound_next(scope: ast.Module | FunctionNode, load: ast.Call) -> tuple[str, range]:
    """The name that holds what the load gave, and the lines from there to where it holds something else."""
    for each in nodes_in(scope, ast.Assign):
        target = each.targets[0]
        if each.value is load and isinstance(target, ast.Name):
            later = (line for line, bound, _ in bindings_in(scope)[target.id] if bound and line > each.lineno)
            return target.id, range(each.lineno + 1, next(later, sys.maxsize - 1) + 1)
    return "", range(0)


def _takes_host_data(frame: Frame, call: ast.Call) -> bool:
    called = frame.evaluate(call.func, State({}))
    return isinstance(called, Ref) and (reads_on_host(called.name) or called.name in _TAKES_HOST_DATA)


@once_a_node
def _calls_by_source(
    scope: ast.AST,
) -> tuple[dict[Source, list[ast.Call]], dict[Source, list[tuple[str, ast.Call]]]]:
    """The calls that are given something, and the methods that are called of it, by what that is taken out of."""
    given: dict[Source, list[ast.Call]] = {}
    asked: dict[Source, list[tuple[str, ast.Call]]] = {}
    for call in nodes_in(scope, ast.Call):
        receiver = _source_of(call.func.value) if isinstance(call.func, ast.Attribute) else None
        if receiver is not None and isinstance(call.func, ast.Attribute):
            asked.setdefault(receiver, []).append((call.func.attr, call))
        for each in call.args:
            source = _source_of(each)
            if source is not None and source != receiver:
                given.setdefault(source, []).append(call)
    return given, asked


@once_a_node
def _bound_in(scope: ast.AST) -> dict[str, list[Source | None]]:
    """What the values of a name are taken out of, which assignments or the rounds of a loop bind to it."""
    bound = [(each.targets[0], each.value) for each in nodes_in(scope, ast.Assign)]
    bound += [(each.target, each.iter) for each in nodes_in(scope, ast.For)]
    bound += [(each.target, each.iter) for each in nodes_in(scope, ast.comprehension)]
    found: dict[str, list[Source | None]] = {}
    for target, value in bound:
        if isinstance(target, ast.Name):
            found.setdefault(target.id, []).append(_source_of(value))
    return found


@once_a_node
def _names_by_source(scope: ast.AST) -> dict[Source, list[str]]:
    found: dict[Source, list[str]] = {}
    for name, sources in _bound_in(scope).items():
        for source in sources:
            if source is not None:
                found.setdefault(source, []).append(name)
    return found


def _names_of_parts(scope: ast.AST, load: ast.Call) -> frozenset[str]:
    """The names that hold nothing but what the load gave, or parts of it."""
    bound, taken = _bound_in(scope), _names_by_source(scope)
    names: set[str] = set()
    new: list[Source] = [load]
    while new:
        for name in taken.get(new.pop(), ()):
            if name not in names and all(each is load or each == name or each in names for each in bound[name]):
                names.add(name)
                new.append(name)
    return frozenset(names)


def _source_of(node: ast.expr) -> Source | None:
    """What an expression takes parts out of: ``load(..)["x"].get("y").view(3)`` is taken out of the first call."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LEAVES_IN_PLACE:
            node = node.func.value
        elif isinstance(node, ast.Name):
            return node.id
        else:
            return node if isinstance(node, ast.Call) else None
