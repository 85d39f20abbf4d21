"""Options of a command line: the calls that add them, and which of them all functions of a file see alike."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from torchdevlint.flow.scope.asked_paths import is_resized
from torchdevlint.flow.scope.uses import bound_in_loops
from torchdevlint.source.nodes import nodes_in, once_a_node, own_nodes_in


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


def asks_once(tree: ast.Module, paths: Iterable[str]) -> bool:
    """Whether all that is asked are names that the top level of a file binds once, and options that it parses once.

    What a test says of them is the same wherever it stands, unless a function binds such a name too.
    """
    return all(_is_fixed(tree, *path.partition(".")[::2]) for path in paths)


@once_a_node
def _adds_options(tree: ast.Module) -> bool:
    return any(each.attr == "add_argument" for each in nodes_in(tree, ast.Attribute))


def _is_fixed(tree: ast.Module, root: str, name: str) -> bool:
    known = _fixed(tree)
    if (root, name) not in known:
        asked = not name or (_adds_options(tree) and any(options(tree, name)) and not is_assigned(tree, name))
        path = f"{root}.{name}" if name else root
        known[root, name] = asked and _is_bound_once(tree, root) and not is_resized(path, tree)
    return known[root, name]


@once_a_node
def _fixed(tree: ast.Module) -> dict[tuple[str, str], bool]:
    """What `_is_fixed` has found."""
    return {}


def _is_bound_once(tree: ast.Module, name: str) -> bool:
    """Whether one statement of the top level binds a name, outside of loops, and no function does."""
    if _times_bound_on_top(tree).get(name) != 1 or name in bound_in_loops(tree):
        return False
    return not any(name in each.names for each in nodes_in(tree, ast.Global))


@once_a_node
def _times_bound_on_top(tree: ast.Module) -> Counter[str]:
    return Counter(each.id for each in own_nodes_in(tree, ast.Name) if type(each.ctx) is ast.Store)
