"""Models that are made here, that nothing moves, and that are called with what was moved to an accelerator (TDL004).

Where a model is made in another function, may be given to something that moves it, or moves itself, nobody knows.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.events import Mixed, ModuleCalled
from torchdevlint.flow.kinds.loaders import moves_batches
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.modules import where_made
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.scope.uses import Scope, bindings_in
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import DEFAULT, VALUELESS_TYPES, Origin, on_cpu
from torchdevlint.flow.state.values import AT_LEAST_1, Library, Obj, Tensor, Value
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

_KEEPS_PLACE = frozenset(
    "parameters named_parameters modules named_modules state_dict load_state_dict zero_grad training forward".split()
)
"""What a model is asked for without being moved."""
_GIVES_ITSELF = frozenset({"train", "eval", "requires_grad_"})
"""The same, if nothing is done with what it gives, which is the model."""
_REPLACES = frozenset({"data", "weight", "bias"})
"""Attributes by which parameters are brought elsewhere one by one."""


def _note_call(event: ModuleCalled) -> None:
    """``teacher(x)``, where `x` was moved and `teacher` was not."""
    frame, state, node, module = event.frame, event.state, event.node, event.module
    machine = frame.machine
    if module.device != DEFAULT or machine.default_changed or state.default_device is not None or state.guarded:
        return
    if not isinstance(node.func, ast.Name) or frame.context == "forward" or moves_batches(frame):
        return
    moved = [each for pair in event.arguments.pairs for each in tensor_operands(*pair) if _is_moved(each[1])]
    if not moved or not _has_parameters(module) or not _stays(frame.function or machine.tree, node.func.id):
        return
    parameters = Tensor(DEFAULT, AT_LEAST_1, (), where_made(module))
    operation = f"`{machine.text_of(node.func)}()`"
    machine.emit(Mixed(frame, state, node, operation, (node.func, parameters), moved[0]))  # type: ignore[arg-type]


def _is_moved(value: Value) -> bool:
    """Whether it is a tensor that the code around has put on an accelerator."""
    if not isinstance(value, Tensor) or on_cpu(value.device) or value.ndim == 0:
        return False
    if value.device.origin is Origin.LITERAL:
        return value.device.name not in VALUELESS_TYPES
    return value.device.origin is Origin.EXPRESSION and value.moved


def _has_parameters(module: Library | Obj) -> bool:
    """Whether its class surely makes parameters, and brings nothing anywhere itself."""
    if isinstance(module, Library):
        name = module.name.rpartition(".")[2]
        layers = (each.name.rpartition(".")[2] for each in module.children if isinstance(each, Library))
        return name in torch_api.PARAMETER_MODULES or any(each in torch_api.PARAMETER_MODULES for each in layers)
    return module.info.resolved and any(each.makes_layers for each in module.info.mro) and not _places(module.info)


def _places(info: ClassInfo) -> bool:
    return any(_speaks_of_places(each.node) for each in info.mro)


@once_a_node
def _speaks_of_places(node: ast.ClassDef) -> bool:
    """Whether a class moves something, or asks for a device."""
    words = {each.attr for each in nodes_in(node, ast.Attribute)} | {each.arg for each in nodes_in(node, ast.keyword)}
    words |= {each.arg for each in nodes_in(node, ast.arg)}
    return not words.isdisjoint({"to", "device", "cpu", *torch_api.DEVICE_METHODS})


@once_a_node
def _kept_here(scope: Scope) -> frozenset[str]:
    """The names of a scope that are bound once, called, and asked only for what leaves a model where it is."""
    left_alone: set[ast.AST] = {call.func for call in nodes_in(scope, ast.Call) if isinstance(call.func, ast.Name)}
    attributes = nodes_in(scope, ast.Attribute)
    if any(each.attr in _REPLACES and isinstance(each.ctx, ast.Store) for each in attributes):
        return frozenset()
    left_alone.update(each.value for each in attributes if each.attr in _KEEPS_PLACE)
    dropped = (each.value.func for each in nodes_in(scope, ast.Expr) if isinstance(each.value, ast.Call))
    left_alone.update(each.value for each in dropped if isinstance(each, ast.Attribute) and each.attr in _GIVES_ITSELF)
    given_away = {
        each.id
        for each in nodes_in(scope, ast.Name)
        if not isinstance(each.ctx, ast.Store) and each not in left_alone
    }
    alone = {name for name, places in bindings_in(scope).items() if sum(bound for _, bound, _ in places) == 1}
    plain = {
        target.id
        for each in nodes_in(scope, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name) and isinstance(each.value, ast.Call)
    }
    shared = {name for each in inside(scope) if isinstance(each, (ast.Global, ast.Nonlocal)) for name in each.names}
    return frozenset((alone & plain) - given_away - shared)


def _stays(scope: Scope, name: str) -> bool:
    return name in _kept_here(scope)


EVENTS = {ModuleCalled: _note_call}
