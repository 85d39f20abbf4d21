"""What a list says of the container that it was picked from: where it is empty, there was no tensor to pick."""

from __future__ import annotations

import ast

from torchdevlint.flow.kinds.sizes import is_zero
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import assignments_by_path
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import UNKNOWN, Ref
from torchdevlint.source.nodes import inside

_ASK_FOR_TENSOR = torch_api.TENSOR_CLASSES | {"torch.is_tensor"}


def refine_filtered(frame: Frame, test: ast.expr, holds: State | None, fails: State | None) -> None:
    """``if not found``, ``if len(found) == 0`` after ``found = [x for x in rows if isinstance(x, torch.Tensor)]``."""
    empty = fails
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and is_zero(test.comparators[0]):
        empty = holds if isinstance(test.ops[0], ast.Eq) else fails if isinstance(test.ops[0], ast.Gt) else None
        test = test.left
    if isinstance(test, ast.Call) and dotted_path(test.func) == "len" and len(test.args) == 1:
        test = test.args[0]
    if empty is None or frame.function is None or not isinstance(test, ast.Name):
        return
    picked = _comprehension(frame, test.id, test.lineno)
    if picked is None or not _picks_tensors(frame, picked, empty):
        return
    for name in _sources(frame, picked, set()):
        if name in empty.env:
            empty.env[name] = UNKNOWN


def _comprehension(frame: Frame, name: str, line: int) -> ast.ListComp | None:
    """The list that was bound to a name last before a line."""
    bound = assignments_by_path(frame.function).get(name, ()) if frame.function is not None else ()
    last = max((each for each in bound if each.lineno < line), key=lambda each: each.lineno, default=None)
    return last.value if last is not None and isinstance(last.value, ast.ListComp) else None


def _sources(frame: Frame, picked: ast.ListComp, seen: set[str]) -> set[str]:
    """The containers that a comprehension goes over, and those that it is a list of all elements of."""
    for part in picked.generators:
        for each in inside(part.iter):
            if isinstance(each, ast.Name) and each.id not in seen:
                seen.add(each.id)
                within = _comprehension(frame, each.id, picked.lineno)
                if within is not None and not any(inner.ifs for inner in within.generators):
                    _sources(frame, within, seen)
    return seen


def _picks_tensors(frame: Frame, picked: ast.ListComp, state: State) -> bool:
    tests = picked.generators[-1].ifs
    return len(tests) == 1 and _asks_for_tensor(frame, tests[0], picked.elt, state)


def _asks_for_tensor(frame: Frame, test: ast.expr, element: ast.expr, state: State) -> bool:
    if not isinstance(test, ast.Call) or not test.args or not isinstance(element, ast.Name):
        return False
    kinds = test.args[1] if dotted_path(test.func) == "isinstance" and len(test.args) == 2 else test.func
    asked = frame.evaluate(kinds, state)
    of_tensors = isinstance(asked, Ref) and asked.name in _ASK_FOR_TENSOR
    return of_tensors and dotted_path(test.args[0]) == element.id
