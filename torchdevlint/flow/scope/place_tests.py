"""Tests by which a function decides where tensors are, and places that one run of it cannot both come to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from torchdevlint.flow.scope.assigned import unpacked_to, values_by_path
from torchdevlint.flow.scope.followed_devices import root_of
from torchdevlint.flow.scope.names import is_cpu_spec, places_in, words_in
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import inside, is_inside, nodes_in, once_a_node

_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_LEAVES = (ast.Return, ast.Continue, ast.Break)
_OF_A_PLACE = regex(r"cuda|gpu|cpu|device|numpy", re.IGNORECASE)
"""Words of a test that decides by where something is, or by what kind of array it is."""
_DEEP = 3
"""How many bindings are followed to what a name is made of."""


@once_a_node
def asks(function: Scope) -> bool:
    """Whether a function decides by where its tensors are, or what they are."""
    return bool(_place_tests(function))


def asks_before(function: Scope, read: ast.Call) -> bool:
    """Whether such a test has a say about what ``x.numpy()`` reads.

    It does if the read is under it, if it leaves the function or the round, if it gives `x` a value, or brings to the
    CPU what `x` is made of. Which device a function chooses says nothing of where `x` is in the end.
    """
    tests = _place_tests(function)
    if not tests:
        return False
    own = {each.id for each in inside(read) if isinstance(each, ast.Name)}
    made_of = _made_of(function, own)
    return any(_has_a_say(branch, read, own, made_of) for branch in tests)


@once_a_node
def _place_tests(function: Scope) -> list[ast.If | ast.IfExp]:
    branches: list[ast.If | ast.IfExp] = [*nodes_in(function, ast.If), *nodes_in(function, ast.IfExp)]
    return [each for each in branches if names_place(each.test)]


def names_place(test: ast.expr) -> bool:
    """Whether a test names a place, or what arrays are of."""
    return any(_OF_A_PLACE.search(word) for word in words_in(test))


def tests_around(function: Scope, node: ast.AST) -> list[ast.expr]:
    """The tests of a function that decide whether a run of it comes to a place."""
    branches: list[ast.If | ast.IfExp] = [*nodes_in(function, ast.If), *nodes_in(function, ast.IfExp)]
    return [each.test for each in branches if any(_holds(arm, node) for arm in _arms(each))]


def _has_a_say(branch: ast.If | ast.IfExp, read: ast.Call, own: set[str], made_of: set[str]) -> bool:
    arms = list(_arms(branch))
    if any(_holds(arm, read) or isinstance(arm[-1], _LEAVES) for arm in arms):
        return True
    held = (each for arm in arms for statement in arm for each in inside(statement))
    return any(_binds(each, own) or root_of(_brought(each)) in made_of for each in held)


def _binds(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in names


def comes_back(function: Scope, read: ast.AST) -> bool:
    """Whether a name in what is read is bound to what a function has brought to the CPU: ``x = x.cpu()``."""
    names = {each.id for each in inside(read) if isinstance(each, ast.Name)}
    return any(map(brings, (value for name in names for value in values_by_path(function).get(name, ()))))


def brings(value: ast.expr) -> bool:
    """Whether an expression brings anything to the CPU: ``f(x.cpu())``."""
    return any(not isinstance(_brought(each), ast.Pass) for each in inside(value))


def _brought(node: ast.AST) -> ast.AST:
    """`x` of ``x.cpu()``, ``x.to("cpu")`` and ``x.numpy()``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ast.Pass()
    is_brought = node.func.attr in ("cpu", "numpy") or any(map(is_cpu_spec, places_in(node)))
    return node.func.value if is_brought else ast.Pass()


def _made_of(function: Scope, names: set[str]) -> set[str]:
    """The names that something is made of, be it by others that are bound here."""
    found, latest = set(names), set(names)
    for _ in range(_DEEP):
        values = [value for name in latest for value in values_by_path(function).get(name, ())]
        values += [value for name in latest for _, value in unpacked_to(function, name)]
        latest = {each.id for value in values for each in inside(value) if isinstance(each, ast.Name)} - found
        if not latest:
            break
        found |= latest
    return found


def exclude(function: Scope, one: ast.AST, other: ast.AST) -> bool:
    """Whether a run of the function comes to one of two places only."""
    return bool(arms_apart(function, one, other))


def arms_apart(function: Scope, one: ast.AST, other: ast.AST) -> list[ast.expr | None]:
    """The tests that let a run of the function come to one of two places only; None for what an error decides."""
    branches: list[ast.If | ast.IfExp | ast.Try] = [*nodes_in(function, ast.If), *nodes_in(function, ast.IfExp)]
    found: list[ast.expr | None] = []
    for branch in [*branches, *nodes_in(function, ast.Try)]:
        arms = list(_arms(branch))
        places = [next((arm for arm in arms if _holds(arm, each)), None) for each in (one, other)]
        if places[0] is places[1]:
            continue
        arm = places[0] or places[1] or []
        if isinstance(branch, ast.Try):
            found.append(None)
        elif None not in places or isinstance(arm[-1], _ENDS):
            found.append(branch.test)
    return found


def _arms(branch: ast.If | ast.IfExp | ast.Try) -> Iterator[Sequence[ast.AST]]:
    if isinstance(branch, ast.IfExp):
        yield from ([branch.body], [branch.orelse])
        return
    yield branch.body
    if branch.orelse:
        yield branch.orelse
    if isinstance(branch, ast.Try):
        yield from (each.body for each in branch.handlers)


def _holds(arm: Sequence[ast.AST], node: ast.AST) -> bool:
    return any(each is node or is_inside(node, each) for each in arm)
