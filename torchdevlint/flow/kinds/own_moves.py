"""Which of its inputs a Module moves itself, by the text of its forward and of the methods that this calls."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import (
    dotted_path,
    last_name,
    mentions_device,
    places_in,
    positional_names,
    public_path,
)
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.values import Cls, Func, Value
from torchdevlint.source.nodes import Assignment, arguments_of, assignments_in, below, inside, nodes_in

_SAY_NOTHING = frozenset({"shape", "size", "device", "dtype", "ndim", "dim"})
"""What is read of a tensor without being a part of it."""
_MAX_CALLS = 3
_COPIES = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray"})
"""Functions that make a tensor of whatever they are given."""

Resolve = Callable[[Value], Value]
"""What an import stands for."""


def moved_inputs(info: ClassInfo, resolve: Resolve, name: str = "forward", calls: int = _MAX_CALLS) -> set[str]:
    """The parameters of a method that it moves to its own device, themselves or in what it makes of them.

    What a layer gives is not made of them: to come so far they were moved already, be it by a layer whose class is
    known. Texts and numbers are moved in the tensor that is filled with what a table says of them. What one arm of an
    ``if`` binds to a name is not what the other one finds there.
    """
    method = info.all_methods.get(name, (None, None))[1]
    if method is None or calls == 0:
        return set()
    made_of: dict[str, set[str]] = {each: {each} for each in positional_names(method)[1:]}
    made_of.update({each.arg: {each.arg} for each in method.args.kwonlyargs})
    found: set[str] = set()
    in_arms = {part for branch in nodes_in(method, ast.If) for part in inside(branch)}
    steps: list[ast.For | Assignment | ast.Call] = [*nodes_in(method, ast.For), *assignments_in(method)]
    steps += nodes_in(method, ast.Call)
    for step in sorted(steps, key=_when):
        if isinstance(step, ast.For):
            parts = _made_of(info, step.iter, made_of)
            made_of.update(dict.fromkeys(_names(step.target), parts))
        elif isinstance(step, Assignment):
            parts = _made_of(info, step.value, made_of)
            for name in (each for target in step.targets for each in _names(target)):
                made_of[name] = parts | made_of.get(name, set()) if step.node in in_arms else parts
            made_of.update({each: made_of.get(each, set()) | parts for each in map(_filled, step.targets) if each})
        elif _is_own_place(method, step):
            moved = step.func.value if isinstance(step.func, ast.Attribute) else step
            copied = public_path(step.func) in _COPIES and bool(step.args)
            found |= _made_of(info, step.args[0] if copied else moved, made_of)
        else:
            called = _class_called(info, step, resolve)
            handed = moved_inputs(called[0], resolve, called[1], calls - 1) if called is not None else set()
            for place, value in given(*called, step) if called is not None and handed else ():
                found |= _made_of(info, value, made_of) if place in handed else set()
            for value in _moved_by_function(info, step, resolve):
                found |= _made_of(info, value, made_of)
    return found


def _when(step: ast.For | Assignment | ast.Call) -> tuple[int, bool]:
    """Loops bind before their body is run, and assignments after their value."""
    whole = step.iter if isinstance(step, ast.For) else step.node if isinstance(step, Assignment) else step
    end = whole.end_lineno
    return end or 0, not isinstance(step, ast.Call)


def _filled(target: ast.expr) -> str | None:
    """``made`` in ``made[i, j] = x``."""
    while isinstance(target, ast.Subscript):
        target = target.value
        if isinstance(target, ast.Name):
            return target.id
    return None


def given(info: ClassInfo, name: str, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The parameters of a method that a call gives, with what it gives; where stars are, only the keywords."""
    method = info.all_methods[name][1]
    if not any(isinstance(each, ast.Starred) for each in call.args):
        yield from zip(positional_names(method)[1:], call.args, strict=False)
    yield from ((each.arg, each.value) for each in call.keywords if each.arg is not None)


def _is_own_place(function: ast.AST, call: ast.Call) -> bool:
    """``x.to(self.device)``, also of a layer, ``x.cuda()`` and ``torch.tensor(x, device=self.device)``.

    A name may stand between, or an attribute: ``place = self.layer.weight.device``.
    """
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if method in torch_api.DEVICE_METHODS:
        return torch_api.DEVICE_METHODS[method] != "cpu"
    given = arguments_of(call)
    held = (value for each in given for value in values_by_path(function).get(dotted_path(each) or "", ()))
    named = [each for argument in (*given, *held) for each in inside(argument)]
    read = (each.attr for each in named if isinstance(each, ast.Attribute))
    sends = method == "to" or public_path(call.func) in _COPIES
    own = any(isinstance(each, ast.Name) and each.id == "self" for each in named)
    return sends and own and any(map(mentions_device, read))


def _made_of(info: ClassInfo, node: ast.expr, made_of: dict[str, set[str]]) -> set[str]:
    """The parameters that are in what an expression gives."""
    found: set[str] = set()
    level: list[ast.AST] = [node]
    while level:
        each = level.pop()
        if isinstance(each, (ast.Name, ast.Attribute)):
            found |= made_of.get(dotted_path(each) or "", set())
        if isinstance(each, ast.Attribute) and each.attr in _SAY_NOTHING:
            continue
        if not (isinstance(each, ast.Call) and _gives_no_part(info, each)):
            level += below([each])
    return found


def _gives_no_part(info: ClassInfo, call: ast.Call) -> bool:
    """Whether it is a layer, a factory or a number: ``self.embed(x)``, ``torch.zeros(n)``, ``len(x)``.

    ``self.words.get(x)`` is none of them.
    """
    path = public_path(call.func)
    head, _, tail = path.rpartition(".")
    if path.startswith("self."):
        return tail != "get" and _method_called(info, call) is None
    return path == "len" or (head == "torch" and tail in torch_api.FACTORIES)


def _method_called(info: ClassInfo, call: ast.Call) -> str | None:
    head, _, name = (dotted_path(call.func) or "").rpartition(".")
    return name if head == "self" and name in info.all_methods else None


def _class_called(info: ClassInfo, call: ast.Call, resolve: Resolve) -> tuple[ClassInfo, str] | None:
    """The class and the method of it that a call runs: one of its own, or ``forward`` of a layer that it makes."""
    own = _method_called(info, call)
    if own is not None:
        return info, own
    init = info.all_methods.get("__init__", (None, None))[1]
    made = [] if init is None else values_by_path(init).get(dotted_path(call.func) or "", [])
    if len(made) != 1 or not isinstance(made[0], ast.Call) or not isinstance(made[0].func, ast.Name):
        return None
    name = made[0].func.id
    bound = _bound(info, name)
    layer = resolve(bound) if bound is not None else None
    known = isinstance(layer, Cls) and layer.info.is_module and "forward" in layer.info.all_methods
    return (layer.info, "forward") if isinstance(layer, Cls) and known else None


def _moved_by_function(info: ClassInfo, call: ast.Call, resolve: Resolve) -> Iterator[ast.expr]:
    """What a call gives a function of the project that moves it to an accelerator: ``to_cuda(x)``, ``send(x, device)``.

    A move of the parameter itself counts, or of a part of it, or of what is calculated with it: ``(x + n).to(place)``.
    """
    if not isinstance(call.func, ast.Name) or any(isinstance(each, ast.Starred) for each in call.args):
        return
    bound = _bound(info, call.func.id)
    helper = resolve(bound) if bound is not None else None
    if not isinstance(helper, Func):
        return
    moved = moved_names(helper.node)
    yield from (each for name, each in zip(positional_names(helper.node), call.args, strict=False) if name in moved)
    yield from (each.value for each in call.keywords if each.arg in moved)


def moved_names(function: ast.AST) -> set[str]:
    """The names that a function moves to an accelerator, or of which it moves a part or what it calculates."""
    methods = [each.func for each in nodes_in(function, ast.Call) if _is_to_accelerator(each)]
    return {name for each in methods if isinstance(each, ast.Attribute) for name in _parts_of(each.value)}


def _parts_of(node: ast.expr) -> Iterator[str]:
    """The names of which an expression takes a part, or with which it calculates."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, (ast.Subscript, ast.UnaryOp)):
        yield from _parts_of(node.value if isinstance(node, ast.Subscript) else node.operand)
    elif isinstance(node, ast.BinOp):
        yield from (*_parts_of(node.left), *_parts_of(node.right))


def _is_to_accelerator(call: ast.Call) -> bool:
    """``x.cuda()``, or ``x.to(device)`` with something called a device."""
    method = last_name(call.func)
    if method in torch_api.DEVICE_METHODS:
        return torch_api.DEVICE_METHODS[method] != "cpu"
    named = (last_name(each) for place in (*call.args, *places_in(call)) for each in inside(place))
    return method == "to" and any(map(mentions_device, filter(None, named)))


def _bound(info: ClassInfo, name: str) -> Value | None:
    """What a name is bound to where a class is defined."""
    return next((scope[name] for scope in info.closure.scopes if name in scope), None)


def _names(target: ast.expr) -> Iterator[str]:
    """The names and attributes that a target binds."""
    if isinstance(target, (ast.Name, ast.Attribute)):
        yield dotted_path(target) or ""
    elif isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from _names(each)
