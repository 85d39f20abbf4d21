"""Where a path begins: files that come with the code that reads them, and those of a temporary directory."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, parameter_names, public_path
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Ref
from torchdevlint.source.functions import functions_in
from torchdevlint.source.nodes import nodes_in, once_a_node

_OF_RESOURCES = ("importlib.resources.", "importlib_resources.", "pkg_resources.resource_", "pkgutil.get_data")
_MAKE_PATHS = frozenset("join dirname abspath realpath normpath Path PurePath str fspath open BytesIO".split())
_GIVE_PATHS = frozenset("joinpath resolve absolute with_name with_suffix open read_bytes as_posix format".split())
_TEMPORARY = ("tempfile.mkdtemp", "tempfile.mkstemp", "tempfile.TemporaryDirectory", "tempfile.NamedTemporaryFile")
_MOST_NAMES = 6

Begins = Callable[[Frame, ast.expr], bool]
"""Whether a path begins with an expression."""


def is_packed(frame: Frame, path: ast.expr) -> bool:
    """Whether a path leads to a resource: a file of the package, which nothing in this file writes."""
    return _begins(frame, frame.function, path, _in_package) and not _writes(frame, _in_package)


def is_temporary(frame: Frame, path: ast.expr) -> bool:
    """Whether a path leads into a temporary directory that this file saves to: the same run wrote what is there.

    What is brought there otherwise, such as a download, may come from any machine.
    """
    return _begins(frame, frame.function, path, _is_temporary) and _writes(frame, _is_temporary)


def _writes(frame: Frame, begins: Begins) -> bool:
    return any(_begins(frame, scope, written, begins) for scope, written in _written(frame.machine.tree))


def _in_package(frame: Frame, node: ast.expr) -> bool:
    """Whether it is where the module is, or asks for a resource."""
    if isinstance(node, ast.Name):
        return node.id in ("__file__", "__path__")
    return isinstance(node, ast.Call) and _calls(frame, node, _OF_RESOURCES)


def _is_temporary(frame: Frame, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _calls(frame, node, _TEMPORARY)


def _calls(frame: Frame, node: ast.Call, names: tuple[str, ...]) -> bool:
    if dotted_path(node.func) is None:  # to evaluate what calls another function would run that, and end here again
        return False
    called = frame.evaluate(node.func, State({}))
    return isinstance(called, Ref) and called.name.startswith(names)


def _begins(frame: Frame, scope: ast.AST | None, node: ast.expr, begins: Begins, names: int = _MOST_NAMES) -> bool:
    """Whether a path begins so; `names` is how many are followed."""
    if begins(frame, node):
        return True
    if any(_begins(frame, scope, each, begins, names) for each in _before(node)):
        return True
    if isinstance(node, (ast.Name, ast.Attribute)) and names:
        bound = list(_bound(frame, scope, node))
        return bool(bound) and all(_begins(frame, scope, each, begins, names - 1) for each in bound)
    return False


def _before(node: ast.expr) -> Iterator[ast.expr]:
    """What a path that is made here may begin with: ``d`` in ``os.path.join(d, name)``, ``d / name``, ``d.parent``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Add)):
        yield node.left
    elif isinstance(node, ast.JoinedStr):
        yield from (each.value for each in node.values[:1] if isinstance(each, ast.FormattedValue))
    elif isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in ("parent", "parents")):
        yield node.value
    elif isinstance(node, ast.Call):
        if (dotted_path(node.func) or "").rpartition(".")[2] in _MAKE_PATHS:
            yield from node.args[:1]
        if isinstance(node.func, ast.Attribute) and node.func.attr in _GIVE_PATHS:
            yield node.func.value


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
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) and path in parameter_names(scope):
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
    functions = functions_in(tree)
    within = {call: function for function in functions for call in nodes_in(function, ast.Call)}
    calls = (each for each in nodes_in(tree, ast.Call) if public_path(each.func) == "torch.save")
    return [(within.get(each), each.args[1]) for each in calls if len(each.args) > 1]
