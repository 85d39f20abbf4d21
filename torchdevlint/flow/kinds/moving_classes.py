"""Classes of a project that are no Modules and move in place: their ``to`` writes to what they keep, or gives None."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from torchdevlint.flow.scope.names import dotted_path, last_name, positional_names
from torchdevlint.flow.scope.signatures import fits
from torchdevlint.flow.state.machine import Frame
from torchdevlint.source.nodes import nodes_in, once_a_node, own_nodes_in

_MOST_FILES = 60
"""Where more files define such a method, nobody looks at them."""
_NO_MORE = frozenset("object ABC Generic Protocol".split())
"""Bases that bring a class nothing which objects are asked for."""
_ASKED_ANEW = frozenset({"__getattr__", "__getattribute__"})


def may_be_of_moving_class(
    frame: Frame, method: str, asked: Set[str] = frozenset(), call: ast.Call | None = None
) -> bool:
    """Whether a class of the project has a `method` that moves its objects in place, and what else is `asked` of one.

    The method has to take what the `call` gives it. What is kept or given, and of which nothing else is known, may be
    of such a class; what an object keeps is of another class than the object. Nobody knows where too many files define
    one.
    """
    own = "" if frame.owner is None else frame.owner.node.name
    if _is_in(frame.machine.tree, method, asked, call, own):
        return True
    if frame.machine.others is None:
        return False
    project = frame.machine.others.project
    paths = project.saying((f"def {method}(self", "class "))
    if paths is None or len(paths) > _MOST_FILES:
        return True
    for path in paths:
        module = project.module(path)
        if module is not None and _is_in(module.tree, method, asked, call):
            return True
    return False


def _is_in(tree: ast.Module, method: str, asked: Set[str], call: ast.Call | None, apart: str = "") -> bool:
    """Whether a class of a file is one, but for the one of a name."""
    for name, moves, has in _moving_in_place(tree):
        may_be_called = moves.name == method and (call is None or fits(moves, call, bound=1))
        if may_be_called and name != apart and (has is None or asked <= has):
            return True
    return False


@once_a_node
def _moving_in_place(tree: ast.Module) -> tuple[tuple[str, ast.FunctionDef, frozenset[str] | None], ...]:
    """A file's classes and their methods that move an object, with what else one has; None where that is not known."""
    classes = (
        each
        for each in nodes_in(tree, ast.ClassDef)
        if not any(last_name(base).endswith("Module") for base in each.bases)
    )
    return tuple(
        (node.name, each, _had_by(node))
        for node in classes
        for each in node.body
        if isinstance(each, ast.FunctionDef) and (any(_writes_to_own(each)) or _gives_nothing(each))
    )


def _had_by(node: ast.ClassDef) -> frozenset[str] | None:
    """What objects of a class may be asked for; None where a base, or a method of the class, may give anything."""
    methods = {each.name for each in node.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))}
    if not methods.isdisjoint(_ASKED_ANEW) or any(last_name(each) not in _NO_MORE for each in node.bases):
        return None
    names = {each.id for each in nodes_in(node, ast.Name) if isinstance(each.ctx, ast.Store)}
    stored = {each.attr for each in nodes_in(node, ast.Attribute) if isinstance(each.ctx, ast.Store)}
    return frozenset(methods | names | stored)


def _writes_to_own(method: ast.FunctionDef) -> Iterator[bool]:
    """``self.x = self.x.to(device)``, ``self[key] = ..``, ``setattr(self, name, value.to(device))``."""
    own = next(iter(positional_names(method)), "")
    stores: list[ast.Attribute | ast.Subscript] = [*nodes_in(method, ast.Attribute), *nodes_in(method, ast.Subscript)]
    for stored in stores:
        yield isinstance(stored.ctx, ast.Store) and dotted_path(stored.value) in (own, f"{own}.__dict__")
    for call in nodes_in(method, ast.Call):
        path = dotted_path(call.func)
        yield path == f"{own}.__dict__.update"
        yield path == "setattr" and bool(call.args) and dotted_path(call.args[0]) == own


def _gives_nothing(method: ast.FunctionDef) -> bool:
    """Whether a method does something and returns nothing; one that only raises, or passes, is for others to write."""
    if any(each.value is not None for each in own_nodes_in(method, ast.Return)):
        return False
    return any(not isinstance(each, (ast.Pass, ast.Raise)) and not _is_text(each) for each in method.body)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
