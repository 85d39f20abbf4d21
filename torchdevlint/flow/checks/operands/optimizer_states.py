"""State of an optimizer that is made as large as a parameter, on the default device (TDL014).

``for p in group["params"]: self.state[p]["momentum"] = torch.zeros(p.shape)``: a step adds it to `p`, be it in another
function. A mean of the whole parameter, or what is to be offloaded, is made in another way, or says so.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.operands.made_here import is_made_here
from torchdevlint.flow.events import FileStarted, ItemAssigned, Mixed
from torchdevlint.flow.facts.tensors import KEPT
from torchdevlint.flow.kinds.sizes import shaped_after
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.state.devices import MODEL
from torchdevlint.flow.state.tensors import is_told_device
from torchdevlint.flow.state.values import AT_LEAST_1, Step, Tensor
from torchdevlint.patterns import regex
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

_OF_GROUPS = "param_groups"
_OF_THE_HOST = regex(r"cpu|host|offload|pin_?mem|numpy|save|load|serial")


def _begin(event: FileStarted) -> None:
    if _OF_GROUPS in event.machine.words:
        event.machine.observe(ItemAssigned, _note_item)


def _note_item(event: ItemAssigned) -> None:
    """``state["exp_avg"] = torch.zeros(p.shape)``."""
    frame, value, function = event.frame, event.value, event.frame.function
    if not isinstance(value, Tensor) or function is None or event.state.guarded or not is_made_here(frame, value):
        return
    made = value.creations[0].node
    sized = shaped_after(made)
    name = dotted_path(sized) if sized is not None else None
    if name not in _parameters(function) or not isinstance(made, ast.expr) or is_told_device(value.creations[0]):
        return
    if value.parameter or not _is_state(function, event.node) or _is_of_the_host(function):
        return
    assert sized is not None
    there = Tensor(MODEL, AT_LEAST_1, (), (Step(f"`{name}` is a parameter of the optimizer", sized),))
    frame.machine.emit(Mixed(frame, event.state, made, KEPT, (made, value), (sized, there)))


@once_a_node
def _parameters(function: AnyFunction) -> frozenset[str]:
    """The names that loops over ``group["params"]`` give, for the groups of an optimizer."""
    if not any(each.attr == _OF_GROUPS for each in nodes_in(function, ast.Attribute)):
        return frozenset()
    loops: list[ast.For | ast.comprehension] = [*nodes_in(function, ast.For), *nodes_in(function, ast.comprehension)]
    return frozenset(each.target.id for each in loops if isinstance(each.target, ast.Name) and _gives(each.iter))


def _gives(node: ast.expr) -> bool:
    """``group["params"]``."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "params"


def _is_state(function: AnyFunction, target: ast.Subscript) -> bool:
    """Whether what is written to is an entry of ``self.state[p]``, also by a name."""
    holder: ast.AST = target.value
    if isinstance(holder, ast.Name):
        bound = values_by_path(function).get(holder.id, [])
        holder = bound[0] if bound else holder
    parts = (each for each in inside(holder) if isinstance(each, (ast.Attribute, ast.Name)))
    return isinstance(holder, (ast.Subscript, ast.Call)) and any(last_name(each) == "state" for each in parts)


@once_a_node
def _is_of_the_host(function: AnyFunction) -> bool:
    """Whether a function moves an entry itself, or speaks of memory of the host, by its names and texts."""
    moves = (each for each in nodes_in(function, ast.Attribute) if each.attr in torch_api.PLACING_METHODS)
    if any(isinstance(each.value, ast.Subscript) for each in moves):
        return True
    said = [each.id for each in nodes_in(function, ast.Name)]
    said += [each.attr for each in nodes_in(function, ast.Attribute)]
    said += [each.value for each in nodes_in(function, ast.Constant) if isinstance(each.value, str)]
    said.append(getattr(function, "name", ""))
    return any(_OF_THE_HOST.search(each.lower()) for each in said)


EVENTS = {FileStarted: _begin}
