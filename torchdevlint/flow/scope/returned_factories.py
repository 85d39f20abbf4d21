"""Factories of which a function makes what it returns, as its text says."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, is_dtype, last_name, places_in, public_path
from torchdevlint.flow.scope.origins import made_of
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import inside, nodes_in, once_a_node, own_nodes_in

_MAKES = frozenset(f"torch.{each}" for each in torch_api.FACTORIES - torch_api.DATA_FACTORIES - torch_api.CPU_FACTORIES)
_LEAVES = torch_api.MOVE_METHODS | frozenset(
    "item tolist numpy int float bool len str type_as numel size dim element_size".split()
)
"""What makes a number of a tensor, or brings it elsewhere."""

_GIVE_POSITIONS = frozenset({"argmax", "argmin", "item", "int", "len", "index"})


@once_a_node
def returned_factory(function: FunctionNode) -> ast.Call | None:
    """The factory without a device of which all is made that a function returns, in its only ``return``.

    Nothing of it is asked for as a number, and nothing is moved, or made where something else is. One item of a row is
    a tensor without dimensions, which meets tensors of any place.
    """
    returned = [each.value for each in own_nodes_in(function, ast.Return) if each.value is not None]
    if len(returned) != 1:
        return None
    names = {each.id for each in inside(returned[0]) if isinstance(each, ast.Name)}
    values = [returned[0], *(each for name in sorted(names) for each in made_of(function, name))]
    calls = [each for value in values for each in inside(value) if isinstance(each, ast.Call)]
    if any(map(_leaves, calls)):
        return None
    made = [each for each in calls if public_path(each.func) in _MAKES]
    told = any(one.arg in ("device", "out", None) for each in made for one in each.keywords)
    if not made or told or all(_is_read_by_item(function, each, values) for each in made):
        return None
    return made[0]


def _is_read_by_item(function: FunctionNode, made: ast.Call, values: list[ast.expr]) -> bool:
    """Whether a row is made, ``losses = torch.zeros(n)``, of which expressions take nothing but single items."""
    named = [path for path, held in values_by_path(function).items() if any(each is made for each in held)]
    if len(named) != 1 or len(made.args) != 1 or isinstance(made.args[0], (ast.Tuple, ast.List, ast.Starred)):
        return False
    parts = [part for value in values for part in inside(value)]
    reads = {id(each): each for each in parts if dotted_path(each) == named[0]}
    items = [each for each in parts if isinstance(each, ast.Subscript) and _is_position(function, each.slice)]
    return bool(reads) and reads.keys() <= {id(each.value) for each in items}


def _is_position(function: FunctionNode, index: ast.expr) -> bool:
    """Whether an index is one number, or the place of the largest: ``best = torch.argmax(losses)``."""
    if not isinstance(index, ast.Name):
        return isinstance(index, ast.Constant) and isinstance(index.value, int)
    if any(_counts(each) for each in nodes_in(function, ast.For) if index.id in _first_target(each)):
        return True
    made = values_by_path(function).get(index.id, [])
    return bool(made) and all(isinstance(each, ast.Call) and last_name(each.func) in _GIVE_POSITIONS for each in made)


def _counts(loop: ast.For) -> bool:
    return isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) in ("range", "enumerate")


def _first_target(loop: ast.For) -> set[str]:
    target = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
    return {target.id} if isinstance(target, ast.Name) else set()


def _leaves(call: ast.Call) -> bool:
    """Whether a call moves something, makes a number of it, or makes a tensor where another one is."""
    name = last_name(call.func)
    if name == "to":
        return not all(is_dtype(each) or last_name(each).endswith("dtype") for each in places_in(call))
    return name in _LEAVES or name.startswith("new_") or name.endswith("_like")
