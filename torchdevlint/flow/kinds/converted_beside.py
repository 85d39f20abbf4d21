"""What came with something that is converted and then placed: numbers and arrays, since tensors are not copied so.

``s, a = memory.sample()``, then ``torch.tensor(s).to(device)`` and ``torch.tensor(a)``; ``batch["ids"]`` and
``batch["mask"]``; ``batch.state`` and ``batch.reward``; two arguments of one function. Who moves the one copy does not
take what it is made of for a tensor of the accelerator, and the other was made by the same hands.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.kinds.model_inputs import parts_beside
from torchdevlint.flow.scope.names import (
    dotted_path,
    last_name,
    mentions_cuda,
    mentions_device,
    parameter_names,
    places_in,
    words_in,
)
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Ref
from torchdevlint.source.nodes import assignments_in, nodes_in, once_a_node

_CONVERTERS = frozenset(
    f"torch.{name}" for name in "tensor as_tensor from_numpy Tensor FloatTensor LongTensor IntTensor BoolTensor".split()
)
_KEEP_PLACE = frozenset(
    "float long int bool half double type unsqueeze squeeze view reshape t permute transpose".split()
)
"""Methods that may stand between what is made and its move."""


def is_converted_beside(frame: Frame, node: ast.expr) -> bool:
    """Whether something that came with `node` is made a tensor of and sent to a device, in the same function."""
    scope = frame.function or frame.machine.tree
    if isinstance(scope, ast.Lambda):
        return False
    told = ast.dump(node)
    return any(
        ast.dump(call.args[0]) != told and _came_together(scope, node, call.args[0]) and _converts(frame, call)
        for call in _placed(scope)
    )


def is_rebound(frame: Frame, call: ast.Call, node: ast.expr) -> bool:
    """``x = torch.Tensor(x).float()``, where `x` is no argument: its name stands for a tensor from here on alone."""
    scope = frame.function or frame.machine.tree
    if not isinstance(node, ast.Name) or (frame.function is not None and node.id in parameter_names(frame.function)):
        return False
    made = (each for each in assignments_in(scope) if dotted_path(each.targets[0]) == node.id)
    return any(_made_first(each.value) is call for each in made)


def _made_first(node: ast.expr) -> ast.expr:
    """``torch.Tensor(x)`` in ``torch.Tensor(x).float().to(device)``."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        node = node.func.value
    return node


def _converts(frame: Frame, call: ast.Call) -> bool:
    converter = frame.evaluate(call.func, State({}))
    return isinstance(converter, Ref) and converter.name in _CONVERTERS


def _came_together(scope: Scope, node: ast.expr, other: ast.expr) -> bool:
    """Whether both are arguments, or parts of one thing: of a tuple, of a mapping under keys, of an object by names."""
    if isinstance(node, ast.Name) and isinstance(other, ast.Name):
        given = parameter_names(scope) if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) else frozenset()
        return other.id in parts_beside(scope, node.id) or {node.id, other.id} <= given
    if isinstance(node, ast.Attribute) and isinstance(other, ast.Attribute):
        holder = dotted_path(node.value)
        return holder not in (None, "self") and holder == dotted_path(other.value)
    if isinstance(node, ast.Subscript) and isinstance(other, ast.Subscript):
        held = isinstance(node.slice, ast.Constant) and isinstance(other.slice, ast.Constant)
        holder = dotted_path(node.value)
        return held and holder is not None and holder == dotted_path(other.value)
    return False


@once_a_node
def _placed(scope: Scope) -> list[ast.Call]:
    """The calls of one argument whose result goes to a device at once: ``torch.tensor(x).float().to(device)``."""
    return [each for each in _sent(scope) if len(each.args) == 1]


def _sent(scope: Scope) -> Iterator[ast.Call]:
    for call in nodes_in(scope, ast.Call):
        named = any(map(_is_accelerator, places_in(call)))
        moved = call.func.value if isinstance(call.func, ast.Attribute) else None
        if moved is not None and (last_name(call.func) == "cuda" or (last_name(call.func) == "to" and named)):
            while isinstance(moved, ast.Call) and last_name(moved.func) in _KEEP_PLACE:
                moved = moved.func.value if isinstance(moved.func, ast.Attribute) else None
            if isinstance(moved, ast.Call):
                yield moved
        elif named:
            yield call


def _is_accelerator(node: ast.expr) -> bool:
    """Whether it names a device, and not the CPU alone."""
    texts = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    if texts:
        return any(map(mentions_cuda, texts))
    return any(mentions_device(each) or mentions_cuda(each) for each in words_in(node))
