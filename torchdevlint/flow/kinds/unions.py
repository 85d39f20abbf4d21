"""Parameters that may be of several types by their annotation: ``Union[np.ndarray, Tensor]``, ``Tensor | list``."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.annotations import annotated_tensor, annotation_name
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Conditions, Seq, Value
from torchdevlint.source.nodes import parts_of_tuple


def is_tensor_otherwise(frame: Frame, name: str, kinds: Value, conditions: Conditions) -> bool:
    """Whether a parameter is a tensor by its annotation, unless it is of the types that a test asks for.

    None is no more one of its types where the conditions on the way say so.
    """
    if frame.function is None:
        return False
    spec = frame.function.args
    parameters = (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)
    members = next((_members(each.annotation) for each in parameters if each.arg == name), [])
    if any(not arm and str(key).partition(":")[2] == f"{name} is None" for key, arm in conditions):
        members = [each for each in members if not (isinstance(each, ast.Constant) and each.value is None)]
    if len(members) < 2:
        return False
    asked = (kinds.items or ()) if isinstance(kinds, Seq) else (kinds,)
    rest = [each for each in members if frame.evaluate(_unparametrised(each), State({})) not in asked]
    return 0 < len(rest) < len(members) and all(map(annotated_tensor, rest))


def _unparametrised(kind: ast.expr) -> ast.expr:
    """`list` of ``list[float]``, as `isinstance` asks for it."""
    return kind.value if isinstance(kind, ast.Subscript) else kind


def _members(annotation: ast.expr | None) -> list[ast.expr]:
    """The types of a union; of what is none, the annotation alone."""
    if annotation is None:
        return []
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return [*_members(annotation.left), *_members(annotation.right)]
    if isinstance(annotation, ast.Subscript) and annotation_name(annotation.value) == "Union":
        inside = annotation.slice
        types = parts_of_tuple(inside)
        return [part for each in types for part in _members(each)]
    return [annotation]
