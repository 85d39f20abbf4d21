"""Parameters that a move has turned into tensors, which a Module does not register."""

from __future__ import annotations

import ast
from functools import partial

from msgspec.structs import replace

from torchdevlint.flow.events import AttributeAssigned
from torchdevlint.flow.facts.modules import MovedParameter
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.unconditional import straight
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import Device, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Obj, Tensor
from torchdevlint.source.nodes import arguments_of, assignment_of, is_name, nodes_in


def _note_assignment(event: AttributeAssigned) -> None:
    """``self.w = nn.Parameter(t).to(d)``: on an accelerator, what is assigned is no Parameter (TDL103)."""
    machine, state, target = event.frame.machine, event.state, event.node
    if not isinstance(event.receiver, Obj) or not event.receiver.info.is_module:
        return
    info = event.receiver.info
    for _, each in alternatives(event.value, state.conditions):
        if not isinstance(each, Tensor) or each.unwrapped is None:
            continue
        if _is_made_each_time(event.frame.function, target, each.unwrapped):
            continue
        if _is_moved_with_all(event.frame.function, each.unwrapped):
            continue
        if _has_other_data(event.frame.function, target, each.unwrapped):
            continue
        if not on_cpu(each.device) and not _is_there(each.unwrapped, each.device, state):
            machine.record_anyway(("parameter", target), partial(_moved, machine, info, target.attr, each.unwrapped))


def _is_made_each_time(function: ast.AST | None, target: ast.Attribute, move: ast.AST) -> bool:
    """Whether each `forward` makes what nothing trains, of something else: none of it is lost, registered or not.

    What every call replaces is trained by nothing either: an optimizer has what was there before, if anything.
    """
    if not isinstance(function, ast.FunctionDef) or function.name != "forward":
        return False
    made = filter(None, map(assignment_of, straight(function.body)))
    bound = (one for each in made for one in each.targets)
    fixed = any(each is target for each in bound) or any(
        each.arg == "requires_grad" and isinstance(each.value, ast.Constant) and each.value.value is False
        for each in nodes_in(move, ast.keyword)
    )
    return fixed and not any(each.attr == target.attr for each in nodes_in(move, ast.Attribute))


def _is_moved_with_all(function: ast.AST | None, move: ast.AST) -> bool:
    """``super().to(device)``, then ``self.w = self.w.to(device)``: a move of what is there already gives itself."""
    if not isinstance(function, ast.FunctionDef) or not isinstance(move, ast.Call):
        return False
    if not isinstance(move.func, ast.Attribute) or not (dotted_path(move.func.value) or "").startswith("self."):
        return False
    before = (each for each in straight(function.body) if each.lineno < move.lineno)
    calls = (each.value for each in before if isinstance(each, (ast.Assign, ast.Expr)))
    return any(_moves_all_alike(call, move.func.attr, move) for call in calls if isinstance(call, ast.Call))


def _has_other_data(function: ast.AST | None, target: ast.Attribute, move: ast.AST) -> bool:
    """``self.w.data = w`` before the move: then the Parameter is where `w` is, and may be there already."""
    block = function.body if isinstance(function, ast.FunctionDef) else ()
    before = (assignment_of(each) for each in straight(block) if each.lineno < getattr(move, "lineno", 0))
    written = (one for each in before if each is not None for one in each.targets)
    return any(isinstance(each, ast.Attribute) and dotted_path(each) == f"self.{target.attr}.data" for each in written)


def _moves_all_alike(call: ast.Call, method: str, move: ast.Call) -> bool:
    """Whether `call` moves the whole Module, by the same method and to the same place: ``self.to(device)``."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != method:
        return False
    holder = call.func.value
    whole = is_name(holder, "self") or (isinstance(holder, ast.Call) and is_name(holder.func, "super"))
    told = [[ast.dump(each) for each in arguments_of(one)] for one in (call, move)]
    return whole and told[0] == told[1]


def _is_there(move: ast.AST, device: Device, state: State) -> bool:
    """Whether an operand of what was made a Parameter is where it is moved to: then all of it is, and stays one."""
    wrap = move.func.value if isinstance(move, ast.Call) and isinstance(move.func, ast.Attribute) else move
    operands = (part for each in nodes_in(wrap, ast.BinOp) for part in (each.left, each.right))
    paths = filter(None, map(dotted_path, operands))
    held = (state.env.get(each) or state.paths.get(each) for each in paths)
    return any(isinstance(each, Tensor) and each.device == device for each in held)


def _moved(machine: Machine, info: ClassInfo, attribute: str, move: ast.AST) -> MovedParameter:
    wrap = move.func.value if isinstance(move, ast.Call) and isinstance(move.func, ast.Attribute) else None
    registered = wrap is not None and dotted_path(wrap) == f"self.{attribute}"
    fact = MovedParameter(machine.span_of(move), attribute, info.name, machine.text_of(move), registered=registered)
    if not isinstance(wrap, ast.Call) or info.public_name(wrap.func) != "torch.nn.Parameter":
        return fact
    given = [*wrap.args, *(each.value for each in wrap.keywords if each.arg == "data")]
    if not given:
        return fact
    tensor, place = machine.text_of(given[0]), machine.span_of(given[0])
    return replace(fact, tensor=tensor, tensor_at=place, wrap_at=machine.span_of(wrap))


SAYING = ("cpu(", "cuda", "device", ".to(")
EVENTS = {AttributeAssigned: _note_assignment}
