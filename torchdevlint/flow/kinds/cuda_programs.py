"""Programs for CUDA alone: whatever they are started with, they send something to CUDA by name.

On a machine without CUDA such a program ends there, wherever its files were written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from torchdevlint.flow.assigned import values_by_path
from torchdevlint.flow.kinds.programs import functions_of_program, is_program
from torchdevlint.flow.names import dotted_path, places_in
from torchdevlint.project.modules import is_main_guard
from torchdevlint.source.nodes import below, inside, nodes_in, once_a_node

_CUDA = re.compile(r"cuda(?::\d+)?")
_ANOTHER = re.compile(r"cpu|mps|xpu|npu|xla|device|auto")
"""Texts that name another device, or look one up."""
_CHOICE = re.compile(
    r"is_available|device_count|map_location|accelerat|(?:^|_)(?:world_size|n?gpus?|(?:use|no|with|has|on)_?cuda)(?:_|$)",
    re.IGNORECASE,
)
"""Names by which a program asks for the machine, or is told of it."""
_OPTION = re.compile(r"-\S*(?:device|cuda|gpu|cpu|rank)", re.IGNORECASE)
_PROCESSES = re.compile(r"local_?rank|get_rank|distributed|DistributedDataParallel|init_process_group", re.IGNORECASE)
_OPTIONAL = (ast.If, ast.Try, ast.IfExp, ast.BoolOp, ast.Match, ast.ExceptHandler)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NOT_RUN = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)


def is_of_cuda_program(tree: ast.Module, function: ast.AST | None, notebook: bool) -> bool:
    """Whether a function, or the top level, runs in a program of this file that is for CUDA alone, in one process."""
    if not _is_for_cuda_alone(tree):
        return False
    if notebook:
        return True
    return is_program(tree) if function is None else function in functions_of_program(tree)


@once_a_node
def _is_for_cuda_alone(tree: ast.Module) -> bool:
    return not _chooses(tree) and any(_sends_to_cuda(tree, each) for each in _surely_run(tree))


def _chooses(tree: ast.Module) -> bool:
    """Whether a file names another device or several processes, asks for the machine, or is told of a device."""
    words = {each.attr for each in nodes_in(tree, ast.Attribute)} | {each.id for each in nodes_in(tree, ast.Name)}
    words.update(each.arg for each in nodes_in(tree, ast.keyword) if each.arg)
    words.update(each.arg for each in nodes_in(tree, ast.arg))
    words.update(part for each in nodes_in(tree, ast.alias) for part in each.name.split("."))
    if any(_CHOICE.search(each) or _PROCESSES.search(each) for each in words):
        return True
    placing = {id(each) for call in nodes_in(tree, ast.Call) for each in places_in(call)}
    constants = (each.value for each in nodes_in(tree, ast.Constant) if id(each) not in placing)
    if any(isinstance(each, str) and (_ANOTHER.fullmatch(each) or _OPTION.match(each)) for each in constants):
        return True
    compared = (part for each in nodes_in(tree, ast.Compare) for part in inside(each) if isinstance(part, ast.Constant))
    return any(isinstance(each.value, str) and _CUDA.fullmatch(each.value) for each in compared)


def _sends_to_cuda(tree: ast.Module, node: ast.AST) -> bool:
    """``x.cuda()``, ``x.to("cuda")``, ``zeros(3, device=DEVICE)`` where the only value of ``DEVICE`` is CUDA."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
        return not node.keywords and all(isinstance(each, ast.Constant) for each in node.args)
    return any(_is_cuda(tree, each) for each in places_in(node))


def _is_cuda(tree: ast.Module, node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and (dotted_path(node.func) or "").endswith("device") and len(node.args) == 1:
        node = node.args[0]
    if isinstance(node, ast.Name):
        bound = values_by_path(tree).get(node.id, [])
        is_argument = any(each.arg == node.id for each in nodes_in(tree, ast.arg))
        return len(bound) == 1 and not is_argument and not isinstance(bound[0], ast.Name) and _is_cuda(tree, bound[0])
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and _CUDA.fullmatch(node.value) is not None


def _surely_run(tree: ast.Module) -> Iterator[ast.AST]:
    """What is run on every path of the program of a file: its top level, and the functions that are called there."""
    functions = {each.name: each for each in tree.body if isinstance(each, _FUNCTIONS)}
    level = list(_on_every_path(_top_level(tree)))
    while level:
        yield from level
        called = {each.func.id for each in level if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}
        entered = [functions.pop(name) for name in sorted(called & functions.keys())]
        level = [each for function in entered for each in _on_every_path(function.body)]


def _top_level(tree: ast.Module) -> Iterator[ast.stmt]:
    for statement in tree.body:
        yield from statement.body if is_main_guard(statement) else (statement,)  # type: ignore[attr-defined]


def _on_every_path(statements: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of statements without those that a condition may leave out; a loop is taken to run."""
    level: list[ast.AST] = [each for each in statements if not isinstance(each, (*_OPTIONAL, *_NOT_RUN))]
    while level:
        yield from level
        level = [
            each
            for each in below(level)
            if isinstance(each, ast.AST) and not isinstance(each, (*_OPTIONAL, *_NOT_RUN))
        ]
