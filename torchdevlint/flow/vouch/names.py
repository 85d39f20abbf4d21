"""Names: whether one that stands at one place is the same variable at another, and may be read or assigned there."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import dotted_path, first_name
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.vouch.bound import (
    Scope,
    binds,
    bound_at_the_end,
    scopes_around,
    steady,
    surely_bound,
    times_bound,
)
from torchdevlint.flow.vouch.kinds import may_be_none
from torchdevlint.source.nodes import arguments_of, assignments_in, is_inside, nodes_in


def assignable(frame: Frame, name: str, place: ast.AST) -> bool:
    """Whether assigning to a name at a place changes what the place reads, and nothing else gets a name by it."""
    scopes, scope = scopes_around(frame.machine.tree, place), frame.function or frame.machine.tree
    own = bool(scopes) and scopes[0] is scope and not isinstance(scope, ast.Lambda)
    return own and name in surely_bound(scope, place)


def is_rebound(function: Scope, parameter: str) -> bool:
    """Whether a function binds the name of one of its parameters anew, by whatever statement."""
    return times_bound(function, parameter) > 1


def is_read_otherwise(tree: ast.Module, node: ast.expr) -> bool:
    """Whether a name that is assigned `node` may be read elsewhere than where a device is taken: ``pair[0]``."""
    targets = [target for each in assignments_in(tree) if each.value is node for target in each.targets]
    taken = {id(each.value) for call in nodes_in(tree, ast.Call) for each in call.keywords if each.arg == "device"}
    moves = (call for call in nodes_in(tree, ast.Call) if isinstance(call.func, ast.Attribute) and call.args)
    taken.update(id(call.args[0]) for call in moves if call.func.attr in ("to", "cuda"))  # type: ignore[attr-defined]
    paths = [dotted_path(each) for each in targets]
    reads: list[ast.Name | ast.Attribute] = [*nodes_in(tree, ast.Name), *nodes_in(tree, ast.Attribute)]
    loads = [each for each in reads if isinstance(each.ctx, ast.Load) and dotted_path(each) in paths]
    return not targets or None in paths or any(id(each) not in taken for each in loads)


def asked_before(frame: Frame, asked: ast.expr, place: ast.AST) -> bool:
    """Whether the tensor whose ``is_cuda`` a test has asked is still what its name says at a place in that function."""
    path, scopes = dotted_path(asked), scopes_around(frame.machine.tree, place)
    if path is None or not scopes or scopes != scopes_around(frame.machine.tree, asked):
        return False
    scope, root = scopes[0], first_name(path)
    if root not in steady(scope, place):
        return False
    rows = range(asked.lineno, _row(place))
    written = [line for line, bound, _ in bindings_in(scope).get(root, ()) if bound]
    written += [each.lineno for each in _writes(scope, path)]
    return not any(line in rows for line in written)


def means_the_same(frame: Frame, text: str, place: ast.AST, seen: ast.AST) -> bool:
    """Whether the names of an expression for a device are bound at `place`, to what they were where it was `seen`.

    A literal is always the same. Replicas of `DataParallel` have no parameters, so that ``next(self.parameters())``
    raises in them.
    """
    machine = frame.machine
    if text.startswith('"'):
        return True
    if text.startswith("next(self.") and "DataParallel" in machine.words:
        return False
    path = text.removeprefix("next(").removesuffix(".parameters()).device")
    root, around, others = first_name(path), scopes_around(machine.tree, place), scopes_around(machine.tree, seen)
    if not path.replace(".", "").isidentifier() or not around or not others:
        return False
    binder = next((each for each in around if binds(each, root)), None)
    if root == "self" and path != root:
        return root in surely_bound(around[0], place) and _has_attribute(around[0], path, place)
    if binder is None or binder is not next((each for each in others if binds(each, root)), None):
        return False
    return _is_bound_once(machine.tree, binder, around, root, place) and _is_set_before(binder, path, place)


def _is_bound_once(tree: ast.Module, binder: Scope, around: list[Scope], root: str, place: ast.AST) -> bool:
    """Whether a name of `binder` is one thing wherever it is read, and bound before the place is reached."""
    if binder is around[0]:
        times = times_bound(binder, root)
        given = root in may_be_none(binder, place)
        return root in steady(binder, place) and not given and (times == 1 or _is_settled(binder, root, place))
    if times_bound(binder, root) > 1 or any(root in each.names for each in nodes_in(tree, ast.Global)):
        return False
    inner = around[around.index(binder) - 1]
    if isinstance(binder, ast.Module):
        return root in bound_at_the_end([each for each in tree.body if (each.end_lineno or 0) < _row(place)])
    return root in steady(binder, inner)


def _is_settled(scope: Scope, root: str, place: ast.AST) -> bool:
    """Whether a parameter, or a name of a block, is bound anew at the start only: ``device = device or "cpu"``."""
    if isinstance(scope, ast.Lambda):
        return False
    rows = [line for line, bound, _ in bindings_in(scope).get(root, ()) if bound]
    moved = (each.lineno for each in nodes_in(scope, ast.Call) if _reads(each, root))
    return max(rows, default=0) < _row(place) and max(rows, default=0) <= min(moved, default=_row(place))


def _reads(call: ast.Call, root: str) -> bool:
    """Whether a name is an argument of a call of its own: what is placed by it."""
    given = arguments_of(call)
    return any(isinstance(each, ast.Name) and each.id == root for each in given)


def _is_set_before(scope: Scope, path: str, place: ast.AST) -> bool:
    """Whether an attribute that the scope sets is set before the place."""
    return "." not in path or all(_row(each) < _row(place) for each in _writes(scope, path))


def _has_attribute(scope: Scope, path: str, place: ast.AST) -> bool:
    """Whether `self` has an attribute at a place of a method: in ``__init__`` only what stands above it has."""
    written = _writes(scope, path)
    if not written:
        return getattr(scope, "name", "") != "__init__"
    return (
        not isinstance(scope, ast.Lambda)
        and all(_row(each) < _row(place) for each in written)
        and any(
            isinstance(each, (ast.Assign, ast.AnnAssign)) and _row(each) < _row(place) and is_inside(written[0], each)
            for each in scope.body
        )
    )


def _writes(scope: Scope, path: str) -> list[ast.Attribute]:
    return [each for each in nodes_in(scope, ast.Attribute) if is_written(each) and dotted_path(each) == path]


def is_written(node: ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _row(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)
