"""What a list says of the container that it was picked from: where it is empty, there was no tensor to pick."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow import torch_api
from torchdevlint.flow.assigned import assignments_by_path
from torchdevlint.flow.names import dotted_path
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import UNKNOWN, Ref
from torchdevlint.flow.transfer.mixing import is_zero
from torchdevlint.source.nodes import inside


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
    bound = assignments_by_path(frame.function).get(test.id, ())
    if len(bound) == 1 and isinstance(bound[0].value, ast.ListComp):
        names = _without_tensors(frame, bound[0].value, empty)
        empty.env.update({name: UNKNOWN for name in names if name in empty.env})


def _without_tensors(frame: Frame, picked: ast.ListComp, state: State) -> Iterator[str]:
    """The containers of which a comprehension picks all tensors."""
    last = picked.generators[-1]
    if len(last.ifs) == 1 and _asks_for_tensor(frame, last.ifs[0], picked.elt, state):
        names = (each for part in picked.generators for each in inside(part.iter) if isinstance(each, ast.Name))
        yield from (each.id for each in names)


def _asks_for_tensor(frame: Frame, test: ast.expr, element: ast.expr, state: State) -> bool:
    if not isinstance(test, ast.Call) or not test.args or not isinstance(element, ast.Name):
        return False
    kinds = test.args[1] if dotted_path(test.func) == "isinstance" and len(test.args) == 2 else test.func
    asked = frame.evaluate(kinds, state)
    of_tensors = isinstance(asked, Ref) and asked.name in (*torch_api.TENSOR_CLASSES, "torch.is_tensor")
    return of_tensors and dotted_path(test.args[0]) == element.id
