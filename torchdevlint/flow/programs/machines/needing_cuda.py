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

from torchdevlint.flow.checks.loads.file_names import scopes_of
from torchdevlint.flow.programs.reached.ways import Ways
from torchdevlint.flow.programs.texts.blocks import ends, is_left
from torchdevlint.flow.programs.texts.gpu_choice import gpu_choice
from torchdevlint.flow.scope.asserted import needed_for
from torchdevlint.flow.scope.cuda_literals import (
    Scope,
    asks_gpu,
    describes_gpu,
    is_cuda,
    is_settled,
    needs_cuda,
    waits_for_gpu,
)
from torchdevlint.flow.scope.names import device_spec, dotted_path, last_name, places_in, public_path
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import inside, nodes_in, own_nodes_in

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

    def of_what_is_loaded(self, load: ast.Call, tree: ast.Module) -> Ways | None:
        """Where what a load is for is sent to CUDA by name before it, or surely right on: nobody reads it elsewhere.

        An object that a function is given, or another one keeps, is called alike there. A function that sends something
        to a chosen device as well names CUDA by mistake.
        """
        names = _loaded_into(load, scopes_of(tree, load)[0])
        return None if not names else Ways(
            self._project,
            lambda scope, call: _is_move_of(call, names) and needs_cuda(scope, call) and not _takes_chosen(scope),
            after=True,
            requires=lambda statement, _: _moves_if_there(statement, names) or _requires_cuda(statement, False),
        )

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


def _loaded_into(load: ast.Call, around: ast.AST) -> frozenset[str]:
    """What the objects are called, without their owners, that get the state which a load reads."""
    held = {load}
    bound = {
        target.id
        for each in nodes_in(around, ast.Assign)
        if held.intersection(inside(each.value))
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    calls = [each for each in nodes_in(around, ast.Call) if last_name(each.func) == "load_state_dict" and each.args]
    taking = [each.func.value for each in calls if isinstance(each.func, ast.Attribute) and _reads(each, load, bound)]
    return frozenset(name for each in taking if (name := _name_of(each)))


def _reads(call: ast.Call, load: ast.Call, names: set[str]) -> bool:
    parts = inside(call.args[0])
    return any(each is load or (isinstance(each, ast.Name) and each.id in names) for each in parts)


def _name_of(node: ast.expr) -> str:
    return (dotted_path(node) or "").removesuffix(".module").rpartition(".")[2]


def _takes_chosen(scope: Scope) -> bool:
    """Whether a function, or the top level, sends something to a device that is neither CUDA by name nor a tensor's."""
    calls = own_nodes_in(scope.function or scope.tree, ast.Call)
    places = (place for each in calls for place in places_in(each))
    return any(not is_settled(each) and not is_cuda(scope, each) for each in places)


def _is_move_of(call: ast.Call, names: frozenset[str]) -> bool:
    function = call.func
    return isinstance(function, ast.Attribute) and function.attr in ("cuda", "to") and _name_of(function.value) in names


def _moves_if_there(statement: ast.stmt, names: frozenset[str]) -> bool:
    """Whether an object is moved to CUDA if there is one, as there is where its state is loaded."""
    if not isinstance(statement, ast.If) or not isinstance(test := statement.test, ast.Compare):
        return False
    is_there = isinstance(test.ops[0], ast.IsNot) and _name_of(test.left) in names
    moves = (each.value for each in statement.body if isinstance(each, (ast.Assign, ast.Expr)))
    return is_there and any(
        isinstance(each, ast.Call) and _is_move_of(each, names) and last_name(each.func) == "cuda" for each in moves
    )


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
    return any((isinstance(each, ast.UnaryOp) and _is_there(each.operand)) or _is_of_cpu(each) for each in refused)


def _is_of_cpu(test: ast.expr) -> bool:
    """Whether a test is true where the device is the CPU: ``device == "cpu"``, ``device != torch.device("cuda")``."""
    if not isinstance(test, ast.Compare) or len(test.ops) > 1 or "device" not in (dotted_path(test.left) or ""):
        return False
    place = device_spec(test.comparators[0])
    named = place.value if isinstance(place, ast.Constant) else None
    if not isinstance(named, str):
        return False
    return named == "cpu" if isinstance(test.ops[0], ast.Eq) else isinstance(test.ops[0], ast.NotEq) and "cuda" in named


def _is_there(test: ast.expr) -> bool:
    """Whether a test is true where there is CUDA alone: it is available, there are GPUs."""
    asked = test
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Gt, ast.GtE)):
        asked = test.left
    return isinstance(asked, ast.Call) and public_path(asked.func) in _ASKING
