"""Names that may be no tensors, or None, as the code itself says, so that no fix writes ``x.device`` for them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import dotted_path, given_by_default, last_name, positional_names
from torchdevlint.flow.vouch.bound import LEAVING, Scope, bound_anew
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import (
    Assignment,
    assignment_of,
    assignments_in,
    inside,
    is_inside,
    nodes_in,
    once_a_node,
)

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
    tested = {name for name, test, holds in _tests(scope) if not _is_settled(scope, name, test, holds, place)}
    return _declared(scope) | _given_constants(scope, tree) | tested | _packed(scope)


@once_a_node
def _declared(scope: AnyFunction) -> frozenset[str]:
    names = {name for name, default in given_by_default(scope.args) if _is_no_tensor(default)}
    for each in nodes_in(scope.args, ast.arg):
        if each.annotation is not None and any(map(_says_number, inside(each.annotation))):
            names.add(each.arg)
    return frozenset(names)


@once_a_node
def _packed(scope: AnyFunction) -> frozenset[str]:
    """The parameters that are a `PackedSequence`, which has no `device`: it, or what a layer makes of it, is unpacked.

    What the function packs by itself came as a tensor.
    """
    unpacking = [each for each in nodes_in(scope, ast.Call) if last_name(each.func) == "pad_packed_sequence"]
    if not unpacking:
        return frozenset()
    found = {each.args[0].id for each in unpacking if each.args and isinstance(each.args[0], ast.Name)}
    bound = assignments_in(scope)
    for each in bound:
        names = {one.id for target in each.targets for one in inside(target) if isinstance(one, ast.Name)}
        if isinstance(each.value, ast.Call) and not names.isdisjoint(found):
            found.update(one.id for one in each.value.args[:1] if isinstance(one, ast.Name))
    packing = (each for each in bound if isinstance(each.value, ast.Call) and "pack" in last_name(each.value.func))
    made = {target.id for each in packing for target in each.targets if isinstance(target, ast.Name)}
    return frozenset(found - made)


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


def _given_constants(scope: AnyFunction, tree: ast.Module) -> frozenset[str]:
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
        for each in assignments_in(tree)
        if isinstance(each.value, ast.Lambda)
    }


def may_be_none(scope: Scope, place: ast.AST) -> frozenset[str]:
    """The parameters that are None by default or by their annotation, and the names that a test asks whether they are.

    Not where a test around the place, or one that has left the function or assigned the name, says that it is not.
    """
    if isinstance(scope, ast.Lambda):
        return _none_by_signature(scope)
    tested = {name for name, _, _ in _tests_for_none(scope)}
    signed = frozenset() if isinstance(scope, ast.Module) else _none_by_signature(scope)
    settled = {name for name, test, some in _tests_for_none(scope) if _is_settled(scope, name, test, some, place)}
    return (signed | tested) - settled - bound_anew(scope, place)


@once_a_node
def _none_by_signature(scope: AnyFunction) -> frozenset[str]:
    defaults = given_by_default(scope.args)
    names = {name for name, default in defaults if isinstance(default, ast.Constant) and default.value is None}
    for each in nodes_in(scope.args, ast.arg):
        if each.annotation is not None and any(map(_says_none, inside(each.annotation))):
            names.add(each.arg)
    return frozenset(names)


def _says_none(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None or (
            isinstance(node.value, str) and ("Optional" in node.value or "None" in node.value)
        )
    return (dotted_path(node) or "").rpartition(".")[2] == "Optional"


@once_a_node
def _tests_for_none(scope: Scope) -> tuple[tuple[str, ast.expr, bool], ...]:
    """Tests of whether a name, or a path, is None, or anything: with whether they hold where it is something."""
    found: list[tuple[str, ast.expr, bool]] = []
    for each in nodes_in(scope, ast.Compare):
        path, right = dotted_path(each.left), each.comparators[0]
        if path is not None and isinstance(right, ast.Constant) and right.value is None:
            found.append((path, each, isinstance(each.ops[0], (ast.IsNot, ast.NotEq))))
    return tuple(found)


@once_a_node
def _tests(scope: AnyFunction) -> tuple[tuple[str, ast.Call, bool], ...]:
    """The tests of what a name is, with that name, and whether they hold for tensors."""
    found = (each for each in nodes_in(scope, ast.Call) if each.args and isinstance(each.args[0], ast.Name))
    asked = ((each, last_name(each.func)) for each in found)
    return tuple(
        (each.args[0].id, each, _is_for_tensors(each))  # type: ignore[attr-defined]
        for each, called in asked
        if called in _TESTS
    )


def _is_for_tensors(test: ast.Call) -> bool:
    """Whether a test tells that something is a tensor, or has what a tensor has; not that it is of another class."""
    if last_name(test.func) != "isinstance":
        return True
    named = (last_name(each) for kinds in test.args[1:] for each in inside(kinds) if isinstance(each, ast.expr))
    return any(each.endswith(("Tensor", "Parameter", "Variable")) for each in named)


def _is_settled(scope: Scope, name: str, test: ast.expr, wanted: bool, place: ast.AST) -> bool:
    """Whether a place is in the arm of a test in which it comes out as `wanted`, or behind where the other arm ends.

    It ends by leaving the block, or by assigning the name. An assertion has only one.
    """
    if wanted and any(is_inside(test, each.test) and each.lineno < _row(place) for each in nodes_in(scope, ast.Assert)):
        return True
    for choice in (each for each in nodes_in(scope, ast.IfExp) if is_inside(test, each.test)):
        arm = _arm(choice.test, test, wanted)
        if arm is not None and is_inside(place, choice.body if arm else choice.orelse):
            return True
    for each in _ifs(scope, test):
        holds = _arm(each.test, test, wanted)
        if holds is None:
            continue
        right, other = (each.body, each.orelse) if holds else (each.orelse, each.body)
        if any(is_inside(place, part) for part in right):
            return True
        if (each.end_lineno or 0) < _row(place) and other and (isinstance(other[-1], LEAVING) or _assigns(other, name)):
            return True
    return False


def _arm(whole: ast.expr, test: ast.expr, wanted: bool) -> bool | None:
    """Whether the body is run only where a part of a test comes out as wanted, or the other arm; None if neither is."""
    around = [each for each in inside(whole) if is_inside(test, each)]
    holds = wanted is (sum(map(_is_not, around)) % 2 == 0)
    joined = [isinstance(each.op, ast.And) for each in around if isinstance(each, ast.BoolOp)]
    return holds if all(each is holds for each in joined) else None


def _is_not(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _assigns(body: list[ast.stmt], name: str) -> bool:
    return any(dotted_path(target) == name for part in body for each in _assignments(part) for target in each.targets)


def _assignments(node: ast.stmt) -> list[Assignment]:
    own = assignment_of(node)
    return [own] if own is not None else assignments_in(node)


def _ifs(scope: Scope, test: ast.expr) -> Iterator[ast.If]:
    return (each for each in nodes_in(scope, ast.If) if is_inside(test, each.test))


def _row(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)
