"""The blocks of a statement, which of them are run, and where what follows may not be."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchdevlint.flow.programs.texts.cuda_habit import asks_for_devices
from torchdevlint.flow.scope.names import last_name, public_path
from torchdevlint.source.nodes import inside, nodes_in

LOOPS = (ast.For, ast.AsyncFor, ast.While)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COUNTING = frozenset({"range", "trange", "count"})
_EXITS = frozenset({"exit", "sys.exit", "os._exit", "quit"})


def leaves(statement: ast.stmt, looping: bool = False, in_some_round: bool = False) -> bool:
    """Whether what follows may not be run; an error that is raised on a condition is for wrong use.

    A condition that goes on to the next round of a loop does so `in_some_round` only, but for one that asks for a
    device: it comes out the same in all rounds.
    """
    if isinstance(statement, (ast.Break, ast.Continue)):
        return not looping and (isinstance(statement, ast.Break) or not in_some_round)
    if isinstance(statement, ast.Return):
        return True
    if isinstance(statement, ast.Expr):
        return any(public_path(each.func) in _EXITS for each in nodes_in(statement, ast.Call))
    if isinstance(statement, _DEFINITIONS):
        return False
    looping = looping or isinstance(statement, LOOPS)
    if in_some_round and isinstance(statement, ast.If):
        in_some_round = not asks_for_devices(statement.test)
    return any(leaves(each, looping, in_some_round) for block in blocks_of(statement) for each in block)


def ends(block: list[ast.stmt]) -> bool:
    """Whether the program ends behind a block: it raises an error, or exits."""
    last = block[-1] if block else None
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return public_path(last.value.func) in _EXITS
    return isinstance(last, ast.Raise)


def is_left(block: list[ast.stmt]) -> bool:
    """Whether nothing comes right after a block: it is left by its last statement."""
    return bool(block) and (isinstance(block[-1], (ast.Return, ast.Continue, ast.Break)) or ends(block))


def is_endless(statement: ast.stmt) -> bool:
    """Whether nothing comes after a statement: ``while True:`` without a `break`."""
    if not isinstance(statement, ast.While) or not isinstance(statement.test, ast.Constant):
        return False
    return bool(statement.test.value) and not nodes_in(statement, ast.Break)


def blocks_of(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement, one of which is run, or all; what is tried may be caught."""
    names = ("body", "orelse", "finalbody")
    yield from (block for name in names if (block := getattr(statement, name, [])))
    yield from (each.body for name in ("handlers", "cases") for each in getattr(statement, name, ()))


def is_counted(loop: ast.stmt) -> bool:
    """Whether the rounds of a loop have numbers, as epochs do; other rounds are each about something else."""
    if not isinstance(loop, (ast.For, ast.AsyncFor)):
        return isinstance(loop, ast.While)
    calls = (each for each in inside(loop.iter) if isinstance(each, ast.Call))
    return any(last_name(each.func) in _COUNTING for each in calls)


def is_every_so_often(statement: ast.stmt) -> bool:
    """Whether a statement of a loop is run in some rounds of it in any case: ``if step % 100 == 0:``."""
    test = statement.test if isinstance(statement, ast.If) else None
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq) or len(test.ops) > 1:
        return False
    counted, rest = test.left, test.comparators[0]
    is_rest = isinstance(counted, ast.BinOp) and isinstance(counted.op, ast.Mod)
    return is_rest and isinstance(rest, ast.Constant) and rest.value == 0


def heads(statement: ast.stmt) -> Iterator[ast.expr]:
    """What a loop, or a ``with``, evaluates before its block."""
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        yield statement.iter
    elif isinstance(statement, ast.While):
        yield statement.test
    else:
        yield from (each.context_expr for each in getattr(statement, "items", ()))


def defined_within(block: Iterable[ast.stmt], name: str) -> ast.FunctionDef | None:
    """The function that a block alone defines under a name."""
    found = [each for each in block if isinstance(each, ast.FunctionDef) and each.name == name]
    return found[0] if len(found) == 1 else None
