"""Reads by NumPy in one arm of a test about a tensor itself, whose other arm brings the tensor to the CPU.

``x.detach().cpu().numpy() if x.requires_grad else x.numpy()``: the test says nothing of where `x` is, so that it may be
elsewhere in either arm. So does ``layer.kind == "conv"``, where both arms read ``layer.weight``. Where a test asks for
something else, it may tell the place as well.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.brought_reads import (
    brought_in,
    is_of_data,
    is_one_thing,
    is_same_thing,
    read_name,
    read_stem,
    root_name,
)
from torchdevlint.flow.scope.names import last_name
from torchdevlint.flow.scope.place_tests import arms_apart, asks, asks_before
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.source.nodes import inside, is_inside, nodes_in, once_a_node

_OF_ITSELF = frozenset({"requires_grad", "is_leaf", "grad_fn", "ndim", "shape", "dim", "size"})
"""What tests ask a tensor for that is the same on any device."""


def brought_in_another_arm(function: Scope, read: ast.Call) -> ast.Call | None:
    """What brings to the CPU, in another case, the argument that ``x.numpy()`` reads."""
    name, brought = read_name(read), brought_in(function)
    if not name or not brought or is_of_data(name) or asks(function):
        return None
    thing = ast.Name(name, ast.Load())
    if not is_one_thing(function, thing):
        return None
    for each in brought.get(ast.dump(thing), ()):
        tests = arms_apart(function, read, each)
        if tests and all(test is not None and is_of_itself(test, name) for test in tests):
            return each
    return None


def brought_of_another_kind(function: Scope, read: ast.Call) -> ast.Call | None:
    """``layer.weight.data.cpu().numpy()`` for one ``layer.kind``, where it is ``.data.numpy()`` for another one."""
    stem, brought = read_stem(read), brought_in(function)
    found = brought.get(ast.dump(stem), ()) if stem is not None else ()
    if stem is None or not found or isinstance(stem, ast.Name) or asks_before(function, read):
        return None
    for each in found:
        tests = arms_apart(function, read, each)
        if not tests or not all(test is not None and _is_of_kind(test, root_name(stem)) for test in tests):
            continue
        begin = min((test for test in tests if test is not None), key=lambda test: test.lineno)
        last = max(read, each, key=lambda place: place.lineno)
        if is_same_thing(function, stem, begin, last):
            return each
    return None


def brought_under_twin_test(function: Scope, read: ast.Call) -> ast.Call | None:
    """``b = b.cpu().numpy()`` where `b` is tested to be a tensor, as `a` is before ``a = a.numpy()``.

    Who asks for the class of one after the other makes arrays of what may be a tensor, and may be anywhere.
    """
    name = read_name(read)
    if not name or is_of_data(name) or not brought_in(function):
        return None
    tests = _tests_of_tensors(function)
    own = [test for tested, test, arm in tests if tested == name and is_inside(read, arm)]
    for tested, test, arm in tests:
        if tested == name or is_of_data(tested) or all(_of_name(each, name, tested) != ast.dump(test) for each in own):
            continue
        found = brought_in(function).get(ast.dump(ast.Name(tested, ast.Load())), ())
        if (call := next((each for each in found if is_inside(each, arm)), None)) is not None:
            return call
    return None


@once_a_node
def _tests_of_tensors(function: Scope) -> list[tuple[str, ast.expr, ast.AST]]:
    """What ``if isinstance(x, Tensor): x = x.numpy()`` asks for, the test, and the statement or expression below it."""
    found: list[tuple[str, ast.expr, ast.AST]] = []
    arms = [(each.test, each.body[0]) for each in nodes_in(function, ast.If) if len(each.body) == 1]
    for test, arm in (*arms, *((each.test, each.body) for each in nodes_in(function, ast.IfExp))):
        tested = test.args[0] if isinstance(test, ast.Call) and test.args else None
        is_of_class = isinstance(test, ast.Call) and last_name(test.func) in ("isinstance", "is_tensor")
        if isinstance(tested, ast.Name) and is_of_class and "ensor" in ast.unparse(test):
            found.append((tested.id, test, arm))
    return found


def _of_name(test: ast.expr, name: str, other: str) -> str:
    """A test of one name as one of another name."""
    return ast.dump(test).replace(ast.dump(ast.Name(name, ast.Load())), ast.dump(ast.Name(other, ast.Load())))


def _is_of_kind(test: ast.expr, name: str) -> bool:
    """``layer.kind == "conv"``, ``layer.kind in ("conv", "linear")``, or several of these."""
    if isinstance(test, ast.BoolOp):
        return all(_is_of_kind(each, name) for each in test.values)
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Attribute):
        return False
    texts = [each for given in test.comparators for each in inside(given) if not isinstance(each, _COLLECTIONS)]
    are_texts = all(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in texts)
    return are_texts and root_name(test.left) == name


_COLLECTIONS = (ast.Tuple, ast.List, ast.Set)


def is_of_itself(test: ast.expr, name: str) -> bool:
    """``x.requires_grad``, ``not x.is_leaf``, ``x.ndim == 3 and x.shape[0] > 1``: and nothing else is asked for."""
    names = [each for each in inside(test) if isinstance(each, ast.Name)]
    attributes = [each for each in inside(test) if isinstance(each, ast.Attribute)]
    asked = all(each.attr in _OF_ITSELF for each in attributes) and all(each.id == name for each in names)
    return asked and len(attributes) == len(names) > 0
