"""Tensors on CUDA by name that are as large as an argument, and are used with it all the same (TDL012).

A kernel of an extension gets all of its tensors where the first one is. A buffer that is made as large as an argument,
and is filled beside it, has to be there too; `torch.cuda.FloatTensor(n)` and ``.cuda()`` are the current GPU. So has
one that a function returns with the argument written into it.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.literals.given_devices import Given
from torchdevlint.flow.checks.literals.placement import literal_place, record
from torchdevlint.flow.events import Called, Filled, Placed
from torchdevlint.flow.run.unknown_calls import is_known
from torchdevlint.flow.scope.assigned import assignments_by_path
from torchdevlint.flow.scope.followed_devices import root_of
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.scope.naming_cuda import cuda_in_words
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.devices import MODEL, Origin
from torchdevlint.flow.state.tensors import came_with_input
from torchdevlint.flow.state.values import Ref, Tensor, Unknown, Value
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import assignments_in, inside, own_nodes_in


def _note_placed(event: Placed) -> None:
    if event.device.origin is Origin.LITERAL and event.device.name == "cuda":
        event.frame.machine.observe(Called, _note_call)
        event.frame.machine.observe(Filled, _note_filled)


def _note_filled(event: Filled) -> None:
    """``out = torch.zeros(n, dtype=x.dtype, device="cuda"); out[i] = x; return out``: meant to be where `x` is.

    What `forward` fills with what its layers give and returns is meant to be where the model is.
    """
    frame, at = event.frame, event.value_node
    place, name = literal_place(frame, event.base), root_of(at)
    if place is None or frame.function is None or not came_with_input(event.value):
        return
    if frame.context == "forward" and event.value.device == MODEL and frame.tensor_names:
        first = frame.tensor_names[0]
        if _is_returned(frame.function, event.node) and not _is_bound_anew(frame.function, first):
            found = Given(f"{first}.device", "what the model gives is written into it", at)
            record(frame, event.state, place, cuda_in_words(place), found)
        return
    if name is None or name not in parameter_names(frame.function) or _is_bound_anew(frame.function, name):
        return
    if is_as_large(frame.function, place, name) and _is_returned(frame.function, event.node):
        found = Given(f"{name}.device", f"`{name}` is written into it", at)
        record(frame, event.state, place, cuda_in_words(place), found)


def _is_returned(function: AnyFunction, target: ast.AST) -> bool:
    """Whether the name that is written into by index is returned as it is."""
    filled = dotted_path(target.value) if isinstance(target, ast.Subscript) else None
    returned = (each.value for each in own_nodes_in(function, ast.Return) if each.value is not None)
    return filled is not None and any(dotted_path(each) == filled for each in returned)


def _note_call(event: Called) -> None:
    """``ext.gather(features, idx, buffer)``: something foreign gets a buffer and what it is as large as."""
    frame, node = event.frame, event.node
    if frame.function is None or not _is_foreign(event.function, node):
        return
    for _, value in event.arguments.pairs:
        place = literal_place(frame, value) if isinstance(value, Tensor) else None
        if place is None:
            continue
        for at, given in event.arguments.pairs:
            name = root_of(at)
            if name is None or not came_with_input(given) or name not in parameter_names(frame.function):
                continue
            if is_as_large(frame.function, place, name) and not _is_bound_anew(frame.function, name):
                found = Given(f"{name}.device", f"`{name}` is used with it", at, "kernel")
                record(frame, event.state, place, cuda_in_words(place), found)
                return


def _is_foreign(called: Value, node: ast.Call) -> bool:
    """Whether what is called is of no Python library that is known, nor of this file.

    What is launched as ``kernel[grid](..)`` is launched on the current GPU.
    """
    if not isinstance(node.func, (ast.Name, ast.Attribute)):
        return False
    if isinstance(called, Ref):
        path = dotted_path(node.func) or ""
        return not is_known(called.name) and "." in (called.name + path)
    return isinstance(called, Unknown)


def is_as_large(function: ast.AST, place: ast.AST, name: str) -> bool:
    """Whether the size of what is made at `place` is asked of the argument `name`, there or some lines before."""
    used = _names_in(place)
    if name in used:
        return True
    for assignment in assignments_in(function):
        bound = {each for target in assignment.targets for each in _names_in(target)}
        if bound & used and name in _names_in(assignment.value):
            return True
    return False


def _is_bound_anew(function: AnyFunction, name: str) -> bool:
    """Whether the argument is replaced by something that is not made of it."""
    values = [each.value for each in assignments_by_path(function).get(name, ())]
    bound = [each for each in bindings_in(function).get(name, ()) if each[1]]
    return len(bound) > len(values) or any(name not in _names_in(each) for each in values)


def _names_in(node: ast.AST) -> set[str]:
    return {each.id for each in inside(node) if isinstance(each, ast.Name)}


EVENTS = {Placed: _note_placed}
