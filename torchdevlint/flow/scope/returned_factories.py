"""Factories of which a function makes what it returns, as its text says."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import is_dtype, last_name, places_in, public_path
from torchdevlint.flow.scope.origins import made_of
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import inside, once_a_node, own_nodes_in

_MAKES = frozenset(f"torch.{each}" for each in torch_api.FACTORIES - torch_api.DATA_FACTORIES - torch_api.CPU_FACTORIES)
_LEAVES = torch_api.MOVE_METHODS | frozenset(
    "item tolist numpy int float bool len str type_as numel size dim element_size".split()
)
"""What makes a number of a tensor, or brings it elsewhere."""


@once_a_node
def returned_factory(function: FunctionNode) -> ast.Call | None:
    """The factory without a device of which all is made that a function returns, in its only ``return``.

    Nothing of it is asked for as a number, and nothing is moved, or made where something else is.
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
    return made[0] if made and not told else None


def _leaves(call: ast.Call) -> bool:
    """Whether a call moves something, makes a number of it, or makes a tensor where another one is."""
    name = last_name(call.func)
    if name == "to":
        return not all(is_dtype(each) or last_name(each).endswith("dtype") for each in places_in(call))
    return name in _LEAVES or name.startswith("new_") or name.endswith("_like")
