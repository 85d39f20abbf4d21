"""Parts of a batch that a helper takes out of it: ``x, target = parts_of(batch)``.

A helper that is not known may move them, but then the function would not move one of them itself. Where it does, the
others are where the loader made the batch.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.kinds.loaders import is_from_loader, moved_by
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Unknown, Value
from torchdevlint.source.nodes import nodes_in, once_a_node


def parts_of_helped(
    frame: Frame, target: ast.Tuple | ast.List, value: Value, state: State, made: ast.expr | None
) -> Value:
    """The batch, where a call of something unknown takes it apart and one of the parts is moved; else `value`."""
    if type(value) is not Unknown or value.made_by or not isinstance(made, ast.Call) or frame.function is None:
        return value
    names = [each.id for each in target.elts if isinstance(each, ast.Name)]
    moved = _moved_in(frame.function).intersection(names)
    if len(made.args) != 1 or made.keywords or len(names) < len(target.elts) or not 0 < len(moved) < len(names):
        return value
    batch = frame.evaluate(made.args[0], state)
    return batch if is_from_loader(batch) else value


@once_a_node
def _moved_in(function: ast.AST) -> frozenset[str]:
    """The names that a function moves to a device: ``x.to(device)``, ``y.cuda()``."""
    moved = (moved_by(call) for call in nodes_in(function, ast.Call))
    return frozenset(each.id for each in moved if isinstance(each, ast.Name))
