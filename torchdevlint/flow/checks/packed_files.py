"""Files that come with the code that reads them: their paths are made from where the module is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.assigned import values_by_path
from torchdevlint.flow.names import argument_names, dotted_path
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Ref
from torchdevlint.source.nodes import nodes_in, once_a_node

_OF_RESOURCES = ("importlib.resources.", "importlib_resources.", "pkg_resources.resource_", "pkgutil.get_data")
_MAKE_PATHS = frozenset("join dirname abspath realpath normpath Path PurePath str fspath open BytesIO".split())
_GIVE_PATHS = frozenset("joinpath resolve absolute with_name with_suffix open read_bytes as_posix format".split())
_MOST_NAMES = 6


def is_packed(frame: Frame, path: ast.expr) -> bool:
    """Whether a path leads to a resource: a file of the package, which nothing in this file writes."""
    return _leads_into_package(frame, frame.function, path, _MOST_NAMES) and not any(
        _leads_into_package(frame, scope, written, _MOST_NAMES) for scope, written in _written(frame.machine.tree)
    )


def _leads_into_package(frame: Frame, scope: ast.AST | None, node: ast.expr, names: int) -> bool:
    """Whether a path begins where the module is, or was asked for as a resource; `names` is how many are followed."""
    if isinstance(node, ast.Name) and node.id in ("__file__", "__path__"):
        return True
    if isinstance(node, ast.Call):
        return _call_leads_into_package(frame, scope, node, names)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Add)):
        return _leads_into_package(frame, scope, node.left, names)
    if isinstance(node, ast.Subscript):
        return _leads_into_package(frame, scope, node.value, names)
    if isinstance(node, ast.JoinedStr):
        first = node.values[0] if node.values else None
        return isinstance(first, ast.FormattedValue) and _leads_into_package(frame, scope, first.value, names)
    if isinstance(node, ast.Attribute) and node.attr in ("parent", "parents"):
        return _leads_into_package(frame, scope, node.value, names)
    if isinstance(node, (ast.Name, ast.Attribute)) and names:
        bound = list(_bound(frame, scope, node))
        return bool(bound) and all(_leads_into_package(frame, scope, each, names - 1) for each in bound)
    return False


def _call_leads_into_package(frame: Frame, scope: ast.AST | None, node: ast.Call, names: int) -> bool:
    called = frame.evaluate(node.func, State({}))
    if isinstance(called, Ref) and called.name.startswith(_OF_RESOURCES):
        return True
    last = (dotted_path(node.func) or "").rpartition(".")[2]
    if last in _MAKE_PATHS and node.args and _leads_into_package(frame, scope, node.args[0], names):
        return True
    method = isinstance(node.func, ast.Attribute) and node.func.attr in _GIVE_PATHS
    return method and _leads_into_package(frame, scope, node.func.value, names)  # type: ignore[attr-defined]


def _bound(frame: Frame, scope: ast.AST | None, node: ast.expr) -> Iterator[ast.expr]:
    """What a name is bound to in its function, or else in the module; an attribute in its class."""
    path = dotted_path(node)
    if path is None:
        return
    owner = frame.owner
    if "." in path:
        if owner is not None:
            name = path.rpartition(".")[2]
            values = values_by_path(owner.node)
            yield from (*values.get(name, ()), *values.get(f"self.{name}", ()))
        return
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) and path in argument_names(scope):
        return
    for each in (scope, frame.machine.tree):
        if each is not None:
            found = [*values_by_path(each).get(path, ()), *_contexts(each).get(path, ())]
            if found:
                yield from found
                return


@once_a_node
def _contexts(scope: ast.AST) -> dict[str, list[ast.expr]]:
    """What ``with`` binds names to."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes_in(scope, ast.With):
        for item in node.items:
            if isinstance(item.optional_vars, ast.Name):
                found.setdefault(item.optional_vars.id, []).append(item.context_expr)
    return found


@once_a_node
def _written(tree: ast.AST) -> list[tuple[ast.AST | None, ast.expr]]:
    """The paths that are saved to in a file, each with the function that names it."""
    functions = [*nodes_in(tree, ast.FunctionDef), *nodes_in(tree, ast.AsyncFunctionDef)]
    within = {call: function for function in functions for call in nodes_in(function, ast.Call)}
    calls = (each for each in nodes_in(tree, ast.Call) if (dotted_path(each.func) or "").endswith("torch.save"))
    return [(within.get(each), each.args[1]) for each in calls if len(each.args) > 1]
