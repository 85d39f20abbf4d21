"""Functions that move what they are given, whatever it is, and forget one kind of it (TDL310).

Such a function asks for the kind of its argument, and each arm moves, or calls the function again for each part:
``if isinstance(x, dict): return {k: to_device(v, device) for k, v in x.items()}``. An arm that gives tensors back as
they came leaves them behind.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.forgotten.unread_devices import is_called_mover
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.names import (
    dotted_path,
    last_name,
    mentions_device,
    parameter_names,
    positional_names,
    public_path,
)
from torchdevlint.flow.state.machine import Machine
from torchdevlint.source.nodes import (
    arguments_of,
    assignment_of,
    assignments_in,
    inside,
    is_bare_constant,
    is_name,
    nodes_in,
    once_a_node,
)

_ASK_FOR_TENSORS = torch_api.TENSOR_CLASSES | {"torch.is_tensor"}
_MOVE = torch_api.MOVE_METHODS | {"to_device"}
_CONTAINERS = frozenset({"dict", "list", "tuple", "set", "Mapping", "Sequence", "MutableMapping", "OrderedDict"})
_MAKES_ANEW = frozenset({"tensor", "as_tensor", "asarray", "from_numpy", "array", "device_put", "stack", "Tensor"})
"""Who makes tensors of what are none means to leave alone those that are."""
_MODULE = "torch.nn.Module"
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


class Arm(NamedTuple):
    """What a function returns in one case; `kinds` are the classes that the test names, None where it asks for more.

    `flag` is what the case asks for besides, by the name of the method that it calls: ``if detach: return x.detach()``.
    """

    kinds: tuple[ast.expr, ...] | None
    value: ast.expr
    flag: str = ""


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    if not imports_torch(machine.tree):
        return
    for function in nodes_in(machine.tree, ast.FunctionDef):
        if any(isinstance(each, ast.If) for each in function.body):
            _look(machine, function)


def _look(machine: Machine, function: ast.FunctionDef) -> None:
    subject, arms = _arms(function)
    if len(arms) < 2:
        return
    made_anew = any(last_name(each.func) in _MAKES_ANEW for each in nodes_in(function, ast.Call))
    if made_anew and not is_called_mover(function.name):
        return
    moves = [each for each in nodes_in(function, ast.Call) if _is_move(function, each)]
    if not moves:
        return
    seen = False
    for arm in arms:
        kinds = _kinds(arm)
        forgotten = None
        if kinds == "tensors" and not seen and is_name(_before(arm.value, arm.flag), subject):
            forgotten = arm.value
        elif kinds == "containers":
            forgotten = _unmoved_part(arm.value, subject)
        elif kinds == "" and _is_put_together_again(function, arm.value, subject):
            forgotten = arm.value
        seen = seen or kinds == "" or (kinds == "tensors" and forgotten is None and not arm.flag)
        if forgotten is not None:
            record(machine, function, "arm", forgotten, moves[0], at=forgotten)
            machine.explain(*(("unread device", function, name) for name in parameter_names(function)))
            return


@once_a_node
def _arms(function: ast.FunctionDef) -> tuple[str, list[Arm]]:
    """The first parameter but for a device, and what the function returns for each kind of it that it asks for."""
    names = [each for each in positional_names(function) if each not in ("self", "cls") and not mentions_device(each)]
    if not names:
        return "", []
    subject = names[0]
    body = function.body[1:] if is_bare_constant(function.body[0]) else function.body
    while body and _is_of_others(body[0], subject):
        body = body[1:]
    if not _is_chain(body):
        return "", []
    last = body[-1] if len(body) == 2 and isinstance(body[0], ast.If) else None
    if isinstance(last, ast.Return) and last.value is not None and is_name(last.value, subject):
        bound = list(_bound_in_turn(body[0], subject))  # type: ignore[arg-type]
        if bound:
            return subject, bound
    return subject, list(_in_turn(body, subject))


def _is_of_others(statement: ast.stmt, subject: str) -> bool:
    """Whether a statement before the tests says nothing of what is given: ``if place is None: place = self.place``."""
    named = any(isinstance(each, ast.Name) and each.id == subject for each in inside(statement))
    return not named and not any(isinstance(each, (ast.Return, ast.Raise)) for each in inside(statement))


def _bound_in_turn(asked: ast.If, subject: str) -> Iterator[Arm]:
    """What the name is bound to in each case, where it is returned in the end."""
    for statement in asked.body[:1] if len(asked.body) == 1 else ():
        assigned = assignment_of(statement)
        if assigned is not None and len(assigned.targets) == 1 and is_name(assigned.targets[0], subject):
            yield Arm(_asked(asked.test, subject), assigned.value)
    if len(asked.orelse) == 1 and isinstance(asked.orelse[0], ast.If):
        yield from _bound_in_turn(asked.orelse[0], subject)


def _is_chain(body: list[ast.stmt]) -> bool:
    """Whether a body is nothing but tests, returns and the refusal of what else may come."""
    return all(isinstance(each, (ast.If, ast.Return, ast.Raise)) for each in body)


def _in_turn(body: list[ast.stmt], subject: str) -> Iterator[Arm]:
    for statement in body:
        if isinstance(statement, ast.If):
            kinds = _asked(statement.test, subject)
            first, last = statement.body[0], statement.body[-1]
            flag = _flag(first) if len(statement.body) == 2 else None
            if flag is not None:
                yield Arm(kinds, *flag)
            if (flag or first is last) and isinstance(last, ast.Return) and last.value is not None:
                yield Arm(kinds, last.value)
            yield from _in_turn(statement.orelse, subject)
        elif isinstance(statement, ast.Return) and statement.value is not None:
            yield Arm(None, statement.value)


def _flag(statement: ast.stmt) -> tuple[ast.expr, str] | None:
    """What ``if detach: return x.detach()`` gives, and the flag that it asks for."""
    if not isinstance(statement, ast.If) or not isinstance(statement.test, ast.Name) or statement.orelse:
        return None
    only = statement.body[0]
    return (only.value, statement.test.id) if isinstance(only, ast.Return) and only.value is not None else None


def _asked(test: ast.expr, subject: str) -> tuple[ast.expr, ...] | None:
    """The classes in ``isinstance(x, (list, tuple))``; the function itself in ``is_tensor(x)``; both, for `or`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        parts = [_asked(each, subject) for each in test.values]
        return None if None in parts else tuple(one for each in parts for one in each or ())
    if not isinstance(test, ast.Call) or not test.args or not is_name(test.args[0], subject):
        return None
    if last_name(test.func) == "is_tensor" and len(test.args) == 1:
        return (test.func,)
    if dotted_path(test.func) != "isinstance" or len(test.args) != 2:
        return None
    return tuple(test.args[1].elts) if isinstance(test.args[1], ast.Tuple) else (test.args[1],)


def _kinds(arm: Arm) -> str:
    """``tensors`` or ``containers``, if an arm is for nothing else; ``other`` for what else it asks, or nothing."""
    if arm.kinds is None:
        return ""
    held = [public_path(each) for each in arm.kinds]
    if any(each in _ASK_FOR_TENSORS for each in held) and _ASK_FOR_TENSORS.issuperset({*held} - {_MODULE}):
        return "tensors"
    names = [last_name(each) for each in arm.kinds]
    return "containers" if _CONTAINERS.issuperset(names) else "other"


def _is_move(function: ast.FunctionDef, call: ast.Call) -> bool:
    """``x.to(device)``, ``x.to_device(device)`` or ``to_device(v, device)``, as the function itself is called."""
    given = arguments_of(call)
    says_where = any(mentions_device(last_name(each)) for each in given)
    if isinstance(call.func, ast.Attribute) and call.func.attr in _MOVE:
        return says_where or call.func.attr not in ("to", "to_device")
    return says_where and last_name(call.func) == function.name


def _before(value: ast.expr, flag: str) -> ast.expr:
    """`x` for ``x.detach()``, where that is what the flag asks for."""
    asked = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == flag
    return value.func.value if asked else value  # type: ignore[attr-defined]


def _unmoved_part(value: ast.expr, subject: str) -> ast.expr | None:
    """`v` in ``{k: v for k, v in x.items()}``, also ``v if isinstance(v, Tensor) else v``."""
    while isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        value = value.args[0]
    if not isinstance(value, _COMPREHENSIONS) or len(value.generators) != 1 or value.generators[0].ifs:
        return None
    loop, part = value.generators[0], value.value if isinstance(value, ast.DictComp) else value.elt
    walked = loop.iter.func.value if _is_items(loop.iter) else loop.iter  # type: ignore[attr-defined]
    held = part
    if isinstance(held, ast.IfExp) and ast.dump(held.body) == ast.dump(held.orelse):
        held = held.body
    names = {each.id for each in inside(loop.target) if isinstance(each, ast.Name)}
    parts = held.elts if isinstance(held, ast.Tuple) else [held]
    given_back = all(isinstance(each, ast.Name) and each.id in names for each in parts)
    return part if is_name(walked, subject) and given_back else None


def _is_put_together_again(function: ast.FunctionDef, value: ast.expr, subject: str) -> bool:
    """``name, metric = pair; return name, metric``."""
    if not isinstance(value, ast.Tuple) or not all(isinstance(each, ast.Name) for each in value.elts):
        return False
    taken = (each.targets[0] for each in assignments_in(function) if is_name(each.value, subject))
    anew = (each.targets[0] for each in assignments_in(function) if isinstance(each.targets[0], ast.Name))
    if any(is_name(part, each.id) for each in anew for part in value.elts):
        return False
    return any(isinstance(each, ast.Tuple) and ast.unparse(each) == ast.unparse(value) for each in taken)


def _is_items(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("items", "values")


SAYING = ("device", ".cuda(")
EVENTS = {FileEnded: _note_end}
