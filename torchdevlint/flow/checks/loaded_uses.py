"""What is done with what a load gave: who reads it as NumPy or as text has a file without tensors of an accelerator."""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.host_reads import reads_on_host
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Ref
from torchdevlint.source.nodes import nodes_in, once_a_node

_OF_TEXT = frozenset("split strip lower upper startswith endswith encode".split())
_TAKES_HOST_DATA = frozenset({"torch.from_numpy", "builtins.open", "os.path.join", "builtins.set", "builtins.sorted"})
_TAKES_PARTS = frozenset({"get", "pop"})


def is_read_by_host(frame: Frame, load: ast.Call) -> bool:
    """Whether the function reads what it has loaded, or a part of it, in a way that refuses tensors of an accelerator.

    Where there is one such a program raises just there, or the file is without them. What goes into a model is no
    such data, whatever else is done with it.
    """
    scope = frame.function or frame.machine.tree
    names = _names_of_parts(scope, load)
    read = False
    for call in nodes_in(scope, ast.Call):
        given = [each for each in call.args if _is_part(each, load, names)]
        method = call.func if isinstance(call.func, ast.Attribute) else None
        if method is not None and given and method.attr == "load_state_dict":
            return False
        of_part = method is not None and _is_part(method.value, load, names)
        if of_part and method is not None:
            read = read or method.attr in _OF_TEXT or (method.attr == "numpy" and not call.keywords)
        elif given and not read:
            called = frame.evaluate(call.func, State({}))
            read = isinstance(called, Ref) and (reads_on_host(called.name) or called.name in _TAKES_HOST_DATA)
    return read


@once_a_node
def _bound_in(scope: ast.AST) -> list[tuple[str, ast.expr]]:
    """The names that values are bound to, by assignment or by the rounds of a loop."""
    bound = [(each.targets[0], each.value) for each in nodes_in(scope, ast.Assign)]
    bound += [(each.target, each.iter) for each in nodes_in(scope, ast.For)]
    bound += [(each.target, each.iter) for each in nodes_in(scope, ast.comprehension)]
    return [(target.id, value) for target, value in bound if isinstance(target, ast.Name)]


def _names_of_parts(scope: ast.AST, load: ast.Call) -> frozenset[str]:
    """The names that hold nothing but what the load gave, or parts of it."""
    bound = _bound_in(scope)
    names: frozenset[str] = frozenset()
    while True:
        found = {name for name, value in bound if _is_part(value, load, names)}
        found -= {name for name, value in bound if not _is_part(value, load, frozenset(found))}
        if names >= found:
            return names
        names |= found


def _is_part(node: ast.expr, load: ast.Call, names: frozenset[str]) -> bool:
    """Whether an expression is what the load gave, or taken out of it."""
    while node is not load:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TAKES_PARTS:
            node = node.func.value
        else:
            return isinstance(node, ast.Name) and node.id in names
    return True
