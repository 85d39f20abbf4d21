"""Which devices a function follows: the names whose device it gives to what it makes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import is_dtype
from torchdevlint.flow.scope.uses import Scope, bindings_in
from torchdevlint.source.nodes import nodes_in, once_a_node


@once_a_node
def followed_in(function: Scope) -> frozenset[str]:
    """The names whose device a function gives to what it makes: ``x.device``, ``x.new(..)``, ``y.type_as(x)``.

    Not what it calls, such as ``torch.device(..)``. Empty where it asks which device one has: such a function has
    thought of both.
    """
    asks = any(each.attr == "is_cuda" for each in nodes_in(function, ast.Attribute))
    tests = [
        *(each.test for each in nodes_in(function, ast.If)),
        *(each.test for each in nodes_in(function, ast.IfExp)),
    ]
    asks = asks or any(each.attr == "device" for test in tests for each in nodes_in(test, ast.Attribute))
    return frozenset() if asks else frozenset(name for name, _ in _followed(function))


def is_followed_beside(function: Scope, read: ast.Name) -> bool:
    """Whether the device of what a name stands for at a place is followed in another line, before it is bound anew."""
    if read.id not in followed_in(function):
        return False
    bound = [line for line, is_bound, _ in bindings_in(function).get(read.id, ()) if is_bound]
    lines = (sorted((line, read.lineno)) for name, line in _followed(function) if name == read.id)
    return any(not any(first <= line < last for line in bound) for first, last in lines)


def _followed(function: Scope) -> Iterator[tuple[str, int]]:
    """Names, and in which lines their device is taken."""
    made = {id(call.func) for call in nodes_in(function, ast.Call) if isinstance(call.func, ast.Attribute)}
    for node in nodes_in(function, ast.Attribute):
        read = node.attr == "device" and id(node) not in made
        root = root_of(node.value) if read or node.attr in torch_api.NEW_METHODS else None
        if root is not None:
            yield root, node.lineno
    for call in nodes_in(function, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "type_as" and call.args:
            root = root_of(call.args[0])
            if root is not None:
                yield root, call.lineno


def root_of(node: ast.AST) -> str | None:
    """`x` in ``x.size(0)[1].device``."""
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


@once_a_node
def is_for_numpy(function: Scope) -> bool:
    """Whether a function reads tensors by ``t.numpy()`` and brings none to the CPU: it is written for the CPU.

    Not if it takes the device of one for what it makes, nor if it detaches all that it reads: what has a graph comes
    from a model.
    """
    if followed_in(function):
        return False
    calls = [call for call in nodes_in(function, ast.Call) if isinstance(call.func, ast.Attribute)]
    methods = {call.func.attr for call in calls if not (_is_cast(call) or is_detached_in(function, call))}  # type: ignore[attr-defined]
    return "numpy" in methods and not methods & {"cpu", "to"}


def _is_cast(call: ast.Call) -> bool:
    """Whether it is ``t.to(torch.double)``."""
    return len(call.args) == 1 and not call.keywords and is_dtype(call.args[0])


def is_detached(read: ast.Call) -> bool:
    """Whether it is ``x.detach().numpy()``: who detaches expects a tensor that a model, or an optimizer, works on.

    ``x.data.numpy()`` is how that was written before there was `detach`; ``x.detach().clamp(0, 1)[0].numpy()`` and
    ``x.data.T.numpy()`` are two more.
    """
    return isinstance(read.func, ast.Attribute) and read.func.attr == "numpy" and _is_detached(read.func.value)


def is_detached_in(function: Scope, read: ast.Call) -> bool:
    """Whether it is detached where it is read, or is a name that the function binds to what is: ``x = x.detach()``."""
    if is_detached(read):
        return True
    name = read.func.value if isinstance(read.func, ast.Attribute) and read.func.attr == "numpy" else None
    values = values_by_path(function).get(name.id, ()) if isinstance(name, ast.Name) else ()
    before = [each for each in values if each is not read]
    return bool(before) and all(map(_is_detached, before))


def _is_detached(node: ast.expr) -> bool:
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method = node.func.attr
            if method == "detach":
                return not node.args
            if method in _NOT_IN_PLACE or not torch_api.is_of_tensors(method):
                return False
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr == "data":
            return True
        elif isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in _PARTS):
            node = node.value
        else:
            return False


_PARTS = torch_api.TENSOR_ATTRIBUTES - {"grad"}
_NOT_IN_PLACE = torch_api.CONVERSIONS - torch_api.DTYPE_METHODS | {"item", "tolist", "numpy"}
"""Methods of tensors that give something elsewhere, or no tensor."""
