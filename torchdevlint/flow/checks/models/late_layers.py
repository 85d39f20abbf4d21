"""Layers that are put into a model after it was moved, and that stay on the CPU (TDL004).

``model = resnet18().to(device)``, then ``model.fc = nn.Linear(512, 10)``: the head of a fine-tuned model, and the
first batch raises. A move behind that takes it along; what may be moved by others is left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.models.left_in_place import is_to_accelerator
from torchdevlint.flow.events import Mixed, Placed
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import targets_by_value
from torchdevlint.flow.scope.kept_whole import names_device
from torchdevlint.flow.scope.names import dotted_path, positional_names
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.flow.state.devices import DEFAULT
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import AT_LEAST_1, Cls, Ref, Step, Tensor
from torchdevlint.source.nodes import assignments_in, inside, is_inside, nodes_in

_CONTAINERS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList"})
_LEAVE_PLACE = frozenset(
    """
    train eval parameters named_parameters modules named_modules children named_children buffers named_buffers
    state_dict load_state_dict zero_grad requires_grad_ forward half float double bfloat16
    """.split()
)
"""Methods of a model after which it is where it was."""
_ONLY_ASK = frozenset({"print", "isinstance", "hasattr", "len", "id", "type", "repr", "str"})
_MOST_HOPS = 5


class _Memory:
    """The moves that were looked at."""

    def __init__(self) -> None:
        self.seen: set[ast.AST] = set()


def _note_placed(event: Placed) -> None:
    frame, state, node = event.frame, event.state, event.node
    machine = frame.machine
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Attribute)
        or node.func.attr not in torch_api.PLACING_METHODS
    ):
        return
    if not is_to_accelerator(event):
        return
    seen, scope = machine.memory(_Memory).seen, frame.function or machine.tree
    if isinstance(scope, ast.Lambda) or node in seen or machine.default_changed or state.guarded:
        return
    seen.add(node)
    model = node.func.value if isinstance(node.func.value, ast.Name) else targets_by_value(scope).get(node)
    if not isinstance(model, ast.Name) or state.default_device is not None:
        return
    for target, made in _put_in(frame, state, scope, model.id, node):
        if not _is_run(machine.tree, scope, model.id, made.lineno):
            continue
        kept = Tensor(DEFAULT, AT_LEAST_1, (), (Step("made here, after the model moved", made, of_module=True),))
        step = Step(f"moved to {event.device.describe()}", node, of_module=True)
        moved = Tensor(event.device, AT_LEAST_1, (), (step,))
        machine.emit(Mixed(frame, state, made, f"`{model.id}()`", (target, kept), (model, moved)))


def _put_in(
    frame: Frame, state: State, scope: Scope, model: str, move: ast.Call
) -> Iterator[tuple[ast.expr, ast.Call]]:
    """The attributes of a model that get a layer with parameters behind its move, and the calls that make these."""
    contexts = nodes_in(scope, ast.With)
    for statement in assignments_in(scope):
        target, made = statement.targets[0], statement.value
        if made.lineno <= move.lineno or not isinstance(target, ast.Attribute) or not isinstance(made, ast.Call):
            continue
        of_model = (dotted_path(target) or "").partition(".")[0] == model
        if of_model and not any(is_inside(made, each) for each in contexts) and _makes_layer(frame, state, made):
            yield target, made


def _makes_layer(frame: Frame, state: State, made: ast.Call) -> bool:
    """Whether it surely makes parameters, and nothing that it is given says where."""
    if any(isinstance(each, ast.expr) and names_device(each) for each in inside(made)):
        return False
    callee = frame.evaluate(made.func, state)
    if isinstance(callee, Cls):
        return callee.info.is_module and callee.info.resolved and any(each.makes_layers for each in callee.info.mro)
    if not isinstance(callee, Ref) or not callee.name.startswith("torch.nn."):
        return False
    if callee.name in _CONTAINERS:
        return any(isinstance(each, ast.Call) and _makes_layer(frame, state, each) for each in made.args)
    return callee.name.rpartition(".")[2] in torch_api.PARAMETER_MODULES


def _is_run(tree: ast.Module, scope: Scope, model: str, after: int) -> bool:
    """Whether a model is called behind a line, and surely stays until then where it is."""
    return _run_in(tree, scope, model, after, _MOST_HOPS) is True


def _run_in(tree: ast.Module, scope: ast.AST, model: str, after: int, hops: int) -> bool | None:
    """Whether what a name stands for is called behind a line; None if it may be moved there."""
    rooted = {id(each) for each in nodes_in(scope, ast.Attribute) if _root(each) == model}
    left, is_run = set[int](), False
    for call in nodes_in(scope, ast.Call):
        if call.lineno <= after:
            continue
        if isinstance(call.func, ast.Name) and call.func.id == model:
            left.add(id(call.func))
            is_run = True
        if id(call.func) in rooted and not _leaves_place(call.func, model):
            return None
        handed = [each for each in call.args if isinstance(each, ast.Name) and each.id == model]
        inner = _run_by(tree, call, handed, hops) if handed else False
        if inner is None:
            return None
        left.update(map(id, handed))
        is_run = is_run or inner
    attributes = [each for each in nodes_in(scope, ast.Attribute) if id(each) in rooted]
    if any(not isinstance(each.ctx, ast.Load) and each.lineno > after for each in attributes):
        return None
    left.update(id(each.value) for each in attributes)
    names = (each for each in nodes_in(scope, ast.Name) if each.id == model and each.lineno > after)
    return None if any(id(each) not in left for each in names) else is_run


def _leaves_place(called: ast.expr, model: str) -> bool:
    """Whether a method that is called of a model, or of a part of it, leaves all where it is."""
    if not isinstance(called, ast.Attribute):
        return False
    direct = isinstance(called.value, ast.Name) and called.value.id == model
    return called.attr in _LEAVE_PLACE or not (
        direct or called.attr in torch_api.PLACING_METHODS or called.attr.endswith("apply")
    )


def _run_by(tree: ast.Module, call: ast.Call, handed: list[ast.Name], hops: int) -> bool | None:
    """Whether a function that is handed the model calls it; None if it may move it, or is not known."""
    if isinstance(call.func, ast.Name) and call.func.id in _ONLY_ASK:
        return False
    known = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    function = known.get(call.func.id) if isinstance(call.func, ast.Name) else None
    if function is None or hops == 0:
        return None
    given = [name for name, each in zip(positional_names(function), call.args, strict=False) if each in handed]
    found = [_run_in(tree, function, each, 0, hops - 1) for each in given]
    return None if None in found or len(given) != len(handed) else any(found)


def _root(node: ast.AST) -> str | None:
    """The name that a chain of attributes, entries and calls begins with."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


EVENTS = {Placed: _note_placed}
