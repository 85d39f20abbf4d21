"""What a Module, or a function of tensors, makes on CUDA by name, in a file that never asks for CUDA (TDL012).

A Module goes where its owner moves it, and a function is given tensors that are anywhere: on a machine without CUDA, on
Apple's GPU or on the second one, both end at a ``torch.zeros(3).cuda()``. In an application the programs that come
there say for themselves what they need, and a class that puts its own layers on CUDA, or a file of several GPUs, is
for these; they are not judged here.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.literals.for_cuda import kernel_before
from torchdevlint.flow.checks.literals.hardcoded import imports_kernels
from torchdevlint.flow.scope.handled_errors import WITHOUT_CUDA, may_catch
from torchdevlint.flow.scope.naming_cuda import names_cuda
from torchdevlint.flow.scope.programs import is_program
from torchdevlint.flow.state.devices import TOP, Origin
from torchdevlint.flow.state.joins import settle
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import UNKNOWN, Library, Tensor
from torchdevlint.source.nodes import is_inside, nodes_in, once_a_node

_ASKING = frozenset("is_available is_cuda device_count set_device device_of current_device world_size".split())
"""Names that ask for CUDA, or choose the GPU: what they decide may reach the place on other ways."""
_SOMEWHERE = (Origin.ARGUMENT, Origin.MODEL, Origin.EXPRESSION)
_MOST = 4
"""Where more places name CUDA, the file is written for it."""


def elsewhere_beside(frame: Frame, state: State, node: ast.Call) -> tuple[str, str] | None:
    """What may be anywhere where a tensor is made and put on CUDA by name, and why; None where that is meant.

    It is the Module that does so, or the tensor or Module that a function is given.
    """
    machine, function, owner = frame.machine, frame.function, frame.owner
    if function is None or frame.entry.kind == "init":
        return None
    tree = machine.tree
    if is_asked_for(frame, node) or named_in(tree) > _MOST or not _is_made(frame, state, node):
        return None
    if owner is not None and owner.is_module:
        return owner.name, f"`{owner.name}` goes where its owner moves it"
    alone = named_in(tree) == 1 and machine.discarded is not node
    name = _given_here(frame, state) if alone else None
    return None if name is None else (name, f"`{name}` is where the caller has it")


def is_asked_for(frame: Frame, node: ast.Call) -> bool:
    """Whether a file asks for CUDA, or is for it by what it imports or by its layers, or somebody catches its lack."""
    machine, function, owner = frame.machine, frame.function, frame.owner
    tree = machine.tree
    if function is None or machine.words & _ASKING or is_program(tree) or imports_kernels(tree):
        return True
    of_owner = owner is not None and any(_places_layers(each.node) for each in owner.mro)
    if of_owner or kernel_before(function, node.lineno):
        return True
    tried = (each for each in nodes_in(function, ast.Try) if may_catch(each, WITHOUT_CUDA))
    return any(is_inside(node, statement) for each in tried for statement in each.body)


def _given_here(frame: Frame, state: State) -> str | None:
    """The first tensor or Module that the function around a place was given, if it is still bound to its name there."""
    function = frame.function
    if function is None or frame.depth:
        return None
    for parameter in nodes_in(function.args, ast.arg):
        value = settle(state.env.get(parameter.arg, UNKNOWN), state.conditions)
        if isinstance(value, Tensor) and value.device.origin in _SOMEWHERE:
            return parameter.arg
        if isinstance(value, Library) and value.module and value.device in (None, TOP) and value.placed is None:
            return parameter.arg
    return None


def _is_made(frame: Frame, state: State, node: ast.Call) -> bool:
    """Whether a call makes the tensor itself, or moves one that was just made."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in ("cuda", "to"):
        return True
    moved = frame.evaluate(node.func.value, state)
    return isinstance(moved, Tensor) and bool(moved.creations)


@once_a_node
def _places_layers(node: ast.ClassDef) -> bool:
    """Whether a constructor names CUDA."""
    inits = (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
    return any(named_in(each) for each in inits)


@once_a_node
def named_in(scope: ast.AST) -> int:
    """In how many places some code names CUDA."""
    return sum(names_cuda(each) is not None for each in nodes_in(scope, ast.Call))
