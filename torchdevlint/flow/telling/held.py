"""What a node was held to be, in the runs that tell most; what is not run by itself is told from its parts."""

from __future__ import annotations

import ast
import builtins

from torchdevlint.flow.recording import Recording
from torchdevlint.flow.scope.names import canonical
from torchdevlint.flow.state.devices import TOP
from torchdevlint.flow.state.values import (
    UNKNOWN,
    Choice,
    Cls,
    Const,
    Dev,
    Library,
    Obj,
    Ref,
    Tensor,
    Text,
    Unknown,
    Value,
)

_BUILTINS = frozenset(dir(builtins))
_TESTS = (ast.Is, ast.IsNot, ast.In, ast.NotIn)


class Held:
    """The values of nodes."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    def of(self, node: ast.AST) -> tuple[Value, ...]:
        """The different values of a node, in the order in which they were seen; none if no run came to it."""
        seen, _ = self.recording.best(node)
        if seen:
            return tuple(dict.fromkeys(each.value for each in seen))
        if isinstance(node, ast.Constant):
            return (Const(node.value),)
        if isinstance(node, ast.JoinedStr):
            return (Text(),)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in _BUILTINS:
            return (Ref(f"builtins.{node.id}"),)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            return tuple(dict.fromkeys(_member(each, node.attr) for each in self.of(node.value)))
        return ()

    def one(self, node: ast.AST) -> Value | None:
        """The value of a node, or a choice of its values; None if no run came to it."""
        values = self.of(node)
        if len(values) > 1:
            return Choice(tuple([((), each) for each in values]))
        return values[0] if values else None

    def lacks(self, node: ast.AST) -> bool:
        """Whether the kind of a node, or the place of something that has one, is not known."""
        value = self.one(node)
        return value is None or lacks(value)


def lacks(value: Value) -> bool:
    """Whether the kind, or the place of something that has one, is not known, for one of the alternatives at least."""
    if isinstance(value, Choice):
        return any(lacks(each) for _, each in value.alternatives)
    if isinstance(value, (Tensor, Dev)):
        return value.device == TOP
    if isinstance(value, Obj):
        return value.info.is_module and value.device == TOP
    if isinstance(value, Library):
        return value.module and value.inner is None and (value.device == TOP or (not value.name and not value.device))
    return isinstance(value, Unknown) and not value.made_by


def is_test(node: ast.AST) -> bool:
    """Whether an expression gives True or False, whatever it compares."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    return isinstance(node, ast.Compare) and all(isinstance(each, _TESTS) for each in node.ops)


def _member(holder: Value, name: str) -> Value:
    """What is called as ``holder.name``, which the interpreter does not look at as an expression of its own."""
    if isinstance(holder, Ref):
        return Ref(canonical(f"{holder.name}.{name}"))
    if isinstance(holder, (Obj, Cls)):
        receiver = holder if isinstance(holder, Obj) else None
        return holder.info.attributes.get(name) or holder.info.method(name, receiver) or UNKNOWN
    if isinstance(holder, Choice):
        return Choice(tuple([(conditions, _member(each, name)) for conditions, each in holder.alternatives]))
    return UNKNOWN
