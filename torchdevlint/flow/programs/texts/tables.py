"""Functions and classes that are called out of a dictionary: ``nets = {"unet": get_unet}``, ``nets[name](**kwargs)``.

Such a table calls each of its values, with what the call says, and nothing else reads them there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.call_sites import calls_of, reads_of
from torchdevlint.model import Frozen
from torchdevlint.source.functions import functions_in
from torchdevlint.source.nodes import assignments_in, binds_name, is_below, nodes_in, once_a_node


class Table(Frozen, frozen=True):
    """A dictionary out of which functions are called."""

    name: str
    values: dict[str, int]
    """How often each name is a value of it."""
    calls: list[ast.Call]
    is_shared: bool
    """Whether it is of the top level, so that other files may import it."""


def calls_in(tree: ast.Module, name: str, known: int = 0) -> tuple[list[ast.Call], list[Table]] | None:
    """The calls of a name in a file, and the tables that call it; None where it is read for something else there.

    So many other reads are `known`. What `__all__` says is what other files import by a star, where they call it by its
    name.
    """
    calls = calls_of(tree, name)
    known += len(calls)
    if reads_of(tree, name) <= known:
        return calls, []
    tables = [each for each in _tables(tree) if name in each.values]
    held = sum(each.values[name] for each in tables)
    if reads_of(tree, name) > known + held + _exported(tree).count(name):
        return None
    return [*calls, *(call for each in tables for call in each.calls)], tables


@once_a_node
def _exported(tree: ast.Module) -> list[str]:
    bound = (each.value for each in tree.body if isinstance(each, ast.Assign) and binds_name(each, "__all__"))
    found = (part.value for each in bound for part in nodes_in(each, ast.Constant))
    return [each for each in found if isinstance(each, str)]


@once_a_node
def _tables(tree: ast.Module) -> list[Table]:
    functions = functions_in(tree)
    found = []
    for bound in assignments_in(tree):
        target = bound.targets[0]
        if not isinstance(bound.value, ast.Dict) or not isinstance(target, ast.Name) or len(bound.targets) > 1:
            continue
        around = [each for each in functions if is_below(bound.value, each)]
        scope = max(around, key=lambda each: each.lineno, default=tree)
        calls = _called_out_of(scope, target.id)
        if calls:
            values: dict[str, int] = {}
            for each in _names_in(bound.value):
                values[each] = values.get(each, 0) + 1
            found.append(Table(target.id, values, calls, scope is tree))
    return found


def _names_in(table: ast.Dict) -> Iterator[str]:
    return (each.id for each in table.values if isinstance(each, ast.Name))


def _called_out_of(scope: ast.AST, name: str) -> list[ast.Call]:
    """The calls of the values of a dictionary; none where the scope does anything else with it than to look there."""
    names = [each for each in nodes_in(scope, ast.Name) if each.id == name]
    all_calls = nodes_in(scope, ast.Call)
    calls = [each for each in all_calls if _looked_up_in(each.func) in names]
    asked: list[ast.expr | None] = [_looked_up_in(each.func) for each in calls]
    asked += [each for test in nodes_in(scope, ast.Compare) for each in test.comparators]
    asked += [_asked_by(each) for each in all_calls]
    read = [each for each in names if isinstance(each.ctx, ast.Load)]
    return calls if len(read) == len(names) - 1 and all(each in asked for each in read) else []


def _looked_up_in(callee: ast.expr) -> ast.expr | None:
    """What is asked for what is called: `models` of ``models[name](..)``, and of ``models.get(name)(..)``."""
    if isinstance(callee, ast.Subscript):
        return callee.value
    is_got = isinstance(callee, ast.Call) and isinstance(callee.func, ast.Attribute) and callee.func.attr == "get"
    return callee.func.value if is_got else None  # type: ignore[attr-defined]


def _asked_by(call: ast.Call) -> ast.expr | None:
    """The dictionary whose keys are asked for: ``models.keys()``, ``list(models)``."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "keys":
        return call.func.value
    is_listed = isinstance(call.func, ast.Name) and call.func.id in ("list", "sorted", "len")
    return call.args[0] if is_listed and len(call.args) == 1 else None
