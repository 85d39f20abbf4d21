"""Programs for CUDA alone: whatever they are started with, they send something to CUDA by name.

On a machine without CUDA such a program ends there, wherever its files were written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.handled_errors import goes_on
from torchdevlint.flow.scope.names import device_spec, dotted_path, last_name, places_in, public_path
from torchdevlint.flow.scope.programs import functions_of_program, is_program
from torchdevlint.patterns import regex
from torchdevlint.project.modules import is_main_guard
from torchdevlint.source.functions import functions_in
from torchdevlint.source.nodes import arguments_of, assignments_in, below, ids_below, inside, nodes_in, once_a_node

_CUDA = regex(r"cuda(?::\d+)?")
_ANOTHER = regex(r"cpu|mps|xpu|npu|xla|device|auto")
"""Texts that name another device, or look one up."""
_CHOICE = regex(
    r"is_available|device_count|map_location|accelerat|(?:^|_)(?:world_size|(?:use|no|with|has|on)_?(?:cuda|gpus?))(?:_|$)",
    re.IGNORECASE,
)
"""Names by which a program asks for the machine, or is told of it."""
_OPTION = regex(r"-\S*(?:device|cuda|cpu|rank)", re.IGNORECASE)
_DEVICE_OPTION = regex(r"--?(?:\w+[-_])?device", re.IGNORECASE)
_OF_GPUS = regex(r"(?:^|_)n?gpus?(?:_|$)", re.IGNORECASE)
"""Names for GPUs: which ones there are to be, or whether there are any."""
_NUMBERING = frozenset({"set_device", "putenv", "setdefault", "update", "cuda", "print", "add_argument"})
"""Functions that are told which GPU to use, that say it to people, or ask them for it."""
_PROCESSES = regex(r"local_?rank|get_rank|distributed|DistributedDataParallel|init_process_group", re.IGNORECASE)
_OPTIONAL = (ast.If, ast.IfExp, ast.BoolOp, ast.Match, ast.ExceptHandler)
_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom)
_EXITS = frozenset({"exit", "sys.exit", "os._exit", "quit"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_NOT_RUN = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)


def is_of_cuda_program(tree: ast.Module, function: ast.AST | None, notebook: bool) -> bool:
    """Whether a function, or the top level, runs in a program of this file that is for CUDA alone, in one process."""
    if not _is_for_cuda_alone(tree):
        return False
    if notebook:
        return True
    return is_program(tree) if function is None else function in functions_of_program(tree)


def ends_without_cuda(tree: ast.Module, function: ast.AST | None, node: ast.AST) -> bool:
    """Whether one process asks a GPU for its name on every way to a place, or right on from there, or uses CUDA so.

    What chooses a device, and may choose the CPU, ends at such a question as well.
    """
    if not _uses_gpu(tree) or any(_PROCESSES.search(each) for each in _words(tree)):
        return False
    if function is not None and _needs_gpu(tree, tree.body):
        return True
    return _needs_gpu_beside(tree, getattr(tree if function is None else function, "body", ()), node)


@once_a_node
def _uses_gpu(tree: ast.Module) -> bool:
    return any(_asks_gpu(each) or _sends_to_cuda(tree, each) for each in nodes_in(tree, ast.Call))


@once_a_node
def begins_on_gpu(tree: ast.Module) -> bool:
    """Whether the program of a file says on every path which GPU is the current one, which needs one."""
    calls = (each for each in _surely_run(tree) if isinstance(each, ast.Call))
    return any(public_path(each.func) == "torch.cuda.set_device" for each in calls)


@once_a_node
def sends_to_cuda(tree: ast.Module) -> bool:
    """Whether the program of a file sends something to CUDA on every path, by name."""
    return any(_sends_to_cuda(tree, each) for each in _surely_run(tree))


@once_a_node
def numbers_gpus(tree: ast.Module) -> bool:
    """Whether a file uses a GPU by another number than 0: what it saves is read on machines that have as many."""
    calls = [each for each in nodes_in(tree, ast.Call) if last_name(each.func) in ("set_device", "cuda")]
    given = (each for call in calls for each in (*call.args[:1], *places_in(call)))
    return not all(isinstance(each, ast.Constant) and each.value in (0, "cuda", "cuda:0", None) for each in given)


def sets_current_gpu(scope: ast.AST, line: int) -> bool:
    """Whether a function or module says on every way to a line which GPU is the current one, so that CUDA means it."""
    return any(each < line for each in _lines_that_set_gpu(scope))


@once_a_node
def _lines_that_set_gpu(scope: ast.AST) -> tuple[int, ...]:
    calls = (each for each in _on_every_path(getattr(scope, "body", ())) if isinstance(each, ast.Call))
    return tuple(each.lineno for each in calls if public_path(each.func) == "torch.cuda.set_device")


def _needs_gpu_beside(tree: ast.Module, block: object, node: ast.AST) -> bool:
    """Whether a block that holds `node` needs a GPU before it, or after it if nothing leaves in between."""
    for place, statement in enumerate(block if isinstance(block, list) else ()):
        if id(node) not in ids_below(statement):
            continue
        after = takewhile(lambda each: not _leaves(each), block[place + 1 :])  # type: ignore[index]
        if _needs_gpu(tree, [*block[:place], *([] if _leaves(statement) else after)]):  # type: ignore[index]
            return True
        return any(_needs_gpu_beside(tree, inner, node) for inner in _blocks_of(statement))
    return False


def _needs_gpu(tree: ast.Module, statements: list[ast.stmt]) -> bool:
    """Whether statements that run one after the other ask a GPU for something, or send something to CUDA."""
    nodes = _on_every_path(each for each in statements if not isinstance(each, _LOOPS))
    calls = [each for each in nodes if isinstance(each, ast.Call)]
    return any(map(_asks_gpu, calls)) or (
        not _is_told_of_device(tree) and any(_sends_to_cuda(tree, each) for each in calls)
    )


def _asks_gpu(call: ast.Call) -> bool:
    """Whether the first GPU, or the one of a number, is asked for something."""
    given = arguments_of(call)
    asks = public_path(call.func) in torch_api.RAISES_WITHOUT_CUDA
    return asks and all(isinstance(each, ast.Constant) for each in given)


def _leaves(statement: ast.stmt) -> bool:
    calls = (dotted_path(each.func) for each in nodes_in(statement, ast.Call))
    return any(isinstance(each, _LEAVES) for each in inside(statement)) or not _EXITS.isdisjoint(calls)


def _blocks_of(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement; not what is tried where its errors are caught, nor what is only defined."""
    if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
        return
    tried = isinstance(statement, ast.Try) and _is_left_out(statement)
    names = ("orelse", "finalbody") if tried else ("body", "orelse", "finalbody")
    yield from (getattr(statement, name, []) for name in names)
    yield from (each.body for name in ("handlers", "cases") for each in getattr(statement, name, ()))


@once_a_node
def _is_for_cuda_alone(tree: ast.Module) -> bool:
    return not _chooses(tree) and sends_to_cuda(tree)


@once_a_node
def _chooses(tree: ast.Module) -> bool:
    """Whether a file names another device or several processes, asks for the machine, or is told of a device."""
    if any(_CHOICE.search(each) or _PROCESSES.search(each) for each in _words(tree)) or _asks_of_gpus(tree):
        return True
    if any(_ANOTHER.fullmatch(each) or _OPTION.match(each) for each in _texts(tree)):
        return True
    compared = (part for each in nodes_in(tree, ast.Compare) for part in inside(each) if isinstance(part, ast.Constant))
    return any(isinstance(each.value, str) and _CUDA.fullmatch(each.value) for each in compared)


@once_a_node
def _is_told_of_device(tree: ast.Module) -> bool:
    """Whether an option says which device is used, so that one that is named in the code is a mistake."""
    return any(_DEVICE_OPTION.match(each) for each in _texts(tree))


def _texts(tree: ast.Module) -> Iterator[str]:
    """The texts of a file, but for those that place something: ``x.to("cpu")`` names no choice."""
    placing = {id(each) for call in nodes_in(tree, ast.Call) for each in places_in(call)}
    for each in nodes_in(tree, ast.Constant):
        if isinstance(each.value, str) and id(each) not in placing:
            yield each.value


def _asks_of_gpus(tree: ast.Module) -> bool:
    """Whether what is called after GPUs says more than which one is visible, or the current one."""
    numbering = {
        below_it
        for assign in assignments_in(tree)
        if all(_holds_number(target) for target in assign.targets)
        for below_it in ids_below(assign.node)
    }
    calls = (each for each in nodes_in(tree, ast.Call) if last_name(each.func) in _NUMBERING)
    numbering.update(below_it for call in calls for below_it in ids_below(call))
    names: list[tuple[ast.AST, str]] = [(each, each.id) for each in nodes_in(tree, ast.Name)]
    names += [(each, each.attr) for each in nodes_in(tree, ast.Attribute)]
    return any(_OF_GPUS.search(name) for each, name in names if id(each) not in numbering)


def _holds_number(target: ast.expr) -> bool:
    """``os.environ[name]``, or a name for GPUs."""
    if isinstance(target, ast.Subscript):
        return public_path(target.value) == "os.environ"
    return isinstance(target, ast.Name) and _OF_GPUS.search(target.id) is not None


@once_a_node
def _words(tree: ast.Module) -> frozenset[str]:
    """The names of a file: variables, attributes, parameters, and what it imports."""
    words = {each.attr for each in nodes_in(tree, ast.Attribute)} | {each.id for each in nodes_in(tree, ast.Name)}
    words.update(each.arg for each in nodes_in(tree, ast.keyword) if each.arg)
    words.update(each.arg for each in nodes_in(tree, ast.arg))
    words.update(part for each in nodes_in(tree, ast.alias) for part in each.name.split("."))
    return frozenset(words)


def _sends_to_cuda(tree: ast.Module, node: ast.AST) -> bool:
    """``x.cuda()``, ``x.to("cuda")``, ``zeros(3, device=DEVICE)`` where the only value of ``DEVICE`` is CUDA."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
        return not node.keywords and all(isinstance(each, ast.Constant) for each in node.args)
    return any(_is_cuda(tree, each) for each in places_in(node))


def _is_cuda(tree: ast.Module, node: ast.expr) -> bool:
    node = device_spec(node)
    if isinstance(node, ast.Name):
        bound = values_by_path(tree).get(node.id, [])
        if len(bound) != 1 or _is_argument(tree, node):
            return False
        node = device_spec(bound[0])  # not followed on: ``device = torch.device(device)``
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and _CUDA.fullmatch(node.value) is not None


def _is_argument(tree: ast.Module, node: ast.Name) -> bool:
    """Whether a function around a place has an argument of that name."""
    functions = functions_in(tree)
    around = (each for each in functions if each.lineno <= node.lineno <= (each.end_lineno or 0))
    return any(each.arg == node.id for function in around for each in nodes_in(function.args, ast.arg))


def _surely_run(tree: ast.Module) -> Iterator[ast.AST]:
    """What is run on every path of the program of a file: its top level, and the functions that are called there."""
    functions = {each.name: each for each in tree.body if isinstance(each, _FUNCTIONS)}
    level = list(_on_every_path(_top_level(tree)))
    while level:
        yield from level
        called = {each.func.id for each in level if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}
        entered = [functions.pop(name) for name in sorted(called.intersection(functions))]
        level = [each for function in entered for each in _on_every_path(function.body)]


def _top_level(tree: ast.Module) -> Iterator[ast.stmt]:
    for statement in tree.body:
        yield from statement.body if is_main_guard(statement) else (statement,)  # type: ignore[attr-defined]


def _on_every_path(statements: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of statements without those that a condition may leave out; a loop is taken to run."""
    level = [each for each in statements if not _is_left_out(each)]
    while level:
        yield from level
        level = [each for each in below(level) if isinstance(each, ast.AST) and not _is_left_out(each)]


def _is_left_out(node: ast.AST) -> bool:
    """Whether a condition, or an error after which the program goes on, may keep it from being run as a whole."""
    if isinstance(node, ast.Try):
        return any(map(goes_on, node.handlers))
    return isinstance(node, (*_OPTIONAL, *_NOT_RUN))
