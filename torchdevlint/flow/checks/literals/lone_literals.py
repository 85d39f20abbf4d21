"""A literal CUDA device in a file that follows devices everywhere else, or where a Module or argument is (TDL012).

A file that makes and moves its tensors to a device that it is told, or to that of another tensor, in ten places, is
written for any device. The one ``device="cuda"`` among them was forgotten, whatever that tensor meets, be it handed
on to another function. A Module goes where its owner moves it, and a function is given tensors that are anywhere.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchdevlint.flow.checks.literals import hardcoded
from torchdevlint.flow.checks.literals.alone_in_library import is_alone
from torchdevlint.flow.checks.literals.for_cuda import is_for_cuda
from torchdevlint.flow.checks.literals.placement import is_guarded, is_what_it_is_for
from torchdevlint.flow.checks.literals.unasked_cuda import elsewhere_beside
from torchdevlint.flow.events import Constructed, ForeignCalled, FunctionCalled, MethodCalled, Placed, UnknownCalled
from torchdevlint.flow.facts.tensors import IgnoresGivenDevice
from torchdevlint.flow.scope.cuda_programs import sets_current_gpu
from torchdevlint.flow.scope.followed_devices import root_of
from torchdevlint.flow.scope.names import device_spec, last_name, mentions_cuda, mentions_device, parameter_names
from torchdevlint.flow.scope.naming_cuda import (
    cuda_in_words,
    device_arguments,
    is_numbered,
    names_cuda,
    naming_arguments,
)
from torchdevlint.flow.state.devices import Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import tensors_in
from torchdevlint.flow.state.values import Obj
from torchdevlint.patterns import regex
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import is_inside, nodes_in, once_a_node

_MOST = 2
"""Where more places name CUDA, that is meant, or not one oversight."""
_FOR_EACH = 8
"""So many places follow a device for each one that names CUDA."""
_BESIDE_ONE = 2
"""So many for the only place of a file that names CUDA, in a method, or a function that works on arguments; one where
tensors are among these, or in this function itself."""
_FOR_CUDA_ALONE = frozenset({"triton", "cupy", "numba", "pycuda", "CUDAGraph", "GradScaler"})
_OF_MEASURING = regex(r"bench|profil|test|main|demo|memory|warm|graph|stream(?!ing)|kernel|gpu")
"""Names of functions that may be for a GPU alone."""


class _Places(NamedTuple):
    followed: list[ast.expr]
    literals: int


def _note_placed(event: Placed) -> None:
    frame, state, node = event.frame, event.state, event.node
    if event.device.origin is Origin.LITERAL and event.device.name == "cuda" and isinstance(node, ast.Call):
        _look(frame, state, node)


def _note_call(event: FunctionCalled | Constructed | UnknownCalled | ForeignCalled | MethodCalled) -> None:
    """``Encoder(.., device="cuda")``: what is called does with it what torch does."""
    node = event.node
    named = any(each.arg == "device" and each.value in naming_arguments(node) for each in node.keywords)
    if named and not is_numbered(cuda_in_words(node)):  # the number of a device may be one of a microphone
        _look(event.frame, event.state, node)


def _note_method(event: MethodCalled) -> None:
    """``mechanism.fit(x, device="cuda")``, a method of an object of the project."""
    if event.node.keywords and isinstance(event.receiver, Obj):
        _note_call(event)


def _look(frame: Frame, state: State, node: ast.Call) -> None:
    text = names_cuda(node)
    if text is None or frame.machine.in_child or not frame.machine.imports_torch or is_guarded(state):
        return
    if is_what_it_is_for(frame) or is_for_cuda(frame) or not _is_for_any_gpu(frame, node):
        return
    machine = frame.machine
    if _follows_devices(frame, state, node):
        beside: ast.AST = _places(machine.tree).followed[0]
        given, why, kind = machine.text_of(beside), "so does the rest of this file", "lone"
    else:
        found, beside, kind = elsewhere_beside(frame, state, node), frame.function or machine.tree, "module"
        if found is None and is_alone(frame, state, node):
            found, kind = (frame.scope, f"nothing says that `{frame.scope}` is for CUDA"), "alone"
        if found is None:
            return
        given, why = found
    machine.explain(*hardcoded.keys_of(node))
    machine.record(
        ("lone literal", node),
        lambda: IgnoresGivenDevice(
            machine.span_of(node),
            text,
            given,
            why,
            machine.span_of(beside),
            kind,
            machine.text_of(node),
            scope=frame.scope,
        ),
        state,
    )


def _is_for_any_gpu(frame: Frame, node: ast.Call) -> bool:
    """Whether the call stands in a function that is about no GPU by its name, and under no question for one."""
    function, machine = frame.function, frame.machine
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or _OF_MEASURING.search(function.name.lower()):
        return False
    if machine.words & _FOR_CUDA_ALONE or sets_current_gpu(function, node.lineno):
        return False
    return not _stands_under_question(function, node)


def _follows_devices(frame: Frame, state: State, node: ast.Call) -> bool:
    """Whether the rest of its file follows devices, or the rest of its function does."""
    function: FunctionNode = frame.function  # type: ignore[assignment]
    places = _places(frame.machine.tree)
    works = _takes_arguments(function) or frame.owner is not None
    if places.literals == 1 and last_name(node.func) != "cuda" and works:
        plain = [each for each in places.followed if last_name(each) == "device"]
        given = parameter_names(function)
        if any(is_inside(each, function) and root_of(each) in given for each in plain):
            return True
        tensors = (each for name in given.intersection(state.env) for each in tensors_in(state.env[name]))
        least = _BESIDE_ONE if next(tensors, None) is None else 1
        if len([each for each in plain if not is_inside(each, function)]) >= least:
            return True
    return 0 < places.literals <= _MOST and len(places.followed) >= _FOR_EACH * places.literals


def _takes_arguments(function: FunctionNode) -> bool:
    """Whether a function works on what it is given: a helper, and no step of a program."""
    return not parameter_names(function) <= {"self", "cls", "args", "opt", "config", "cfg", "kwargs"}


def _stands_under_question(function: ast.AST, node: ast.Call) -> bool:
    """Whether a test around it speaks of CUDA or of devices."""
    tests: list[ast.If | ast.IfExp] = [*nodes_in(function, ast.If), *nodes_in(function, ast.IfExp)]
    around = [each.test for each in tests if each.lineno <= node.lineno <= (each.end_lineno or 0)]
    read = [part for test in around for part in (*nodes_in(test, ast.Name), *nodes_in(test, ast.Attribute))]
    return any(mentions_cuda(last_name(each)) or mentions_device(last_name(each)) for each in read)


@once_a_node
def _places(tree: ast.Module) -> _Places:
    """The devices that calls of a file are given, and how many name CUDA themselves."""
    followed: list[ast.expr] = []
    literals = 0
    for call in nodes_in(tree, ast.Call):
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        named = any(each.arg == "device" for each in call.keywords)
        if names_cuda(call) is not None or method == "cuda":
            literals += all(device_spec(each) is each for each in device_arguments(call))  # else that is counted
        elif method == "to" or named:
            followed += filter(_is_device, device_arguments(call))
    return _Places(followed, literals)


def _is_device(node: ast.expr) -> bool:
    """``device``, ``self.device``, ``x.device``."""
    return isinstance(node, (ast.Name, ast.Attribute)) and mentions_device(last_name(node))


SAYING = ("cuda", "device", ".to(0")
EVENTS = {
    Placed: _note_placed,
    FunctionCalled: _note_call,
    Constructed: _note_call,
    UnknownCalled: _note_call,
    ForeignCalled: _note_call,
    MethodCalled: _note_method,
}
