"""What a Module makes on CUDA by name, in a file that never asks whether there is one (TDL012).

A Module goes where its owner moves it: on a machine without CUDA, on Apple's GPU or on the second one, it ends at a
``torch.zeros(3).cuda()``. In an application the programs that come there say for themselves what they need, and a class
that puts its own layers on CUDA, or a file of several GPUs, is for these; they are not judged here.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.literals.for_cuda import kernel_before
from torchdevlint.flow.checks.literals.hardcoded import imports_kernels
from torchdevlint.flow.scope.handled_errors import WITHOUT_CUDA, may_catch
from torchdevlint.flow.scope.naming_cuda import names_cuda
from torchdevlint.flow.scope.programs import is_program
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Tensor
from torchdevlint.source.nodes import is_inside, nodes_in, once_a_node

_ASKING = frozenset("is_available is_cuda device_count set_device device_of current_device world_size".split())
"""Names that ask for CUDA, or choose the GPU: what they decide may reach the place on other ways."""
_MOST = 4
"""Where more places name CUDA, the file is written for it."""


def module_that_makes(frame: Frame, state: State, node: ast.Call) -> str | None:
    """The Module that makes a tensor and puts it on CUDA by name, wherever it is itself; None where that is meant."""
    machine, function, owner = frame.machine, frame.function, frame.owner
    if function is None or owner is None or not owner.is_module or frame.entry.kind == "init":
        return None
    tree = machine.tree
    if machine.words & _ASKING or is_program(tree) or imports_kernels(tree) or kernel_before(function, node.lineno):
        return None
    if _named(tree) > _MOST or any(_places_layers(each.node) for each in owner.mro) or not _is_made(frame, state, node):
        return None
    tried = (each for each in nodes_in(function, ast.Try) if may_catch(each, WITHOUT_CUDA))
    in_vain = any(is_inside(node, statement) for each in tried for statement in each.body)
    return None if in_vain else owner.name


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
    return any(_named(each) for each in inits)


@once_a_node
def _named(scope: ast.AST) -> int:
    """In how many places some code names CUDA."""
    return sum(names_cuda(each) is not None for each in nodes_in(scope, ast.Call))
