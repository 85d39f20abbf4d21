"""Whether the text of a file leaves the attributes of an object alone that it makes of a class of another file."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.assigned import targets_by_value
from torchdevlint.flow.scope.names import dotted_path, last_name, mentions_device, positional_names
from torchdevlint.source.nodes import arguments_of, inside, nodes_in

_BY_NAME = frozenset({"vars", "setattr", "getattr", "delattr"})
_LEAVE_DEFAULTS = frozenset({"no_grad", "inference_mode", "enable_grad", "autocast", "open", "set_grad_enabled"})
"""Contexts in which tensors are made where they are without them."""
_MOST_HOPS = 3


def leaves_alone(tree: ast.Module, class_name: str) -> bool:
    """Whether a file makes objects of a class, and only asks them for attributes; or has a class that extends it.

    ``setattr(scheduler, name, value.to(device))`` does not leave it alone, nor does a function of which only the name
    is known and that is given a device as well, nor a context that may set the default device where it is made.
    """
    made = [each for each in nodes_in(tree, ast.Call) if last_name(each.func) == class_name]
    if not made:
        return any(last_name(base) == class_name for each in nodes_in(tree, ast.ClassDef) for base in each.bases)
    targets = targets_by_value(tree)
    paths = {dotted_path(targets[each]) if each in targets else None for each in made}
    return None not in paths and not any(map(_may_place, _around(tree, made))) and _only_asked(tree, tree, paths)


def _around(tree: ast.Module, made: list[ast.Call]) -> Iterator[ast.expr]:
    """The contexts around these calls."""
    contexts: list[ast.With | ast.AsyncWith] = [*nodes_in(tree, ast.With), *nodes_in(tree, ast.AsyncWith)]
    for node in contexts:
        if any(each in nodes_in(node, ast.Call) for each in made):
            yield from (each.context_expr for each in node.items)


def _may_place(context: ast.expr) -> bool:
    return not isinstance(context, ast.Call) or last_name(context.func) not in _LEAVE_DEFAULTS


def _only_asked(tree: ast.Module, scope: ast.AST, paths: set[str | None], hops: int = _MOST_HOPS) -> bool:
    """Whether what stands under these paths is asked for attributes, and given to functions that do no more."""
    asked = {each.value for each in nodes_in(scope, ast.Attribute) if each.attr != "__dict__"}
    for call in nodes_in(scope, ast.Call):
        given = arguments_of(call)
        held = [each for each in given if dotted_path(each) in paths]
        of_object = isinstance(call.func, ast.Attribute) and dotted_path(call.func.value) in paths
        if (held or of_object) and not _leaves_it(tree, call, held, hops):
            return False
        asked.update(held)
    uses: list[ast.Name | ast.Attribute] = [*nodes_in(scope, ast.Name), *nodes_in(scope, ast.Attribute)]
    loads = (each for each in uses if isinstance(each.ctx, ast.Load) and dotted_path(each) in paths)
    return all(each in asked for each in loads)


def _leaves_it(tree: ast.Module, call: ast.Call, held: list[ast.expr], hops: int) -> bool:
    """Whether a call that is given the object does nothing but ask it for something."""
    if last_name(call.func) in _BY_NAME:
        return False
    if not any(names_device(each) for each in inside(call) if each is not call.func):
        return True
    known = [each for each in nodes_in(tree, ast.FunctionDef) if each.name == last_name(call.func)]
    if len(known) != 1 or not held or not hops:
        return False
    names = positional_names(known[0])[not isinstance(call.func, ast.Name) :]
    given = {name for name, each in zip(names, call.args, strict=False) if each in held}
    given |= {each.arg or "" for each in call.keywords if each.value in held}
    return len(given) == len(held) and _only_asked(tree, known[0], {*given}, hops - 1)


def names_device(node: ast.AST) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    return mentions_device(name) or text.startswith(("cuda", "cpu", "mps", "xpu"))
