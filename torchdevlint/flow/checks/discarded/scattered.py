"""Tensors that only a `DataParallel` reads: it moves its inputs to the GPUs itself, wherever they are."""

from __future__ import annotations

import ast

from torchdevlint.flow.run.wrapping import scatters
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Library
from torchdevlint.source.nodes import nodes_in


def is_only_scattered(frame: Frame, state: State, statement: ast.stmt, tensor: ast.expr) -> bool:
    """Whether what a name holds goes into wrapped models alone, from a statement on until the name is bound anew."""
    if not isinstance(tensor, ast.Name):
        return False
    scope, end = frame.function or frame.machine.tree, statement.end_lineno or statement.lineno
    places = [each for each in bindings_in(scope).get(tensor.id, ()) if each[0] > end]
    bound = next((line for line, is_bound, _ in places if is_bound), None)
    read = {(line, column) for line, is_bound, column in places if not is_bound and (bound is None or line <= bound)}
    given = {
        (each.lineno, each.col_offset)
        for call in nodes_in(scope, ast.Call)
        for each in call.args
        if isinstance(each, ast.Name) and each.id == tensor.id and _is_wrapped(frame, state, call.func)
    }
    return bool(read) and read <= given


def _is_wrapped(frame: Frame, state: State, callee: ast.expr) -> bool:
    if not isinstance(callee, (ast.Name, ast.Attribute)):
        return False
    model = frame.evaluate(callee, state)
    return isinstance(model, Library) and model.prefix == "module." and scatters(model)
