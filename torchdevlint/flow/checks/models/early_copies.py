"""Copies of parameters that are taken before the model moves, and that meet its parameters behind that (TDL004).

``ema = EMA(model)`` above ``model.to(device)``: what the average keeps stays on the CPU, and the first update raises.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec import Struct

from torchdevlint.flow.checks.models.left_in_place import is_to_accelerator
from torchdevlint.flow.checks.models.own_tensors import speaks_of_places
from torchdevlint.flow.events import Mixed, Placed
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.chains import module_in
from torchdevlint.flow.scope.copied_parameters import copies_in, meeting_in
from torchdevlint.flow.scope.kept_whole import names_device
from torchdevlint.flow.scope.names import dotted_path, last_name, positional_names
from torchdevlint.flow.scope.uses import Scope, asked_in
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import DEFAULT
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import AT_LEAST_1, Cls, Step, Tensor
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, inside, nodes_in, once_a_node

_MOVES = frozenset({"to", "cuda", "xpu", "npu", "mps"})


class _Meeting(Struct):
    """An operation in this file, or the call that leads to it, and the copy in that."""

    at: ast.expr
    copy: ast.expr


class _Memory:
    """The moves that were looked at."""

    def __init__(self) -> None:
        self.seen: set[ast.AST] = set()


def _note_placed(event: Placed) -> None:
    frame, state, node = event.frame, event.state, event.node
    machine = frame.machine
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _MOVES:
        return
    if not is_to_accelerator(event):
        return
    path, seen = dotted_path(node.func.value), machine.memory(_Memory).seen
    if path is None or node in seen or state.guarded or not machine.default_is_cpu(state):
        return
    seen.add(node)
    scope = frame.function or machine.tree
    if isinstance(scope, ast.Lambda) or not _is_made(frame, scope, path, node):
        return
    for name, made in _taken(scope, path, node):
        met = _met(frame, scope, path, name, made, node)
        if met is None:
            continue
        step = Step(f"made of `{path}` before that was moved", made, of_module=True)
        brought = Step(f"moved to {event.device.describe()}", node, of_module=True)
        called = f"{machine.text_of(met.at.func)}()" if isinstance(met.at, ast.Call) else machine.text_of(met.at)
        kept = Tensor(DEFAULT, AT_LEAST_1, (), (step,))
        moved = Tensor(event.device, AT_LEAST_1, (), (brought,))
        operands = (met.copy, kept), (node.func.value, moved)
        machine.emit(Mixed(frame, state, met.at, f"`{called}`", *operands, made_of=path))


def _is_made(frame: Frame, scope: Scope, path: str, move: ast.Call) -> bool:
    """Whether a model is made in this function, on the CPU, and moved here for the first time."""
    before = [each for each in values_by_path(scope).get(path, []) if each.lineno < move.lineno]
    if len(before) != 1 or not isinstance(before[0], ast.Call):
        return False
    if any(isinstance(each, ast.expr) and names_device(each) for each in inside(before[0])):
        return False
    made = frame.evaluate(before[0].func, State({}))
    if isinstance(made, Cls) and any(speaks_of_places(each.node) for each in made.info.mro):
        return False
    return all(each is move or each.lineno >= move.lineno for each in _moves_of(scope).get(path, ()))


@once_a_node
def _moves_of(scope: Scope) -> dict[str, list[ast.Call]]:
    """The moves of a function or module, by what each moves in place if that is a Module."""
    found: dict[str, list[ast.Call]] = {}
    for call in nodes_in(scope, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _MOVES:
            found.setdefault(dotted_path(module_in(call.func.value)) or "", []).append(call)
    return found


def _taken(scope: Scope, path: str, move: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """What is bound once to something that is made of the model before it moves, and is itself left where it is."""
    for name, value in _made_of(scope).get(path, ()):
        kept = name != path and asked_in(scope).get(name, set()).isdisjoint(_MOVES)
        if kept and value.lineno < move.lineno and not _is_placed(scope, name):
            yield name, value


@once_a_node
def _made_of(scope: Scope) -> dict[str, list[tuple[str, ast.expr]]]:
    """What is bound once to a call or a comprehension, by each path that this reads."""
    found: dict[str, list[tuple[str, ast.expr]]] = {}
    for name, values in values_by_path(scope).items():
        value = values[0].body if isinstance(values[0], ast.IfExp) else values[0]
        if len(values) == 1 and isinstance(value, (ast.Call, ast.DictComp, ast.ListComp)):
            for path in {dotted_path(each) for each in inside(value) if isinstance(each, (ast.Name, ast.Attribute))}:
                found.setdefault(path or "", []).append((name, value))
    return found


def _is_placed(scope: Scope, name: str) -> bool:
    """Whether it is handed to something together with a device."""
    for call in nodes_in(scope, ast.Call):
        given = arguments_of(call)
        held = any(dotted_path(each) == name for each in given)
        if held and any(names_device(each) for argument in given for each in inside(argument)):
            return True
    return False


def _met(frame: Frame, scope: Scope, path: str, name: str, made: ast.expr, move: ast.Call) -> _Meeting | None:
    callee = frame.evaluate(made.func, State({})) if isinstance(made, ast.Call) else None
    if isinstance(callee, Cls) and isinstance(made, ast.Call):
        return _met_by_object(callee.info, scope, path, name, made, move.lineno)
    if name not in copies_in(scope, {path}):
        return None
    at = meeting_in(scope, {name}, {path}, move.lineno)
    return _Meeting(at[0], at[1]) if at is not None else _met_in_function(frame, scope, path, name, move.lineno)


def _met_by_object(info: ClassInfo, scope: Scope, path: str, name: str, made: ast.Call, after: int) -> _Meeting | None:
    """``ema.update()``, a method in which copies that the object took meet the parameters of the model."""
    methods = {each: found[1] for each, found in info.all_methods.items()}
    init = methods.get("__init__")
    if init is None or any(speaks_of_places(each.node) for each in info.mro):
        return None
    live = _given(init, made, path)
    kept = {target for target, values in values_by_path(init).items() if any(dotted_path(v) in live for v in values)}
    called = ((each, methods.get(last_name(each.func))) for each in _calls_of(scope, name))
    calls = [(each, method) for each, method in called if method is not None]
    fills = [init, *(method for call, method in calls if call.lineno < after)]
    copies = {each for method in fills for each in copies_in(method, live | kept) if each.startswith("self.")}
    for call, method in calls:
        parameters = kept - copies | _given(method, call, path)
        if call.lineno > after and copies and meeting_in(method, copies, parameters) is not None:
            return _Meeting(call, call.func.value)  # type: ignore[attr-defined]
    return None


def _calls_of(scope: Scope, name: str) -> list[ast.Call]:
    calls = nodes_in(scope, ast.Call)
    return [each for each in calls if isinstance(each.func, ast.Attribute) and dotted_path(each.func.value) == name]


def _given(method: FunctionNode, call: ast.Call, path: str) -> set[str]:
    """The parameters of a method that are given the model, or its parameters."""
    names = zip(positional_names(method)[1:], call.args, strict=False)
    named = ((each.arg or "", each.value) for each in call.keywords)
    return {name for name, each in (*names, *named) if _leads_to(each, path)}


def _leads_to(node: ast.expr, path: str) -> bool:
    """``model`` and ``model.parameters()``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return dotted_path(node) == path


def _met_in_function(frame: Frame, scope: Scope, path: str, name: str, after: int) -> _Meeting | None:
    """``soft_update(target, net)``, a function of the file that is given both."""
    functions = {each.name: each for each in nodes_in(frame.machine.tree, ast.FunctionDef)}
    for call in nodes_in(scope, ast.Call):
        function = functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if call.lineno <= after or function is None:
            continue
        given = list(zip(positional_names(function), call.args, strict=False))
        copies = {each: one for each, one in given if _leads_to(one, name)}
        live = {each for each, one in given if _leads_to(one, path)}
        if copies and live and meeting_in(function, {*copies}, live) is not None:
            return _Meeting(call, next(iter(copies.values())))
    return None


EVENTS = {Placed: _note_placed}
