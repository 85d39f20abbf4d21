"""Lost moves that nobody misses: all callers move what a function returns, or nothing reads what was to be moved.

Or the next line that reads it moves it, and binds the name to that.
"""

from __future__ import annotations

import ast
from typing import TypeGuard

from torchdevlint.flow.facts.tensors import DiscardedMove
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.programs.texts.places import first_holding
from torchdevlint.flow.scope.call_sites import are_moved_at_once, own_call_sites
from torchdevlint.flow.scope.names import dotted_path, is_dtype, parameter_names, public_path, stem_of
from torchdevlint.source.nodes import Assignment, assignment_of, nodes_in, own_nodes_in


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
    """Whether a function has no use for what it makes and moves in vain, or each later read moves it once more."""
    function = first_holding(nodes_in(tree, ast.FunctionDef), fact.at.row)
    later = later_reads(tree, fact)
    if function is None or later is None:
        return False
    moves = (each.func for each in nodes_in(function, ast.Call) if moves_to_device(each))
    moved = {id(each.value) for each in moves if _is_move(each)}
    return all(id(each) in moved for each in later)


def later_reads(tree: ast.Module, fact: DiscardedMove) -> list[ast.Name] | None:
    """What reads behind a lost move what a function has made; None where others may read it too.

    What it was given, or keeps, is read by others. In a loop that binds the name first, what is above comes later for
    another value.
    """
    function = first_holding(nodes_in(tree, ast.FunctionDef), fact.at.row)
    if function is None or not fact.receiver.isidentifier() or fact.receiver in parameter_names(function):
        return None
    names = [each for each in nodes_in(function, ast.Name) if each.id == fact.receiver]
    own = {id(each) for each in own_nodes_in(function, ast.Name)}
    bound = [each.lineno for each in names if not isinstance(each.ctx, ast.Load)]
    if any(id(each) not in own for each in names) or nodes_in(function, ast.Global) or not bound:
        return None
    loops = [each for each in own_nodes_in(function, ast.For) if each.lineno < fact.at.row <= (each.end_lineno or 0)]
    if any(not any(each.lineno <= line < fact.at.row for line in bound) for each in loops):
        return None
    if any(each.lineno < fact.at.row <= (each.end_lineno or 0) for each in own_nodes_in(function, ast.While)):
        return None
    end = fact.at.row, fact.at.column
    return [each for each in names if isinstance(each.ctx, ast.Load) and (each.lineno, each.col_offset) >= end]


def is_moved_next(tree: ast.Module, fact: DiscardedMove) -> bool:
    """Whether the first statement behind a lost move that reads the name binds it to what is moved in the same words.

    ``y = y.type(torch.LongTensor).to(device)``, in the block of the lost move.
    """
    lost = next((each for each in nodes_in(tree, ast.Expr) if _is_at(each, fact)), None)
    reading = (each for each in statements_behind(tree, fact) if _reads_in(each, fact.receiver))
    first = assignment_of(next(reading, None))
    if lost is None or first is None or not isinstance(lost.value, ast.Call):
        return False
    return _moves_itself(first, fact.receiver, place_in_words(lost.value))


def statements_behind(tree: ast.Module, fact: DiscardedMove) -> list[ast.stmt]:
    """The statements that follow a lost move in its block."""
    return _around(tree, fact)[1]


def statements_before(tree: ast.Module, fact: DiscardedMove) -> list[ast.stmt]:
    """The statements that come before a lost move in its block."""
    return _around(tree, fact)[0]


def _around(tree: ast.Module, fact: DiscardedMove) -> tuple[list[ast.stmt], list[ast.stmt]]:
    for block in _blocks_in(tree):
        for at, each in enumerate(block):
            if _is_at(each, fact):
                return block[:at], block[at + 1 :]
    return [], []


def _blocks_in(tree: ast.Module) -> list[list[ast.stmt]]:
    """The blocks of loops and functions, and of the file."""
    around: list[ast.FunctionDef | ast.For | ast.While | ast.With | ast.If]
    around = [*nodes_in(tree, ast.FunctionDef), *nodes_in(tree, ast.For), *nodes_in(tree, ast.While)]
    around += [*nodes_in(tree, ast.With), *nodes_in(tree, ast.If)]
    return [tree.body, *(each.body for each in around), *(each.orelse for each in nodes_in(tree, ast.If))]


def _is_at(node: ast.stmt, fact: DiscardedMove) -> bool:
    return isinstance(node, ast.Expr) and (node.lineno, node.col_offset + 1) == (fact.at.row, fact.at.column)


def _reads_in(node: ast.AST, name: str) -> list[ast.Name]:
    return [each for each in nodes_in(node, ast.Name) if each.id == name and isinstance(each.ctx, ast.Load)]


def _moves_itself(node: Assignment, name: str, words: str) -> bool:
    """Whether a name alone is bound to what a chain of methods of it gives that ends in a move."""
    if [dotted_path(each) for each in node.targets] != [name] or not isinstance(node.value, ast.Call):
        return False
    stem = stem_of(node.value)
    reads = _reads_in(node.value, name)
    return place_in_words(node.value) == words != "" and len(reads) == 1 and reads[0] is stem


def place_in_words(call: ast.Call) -> str:
    """Where a call moves or makes a tensor, as it is written: `device` in ``x.to(device)``, () in ``x.cuda()``."""
    given = [each.value for each in call.keywords if each.arg == "device"]
    if isinstance(call.func, ast.Attribute) and call.func.attr in torch_api.PLACING_METHODS:
        given += call.args[:1]
        return ast.unparse(given[0]) if given else "()" if call.func.attr == "cuda" else ""
    path = public_path(call.func)
    is_factory = path.startswith("torch.") and path.removeprefix("torch.") in torch_api.FACTORIES
    return ast.unparse(given[0]) if is_factory and given else ""


def moves_to_device(call: ast.Call) -> bool:
    """Whether a method brings what it is called of to a device, and does not only convert it."""
    if not _is_move(call.func) or call.func.attr in torch_api.DEVICE_METHODS:
        return _is_move(call.func)
    return bool(place_in_words(call)) and not any(map(is_dtype, call.args[:1]))


def _is_move(called: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(called, ast.Attribute) and called.attr in torch_api.PLACING_METHODS
