"""The state of an optimizer is made, or loaded, before its model is moved: it stays on the CPU.

## What it does
Finds `optimizer.load_state_dict(...)` for an optimizer of `torch.optim` that keeps tensors for each parameter, and the
construction of `Adagrad`, where the same function moves the model to an accelerator only afterwards. What another
method of the object loads counts where that is called.

## Why is this bad?
`model.to(device)` moves the parameters in place and knows nothing of optimizers. `load_state_dict` puts the state where
the parameters are *at that moment*, which is the CPU, and there it stays. The first step raises

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

`Adagrad` is the one optimizer of torch that makes its state when it is constructed, so it fails in the same way without
any checkpoint. For all the others, constructing them before the move is harmless, since their state is made in the
first step: the parameters are still the same objects.

## Example
```python
def resume(path, device):
    model = nn.Linear(8, 2)
    optimizer = torch.optim.Adam(model.parameters())
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    model.to(device)
    return model, optimizer
```

## Use instead
```python
def resume(path, device):
    model = nn.Linear(8, 2).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return model, optimizer
```
It is enough to move the model before the state is loaded; `map_location` says only where the file is read to.

## Fix safety
The fix puts the line that moves the model before the optimizer, where both are in one block and nothing between binds
what the line reads. It is unsafe: statements between the two may count on either place.

## What it cannot see
A model, an optimizer or a move in another function or file; models that the function is given, which may have been
moved before, or that are made by a call which speaks of a device; optimizers of other packages. It is silent where the
state of the optimizer is moved by hand or by a function that is named so, where it is loaded again after the move, and
for `SGD` without momentum, which has no state.

## References
- [torch.optim.Optimizer.load_state_dict](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.load_state_dict.html)
- pytorch/pytorch#2830, pytorch/pytorch#7321, pytorch/pytorch#7844, yyvhang/IAGNet#4,
  Daniil-Osokin/lightweight-human-pose-estimation.pytorch#208, jwyang/faster-rcnn.pytorch@b4d4c524
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from torchdevlint.flow.checks.models.made_in_init import made_in_init
from torchdevlint.flow.checks.processes.reordering import moved_before
from torchdevlint.flow.facts.common import Fact, Reordering
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.moves import method_device, to_device
from torchdevlint.flow.scope.assigned import assignments_by_path
from torchdevlint.flow.scope.names import dotted_path, last_name, mentions_device
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT, TOP, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Library, Obj, Ref, Unknown, Value
from torchdevlint.model import Applicability, Note, Report, Severity, Span
from torchdevlint.patterns import regex
from torchdevlint.rules.edits import fix, reordered
from torchdevlint.rules.wording import code
from torchdevlint.source.nodes import Assignment, arguments_of, nodes_in, own_assignments_in

SEVERITY = Severity.ERROR
EXECUTION = None
PROBE = '''
"""Adagrad makes its state where the parameters are, and a model that is moved afterwards leaves it there."""
import torch

NEEDS = "device"
OBSERVES = {"state moved": False}


def flagged(device, first=False):
    model = torch.nn.Linear(2, 2)
    if first:
        model.to(device)
    optimizer = torch.optim.Adagrad(model.parameters())
    model.to(device)
    state = optimizer.state[optimizer.param_groups[0]["params"][0]]
    return {"state moved": state["sum"].device.type == device.type}


def repaired(device):
    return flagged(device, first=True)
'''


class OptimizerOrder(Fact, frozen=True):
    """An optimizer whose state is on the CPU, since its model is moved only after that.

    `kind` is ``made`` (the state comes with the optimizer) or ``loaded``, `text` what is called, `optimizer` the public
    name of the class, `model` the model, `move` the call at `moved_at` that moves it, `reordering` how that can come
    first, `made_at` where an optimizer is made whose state is loaded.
    """

    kind: str
    text: str
    optimizer: str
    model: str
    move: str
    moved_at: Span
    reordering: Reordering | None = None
    made_at: Span | None = None


_MARK = "<optimizer>"
"""The name under which a path keeps, beside a model, the optimizer whose state was made for it on the CPU."""
_LISTS = ("parameters", "named_parameters")
_MOVES_STATE = regex(r"optim|device|cuda|gpu|move|initialize|prepare|^to$|^to_|_to$")
"""Names of functions that may take the state of an optimizer along."""


def _see_adagrad(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """Adagrad makes its state at once, where the parameters are."""
    _mark(frame, state, node, node, name)


def _see_load(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``optimizer.load_state_dict(..)`` puts the state where the parameters are at that moment."""
    assert isinstance(node.func, ast.Attribute)
    path, cause = dotted_path(node.func.value), node
    if path is None or not isinstance(receiver, Unknown):
        return
    while not _assignments(frame, path) and path.startswith("self.") and (led := _led_by_method(frame)) is not None:
        if _is_moved_by_hand(frame, path):
            return
        cause, frame = led
    kept = made_in_init(frame, path, cause)
    if kept is not None and _keeps_state(kept.name, kept.made):
        is_placed = _is_moved_by_hand(frame, path) or _speaks_of_devices(kept.built)
        if not is_placed:
            _mark_as(frame, state, kept.model, kept.made, cause, kept.name)
    for assignment in _assignments(frame, path):
        made = assignment.value
        called = frame.evaluate(made.func, state) if isinstance(made, ast.Call) else None
        if not isinstance(made, ast.Call) or not isinstance(called, Ref) or not _keeps_state(called.name, made):
            return
        if made.lineno > cause.lineno or _is_moved_by_hand(frame, path):
            return
        _mark(frame, state, made, cause, called.name)


def _led_by_method(frame: Frame) -> tuple[ast.Call, Frame] | None:
    """``self.resume(path)``, by which another method runs this one, and the activation of that."""
    call, outer = frame.called_at if frame.called_at is not None else (None, frame)
    of_self = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and dotted_path(call.func.value)
    return (call, outer) if of_self == "self" and isinstance(call, ast.Call) else None


def _keeps_state(name: str, made: ast.Call) -> bool:
    """Whether it is an optimizer of torch that keeps tensors for each parameter: plain SGD has none."""
    if not name.startswith("torch.optim.") or name.rpartition(".")[2] not in torch_api.OPTIMIZERS:
        return False
    plain = len(made.args) < 3 and not any(each.arg in ("momentum", None) for each in made.keywords)
    return not (name.endswith(".SGD") and plain)


def _mark(frame: Frame, state: State, made: ast.Call, cause: ast.Call, name: str) -> None:
    path = _model_of(frame, made)
    if path is not None and _is_on_cpu(frame, state, path, made, cause):
        _mark_as(frame, state, path, made, cause, name)


def _mark_as(frame: Frame, state: State, model: str, made: ast.Call, cause: ast.Call, name: str) -> None:
    """Keep with the model that an optimizer has its state where the model is at `cause`, on the CPU."""
    if frame.machine.default_is_cpu(state):
        state.bind(f"{model}.{_MARK}", Library(name, made_at=cause, inner=Library(name, made_at=made)))


def _model_of(frame: Frame, made: ast.Call) -> str | None:
    """The model whose parameters the optimizer gets, if it is one."""
    found = {path for part in (*made.args, *made.keywords) for path in _asked(part)}
    if not found and made.args and isinstance(made.args[0], ast.Name):
        found = _asked(frame.function or frame.machine.tree)
    return found.pop() if len(found) == 1 else None


def _asked(scope: ast.AST) -> set[str]:
    """The models that are asked for their parameters."""
    calls = [*nodes_in(scope, ast.Call), *([scope] if isinstance(scope, ast.Call) else [])]
    asked = (each.func for each in calls if isinstance(each.func, ast.Attribute) and each.func.attr in _LISTS)
    return {path for each in asked if (path := dotted_path(each.value)) is not None}


def _is_on_cpu(frame: Frame, state: State, path: str, made: ast.Call, cause: ast.Call) -> bool:
    """Whether the model was made in this function and has not been moved before `cause`, nor what it is made of."""
    found = [each for each in _assignments(frame, path) if each.lineno <= made.lineno]
    if not found or any(_speaks_of_devices(each.value) for each in found):
        return False
    scope = frame.function or frame.machine.tree
    moved = (each for each in nodes_in(scope, ast.Attribute) if each.attr in torch_api.MOVE_METHODS)
    parts = {dotted_path(given) for each in found for given in _given_to(each.value)} - {None}
    before = [dotted_path(each.value) or "" for each in moved if each.lineno <= cause.lineno]
    if any(each.startswith(path) or each in parts for each in before):
        return False
    model = frame.evaluate(_read(path, cause), state) if "[" not in path else None
    return model is not None and all(_may_be_on_cpu(each) for _, each in alternatives(model, state.conditions))


def _given_to(made: ast.expr) -> list[ast.expr]:
    return arguments_of(made) if isinstance(made, ast.Call) else []


def _read(path: str, place: ast.expr) -> ast.expr:
    """A path as the expression that reads it at a place."""
    root, *attributes = path.split(".")
    node: ast.expr = ast.copy_location(ast.Name(root, ast.Load()), place)
    for each in attributes:
        node = ast.copy_location(ast.Attribute(node, each, ast.Load()), place)
    return node


def _may_be_on_cpu(model: Value) -> bool:
    if isinstance(model, (Obj, Library)):
        return model.device == DEFAULT and model.placed is None
    return isinstance(model, Unknown) and model.given is None


def _speaks_of_devices(made: ast.expr) -> bool:
    words = [each.id for each in nodes_in(made, ast.Name)] + [each.arg or "" for each in nodes_in(made, ast.keyword)]
    attributes = [each.attr for each in nodes_in(made, ast.Attribute)]
    moves = torch_api.MOVE_METHODS & set(attributes)
    return not isinstance(made, ast.Call) or bool(moves) or any(map(mentions_device, words + attributes))


def _assignments(frame: Frame, path: str) -> list[Assignment]:
    scope = frame.function or frame.machine.tree
    return [each for each in assignments_by_path(scope).get(path, ()) if len(each.targets) == 1]


def _is_moved_by_hand(frame: Frame, path: str) -> bool:
    """Whether the state of the optimizer is looked into, or a function gets the optimizer that may move it.

    Under whatever name of the function: ``trainer.optimizer = optimizer``.
    """
    scope = frame.function or frame.machine.tree
    kept = (each.targets for each in own_assignments_in(scope) if dotted_path(each.value) == path)
    paths = {path, *(dotted_path(target) for targets in kept for target in targets)} - {None}
    if any(each.attr == "state" and dotted_path(each.value) in paths for each in nodes_in(scope, ast.Attribute)):
        return True
    return any(
        any(dotted_path(each) in paths for each in call.args)
        and _MOVES_STATE.search((dotted_path(call.func) or "").rpartition(".")[2].lower())
        for call in nodes_in(scope, ast.Call)
    )


def _see_move(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """The model goes to an accelerator: the state of its optimizer stays."""
    assert isinstance(node.func, ast.Attribute)
    moved = node.func.value
    while (
        isinstance(moved, ast.Call) and isinstance(moved.func, ast.Attribute) and moved.func.attr in ("eval", "train")
    ):
        moved = moved.func.value
    path = dotted_path(moved)
    held = state.paths.get(f"{path}.{_MARK}")
    if held is None:
        return
    name, machine = node.func.attr, frame.machine
    device = to_device(frame, arguments) if name == "to" else method_device(frame, name, arguments)
    if device is None or device == TOP or on_cpu(device):
        return
    for _, each in alternatives(held, state.conditions):
        cause = each.made_at if isinstance(each, Library) else None
        if not isinstance(each, Library) or not isinstance(cause, ast.Call) or _is_loaded_after(frame, node, cause):
            continue
        made = each.inner.made_at if isinstance(each.inner, Library) and each.inner.made_at is not cause else None
        fact = partial(
            OptimizerOrder,
            machine.span_of(cause),
            "made" if made is None else "loaded",
            machine.text_of(cause.func),
            each.name,
            path or "",
            machine.text_of(node),
            machine.span_of(node),
            moved_before(frame, node, cause),
            None if made is None else machine.span_of(made),
        )
        machine.record(("optimizer", cause), fact, state)


def _is_loaded_after(frame: Frame, move: ast.Call, cause: ast.Call) -> bool:
    """Whether a state is loaded into something after the move, which puts it where the parameters are then.

    The method that `cause` calls may be called again.
    """
    scope = frame.function or frame.machine.tree
    after = [each for each in nodes_in(scope, ast.Attribute) if each.lineno > move.lineno]
    if last_name(cause.func) != "load_state_dict" and last_name(cause.func) in {each.attr for each in after}:
        return True
    loads = (each for each in after if each.attr == "load_state_dict")
    return any("optim" in (dotted_path(each.value) or "").lower() for each in loads)


FUNCTIONS = {"torch.optim.Adagrad": _see_adagrad, "torch.optim.adagrad.Adagrad": _see_adagrad}
METHODS = {"load_state_dict": _see_load, "to": _see_move, **dict.fromkeys(sorted(torch_api.DEVICE_METHODS), _see_move)}


def check(fact: OptimizerOrder) -> Iterator[Report]:
    name = fact.optimizer.rpartition(".")[2]
    model = code(fact.model)
    message = (
        f"{code(fact.text)} puts the state of `{name}` on the CPU, where {model} is until it is moved"
        if fact.kind == "loaded"
        else f"`{name}` makes its state at once, on the CPU, where {model} is until it is moved"
    )
    yield Report(
        span=fact.at,
        message=message,
        symptom="in the first step, RuntimeError: Expected all tensors to be on the same device, but found at least "
        "two devices, cuda:0 and cpu!",
        help=f"move {model} first; the optimizer's state then follows its parameters",
        notes=(
            *(() if fact.made_at is None else (Note(f"the `{name}` is made here", fact.made_at),)),
            Note(f"{model} is moved here, and the state is not", fact.moved_at),
        ),
        fix=fix(Applicability.UNSAFE, "move the model first", *reordered(fact.reordering)) if fact.reordering else None,
    )
