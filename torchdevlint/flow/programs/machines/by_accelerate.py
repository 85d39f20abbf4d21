"""What an `Accelerator` of accelerate does: it makes its GPU the current one, and wraps where there are processes.

So ``.cuda()`` beside its device is right on every GPU. It ends on the CPU, where other places of the file do as well.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.facts.tensors import IgnoresGivenDevice
from torchdevlint.flow.programs.texts.cuda_habit import named_in
from torchdevlint.flow.scope.annotations import annotation_name, without_none
from torchdevlint.flow.scope.names import dotted_path, last_name, names_one_of
from torchdevlint.source.nodes import assignments_in, nodes_in

_MADE = "Accelerator"
_OF_PROCESSES = frozenset(
    "notebook_launcher debug_launcher init_process_group spawn start_processes DistributedDataParallel".split()
)


def is_on_its_gpu(tree: ast.Module, fact: IgnoresGivenDevice) -> bool:
    """Whether the current GPU is that of an `Accelerator`, in a file that is rather for CUDA than for a choice."""
    is_current = fact.kind == "device" and not any(each.isdigit() for each in fact.text)
    if not is_current or not named_in([tree]).is_rather_for_cuda:
        return False
    bound = (each.value for each in assignments_in(tree) if names_one_of(fact.given, each.targets))
    places = [dotted_path(each) or "" for each in bound] or [fact.given]
    return all(_is_its_device(tree, each) for each in places)


def is_one_process(tree: ast.Module) -> bool:
    """Whether a notebook is one process: nothing in it starts others, or makes a group of them."""
    called = (last_name(each.func) for each in nodes_in(tree, ast.Call))
    return _OF_PROCESSES.isdisjoint(called)


def _is_its_device(tree: ast.Module, path: str) -> bool:
    owner, _, last = path.rpartition(".")
    return last == "device" and _is_accelerator(tree, owner)


def _is_accelerator(tree: ast.Module, path: str) -> bool:
    """Whether a path of names is bound to an `Accelerator`, or is an argument that is annotated so, or called so."""
    if not any((each.module or "").partition(".")[0] == "accelerate" for each in nodes_in(tree, ast.ImportFrom)):
        return False
    made = (each for each in assignments_in(tree) if isinstance(each.value, ast.Call) and _is_named(each.value.func))
    if any(dotted_path(target) == path for each in made for target in each.targets):
        return True
    given = (each for each in nodes_in(tree, ast.arg) if each.arg == path)
    return any(annotation_name(without_none(each.annotation)) == _MADE or each.arg == _MADE.lower() for each in given)


def _is_named(called: ast.expr) -> bool:
    return last_name(called) == _MADE
