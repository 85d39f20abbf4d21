"""What a function makes in place of an argument that it was not given, and hands on beside the one whose size it has.

``if baselines is None: baselines = torch.randn(x.shape)``, and then ``explainer.attribute(x, baselines=baselines)``:
who gives the argument gives it where `x` is. What moves its arguments itself is told a device.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.operands.handed_on_together import is_told_device_too
from torchdevlint.flow.checks.operands.sized_alike import is_for_the_cpu
from torchdevlint.flow.events import ForeignCalled, MethodCalled, Mixed, UnknownCalled
from torchdevlint.flow.kinds.sizes import shaped_after, sizes_asked
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.names import given_by_default, last_name
from torchdevlint.flow.scope.none_tests import asked_for_none, none_test
from torchdevlint.flow.state.devices import DEFAULT, Origin
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.values import Library, Tensor, Unknown
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import assignment_of, is_name, once_a_node, own_nodes_in

_MADE = torch_api.SIZE_FACTORIES | {"full"}
_FEWEST_SIZES = 2
"""What has fewer may be lengths, or an index."""
_GIVEN = (Origin.ARGUMENT, Origin.MODEL)
Functions = (ast.FunctionDef, ast.AsyncFunctionDef)


def _note_method(event: MethodCalled) -> None:
    """``explainer.attribute(x, baselines=baselines)``, of an object of another library, or of unknown class."""
    if type(event.receiver) is Unknown or (isinstance(event.receiver, Library) and not event.receiver.module):
        _note_call(event)


def _note_call(event: MethodCalled | UnknownCalled | ForeignCalled) -> None:
    frame, node, function = event.frame, event.node, event.frame.function
    if frame.depth or len(node.args) + len(node.keywords) < 2 or not isinstance(function, Functions):
        return
    filled = fallbacks_in(function)
    if not filled or function in frame.machine.pipeline or is_for_the_cpu(node):
        return
    pairs = event.arguments.pairs
    for at, value in pairs:
        made = filled.get(at.id) if isinstance(at, ast.Name) and not is_bookkeeping(at.id) else None
        after = _sized_after(made) if made is not None else None
        given = [(by, source) for by, source in pairs if isinstance(source, Tensor) and source.device.origin in _GIVEN]
        beside = next((each for each in given if is_name(each[0], after or "")), None)
        if beside is None or is_told_device_too(event.arguments):
            continue
        for _, each in alternatives(value, event.state.conditions):
            if isinstance(each, Tensor) and each.device == DEFAULT and [site.node for site in each.creations] == [made]:
                operation = f"`{frame.machine.text_of(node.func)}()`"
                frame.machine.emit(Mixed(frame, event.state, node, operation, (at, each), beside))


def _sized_after(made: ast.Call) -> str | None:
    """`x` in ``torch.randn(x.shape)`` and ``torch.zeros(x.shape[0], 3)``."""
    whole = shaped_after(made)
    if whole is not None:
        return whole.id if isinstance(whole, ast.Name) else None
    sizes = made.args[0].elts if len(made.args) == 1 and isinstance(made.args[0], (ast.Tuple, ast.List)) else made.args
    asked = [each.value for each in sizes_asked(made.args)] if len(sizes) >= _FEWEST_SIZES else []
    return next((each.id for each in asked if isinstance(each, ast.Name)), None)


@once_a_node
def fallbacks_in(function: FunctionNode) -> dict[str, ast.Call]:
    """The parameters that a function makes by a factory where they are None, each with the call."""
    optional = {name for name, value in given_by_default(function.args) if _is_none(value)}
    found: dict[str, ast.Call] = {}
    for asked in own_nodes_in(function, ast.If) if optional else ():
        name = asked_for_none(asked.test) if none_test(asked.test) else ""
        for bound in map(assignment_of, asked.body) if name in optional else ():
            made = bound.value if bound is not None and is_name(bound.targets[0], name) else None
            if isinstance(made, ast.Call) and last_name(made.func) in _MADE:
                found[name] = made
    return found


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


EVENTS = {MethodCalled: _note_method, UnknownCalled: _note_call, ForeignCalled: _note_call}
