"""What generators say: a factory with ``generator=`` and without ``device=`` draws on the CPU, or raises."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path, given_by_default, last_name, positional_names
from torchdevlint.flow.state.machine import Frame
from torchdevlint.source.nodes import nodes_in, once_a_node, own_nodes_in

_VALUES = torch_api.RANDOM_FACTORIES - {"randint", "randperm"}
"""What draws values to calculate with; an index of the CPU goes with a tensor that is anywhere."""
_MOVES = frozenset({"cuda", "to", "type_as"})


def is_drawn(frame: Frame, node: ast.AST | None) -> bool:
    """Whether the call of a random factory draws from a generator of the CPU, or its function lives by such draws.

    That is one which calculates with values from such a generator, and moves nothing: all its data is on the CPU.
    """
    if frame.function is not None and node is not None and _draws_for_a_device(frame.function, node):
        return False
    if node is not None and _has_generator(frame, node):
        return True
    return frame.function is not None and any(_has_generator(frame, each) for each in _kept_draws(frame.function))


def _draws_for_a_device(function: ast.AST, node: ast.AST) -> bool:
    """Whether the generator of a call draws for a device beside it: ``torch.randn(3, generator=g, device=x.device)``.

    It raises unless it is one of that device.
    """
    return _generator(node) in _placed_generators(function)


@once_a_node
def _placed_generators(function: ast.AST) -> frozenset[str]:
    """The names of generators that draw for the device of something."""
    calls = own_nodes_in(function, ast.Call)
    placed = (call for call in calls if any(_is_of_something(each) for each in call.keywords if each.arg == "device"))
    return frozenset(name for name in map(_generator, placed) if name)


def _is_of_something(keyword: ast.keyword) -> bool:
    """``device=x.device``."""
    return isinstance(keyword.value, ast.Attribute) and keyword.value.attr == "device"


def _generator(node: ast.AST) -> str:
    """What a call draws from, if that has a name."""
    given = (each.value for each in getattr(node, "keywords", ()) if each.arg == "generator")
    return next((dotted_path(each) or "" for each in given), "")


@once_a_node
def _kept_draws(function: ast.AST) -> list[ast.Call]:
    """The draws of values in a function, if it moves nothing."""
    calls = own_nodes_in(function, ast.Call)
    if any(isinstance(each.func, ast.Attribute) and each.func.attr in _MOVES for each in calls):
        return []
    drawn = (each for each in calls if last_name(each.func) in _VALUES)
    return [each for each in drawn if all(keyword.arg != "device" for keyword in each.keywords)]


def _has_generator(frame: Frame, node: ast.AST) -> bool:
    """Whether a factory is given a generator in every call, not only where a caller has one: ``generator=None``."""
    given = next((each.value for each in getattr(node, "keywords", ()) if each.arg == "generator"), None)
    function = frame.function
    if given is None or function is None or not isinstance(given, ast.Name):
        return given is not None and not _is_none(given)
    optional = any(name == given.id and _is_none(default) for name, default in given_by_default(function.args))
    return not optional or _is_always_given(frame.machine.tree, function, given.id)


def _is_always_given(tree: ast.Module, function: ast.AST, name: str) -> bool:
    """Whether the file calls a function of its top level, and every call says what a parameter is."""
    if not isinstance(function, ast.FunctionDef) or function not in tree.body:
        return False
    calls = [each for each in nodes_in(tree, ast.Call) if last_name(each.func) == function.name]
    names = positional_names(function)
    place = names.index(name) if name in names else len(names)
    return bool(calls) and all(_gives(each, name, place) for each in calls)


def _gives(call: ast.Call, name: str, place: int) -> bool:
    given = [each.value for each in call.keywords if each.arg == name]
    if not any(isinstance(each, ast.Starred) for each in call.args):
        given += call.args[place : place + 1]
    return bool(given) and not _is_none(given[0])


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
