"""Which of its inputs a Module moves itself, by the text of its forward and of the methods that this calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow import torch_api
from torchdevlint.flow.names import dotted_path, mentions_device, positional_names
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.source.nodes import below, inside, nodes_in

_SAY_NOTHING = frozenset({"shape", "size", "device", "dtype", "ndim", "dim"})
"""What is read of a tensor without being a part of it."""
_MAX_CALLS = 3


def moved_inputs(info: ClassInfo, name: str = "forward", calls: int = _MAX_CALLS) -> set[str]:
    """The parameters of a method that it moves to its own device, themselves or in what it makes of them.

    What a layer gives is not made of them: to come so far they were moved already.
    """
    method = info.all_methods.get(name, (None, None))[1]
    if method is None or calls == 0:
        return set()
    made_of: dict[str, set[str]] = {each: {each} for each in positional_names(method)[1:]}
    made_of.update({each.arg: {each.arg} for each in method.args.kwonlyargs})
    found: set[str] = set()
    steps: list[ast.Assign | ast.Call] = [*nodes_in(method, ast.Assign), *nodes_in(method, ast.Call)]
    for step in sorted(steps, key=lambda each: (each.end_lineno or 0, isinstance(each, ast.Assign))):
        if isinstance(step, ast.Assign):
            parts = _made_of(info, step.value, made_of)
            made_of.update({each.id: parts for target in step.targets for each in _names(target)})
        elif isinstance(step.func, ast.Attribute) and _is_own_place(step):
            found |= _made_of(info, step.func.value, made_of)
        elif (called := _method_called(info, step)) is not None:
            handed = moved_inputs(info, called, calls - 1)
            for place, value in given(info, called, step):
                found |= _made_of(info, value, made_of) if place in handed else set()
    return found


def given(info: ClassInfo, name: str, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The parameters of a method that a call gives, with what it gives; where stars are, only the keywords."""
    method = info.all_methods[name][1]
    if not any(isinstance(each, ast.Starred) for each in call.args):
        yield from zip(positional_names(method)[1:], call.args, strict=False)
    yield from ((each.arg, each.value) for each in call.keywords if each.arg is not None)


def _is_own_place(call: ast.Call) -> bool:
    """``x.to(self.device)``, ``x.to(next(self.parameters()).device)`` and ``x.cuda()``."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if method in torch_api.DEVICE_METHODS:
        return torch_api.DEVICE_METHODS[method] != "cpu"
    named = [each for argument in (*call.args, *(each.value for each in call.keywords)) for each in inside(argument)]
    names = {each.id for each in named if isinstance(each, ast.Name)}
    read = (each.attr for each in named if isinstance(each, ast.Attribute))
    return method == "to" and "self" in names and any(map(mentions_device, read))


def _made_of(info: ClassInfo, node: ast.expr, made_of: dict[str, set[str]]) -> set[str]:
    """The parameters that are in what an expression gives."""
    found: set[str] = set()
    level: list[ast.AST] = [node]
    while level:
        each = level.pop()
        if isinstance(each, ast.Name):
            found |= made_of.get(each.id, set())
        if isinstance(each, ast.Attribute) and each.attr in _SAY_NOTHING:
            continue
        if not (isinstance(each, ast.Call) and _gives_no_part(info, each)):
            level += below([each])
    return found


def _gives_no_part(info: ClassInfo, call: ast.Call) -> bool:
    """Whether it is a layer, a factory or a number: ``self.embed(x)``, ``torch.zeros(n)``, ``len(x)``."""
    path = dotted_path(call.func) or ""
    if path.startswith("self."):
        return _method_called(info, call) is None
    head, _, tail = path.rpartition(".")
    return path == "len" or (head == "torch" and tail in torch_api.FACTORIES)


def _method_called(info: ClassInfo, call: ast.Call) -> str | None:
    head, _, name = (dotted_path(call.func) or "").rpartition(".")
    return name if head == "self" and name in info.all_methods else None


def _names(target: ast.expr) -> Iterator[ast.Name]:
    if isinstance(target, ast.Name):
        yield target
    elif isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from _names(each)
