"""Objects whose own ``to`` gives another object: as with a tensor, a statement that drops the result moves nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.annotations import named_in
from torchdevlint.flow.scope.names import dotted_path, last_name, positional_names
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.devices import TOP
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.others import is_elsewhere
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import NONE, UNKNOWN, Cls, Func, Obj, Value
from torchdevlint.model import Span
from torchdevlint.source.nodes import nodes_in, once_a_node, own_nodes_in

_COPIES = frozenset({"replace", "_replace", "copy", "deepcopy"})


def told_by_method(frame: Frame, call: ast.Call, state: State) -> tuple[tuple[str, Span], ...] | None:
    """Why the object that is told to move stays as it is; None if it moves in place, or nobody knows.

    What it returns is named where it stands in this file.
    """
    called = [each for _, each in alternatives(frame.evaluate(call.func, state), state.conditions) if each != NONE]
    if not any(isinstance(each, Func) for each in called):
        called = list(_by_annotation(frame, call))
    if not called or not all(isinstance(each, Func) and _gives_another(each) for each in called):
        return None
    first = called[0]
    made = next(_returns(first.node), None) if isinstance(first, Func) and not is_elsewhere(first) else None
    return () if made is None else (("a new object is made here", frame.machine.span_of(made)),)


def _by_annotation(frame: Frame, call: ast.Call) -> Iterator[Value]:
    """The method of the classes of the project that an annotation names for what is told to move."""
    if not isinstance(call.func, ast.Attribute):
        return
    for annotation in _annotations(frame, call.func.value):
        for kind in (frame.evaluate(each, State({})) for each in named_in(annotation)):
            if isinstance(kind, Cls):
                yield kind.info.method(call.func.attr, Obj(kind.info, TOP)) or UNKNOWN
            elif kind != NONE:
                yield UNKNOWN


def _annotations(frame: Frame, node: ast.expr) -> list[ast.expr]:
    """What a parameter is annotated with, or an attribute in the body of the class."""
    if isinstance(node, ast.Name) and isinstance(frame.function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        given = [each for each in nodes_in(frame.function.args, ast.arg) if each.arg == node.id]
        rebound = any(bound for _, bound, _ in bindings_in(frame.function).get(node.id, ()))
        return [each.annotation for each in given if each.annotation is not None and not rebound]
    if isinstance(node, ast.Attribute) and dotted_path(node.value) == "self" and frame.owner is not None:
        fields = (each for one in frame.owner.mro for each in one.node.body if isinstance(each, ast.AnnAssign))
        return [each.annotation for each in fields if dotted_path(each.target) == node.attr]
    return []


def _gives_another(method: Func) -> bool:
    """Whether a method of an object makes what it returns, each time, and writes to none of its own attributes."""
    if method.owner is None or method.receiver is None or not isinstance(method.node, ast.FunctionDef):
        return False
    own = next(iter(positional_names(method.node)), "")
    returned = list(_returns(method.node))
    return bool(returned) and not _writes(method.node) and all(_is_new(each, method, own) for each in returned)


def _returns(method: ast.AST) -> Iterator[ast.expr]:
    return (each.value for each in own_nodes_in(method, ast.Return) if each.value is not None)


def _is_new(node: ast.expr, method: Func, own: str) -> bool:
    """``Space(self.betas.to(device))``, ``type(self)(..)``, ``replace(self, ..)``, ``self._replace(..)``."""
    if not isinstance(node, ast.Call) or method.owner is None:
        return False
    if dotted_path(node.func) in (method.owner.name, "cls", f"{own}.__class__"):
        return True
    if isinstance(node.func, ast.Call):
        return dotted_path(node.func.func) == "type" and [dotted_path(each) for each in node.func.args] == [own]
    given = [dotted_path(each) for each in (*_receiver(node), *node.args[:1])]
    return last_name(node.func) in _COPIES and given[:1] == [own]


def _receiver(node: ast.Call) -> list[ast.expr]:
    """`self` in ``self._replace(..)``; nothing in ``dataclasses.replace(self, ..)``."""
    return [node.func.value] if isinstance(node.func, ast.Attribute) and node.func.attr == "_replace" else []


@once_a_node
def _writes(method: ast.FunctionDef) -> bool:
    """Whether it assigns an attribute, or drops what a call gives: that may move in place."""
    stored = any(isinstance(each.ctx, ast.Store) for each in nodes_in(method, ast.Attribute))
    return stored or any(isinstance(each.value, ast.Call) for each in nodes_in(method, ast.Expr))
