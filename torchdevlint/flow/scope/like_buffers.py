"""Attributes of a Module that are kept beside a buffer that is made alike: ``self.sin = angles.sin()``.

Either may have a name of its own first: ``sin = angles.sin(); self.sin = sin``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeGuard

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, assignment_of, inside, nodes_in, once_a_node, own_blocks_in

_FEWEST_PARTS = 3
"""Shorter expressions are alike by chance."""


class Like(NamedTuple):
    """An attribute, and the call that registers a buffer made alike."""

    target: ast.Attribute
    buffer: ast.Call


@once_a_node
def like_buffers(function: FunctionNode) -> tuple[Like, ...]:
    calls = (each for each in nodes_in(function, ast.Call) if dotted_path(each.func) == "self.register_buffer")
    if next(calls, None) is None:
        return ()
    return tuple(each for block in own_blocks_in(function) for each in _in_block(block))


def _in_block(block: list[ast.stmt]) -> Iterator[Like]:
    registered: list[tuple[ast.Call, list[str]]] = []
    kept: list[tuple[ast.Attribute, list[str]]] = []
    named: dict[str, ast.expr] = {}
    for each in block:
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call):
            given = arguments_of(each.value)
            if dotted_path(each.value.func) == "self.register_buffer" and len(given) > 1:
                registered.append((each.value, _parts(_meant(given[1], named))))
        assigned = assignment_of(each)
        if assigned is None:
            continue
        target = assigned.targets[0]
        if _is_own(target):
            kept.append((target, _parts(_meant(assigned.value, named))))
        elif isinstance(target, ast.Name):
            named[target.id] = assigned.value
    for target, own in kept:
        buffer = next((call for call, others in registered if _are_alike(own, others)), None)
        if buffer is not None:
            yield Like(target, buffer)


def _meant(value: ast.expr, named: Mapping[str, ast.expr]) -> ast.expr:
    """What the block has last bound to a name that stands for the whole."""
    return named.get(value.id, value) if isinstance(value, ast.Name) else value


def _is_own(target: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(target, ast.Attribute) and dotted_path(target) == f"self.{target.attr}"


def _parts(value: ast.expr) -> list[str]:
    """The names and constants of an expression, with the kinds of what they stand in, in their order."""
    called = {id(each.func) for each in inside(value) if isinstance(each, ast.Call)}
    return [_part(each, id(each) in called) for each in inside(value) if not isinstance(each, ast.expr_context)]


def _part(node: ast.AST, is_called: bool) -> str:
    if isinstance(node, ast.Name):
        return f"{node.id}()" if is_called else node.id
    if isinstance(node, ast.Attribute):
        return f".{node.attr}"
    return repr(node.value) if isinstance(node, ast.Constant) else f"<{type(node).__name__}>"


def _are_alike(own: list[str], others: list[str]) -> bool:
    """Whether two expressions differ in one function of tensors or one name at most, and make something."""
    if len(own) != len(others) or len(own) < _FEWEST_PARTS or "<Call>" not in own:
        return False
    different = [pair for pair in zip(own, others, strict=True) if pair[0] != pair[1]]
    return len(different) <= 1 and all(map(_is_one_of_many, different))


def _is_one_of_many(pair: tuple[str, str]) -> bool:
    """Whether either of two names may stand there for a tensor: ``.cos`` and ``.sin``, two variables."""
    if all(each.startswith(".") for each in pair):
        return all(torch_api.is_of_tensors(each[1:]) or each[1:] in torch_api.FACTORIES for each in pair)
    return all(each.isidentifier() for each in pair)
