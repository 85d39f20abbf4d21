"""Functions that return what a lost move was for, where all that call them move what they get."""

from __future__ import annotations

import ast

from torchdevlint.flow.facts.tensors import DiscardedMove
from torchdevlint.flow.programs.places import first_holding
from torchdevlint.flow.scope.call_sites import are_moved_at_once, own_call_sites
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.source.nodes import nodes_in, own_nodes_in


def is_moved_where_called(tree: ast.Module, fact: DiscardedMove) -> bool:
    """Whether a function returns what its lost move was for, and all its calls in its own file move that at once."""
    function = first_holding(nodes_in(tree, ast.FunctionDef), fact.at.row)
    if function is None:
        return False
    returned = own_nodes_in(function, ast.Return)
    sites = own_call_sites(tree, function)
    gives_it = bool(returned) and all(dotted_path(each.value or function) == fact.receiver for each in returned)
    return gives_it and bool(sites) and are_moved_at_once(sites)
