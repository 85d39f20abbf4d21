"""Parameters of a function: whether its text reads them, and which have defaults."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import dotted_path, positional_names
from torchdevlint.flow.scope.none_tests import none_test
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import Assignment, assignment_of, assignments_in, inside, nodes_in, once_a_node

_READS_ALL = frozenset(
    "locals vars eval exec globals save_hyperparameters store_attr currentframe _getframe getargvalues".split()
)
"""What may read a parameter without saying its name."""


def reads(function: FunctionNode, name: str) -> bool:
    """Whether a function reads a parameter where it is something; ``del device`` says that it is meant.

    ``if device is not None: self.device = default`` and ``else: self.device = device`` keep what is None alone. What
    a function only gives to itself, or binds the name to anew, it does not read.
    """
    for_itself = set(_read_for_itself(function, name))
    said = [each for each in nodes_in(function, ast.Name) if each.id == name and each not in for_itself]
    if not all(isinstance(each.ctx, ast.Load) for each in said):
        return True
    tests: list[ast.If | ast.IfExp] = [*nodes_in(function, ast.If), *nodes_in(function, ast.IfExp)]
    asking = [each for each in tests if _asks_whether_none(each.test, name)] if said else []
    kept = {part for each in asking for part in _where_none(each)}
    if kept.isdisjoint(said):
        return bool(said)
    tested = {part for each in asking for part in inside(each.test)}
    return any(each not in kept and each not in tested for each in said)


def _read_for_itself(function: FunctionNode, name: str) -> Iterator[ast.AST]:
    """What is in ``device = chosen(device)``, in a test around that alone, and in a call of the function itself.

    ``dtype = chosen(device, dtype)`` decides no place either.
    """
    for assigned in assignments_in(function):
        if _binds(assigned, name) or (name != "dtype" and _binds(assigned, "dtype")):
            yield from inside(assigned.node)
    for asked in nodes_in(function, ast.If):
        if all(_binds(assignment_of(each), name) for each in (*asked.body, *asked.orelse)):
            yield from inside(asked)
    positions, called = positional_names(function), function.name
    if positions and positions[0] in ("self", "cls"):
        called, positions = f"{positions[0]}.{called}", positions[1:]
    for call in nodes_in(function, ast.Call):
        if dotted_path(call.func) == called:
            yield from (each.value for each in call.keywords if each.arg == name)
            yield from (each for at, each in zip(positions, call.args, strict=False) if at == name)


def _binds(assigned: Assignment | None, name: str) -> bool:
    return assigned is not None and all(dotted_path(each) == name for each in assigned.targets)


def _asks_whether_none(test: ast.expr, name: str) -> bool:
    return isinstance(test, ast.Compare) and none_test(test) is not None and dotted_path(test.left) == name


def _where_none(branch: ast.If | ast.IfExp) -> Iterator[ast.AST]:
    """What is run where the test of a branch for None has found it."""
    arm = branch.body if none_test(branch.test) else branch.orelse
    for each in arm if isinstance(arm, list) else [arm]:
        yield from inside(each)


def reads_all(function: FunctionNode) -> bool:
    """Whether it hands all of its names on at once; ``model.eval()`` reads none."""
    names = {each.id for each in nodes_in(function, ast.Name)}
    names.update(each.attr for each in nodes_in(function, ast.Attribute) if each.attr != "eval")
    return not names.isdisjoint(_READS_ALL)


@once_a_node
def names_given_as_values(tree: ast.Module) -> frozenset[str]:
    """The names of a file that are read elsewhere than where they are called: what they name is called by others."""
    called = {id(call.func) for call in nodes_in(tree, ast.Call)}
    names = {each.id for each in nodes_in(tree, ast.Name) if id(each) not in called}
    names.update(each.attr for each in nodes_in(tree, ast.Attribute) if id(each) not in called)
    return frozenset(names)


def names_with_defaults(function: FunctionNode) -> frozenset[str]:
    spec = function.args
    names = [*positional_names(function)[len(positional_names(function)) - len(spec.defaults) :]]
    names += [each.arg for each, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default is not None]
    return frozenset(names)
