"""Reads by NumPy of what the same function brings to the CPU where it reads it another time.

Who writes ``x.cpu().numpy()`` expects `x` elsewhere, and so on every other line that reads it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from torchdevlint.flow.scope.annotations import annotated_tensor
from torchdevlint.flow.scope.assigned import unpacked_to
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.scope.uses import Scope, bindings_in
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import inside, is_inside, nodes_in, once_a_node

_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_OF_A_PLACE = regex(r"cuda|gpu|cpu|device|numpy", re.IGNORECASE)
"""Words of a test that decides by where something is, or by what kind of array it is."""
_OF_DATA = regex(r"label|target|mask", re.IGNORECASE)
"""Attributes that a data set fills, beside those that a model does."""


def brought_elsewhere(function: Scope, read: ast.Call) -> ast.Call | None:
    """``x[j].cpu().numpy()`` of a function that reads ``x[i].numpy()``; None where only one of them can run.

    So are two attributes of one object, which moves as a whole, unless they are lengths or indices. Items under
    constant keys are things of their own: one of a dict may have been copied, and another one not.
    """
    methods, stem = _chain(read)
    if not methods or methods[0] != "numpy" or not {"cpu", "to", "item"}.isdisjoint(methods):
        return None
    brought = brought_in(function)
    if not brought:
        return None
    found = brought.get(ast.dump(stem)) or brought.get(holder(stem), ())
    if not found or not is_one_thing(function, stem) or asks(function):
        return None
    return next((each for each in found if each is not read and not exclude(function, read, each)), None)


def brought_with(function: Scope, read: ast.Call) -> ast.Call | None:
    """``b.cpu().numpy()`` of a function that reads ``a.numpy()``, where one call gave it both: ``a, b = split(x)``.

    Labels and lengths may have stayed on the CPU beside what a model gave.
    """
    name, brought = read_name(read), brought_in(function)
    if not brought or not name or is_of_data(name) or not is_one_thing(function, _chain(read)[1]):
        return None
    if asks(function):
        return None
    unpacked = (targets for targets, value in unpacked_to(function, name) if isinstance(value, ast.Call))
    beside = (each for targets in unpacked for each in targets if isinstance(each, ast.Name) and each.id != name)
    for other in beside:
        if not is_of_data(other.id) and is_one_thing(function, other):
            found = brought.get(ast.dump(ast.Name(other.id, ast.Load())), ())
            if (call := next((each for each in found if not exclude(function, read, each)), None)) is not None:
                return call
    return None


def is_of_data(name: str) -> bool:
    return is_bookkeeping(name) or _OF_DATA.search(name) is not None


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
    methods, stem = _chain(read)
    copied = not methods or methods[0] != "numpy" or not {"cpu", "to", "item"}.isdisjoint(methods)
    return stem.id if isinstance(stem, ast.Name) and not copied else ""


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
    if not isinstance(stem, ast.Attribute) or is_bookkeeping(stem.attr) or _OF_DATA.search(stem.attr):
        return ""
    path = dotted_path(stem.value)
    return "" if path in (None, "self") else f"{path}."


def stem_text(read: ast.Call) -> str:
    """What is read, without methods and places in it: `out` of ``out[i].float().numpy()``."""
    stem = _chain(read)[1]
    return dotted_path(stem) or ast.unparse(stem)


@once_a_node
def brought_in(function: Scope) -> dict[str, tuple[ast.Call, ...]]:
    """What a function brings to the CPU for NumPy, by the dump of where the chain begins."""
    found: dict[str, tuple[ast.Call, ...]] = {}
    for call in nodes_in(function, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "numpy":
            methods, stem = _chain(call)
            if "cpu" in methods:
                for key in filter(None, (ast.dump(stem), holder(stem))):
                    found[key] = (*found.get(key, ()), call)
    return found


def _chain(node: ast.expr) -> tuple[tuple[str, ...], ast.expr]:
    """``("numpy", "float")`` and `x` of ``x[i].float().numpy()``."""
    methods: tuple[str, ...] = ()
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            methods, node = (*methods, node.func.attr), node.func.value
        elif isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            node = node.value
        else:
            return methods, node


def is_one_thing(function: Scope, stem: ast.expr) -> bool:
    """Whether a name, attribute or item stands for one thing all over the function, and not for a library."""
    root: ast.expr = stem
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    if not isinstance(root, ast.Name) or not _is_own(function, root.id):
        return False
    if sum(bound for _, bound, _ in bindings_in(function).get(root.id, ())) > 1:
        return False
    kind = type(stem)
    written = (each for each in nodes_in(function, kind) if isinstance(each.ctx, ast.Store))  # type: ignore[attr-defined]
    text = ast.dump(stem).replace("Load()", "")
    return stem is root or all(ast.dump(each).replace("Load()", "").replace("Store()", "") != text for each in written)


def _is_own(function: Scope, name: str) -> bool:
    """Whether a function is given the name, or binds it: `torch` in ``torch.cat(x).numpy()`` is none of its things."""
    if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and name in parameter_names(function):
        return True
    return any(bound for _, bound, _ in bindings_in(function).get(name, ()))


@once_a_node
def asks(function: Scope) -> bool:
    """Whether a function decides by where its tensors are, or what they are."""
    tests = [each.test for each in nodes_in(function, ast.If)] + [each.test for each in nodes_in(function, ast.IfExp)]
    return any(_OF_A_PLACE.search(word) for test in tests for word in _words(test))


def _words(node: ast.expr) -> Iterator[str]:
    for each in inside(node):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute):
            yield each.attr


def exclude(function: Scope, one: ast.AST, other: ast.AST) -> bool:
    """Whether a run of the function comes to one of two places only."""
    return bool(arms_apart(function, one, other))


def arms_apart(function: Scope, one: ast.AST, other: ast.AST) -> list[ast.expr | None]:
    """The tests that let a run of the function come to one of two places only; None for what an error decides."""
    branches: list[ast.If | ast.IfExp | ast.Try] = [*nodes_in(function, ast.If), *nodes_in(function, ast.IfExp)]
    found: list[ast.expr | None] = []
    for branch in [*branches, *nodes_in(function, ast.Try)]:
        arms = list(_arms(branch))
        places = [next((arm for arm in arms if _holds(arm, each)), None) for each in (one, other)]
        if places[0] is places[1]:
            continue
        arm = places[0] or places[1] or []
        if isinstance(branch, ast.Try):
            found.append(None)
        elif None not in places or isinstance(arm[-1], _ENDS):
            found.append(branch.test)
    return found


def _arms(branch: ast.If | ast.IfExp | ast.Try) -> Iterator[Sequence[ast.AST]]:
    if isinstance(branch, ast.IfExp):
        yield from ([branch.body], [branch.orelse])
        return
    yield branch.body
    if branch.orelse:
        yield branch.orelse
    if isinstance(branch, ast.Try):
        yield from (each.body for each in branch.handlers)


def _holds(arm: Sequence[ast.AST], node: ast.AST) -> bool:
    return any(each is node or is_inside(node, each) for each in arm)
