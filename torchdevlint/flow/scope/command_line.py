"""Options of a command line: the calls that add them, and which of them all functions of a file see alike."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import parameter_names
from torchdevlint.flow.scope.uses import bindings_in, bound_in_loops
from torchdevlint.source.nodes import inside, nodes_in, once_a_node, own_nodes_in


def options(tree: ast.Module, name: str) -> Iterator[ast.Call]:
    """The calls that add an option of a command line that is read as an attribute with that name."""
    for call in nodes_in(tree, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument" and _is_for(call, name):
            yield call


def _is_for(call: ast.Call, name: str) -> bool:
    """Whether an option of a command line is read as an attribute with that name."""
    given = [each.value.value for each in call.keywords if each.arg == "dest" and isinstance(each.value, ast.Constant)]
    named = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return name in (given or [each.lstrip("-").replace("-", "_") for each in named if len(each) > 2])


def is_assigned(tree: ast.Module, name: str) -> bool:
    """Whether a file assigns to an attribute with that name, or to one whose name it does not write down."""
    stored = any(each.attr == name and isinstance(each.ctx, ast.Store) for each in nodes_in(tree, ast.Attribute))
    named = any(each.id in ("setattr", "vars") for each in nodes_in(tree, ast.Name))
    return stored or named or any(each.attr == "__dict__" for each in nodes_in(tree, ast.Attribute))


def asks_options_of_module(tree: ast.Module, scope: ast.AST, test: ast.expr) -> bool:
    """Whether a test asks nothing but options that the top level of its file parses once: ``args.gpus > 1``.

    It comes out the same wherever it stands. `scope` is the function around, or the module.
    """
    if not _adds_options(tree):
        return False
    held = set()
    for part in inside(test):
        if isinstance(part, ast.Attribute):
            if not isinstance(part.value, ast.Name):
                return False
            held.add((part.value.id, part.attr))
        elif not isinstance(part, _OF_TESTS):
            return False
    read = {each.id for each in inside(test) if isinstance(each, ast.Name)}
    if not held or {root for root, _ in held} != read or not all(_is_fixed(tree, *each) for each in held):
        return False
    if scope is tree:
        return True
    bound = bindings_in(scope)  # type: ignore[arg-type]
    names = parameter_names(scope)  # type: ignore[arg-type]
    return not any(name in names or any(stored for _, stored, _ in bound.get(name, ())) for name in read)


@once_a_node
def _adds_options(tree: ast.Module) -> bool:
    return any(each.attr == "add_argument" for each in nodes_in(tree, ast.Attribute))


_OF_TESTS = (
    ast.Name,
    ast.Constant,
    ast.Compare,
    ast.BoolOp,
    ast.UnaryOp,
    ast.operator,
    ast.unaryop,
    ast.cmpop,
    ast.boolop,
    ast.expr_context,
)


def _is_fixed(tree: ast.Module, root: str, name: str) -> bool:
    known = _fixed(tree)
    if (root, name) not in known:
        known[root, name] = _is_bound_once(tree, root) and any(options(tree, name)) and not is_assigned(tree, name)
    return known[root, name]


@once_a_node
def _fixed(tree: ast.Module) -> dict[tuple[str, str], bool]:
    """What `_is_fixed` has found."""
    return {}


def _is_bound_once(tree: ast.Module, name: str) -> bool:
    """Whether one statement of the top level binds a name, outside of loops, and no function does."""
    if name in bound_in_loops(tree) or any(name in each.names for each in nodes_in(tree, ast.Global)):
        return False
    return sum(each.id == name and isinstance(each.ctx, ast.Store) for each in own_nodes_in(tree, ast.Name)) == 1
