"""Containers that are empty in ``__init__``, and that other methods of a Module fill with layers (TDL102).

``self.heads = {}``, and later ``self.heads[task] = nn.Linear(width, classes)``: each new layer stays where it was made.
One that the class brings somewhere itself, or keeps under another name as well, is left to it.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.registration.argument_modules import makes_layer
from torchdevlint.flow.checks.registration.contents import Built
from torchdevlint.flow.kinds.element_calls import calls_elements
from torchdevlint.flow.scope.uses import asked_in
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.others import OtherFiles
from torchdevlint.flow.state.values import Map, Seq, Value

_MOVES = frozenset({"to", "cuda", "parameters", "named_parameters"})


def is_filled_later(info: ClassInfo, attribute: str, value: Value, others: OtherFiles | None) -> bool:
    """Whether ``__init__`` leaves an attribute empty, and other methods put only layers into it that they make."""
    if not _is_empty(value) or not calls_elements(info, attribute):
        return False
    methods = [(one, each) for one in info.mro for name, each in one.methods.items() if name != "__init__"]
    put = [each for one, method in methods for each in _put_in(Built(one, method, others), f"self.{attribute}")]
    return bool(put) and all(put)


def _is_empty(value: Value) -> bool:
    if isinstance(value, Map):
        return value.closed and not value.items
    return isinstance(value, Seq) and value.items == ()


def _put_in(built: Built, path: str) -> list[bool]:
    """For each thing that a method puts into an attribute, whether it is a layer that the method makes and leaves."""
    added = built.added_to(path)
    return [False] if added is None else [_is_left(built, each) for each in added]


def _is_left(built: Built, node: ast.expr) -> bool:
    """Whether it is a new layer, of which no name is asked for what moves or trains it."""
    if isinstance(node, ast.Name) and not _MOVES.isdisjoint(asked_in(built.method).get(node.id, ())):
        return False
    made = list(built.made(node))
    return bool(made) and all(makes_layer(built, each) for each in made)
