"""Transfer functions of comparisons: of numbers, of devices, with None, and of tensors."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from torchdevlint.flow.events import Compared
from torchdevlint.flow.kinds.batch_items import as_compared
from torchdevlint.flow.kinds.instance_tests import is_instance
from torchdevlint.flow.kinds.releases import outcome_by_release
from torchdevlint.flow.knowledge.torch_api import TENSOR_CLASSES
from torchdevlint.flow.run import operations
from torchdevlint.flow.run.operand_kinds import told_by_other
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, mentions_device
from torchdevlint.flow.scope.none_tests import none_test
from torchdevlint.flow.scope.type_tests import typed_by
from torchdevlint.flow.state.devices import CPU, MODEL, TOP, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.others import owner_of
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import of_unknown
from torchdevlint.flow.state.values import (
    NONE,
    UNKNOWN,
    Choice,
    Const,
    Dev,
    Guard,
    Ref,
    Seq,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import nodes_in, once_a_node


def compare(frame: Frame, node: ast.Compare, state: State) -> Value:
    """What a comparison gives. A number that a function of another file asks about says where its argument is."""
    left = frame.evaluate(node.left, state)
    rights = [frame.evaluate(each, state) for each in node.comparators]
    if len(rights) > 1:
        return UNKNOWN
    if isinstance(left, (Ref, Unknown)) and (outcome := outcome_by_release(node)) is not None:
        return Const(outcome)
    symbol, right = node.ops[0], rights[0]
    asked = typed_by(node.left)
    answer = None if asked is None else _is_plain_tensor(frame.evaluate(asked, state), right)
    if answer is not None and isinstance(symbol, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
        return Const(answer is isinstance(symbol, (ast.Eq, ast.Is)))
    frame.machine.emit(Compared(frame, state, node, left, right))
    ordinal = None if type(left) is Const else _ordinal_test(node, left, right)
    if ordinal is not None and (owner_of(frame.closure) is None or isinstance(left, Dev)):
        return ordinal
    if isinstance(symbol, (ast.Is, ast.IsNot)) or none_test(node) is not None:
        if right == NONE and type(left) is Tensor and _is_gradient(frame, node.left):
            return UNKNOWN
        return _identity(left, right, isinstance(symbol, (ast.IsNot, ast.NotEq)))
    if type(left) is Dev or type(right) is Dev:
        if _is_of_other_text(node, left, right):
            return Const(isinstance(symbol, ast.NotEq))
        return device_test(_of_accelerator(left), _of_accelerator(right), isinstance(symbol, (ast.NotEq, ast.NotIn)))
    if isinstance(symbol, (ast.In, ast.NotIn)):
        return _membership(left, right, isinstance(symbol, ast.NotIn))
    if type(left) in _MEETING or type(right) in _MEETING:
        held = [(node.left, left), (node.comparators[0], right)]
        operands = [(at, as_compared(frame, state, node, at, each)) for at, each in told_by_other(frame, held)]
        return operations.combine(frame, state, node, f"`{operations.SYMBOLS[type(symbol)]}`", operands)
    if isinstance(left, Const) and isinstance(right, Const):
        return _constants(left, right, symbol)
    return of_unknown([left, right])


def _is_plain_tensor(value: Value, kind: Value) -> bool | None:
    """Whether the type of a value is a class of tensors; of a Parameter, `torch.Tensor` is but the base."""
    if not isinstance(kind, Ref) or kind.name not in TENSOR_CLASSES or (type(value) is Tensor and value.parameter):
        return None
    return is_instance(value, kind)


def _is_gradient(frame: Frame, node: ast.expr) -> bool:
    """Whether it is ``t.grad``, or a name that is bound to one: a tensor need not have any.

    Neither need be what a function tests that asks for gradients of what may be unused.
    """
    if frame.function is not None and _asks_for_unused(frame.function):
        return True
    bound = values_by_path(frame.function).get(node.id, []) if isinstance(node, ast.Name) and frame.function else []
    return any(isinstance(each, ast.Attribute) and each.attr in _MAY_BE_MISSING for each in (node, *bound))


@once_a_node
def _asks_for_unused(function: AnyFunction) -> bool:
    """``torch.autograd.grad(loss, inputs, allow_unused=True)`` gives None for an input that the loss does not need."""
    said = (each for call in nodes_in(function, ast.Call) for each in call.keywords if each.arg == "allow_unused")
    return any(not (isinstance(each.value, ast.Constant) and each.value.value is False) for each in said)


_MAY_BE_MISSING = frozenset({"grad", "_grad", "grad_fn"})
_MEETING = frozenset({Tensor, Choice})
"""What may be operands of one operation, and so have to be in one place."""


def _membership(left: Value, right: Value, negated: bool) -> Value:
    """Whether a literal is one of others."""
    among = right.items if isinstance(right, Seq) else None
    if not isinstance(left, Const) or among is None:
        return UNKNOWN
    values = [each.value for each in among if isinstance(each, Const)]
    return Const((left.value in values) is not negated) if len(values) == len(among) else UNKNOWN


def _constants(left: Const, right: Const, symbol: ast.cmpop) -> Value:
    """The comparison of two literals, or of two numbers."""
    if isinstance(symbol, (ast.Eq, ast.NotEq)):
        return Const((left.value == right.value) is isinstance(symbol, ast.Eq))
    transfer = _ORDERS.get(type(symbol))
    if transfer is None or not all(isinstance(each.value, (int, float)) for each in (left, right)):
        return UNKNOWN
    return Const(transfer(left.value, right.value))


_ORDERS: dict[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _ordinal_test(node: ast.Compare, left: Value, right: Value) -> Guard | None:
    """``device > -1``, ``gpu >= 0``, ``device == -1``: by the number of a device, where a negative one is the CPU."""
    name = (dotted_path(node.left) or "").rpartition(".")[2]
    number = type(left) is Dev and left.number
    if not isinstance(right, Const) or right.value not in (-1, 0):
        return None
    if not (number or mentions_device(name) or name in _ORDINALS):
        return None
    operator = type(node.ops[0])
    if right.value == 0:
        return Guard(operator is ast.GtE) if operator in (ast.GtE, ast.Lt) else None
    return Guard(operator in (ast.Gt, ast.NotEq)) if operator in (ast.Gt, ast.NotEq, ast.Eq, ast.LtE) else None


_ORDINALS = frozenset({"gpu", "gpu_id", "gpu_ids", "cuda", "cuda_device", "gpuid"})


def device_test(one: Value, other: Value, negated: bool) -> Value:
    """``device.type == "cuda"``, ``"cpu" in str(device)``: where an accelerator is there, a device is not the CPU."""
    name = next((each.value for each in (one, other) if isinstance(each, Const) and isinstance(each.value, str)), None)
    devices = [each.device for each in (one, other) if isinstance(each, Dev)]
    if name is None and CPU in devices and len(devices) == 2:
        name = "cpu"
        devices.remove(CPU)
    known = devices[0] if devices else TOP
    if name is None or on_cpu(known):
        return UNKNOWN
    if name == "cpu":
        return Guard(negated)
    return Guard(not negated) if name.startswith(("cuda", "gpu")) else UNKNOWN


def _is_of_other_text(node: ast.Compare, left: Value, right: Value) -> bool:
    """``device == "cuda"`` where that is ``"cuda:0"``: neither a string nor a `torch.device` is equal to it.

    Executed with torch 2.13, where no `torch.device` is equal to any string. ``device.type`` may be.
    """
    asked = _of_accelerator(left)
    whole = isinstance(node.left, (ast.Name, ast.Attribute)) and getattr(node.left, "attr", "") != "type"
    numbered = isinstance(asked, Dev) and not asked.number and asked.device.index is not None
    return whole and numbered and right == Const("cuda") and isinstance(node.ops[0], (ast.Eq, ast.NotEq))


def _of_accelerator(value: Value) -> Value:
    """Any of several devices that are no literal of the CPU: a test for the CPU has the same outcome for each."""
    if not isinstance(value, Choice):
        return value
    devices = [each for _, each in value.alternatives if isinstance(each, Dev)]
    left = [each for each in devices if not on_cpu(each.device)]
    return left[0] if left and len(devices) == len(value.alternatives) else value


def _identity(left: Value, right: Value, negated: bool) -> Value:
    """``left is right`` where one side is None; UNKNOWN where it could be either.

    An input of a model that may be left out, or is asked for None, is a `Choice`: the others are not None.
    """
    may_be_none = isinstance(left, Unknown) and not left.made_by and left.given != MODEL
    if isinstance(left, Choice) and right == NONE and all(isinstance(each, Tensor) for _, each in left.alternatives):
        return Const(negated)  # a test before has left nothing else
    if right != NONE or isinstance(left, Choice) or may_be_none:
        return UNKNOWN
    return Const((left == NONE) is not negated)
