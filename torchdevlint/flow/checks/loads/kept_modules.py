"""Modules that are saved: made where nothing could move them, or sent to the CPU right before."""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.loads.file_names import Scopes
from torchdevlint.flow.checks.loads.saved_names import before, values_in
from torchdevlint.flow.scope.brought_back import says_cpu
from torchdevlint.flow.scope.names import dotted_path, last_name, variable_of
from torchdevlint.source.nodes import (
    arguments_of,
    assignment_of,
    assignments_in,
    inside,
    is_inside,
    nodes_in,
    once_a_node,
)

_OF_MODULES = frozenset(
    "state_dict load_state_dict parameters named_parameters modules children train eval zero_grad apply".split()
)
_KEEPS_PLACE = frozenset("eval train zero_grad requires_grad_ state_dict parameters".split())


def is_made_here(tree: ast.Module, value: ast.expr | None) -> bool:
    """Whether a value is an object of a class that the file defines, where it is made."""
    made = dotted_path(value.func) if isinstance(value, ast.Call) else None
    return any(isinstance(each, ast.ClassDef) and each.name == made for each in tree.body)


def is_kept(tree: ast.Module, scopes: Scopes, node: ast.expr) -> bool:
    """Whether the code around makes a Module, and gives it to nobody that could move it."""
    path = dotted_path(node)
    if path is None or path.count(".") > 1:
        return False
    if isinstance(node, ast.Name):
        made = next((values_in(scope).get(path) for scope in scopes if path in values_in(scope)), None)
        values = [each.value for each in made or ()]
        around: ast.AST = scopes[0]
    else:
        owners = (each for each in nodes_in(tree, ast.ClassDef) if is_inside(scopes[0], each))
        around = next(owners, tree)
        bound = (each for each in assignments_in(around) if path in tuple(map(dotted_path, each.targets)))
        values = [each.value for each in bound]
    given = (one for each in nodes_in(around, ast.Call) for one in arguments_of(each))
    makes = all(isinstance(each, ast.Call) and last_name(each.func)[:1].isupper() for each in values)
    return bool(values) and makes and path not in tuple(map(dotted_path, given))


def is_sent_to_cpu(scope: ast.AST, node: ast.expr) -> bool:
    """Whether a statement right before sends a Module to the CPU: ``net.cpu()``, ``net = trained(net).to("cpu")``.

    Between that and the node its parts are counted and saved at most.
    """
    path = dotted_path(node)
    if path is None:
        return False
    for statement in before(scope, node):
        calls = [each for each in nodes_in(statement, ast.Call) if _is_of(each, path)]
        value = _value_of(statement, path)
        if isinstance(value, ast.Call) and says_cpu(value) and (value in calls or not isinstance(statement, ast.Expr)):
            return True
        if any(last_name(each.func) not in _KEEPS_PLACE for each in calls) or _is_handed_on(statement, path):
            return False
    return False


def _value_of(statement: ast.stmt, path: str) -> ast.expr | None:
    """What a statement evaluates alone, be it bound to the same name again."""
    bound = assignment_of(statement)
    if bound is not None:
        return bound.value if [dotted_path(each) for each in bound.targets] == [path] else None
    return statement.value if isinstance(statement, ast.Expr) else None


def has_items_of_cpu(scope: ast.AST, node: ast.expr) -> bool:
    """Whether a loop before brings each item of a dict to the CPU: ``for k in state: state[k] = state[k].cpu()``."""
    name = variable_of(node)
    if name is None:
        return False
    for statement in before(scope, node):
        if isinstance(statement, ast.For) and _dict_of(statement.iter) == name:
            puts = (each for each in map(assignment_of, statement.body) if each is not None)
            return any(_is_item(put.targets[0], name, statement.target) and _says_cpu(put.value) for put in puts)
        bound = (each for each in inside(statement) if isinstance(getattr(each, "ctx", None), (ast.Store, ast.Del)))
        if name in map(variable_of, bound):
            return False
    return False


def _dict_of(node: ast.expr) -> str | None:
    """`state` of ``state``, ``state.items()`` and ``list(state.keys())``."""
    while isinstance(node, ast.Call):
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr in ("keys", "items"):
            node = called.value
        elif dotted_path(called) in ("list", "tuple") and len(node.args) == 1:
            node = node.args[0]
        else:
            return None
    return dotted_path(node)


def _is_item(target: ast.expr, name: str, counted: ast.expr) -> bool:
    """Whether it is ``name[key]``, where `key` is what a loop goes over, or the first part of that."""
    key = counted.elts[0] if isinstance(counted, ast.Tuple) and counted.elts else counted
    if not isinstance(target, ast.Subscript) or dotted_path(target.value) != name:
        return False
    return isinstance(key, ast.Name) and dotted_path(target.slice) == key.id


def _says_cpu(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and says_cpu(node)


def is_bare_module(tree: ast.Module, node: ast.expr) -> bool:
    """Whether a file uses a name as that of a Module, and sets none of its attributes."""
    path = dotted_path(node)
    return path in _modules(tree) and path not in _with_attributes(tree)


def _is_of(call: ast.Call, path: str) -> bool:
    """Whether a call is one of a method of the Module, or of a part of it."""
    receiver = dotted_path(call.func.value) if isinstance(call.func, ast.Attribute) else None
    return receiver is not None and f"{receiver}.".startswith(f"{path}.")


def _is_handed_on(statement: ast.stmt, path: str) -> bool:
    """Whether a statement binds the Module, or gives it or what holds it to what may move it."""
    owner = path.rpartition(".")[0]
    if not {path, owner or path}.isdisjoint(map(dotted_path, _written_in(statement))):
        return True
    for call in nodes_in(statement, ast.Call):
        if "save" not in last_name(call.func):
            given = {dotted_path(each) for each in arguments_of(call)}
            of_owner = isinstance(call.func, ast.Attribute) and dotted_path(call.func.value) == (owner or None)
            if of_owner or (owner and owner in given) or path in given:
                return True
    return False


def _written_in(statement: ast.stmt) -> list[ast.expr]:
    parts: list[ast.Name | ast.Attribute] = [*nodes_in(statement, ast.Name), *nodes_in(statement, ast.Attribute)]
    return [each for each in parts if not isinstance(each.ctx, ast.Load)]


@once_a_node
def _modules(tree: ast.Module) -> frozenset[str]:
    """The names that a file asks for parameters and modes, or binds to what a class makes."""
    callees = (each.func for each in nodes_in(tree, ast.Call))
    found = [each.value for each in callees if isinstance(each, ast.Attribute) and each.attr in _OF_MODULES]
    for each in assignments_in(tree):
        made = last_name(each.value.func) if isinstance(each.value, ast.Call) else ""
        if made[:1].isupper() and not made.endswith("Tensor"):
            found += each.targets
    return frozenset(path for each in found if (path := dotted_path(each)) is not None)


@once_a_node
def _with_attributes(tree: ast.Module) -> frozenset[str]:
    """The names of which a file sets attributes."""
    written = (each for each in nodes_in(tree, ast.Attribute) if not isinstance(each.ctx, ast.Load))
    return frozenset(path for each in written if (path := dotted_path(each.value)) is not None)
