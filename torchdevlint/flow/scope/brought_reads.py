"""Reads by NumPy of what the same function brings to the CPU where it reads it another time.

Who writes ``x.cpu().numpy()`` expects `x` elsewhere, and so on every other line that reads it.
"""

from __future__ import annotations

import ast
import re

from torchdevlint.flow.scope.annotations import annotated_tensor
from torchdevlint.flow.scope.assigned import unpacked_to
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.scope.place_tests import asks, asks_before, exclude
from torchdevlint.flow.scope.uses import Scope, bindings_in
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import assignments_in, is_inside, is_name, nodes_in, once_a_node

_OF_GRAPH = ("edge_index", "edge_indices")
_OF_DATA = regex(r"label|target|mask", re.IGNORECASE)
"""Attributes that a data set fills, beside those that a model does."""


def brought_elsewhere(function: Scope, read: ast.Call) -> ast.Call | None:
    """``x[j].cpu().numpy()`` of a function that reads ``x[i].numpy()``; None where only one of them can run.

    So are two attributes of one object, which moves as a whole, unless they are lengths or indices. Items under
    constant keys are things of their own: one of a dict may have been copied, and another one not.
    """
    stem, brought = read_stem(read), brought_in(function)
    if stem is None or not brought:
        return None
    found = brought.get(ast.dump(stem)) or brought.get(holder(stem), ())
    if not found or not _is_own_thing(function, stem) or asks_before(function, read):
        return None
    alike = (each for each in found if each is not read and is_same_thing(function, stem, read, each))
    return next((each for each in alike if not exclude(function, read, each)), None)


def brought_with(function: Scope, read: ast.Call) -> ast.Call | None:
    """``b.cpu().numpy()`` of a function that reads ``a.numpy()``, where one call gave it both: ``a, b = split(x)``.

    Labels and lengths may have stayed on the CPU beside what a model gave.
    """
    name, brought = read_name(read), brought_in(function)
    if not brought or not name or is_of_data(name) or not is_one_thing(function, steps_of(read)[1]):
        return None
    if asks_before(function, read):
        return None
    unpacked = (targets for targets, value in unpacked_to(function, name) if isinstance(_whole(value), ast.Call))
    beside = (each for targets in unpacked for each in targets if isinstance(each, ast.Name) and each.id != name)
    for other in beside:
        if not is_of_data(other.id) and is_one_thing(function, other):
            found = brought.get(ast.dump(ast.Name(other.id, ast.Load())), ())
            if (call := next((each for each in found if not exclude(function, read, each)), None)) is not None:
                return call
    return None


def _whole(node: ast.expr) -> ast.expr:
    """``f(x)`` of ``f(x)[:2]``."""
    return node.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) else node


def is_of_data(name: str) -> bool:
    """Whether it is called like what may have stayed on the CPU; the edges of a graph are where its nodes are."""
    return (is_bookkeeping(name) and not name.endswith(_OF_GRAPH)) or _OF_DATA.search(name) is not None


def brought_by_another(tree: ast.Module, function: Scope, name: str) -> ast.Call | None:
    """``cov.trace().cpu().numpy()`` of another function that takes a tensor `cov`, as this one does.

    Both say by annotation that it is a tensor: functions of one file that take the same thing take it from one place.
    """
    if is_of_data(name) or not takes_tensor(function, name) or _is_bound(function, name) or asks(function):
        return None
    for other in nodes_in(tree, ast.FunctionDef):
        if other is not function and takes_tensor(other, name) and not asks(other):
            found = brought_in(other).get(ast.dump(ast.Name(name, ast.Load())), ())
            if found and not _is_bound(other, name):
                return found[0]
    return None


def read_name(read: ast.Call) -> str:
    """`x` of ``x[0].float().numpy()``, if that is a name which nothing in the chain copies; else nothing."""
    stem = read_stem(read)
    return stem.id if isinstance(stem, ast.Name) else ""


def read_stem(read: ast.Call) -> ast.expr | None:
    """``x.y`` of ``x.y[i].float().numpy()``, if nothing in the chain copies it."""
    methods, stem = steps_of(read)
    copied = not methods or methods[0] != "numpy" or not {"cpu", "to", "item"}.isdisjoint(methods)
    return None if copied else stem


def takes_tensor(function: Scope, name: str) -> bool:
    """Whether a function says by annotation that a parameter is a tensor."""
    spec = getattr(function, "args", None)
    given = () if spec is None else (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)
    return any(each.arg == name and annotated_tensor(each.annotation) for each in given)


def _is_bound(function: Scope, name: str) -> bool:
    """Whether a function gives a parameter another value."""
    return any(bound for _, bound, _ in bindings_in(function).get(name, ()))


def brings_any(function: Scope) -> bool:
    """Whether a function brings something to the CPU for NumPy, and decides nothing by where it is."""
    return bool(brought_in(function)) and not asks(function)


def holder(stem: ast.expr) -> str:
    """What tells the object of which an attribute is read; nothing for `self`, whose attributes are what they are."""
    if isinstance(stem, ast.Subscript) and isinstance(stem.slice, ast.Constant) and isinstance(stem.slice.value, int):
        stem = stem.value  # an item of a tuple
    if not isinstance(stem, ast.Attribute) or is_of_data(stem.attr):
        return ""
    path = dotted_path(stem.value)
    return "" if path in (None, "self") else f"{path}."


def stem_text(read: ast.Call) -> str:
    """What is read, without methods and places in it: `out` of ``out[i].float().numpy()``."""
    stem = steps_of(read)[1]
    return dotted_path(stem) or ast.unparse(stem)


@once_a_node
def brought_in(function: Scope) -> dict[str, tuple[ast.Call, ...]]:
    """What a function brings to the CPU for NumPy, by the dump of where the chain begins."""
    found: dict[str, tuple[ast.Call, ...]] = {}
    for call in nodes_in(function, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "numpy":
            methods, stem = steps_of(call)
            if "cpu" in methods:
                for key in filter(None, (ast.dump(stem), holder(stem))):
                    found[key] = (*found.get(key, ()), call)
    return found


def steps_of(node: ast.expr) -> tuple[tuple[str, ...], ast.expr]:
    """``("numpy", "float")`` and `x` of ``x[i].float().numpy()``."""
    methods: tuple[str, ...] = ()
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            methods, node = (*methods, node.func.attr), node.func.value
        elif isinstance(node, ast.Subscript) and (not isinstance(node.slice, ast.Constant) or _is_of_graph(node.value)):
            node = node.value
        else:
            return methods, node


def _is_of_graph(node: ast.expr) -> bool:
    """``edge_index`` of ``edge_index[0]``, whose two rows are in one place."""
    return (dotted_path(node) or "").endswith(_OF_GRAPH)


def is_one_thing(function: Scope, stem: ast.expr) -> bool:
    """Whether a name, attribute or item stands for one thing all over the function, and not for a library."""
    return _is_own_thing(function, stem) and len(_bound_at(function, root_name(stem))) <= 1


def is_same_thing(function: Scope, stem: ast.expr, one: ast.expr, other: ast.expr) -> bool:
    """Whether it stands for the same in two places: its name is bound once, or not from the one to the other."""
    lines = _bound_at(function, root_name(stem))
    if len(lines) <= 1:
        return True
    first, last = sorted((one, other), key=lambda each: each.lineno)
    holders = (each.lineno for each in assignments_in(function) if is_inside(first, each.value))
    begin = min(holders, default=first.lineno)
    return not any(begin <= line < last.lineno for line in lines)


def _is_own_thing(function: Scope, stem: ast.expr) -> bool:
    """Whether a function is given it, or binds it, and writes no other attribute or item into its place."""
    name = root_name(stem)
    if not name or not _is_own(function, name):
        return False
    kind = type(stem)
    written = (each for each in nodes_in(function, kind) if isinstance(each.ctx, ast.Store))  # type: ignore[attr-defined]
    text = ast.dump(stem).replace("Load()", "")
    return kind is ast.Name or all(
        ast.dump(each).replace("Load()", "").replace("Store()", "") != text for each in written
    )


def root_name(stem: ast.expr) -> str:
    """`x` of ``x.y[0].z``; nothing if that is no name."""
    while isinstance(stem, (ast.Attribute, ast.Subscript)):
        stem = stem.value
    return stem.id if isinstance(stem, ast.Name) else ""


def _bound_at(function: Scope, name: str) -> list[int]:
    """Where a name is bound, but for arrays of itself: what is read by ``.numpy()`` is the tensor before."""
    itself = converts_itself(function).get(name, ())
    return [line for line, is_bound, _ in bindings_in(function).get(name, ()) if is_bound and line not in itself]


@once_a_node
def converts_itself(function: Scope) -> dict[str, frozenset[int]]:
    """The lines of ``x = x.cpu().numpy()``, by the name."""
    found: dict[str, frozenset[int]] = {}
    for each in assignments_in(function):
        target, methods = each.targets[0], steps_of(each.value)[0]
        if isinstance(target, ast.Name) and "numpy" in methods and is_name(steps_of(each.value)[1], target.id):
            found[target.id] = found.get(target.id, frozenset()) | {target.lineno}
    return found


def _is_own(function: Scope, name: str) -> bool:
    """Whether a function is given the name, or binds it: `torch` in ``torch.cat(x).numpy()`` is none of its things."""
    if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and name in parameter_names(function):
        return True
    return any(bound for _, bound, _ in bindings_in(function).get(name, ()))
