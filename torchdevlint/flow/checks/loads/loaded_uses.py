"""What is done with what a load gave: who reads it as NumPy or as text has a file without tensors of an accelerator."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from msgspec import Struct

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.knowledge.array_readers import reads_on_host
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Ref
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import assignments_in, nodes_in, once_a_node, parts_of_sequence

_OF_TEXT = frozenset("split strip lower upper startswith endswith encode".split())
_OF_MODELS = frozenset("eval train parameters state_dict load_state_dict".split())
_TAKES_HOST_DATA = frozenset({"torch.from_numpy", "builtins.open", "os.path.join", "builtins.set", "builtins.sorted"})
_OF_ESTIMATORS = frozenset("fit fit_transform fit_predict transform predict score".split())
_LEAVES_IN_PLACE = torch_api.METHOD_TENSOR.difference(torch_api.DEVICE_METHODS, {"to", "type"}) | {"get", "pop"}
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
    for name, lines in _held(scope, load):
        takes += [call for call in given.get(name, ()) if call.lineno in lines]
        methods += [each for each in asked.get(name, ()) if each[1].lineno in lines]
    if any(isinstance(call.func, ast.Attribute) and call.func.attr == "load_state_dict" for call in takes):
        return False
    if any(method in _OF_MODELS for method, _ in methods):
        return False
    if any(method in _OF_TEXT or (method == "numpy" and not call.keywords) for method, call in methods):
        return True
    return any(_takes_host_data(frame, call) for call in takes)


def _held(scope: ast.Module | AnyFunction, load: ast.Call) -> list[tuple[str, range]]:
    """The names that hold what the load gave, or parts of it, each with the lines from there to where that ends."""
    taken = _bindings_by_source(scope)
    found: list[tuple[str, range]] = []
    new: list[tuple[Source, range]] = [(load, range(sys.maxsize))]
    while new:
        source, lines = new.pop()
        for each in taken.get(source, ()):
            later = (row for row, bound, _ in bindings_in(scope)[each.name] if bound and each.bound < row <= each.last)
            held = each.name, range(each.first, next(later, each.last) + 1)
            if each.bound in lines and held not in found:
                found.append(held)
                new.append(held)
    return found


class _Binding(Struct, frozen=True):
    """A name that holds a part of something: the line that binds it, and those on which it may hold that."""

    name: str
    bound: int
    first: int
    last: int


@once_a_node
def _bindings_by_source(scope: ast.AST) -> dict[Source, list[_Binding]]:
    """The names that are bound to parts of something; those of loops and comprehensions end with these."""
    found: dict[Source, list[_Binding]] = {}
    for target, value, place in _bindings(scope):
        source = _source_of(value)
        if isinstance(target, ast.Name) and source is not None:
            first, last = place.lineno, place.end_lineno or place.lineno
            if isinstance(place, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
                first, last = first + 1, sys.maxsize - 1
            found.setdefault(source, []).append(_Binding(target.id, target.lineno, first, last))
    return found


def _bindings(scope: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, ast.stmt | ast.expr]]:
    """Targets with what they are bound to, or to a part of, and the statement or comprehension that does it."""
    for target, value, place in _bound_at_once(scope):
        unpacked = parts_of_sequence(target)
        yield from ((each, value, place) for each in unpacked)


def _bound_at_once(scope: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, ast.stmt | ast.expr]]:
    yield from ((each.targets[0], each.value, each.node) for each in assignments_in(scope))
    yield from ((each.target, each.iter, each) for each in nodes_in(scope, ast.For))
    made: list[ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp] = []
    made += [*nodes_in(scope, ast.ListComp), *nodes_in(scope, ast.SetComp)]
    made += [*nodes_in(scope, ast.DictComp), *nodes_in(scope, ast.GeneratorExp)]
    for each in made:
        yield from ((one.target, one.iter, each) for one in each.generators)


def _takes_host_data(frame: Frame, call: ast.Call) -> bool:
    """Whether a library takes nothing that is on an accelerator, be it a function or an estimator of scikit-learn."""
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(receiver, ast.Name) and last_name(call.func) in _OF_ESTIMATORS:
        values = values_by_path(frame.function or frame.machine.tree).get(receiver.id, ())
        receiver = values[0] if len(values) == 1 else receiver
    if isinstance(receiver, ast.Call) and last_name(call.func) in _OF_ESTIMATORS:
        return _named(frame, receiver.func).startswith("sklearn.")
    name = _named(frame, call.func)
    return reads_on_host(name) or name in _TAKES_HOST_DATA


def _named(frame: Frame, callee: ast.expr) -> str:
    """The public name of what is called; in a module, of what it has bound so far."""
    state = State({} if frame.function is not None else dict(frame.machine.globals))
    called = frame.evaluate(callee, state) if dotted_path(callee) is not None else None
    return called.name if isinstance(called, Ref) else ""


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
    found: dict[str, list[Source | None]] = {}
    for target, value, _ in _bindings(scope):
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
