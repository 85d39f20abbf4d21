"""What a function makes as large as a tensor, beside another that it makes like that tensor (TDL310).

``forces = torch.zeros_like(self.positions)`` beside ``velocities = torch.zeros(self.positions.shape)``: the second one
has the shape alone. Of what an argument is TDL014 tells. What goes elsewhere, or is of another kind of numbers, stays
for a reason; and nothing is forgotten where the tensor is one of the CPU.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.forgotten.left_in_one_case import says_place
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.leaving_attributes import leaves
from torchdevlint.flow.scope.names import dotted_path, is_dtype, last_name, public_path, whole_of
from torchdevlint.flow.scope.two_arms import is_chosen_between
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT, Origin, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Tensor, Value
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import (
    arguments_of,
    inside,
    is_inside,
    keyword_of,
    nodes_in,
    once_a_node,
    own_assignments_in,
    own_nodes_in,
)

_LIKE = frozenset(f"torch.{name}" for name in torch_api.LIKE_FACTORIES)
_ELSEWHERE = torch_api.MOVE_METHODS | {"type", "type_as", "numpy", "tolist", "item", "pin_memory", "share_memory_"}
_TAKES_OVER = frozenset({"register_buffer", "Parameter", "Buffer", "copy_"})


def _made(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``torch.zeros(x.shape)``, where the function has ``torch.zeros_like(x)``."""
    function, machine = frame.function, frame.machine
    if frame.depth or machine.muted or not isinstance(function, ast.FunctionDef) or state.without_accelerator:
        return
    whole = _sized_by(node)
    beside = _beside(function, whole) if whole is not None else None
    if whole is None or beside is None or not _is_alike(node, beside) or is_chosen_between(function, node, beside):
        return
    held = _bound_to(function, node)
    if held is None or _bound_to(function, beside) is None or _leaves(machine.tree, function, node, held):
        return
    if not any(_is_of_cpu(each) for _, each in alternatives(frame.evaluate(whole, state), state.conditions)):
        record(machine, function, "beside", node, beside, at=node, name=dotted_path(held) or "", state=state)


def _is_of_cpu(value: Value) -> bool:
    """Whether a tensor is on the CPU as far as the file tells, or an argument, or nothing that is somewhere."""
    if not isinstance(value, Tensor):
        return False
    return value.device == DEFAULT or on_cpu(value.device) or value.device.origin is Origin.ARGUMENT


def _sized_by(call: ast.Call) -> ast.expr | None:
    """`x` of ``torch.zeros(x.shape)``, ``torch.ones(*x.size())``, told nothing else but a dtype."""
    sizes = [*call.args, *(each.value for each in call.keywords if each.arg == "size")]
    if len(sizes) != 1 or any(each.arg not in ("dtype", "size", "requires_grad") for each in call.keywords):
        return None
    size = sizes[0].value if isinstance(sizes[0], ast.Starred) else sizes[0]
    if isinstance(size, ast.Attribute) and size.attr == "shape":
        return size.value
    is_asked = isinstance(size, ast.Call) and isinstance(size.func, ast.Attribute) and size.func.attr == "size"
    return size.func.value if is_asked and not size.args and not size.keywords else None  # type: ignore[attr-defined]


def _beside(function: FunctionNode, whole: ast.expr) -> ast.Call | None:
    """What is made like the tensor, or like a part of it, or like the tensor of which it is a part."""
    like = _made_like(function)
    found = like.get(ast.unparse(whole), like.get(ast.unparse(whole_of(whole))))
    parts = (call for call in like.values() if whole_of(call.args[0]) is not call.args[0])
    return found or next((each for each in parts if ast.dump(whole_of(each.args[0])) == ast.dump(whole)), None)


@once_a_node
def _made_like(function: FunctionNode) -> dict[str, ast.Call]:
    """The calls that make something like a tensor, where it is, by the text of that."""
    calls = (each for each in own_nodes_in(function, ast.Call) if public_path(each.func) in _LIKE and each.args)
    return {ast.unparse(each.args[0]): each for each in calls if keyword_of(each, "device") is None}


def _is_alike(node: ast.Call, beside: ast.Call) -> bool:
    """Whether both are of one kind of numbers: what is a mask or an index may be for the CPU."""
    told = [keyword_of(each, "dtype") for each in (node, beside)]
    if told[0] is None or ast.dump(told[0]) == (ast.dump(told[1]) if told[1] is not None else ""):
        return True
    of_same = isinstance(told[0], ast.Attribute) and told[0].attr == "dtype"
    return of_same or (is_dtype(told[0]) and last_name(told[0]).startswith(("float", "double", "half", "bfloat")))


def _bound_to(function: FunctionNode, made: ast.Call) -> ast.expr | None:
    """The name or attribute that is bound to what is made, which nothing moves before."""
    held = (each for each in own_assignments_in(function) if is_inside(made, each.value))
    target = next((each.targets[0] for each in held), None)
    return target if target is not None and dotted_path(target) is not None else None


def _leaves(tree: ast.Module, function: FunctionNode, made: ast.Call, held: ast.expr) -> bool:
    """Whether what is made goes elsewhere, there or under its name, is kept by a Module, or is lengths."""
    path = dotted_path(held)
    if is_bookkeeping(path) or (isinstance(held, ast.Attribute) and leaves(tree, held.attr)):
        return True
    return any(_brings(call, made, path) for call in nodes_in(function, ast.Call))


def _brings(call: ast.Call, made: ast.Call, path: str | None) -> bool:
    if last_name(call.func) in _TAKES_OVER:
        return any(is_inside(made, each) or dotted_path(each) == path for each in arguments_of(call))
    if isinstance(call.func, ast.Attribute) and call.func.attr in _ELSEWHERE:
        held = call.func.value
        return is_inside(made, held) or any(dotted_path(each) == path for each in inside(held))
    return says_place(call) and any(dotted_path(each) == path or is_inside(made, each) for each in arguments_of(call))


FUNCTIONS = {f"torch.{name}": _made for name in sorted(torch_api.SIZE_FACTORIES)}
