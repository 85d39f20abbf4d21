"""Parameters that may be no tensors, as the code itself says, so that no fix writes ``x.device`` for them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.bound import LEAVING, Scope, given_by_default
from torchdevlint.flow.names import dotted_path, last_name, positional_names
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

_NUMBERS = frozenset({"float", "int", "bool", "complex", "Number"})
_TESTS = frozenset({"isinstance", "is_tensor", "hasattr"})
_CONSTANT = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.unaryop, ast.operator)
_DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.Set)


def may_be_no_tensor(scope: Scope, tree: ast.Module, place: ast.AST) -> frozenset[str]:
    """The parameters of a function that may be numbers by default, by annotation, by a call or by a test.

    A test says nothing of what stands behind it where it has left the function or assigned the name.
    """
    if isinstance(scope, ast.Module):
        return frozenset()
    tested = {name for name, test in _tests(scope) if not _is_settled(scope, name, test, place)}
    return _declared(scope) | _given_constants(scope, tree) | tested


@once_a_node
def _declared(scope: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    names = {name for name, default in given_by_default(scope.args) if _is_no_tensor(default)}
    for each in nodes_in(scope.args, ast.arg):
        if each.annotation is not None and any(map(_says_number, inside(each.annotation))):
            names.add(each.arg)
    return frozenset(names)


def _says_number(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return any(each in _NUMBERS for each in node.value.replace("[", " ").replace(",", " ").split())
    return (dotted_path(node) or "").rpartition(".")[2] in _NUMBERS


def _is_no_tensor(node: ast.expr) -> bool:
    """Whether an expression is a number or a string, or a list, written out."""
    return isinstance(node, _DISPLAYS) or all(
        isinstance(each, _CONSTANT) and not (isinstance(each, ast.Constant) and each.value is None)
        for each in ast.walk(node)
    )


def _given_constants(scope: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, tree: ast.Module) -> frozenset[str]:
    """The parameters that a call in the file, of a function of that name, gives a number."""
    positional = positional_names(scope)
    names = _names_of_lambdas(tree).get(scope, ()) if isinstance(scope, ast.Lambda) else (scope.name,)
    found: set[str] = set()
    for call in (call for name in names for call in _calls(tree).get(name, ())):
        bound = isinstance(call.func, ast.Attribute) and positional[:1] in (["self"], ["cls"])
        for name, given in zip(positional[bound:], call.args, strict=False):
            if isinstance(given, ast.Starred):
                break
            if _is_no_tensor(given):
                found.add(name)
        found.update(each.arg for each in call.keywords if each.arg and _is_no_tensor(each.value))
    return frozenset(found)


@once_a_node
def _calls(tree: ast.Module) -> dict[str, list[ast.Call]]:
    found: dict[str, list[ast.Call]] = {}
    for each in nodes_in(tree, ast.Call):
        called = last_name(each.func)
        if called and (each.args or each.keywords):
            found.setdefault(called, []).append(each)
    return found


@once_a_node
def _names_of_lambdas(tree: ast.Module) -> dict[ast.Lambda, list[str]]:
    return {
        each.value: [(dotted_path(target) or "").rpartition(".")[2] for target in each.targets]
        for each in nodes_in(tree, ast.Assign)
        if isinstance(each.value, ast.Lambda)
    }


@once_a_node
def _tests(scope: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> tuple[tuple[str, ast.Call], ...]:
    """The tests of what a name is, with that name."""
    found = (each for each in nodes_in(scope, ast.Call) if each.args and isinstance(each.args[0], ast.Name))
    asked = ((each, last_name(each.func)) for each in found)
    return tuple((each.args[0].id, each) for each, called in asked if called in _TESTS)  # type: ignore[attr-defined]


def _is_settled(scope: Scope, name: str, test: ast.Call, place: ast.AST) -> bool:
    """Whether a place is under the test, or behind one after which the name is a tensor."""
    if any(test in inside(each.test) and each.lineno < _row(place) for each in nodes_in(scope, ast.Assert)):
        return True
    for each in _ifs(scope, test):
        body = [*each.body, *each.orelse]
        if any(place in inside(part) for part in body):
            return True
        assigned = (one.id for part in body for one in nodes_in(part, ast.Name) if isinstance(one.ctx, ast.Store))
        if (each.end_lineno or 0) < _row(place) and (isinstance(each.body[-1], LEAVING) or name in assigned):
            return True
    return False


def _ifs(scope: Scope, test: ast.Call) -> Iterator[ast.If]:
    return (each for each in nodes_in(scope, ast.If) if test in inside(each.test))


def _row(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)
