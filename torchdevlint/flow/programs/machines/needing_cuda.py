"""What needs CUDA on the ways of programs to a place: by sending something there, or by asking a GPU.

A program that chooses its device may name CUDA by mistake, all the more after the place. One that surely asks a GPU for
something before (`torch.cuda.set_device(0)`, `torch.cuda.ipc_collect()`) ends there on every other machine. So does one
that surely asks what the GPU is called, or can do, right on, or waits for it (`torch.cuda.synchronize()`): it is not
for the results alone. And one that goes right on to a helper ends there, if that sends something to CUDA by name and
is told no other place. One that asserts that there is CUDA needs it as well, or ends where there is none.
"""

from __future__ import annotations

import ast
from functools import cached_property

from torchdevlint.flow.programs.reached.ways import Ways
from torchdevlint.flow.programs.texts.blocks import ends, is_left
from torchdevlint.flow.programs.texts.gpu_choice import gpu_choice
from torchdevlint.flow.scope.asserted import needed_for
from torchdevlint.flow.scope.cuda_literals import Scope, asks_gpu, describes_gpu, needs_cuda, waits_for_gpu
from torchdevlint.flow.scope.names import public_path
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in, own_nodes_in

_ASKING = ("torch.cuda.is_available", "torch.cuda.device_count")


class NeedingCuda:
    """The ways through the programs of one project, and where they need CUDA."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def of(self, program: ModuleFile) -> Ways:
        """What needs CUDA in a program; in one that chooses a device itself, what names CUDA later is a mistake."""
        return self.before if gpu_choice([program.source.text]).chooses else self.beside

    @cached_property
    def beside(self) -> Ways:
        """Where CUDA is needed before a place, or surely right on from there."""
        return Ways(self._project, needs_cuda, after=True, requires=_requires_cuda)

    @cached_property
    def before(self) -> Ways:
        """Where CUDA is needed before a place."""
        return Ways(self._project, needs_cuda, requires=_requires_cuda)

    @cached_property
    def unasked(self) -> Ways:
        """Where CUDA is needed before a place, in a function that does not ask for it: there it may be a mistake."""
        return Ways(self._project, lambda scope, call: needs_cuda(scope, call) and not _asks_for_cuda(scope))

    @cached_property
    def in_helpers(self) -> Ways:
        """Where CUDA is needed before a place, or surely right on from there, in a function of a file that chooses no
        device and is told none: no choice of the program gets there.
        """
        return Ways(self._project, lambda scope, call: needs_cuda(scope, call) and _is_told_nothing(scope), after=True)

    @cached_property
    def asking(self) -> Ways:
        """Where a GPU is asked for something before a place, or has to be there: no other machine comes to it."""
        return Ways(self._project, asks_gpu, requires=_requires_cuda)

    @cached_property
    def describing(self) -> Ways:
        """Where a GPU is asked what it is called, or can do, or is waited for, before a place or surely right after."""
        return Ways(self._project, lambda *call: describes_gpu(*call) or waits_for_gpu(*call), after=True)


def _is_told_nothing(scope: Scope) -> bool:
    """Whether a function, or the class of a method, says no word of a device, nor does its file choose one."""
    told = scope.owner or scope.function
    if told is None or gpu_choice([scope.file.source.text]).chooses:
        return False
    words = [each.id for each in nodes_in(told, ast.Name)]
    words += [each.arg for each in nodes_in(told, ast.arg)]
    words += [each.attr for each in nodes_in(told, ast.Attribute)]
    return not any("device" in each.lower() for each in words)


def _asks_for_cuda(scope: Scope) -> bool:
    """Whether a function, or the top level, asks whether there is CUDA, be it for another move than one of its own."""
    calls = own_nodes_in(scope.function or scope.tree, ast.Call)
    return any(public_path(each.func) == "torch.cuda.is_available" for each in calls)


def _requires_cuda(statement: ast.stmt, returning: bool) -> bool:
    """Whether nothing comes after a statement on a machine without CUDA: it asserts that there is some, or raises.

    Or it returns where that counts: ``if not torch.cuda.is_available(): return``.
    """
    if isinstance(statement, ast.Assert):
        return any(map(_is_there, needed_for(statement.test)))
    if not isinstance(statement, ast.If) or not (ends(statement.body) or (returning and is_left(statement.body))):
        return False
    test = statement.test
    refused = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else [test]
    return any(isinstance(each, ast.UnaryOp) and _is_there(each.operand) for each in refused)


def _is_there(test: ast.expr) -> bool:
    """Whether a test is true where there is CUDA alone: it is available, there are GPUs."""
    asked = test
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Gt, ast.GtE)):
        asked = test.left
    return isinstance(asked, ast.Call) and public_path(asked.func) in _ASKING
