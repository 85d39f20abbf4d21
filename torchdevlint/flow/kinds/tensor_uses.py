"""Tensors by use: what a function does with a parameter, or hands it to, that only a tensor allows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from torchdevlint.flow.kinds.annotated import is_used_otherwise
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.chains import module_in
from torchdevlint.flow.scope.docstrings import documented_tensors
from torchdevlint.flow.scope.names import canonical, dotted_path, is_dtype_name, parameter_names, positional_names
from torchdevlint.flow.scope.taken_by_torch import is_index_of_method, takes_tensor
from torchdevlint.flow.scope.uses import Scope, Uses, bindings_in, uses_in
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import TOP
from torchdevlint.flow.state.joins import is_module
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.members import is_torch_module
from torchdevlint.flow.state.values import Closure, Cls, Func, Library, Obj, Ref, Value
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import assignments_in, nodes_in, once_a_node

_MAX_HOPS, _MAX_LOOKUPS = 4, 8
"""How many steps a name is followed through attributes, items and loops; a loop may go over its own variable."""
_MAX_PARAMETERS = 50
"""How many parameters of other functions are looked at for one."""

_MAY_MOVE_IN_PLACE = regex(r"batch|graph|data|sample|inputs|encod|token|item|example", re.IGNORECASE)
"""Names of what may be a container with a ``to`` of its own, beside what only a model says."""

_Parameter = tuple[Scope, str, ClassInfo | None, bool]
"""A function, the name of a parameter, the class if it is a method, and whether a method of a Module hands it over."""


def is_tensor_by_use(
    frame: Frame, function: Scope, name: str, owner: ClassInfo | None, hops: int = _MAX_HOPS
) -> bool:
    """Whether `function` uses its parameter `name` as only a tensor can be used, itself or in a function it calls."""
    level: list[_Parameter] = [(function, name, owner, owner is not None and owner.is_module)]
    seen: set[_Parameter] = set(level)
    for _ in range(hops + 1):
        further: dict[_Parameter, None] = {}
        for parameter in level:
            targets = _targets(frame, *parameter)
            if targets is None:
                return True
            further.update(dict.fromkeys(target for target in targets if target not in seen))
        level = list(further)[: _MAX_PARAMETERS - len(seen)]
        seen.update(level)
    return False


def _targets(
    frame: Frame, function: Scope, name: str, owner: ClassInfo | None, in_module: bool
) -> list[_Parameter] | None:
    """The parameters of functions of this file that `name` is handed to; None if `function` says it is a tensor."""
    uses = uses_in(function).get(name)
    node = None if owner is None else owner.node
    described = not isinstance(function, (ast.Lambda, ast.Module)) and name in documented_tensors(function, node)
    if uses is None:
        return None if described else []
    if is_used_otherwise(frame, function, name):
        return []
    if described or uses.is_tensor or _is_index(uses) or (in_module and uses.attributes & torch_api.SHAPE_ATTRIBUTES):
        return None
    closure = owner.closure if owner is not None else frame.closure
    if uses.has_dimensions and any(_is_dtype(_static(frame, each, closure, owner, function)) for each in uses.dtypes):
        return None
    may_become_one = name in _added_to(function)
    for call, place in () if may_become_one else uses.derived:
        callee = _static(frame, call.func, closure, owner, function)
        if isinstance(callee, Ref) and takes_tensor(callee.name, place):
            return None
    found: list[_Parameter] = []
    for call, place in uses.arguments:
        callee = _static(frame, call.func, closure, owner, function)
        if isinstance(callee, (ast.FunctionDef, ast.AsyncFunctionDef)):
            bound = isinstance(call.func, ast.Attribute)
            names = positional_names(callee)
            position = place + bound if isinstance(place, int) else -1
            target = place if isinstance(place, str) else names[position] if position < len(names) else ""
            found.append((callee, target, owner if bound else None, in_module))
        elif isinstance(callee, Ref):
            if takes_tensor(callee.name, place) and not may_become_one:
                return None
        elif place == 0 and isinstance(callee, Library) and is_module(callee):
            if _MAY_MOVE_IN_PLACE.search(name) and (isinstance(call.func, ast.Name) or _defines_movers(frame)):
                continue
            return None
        elif isinstance(callee, Obj):
            found.extend(_taken_by_forward(callee.info, place))
    return found


@once_a_node
def _added_to(function: Scope) -> frozenset[str]:
    """The names that something is added to: ``rate += torch.rand(3)`` makes a tensor of a number."""
    targets = (each.target for each in nodes_in(function, ast.AugAssign))
    return frozenset(each.id for each in targets if isinstance(each, ast.Name))


def _defines_movers(frame: Frame) -> bool:
    """Whether a class of the file has a ``to`` of its own, and is no Module: batches may be objects of it."""
    held = frame.machine.globals.values()
    return any(isinstance(each, Cls) and not each.info.is_module and "to" in each.info.all_methods for each in held)


def _is_index(uses: Uses) -> bool:
    """Whether it is the index of a method that only tensors have: ``logits.gather(1, target[:, None])``."""
    return any(is_index_of_method(call, place) for call, place in (*uses.derived, *uses.arguments))


def _taken_by_forward(info: ClassInfo, place: int | str) -> Iterator[_Parameter]:
    """The parameter of `forward` that a call of a Module hands an argument to."""
    forward = info.all_methods.get("forward", (None, None))[1] if info.is_module else None
    if not isinstance(forward, ast.FunctionDef):
        return
    names = positional_names(forward)[1:]
    target = place if isinstance(place, str) else names[place] if place < len(names) else ""
    yield forward, target, info, True


def is_taken_by_torch(frame: Frame, function: Scope, name: str) -> bool:
    """Whether `function` gives a local name to a function of torch that takes nothing but tensors there.

    The name has one value, which was one before: ``noise += torch.rand(3)`` makes a tensor of a number.
    """
    uses = uses_in(function).get(name)
    if uses is None or is_used_otherwise(frame, function, name):
        return False
    if name in _bound_again(function):
        return False
    static = partial(_static, frame, closure=frame.closure, owner=frame.owner, function=function)
    given = ((static(call.func), place) for call, place in (*uses.arguments, *uses.derived))
    return any(isinstance(callee, Ref) and takes_tensor(callee.name, place) for callee, place in given)


@once_a_node
def _bound_again(function: Scope) -> frozenset[str]:
    """The names that a function binds more than once."""
    bound = bindings_in(function).items()
    return frozenset(name for name, places in bound if sum(is_bound for _, is_bound, _ in places) > 1)


def is_told_alone(frame: Frame, read: ast.Attribute) -> bool:
    """Whether nothing but such a read says that an argument is a tensor: no annotation, no docstring, no other use."""
    function, name = frame.function, read.value.id if isinstance(read.value, ast.Name) else ""
    if function is None or isinstance(function, ast.Lambda) or name not in parameter_names(function):
        return False
    annotated = any(each.arg == name and each.annotation is not None for each in nodes_in(function, ast.arg))
    last = uses_in(function)[name].tensor_use
    return not annotated and name not in documented_tensors(function) and last is not None and last.attr == read.attr


def _is_moved_as_module(function: Scope, name: str) -> bool:
    """Whether ``model.to(device)`` is a statement of a function that calls the model: only a Module moves in place."""
    uses = uses_in(function).get(name)
    return uses is not None and uses.called and name in _moved_in_place(function)


@once_a_node
def _moved_in_place(function: Scope) -> frozenset[str]:
    """The names whose move is a statement, and those that the move of something with another name is bound to."""
    found = [_moved(each.value) for each in nodes_in(function, ast.Expr)]
    for each in assignments_in(function):
        moved, target = _moved(each.value), each.targets[0]
        if isinstance(moved, ast.Attribute) and dotted_path(moved) is not None:
            found.append(target)
    return frozenset(each.id for each in found if isinstance(each, ast.Name))


def _moved(node: ast.expr) -> ast.expr | None:
    """`model` in ``model.to(device)``."""
    moves = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "cuda")
    return node.func.value if moves else None  # type: ignore[attr-defined]


def _is_dtype(value: Value | ast.AST | None) -> bool:
    return isinstance(value, Ref) and is_dtype_name(value.name)


def _static(
    frame: Frame,
    node: ast.expr,
    closure: Closure,
    owner: ClassInfo | None,
    function: Scope,
    lookups: int = _MAX_LOOKUPS,
) -> Value | ast.AST | None:
    """What a callee is, as far as it can be told without running anything: imports, methods and layers of `self`."""
    if lookups == 0:
        return None
    if isinstance(node, ast.Name):
        uses = uses_in(function).get(node.id)
        layers = uses.looped_over if uses is not None else None
        if layers is not None:
            container = _static(frame, layers, closure, owner, function, lookups - 1)
            return Library("", module=True) if isinstance(container, Library) and container.module else None
        for scope in closure.scopes:
            found = scope.get(node.id)
            if found is not None:
                return found.node if isinstance(found, Func) else found
        if _is_moved_as_module(function, node.id):
            return Library("", module=True)
        built = _built(function, node.id)
        return None if built is None else _called_module(frame, built, closure, owner, function, lookups - 1)
    if isinstance(node, ast.Call):
        return _called_module(frame, module_in(node), closure, owner, function, lookups - 1)
    if isinstance(node, ast.Subscript):
        container = _static(frame, node.value, closure, owner, function, lookups - 1)
        return Library("", module=True) if isinstance(container, Library) and container.module else None
    if not isinstance(node, ast.Attribute):
        return None
    if isinstance(node.value, ast.Name) and node.value.id == "self" and owner is not None:
        if node.attr in owner.all_methods:
            return owner.all_methods[node.attr][1]
        return next((info.attributes[node.attr] for info in owner.mro if node.attr in info.attributes), None)
    receiver = _static(frame, node.value, closure, owner, function, lookups - 1)
    if isinstance(receiver, Ref):
        return Ref(canonical(f"{receiver.name}.{node.attr}"))
    if isinstance(receiver, Cls):
        return receiver.info.all_methods.get(node.attr, (None, None))[1]
    return None


def _built(function: Scope, name: str) -> ast.expr | None:
    """``Net()`` in ``net = Net().to(device)``, if a function binds the name to nothing but this, and what it gives."""
    values = values_by_path(function).get(name, [])
    if not values or sum(bound for _, bound, _ in bindings_in(function).get(name, ())) != len(values):
        return None
    made = [each for each in map(module_in, values) if dotted_path(each) != name]
    return made[0] if len(made) == 1 else None


def _called_module(
    frame: Frame, call: ast.expr, closure: Closure, owner: ClassInfo | None, function: Scope, lookups: int
) -> Value | None:
    """The Module that a call makes: of a class of the file, or a layer of torch.

    A container and a wrapper take what is first in them.
    """
    made = _static(frame, call.func, closure, owner, function, lookups) if isinstance(call, ast.Call) else None
    if isinstance(made, Cls):
        return Obj(made.info, TOP) if made.info.is_module else None
    if not isinstance(call, ast.Call) or not isinstance(made, Ref) or not is_torch_module(made.name):
        return None
    if made.name != "torch.nn.Sequential" and made.name not in torch_api.WRAPPER_MODULES:
        return Library("", module=True)
    if not call.args:
        return None
    held = _static(frame, call.args[0], closure, owner, function, lookups - 1)
    return held if isinstance(held, (Obj, Library)) else None
