"""Lost moves that nobody misses: all callers move what a function returns, or nothing reads what was to be moved."""

from __future__ import annotations

import ast
from typing import TypeGuard

from torchdevlint.flow.facts.tensors import DiscardedMove
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.programs.places import first_holding
from torchdevlint.flow.scope.call_sites import are_moved_at_once, own_call_sites
from torchdevlint.flow.scope.names import argument_names, dotted_path
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


def is_never_read_again(tree: ast.Module, fact: DiscardedMove) -> bool:
    """Whether a function has no use for what it makes and moves in vain, or each later read moves it once more.

    What it was given, or keeps, is read by others. In a loop that binds the name first, what is above comes later for
    another value.
    """
    function = first_holding(nodes_in(tree, ast.FunctionDef), fact.at.row)
    if function is None or not fact.receiver.isidentifier() or fact.receiver in argument_names(function):
        return False
    names = [each for each in nodes_in(function, ast.Name) if each.id == fact.receiver]
    own = {id(each) for each in own_nodes_in(function, ast.Name)}
    bound = [each.lineno for each in names if not isinstance(each.ctx, ast.Load)]
    if any(id(each) not in own for each in names) or nodes_in(function, ast.Global) or not bound:
        return False
    loops = [each for each in own_nodes_in(function, ast.For) if each.lineno < fact.at.row <= (each.end_lineno or 0)]
    if any(not any(each.lineno <= line < fact.at.row for line in bound) for each in loops):
        return False
    if any(each.lineno < fact.at.row <= (each.end_lineno or 0) for each in own_nodes_in(function, ast.While)):
        return False
    end = fact.at.row, fact.at.column
    later = (each for each in names if isinstance(each.ctx, ast.Load) and (each.lineno, each.col_offset) >= end)
    moved = {id(each.func.value) for each in nodes_in(function, ast.Call) if _moves(each.func)}
    return all(id(each) in moved for each in later)


def _moves(called: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(called, ast.Attribute) and called.attr in ("to", *torch_api.DEVICE_METHODS)
