"""Whether each of several processes, one a GPU, runs a place: not what starts them, nor what one of them does alone."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import dotted_path, last_name, public_path
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import inside, is_below, nodes_in, once_a_node

_RANK = regex(r"(?:^|_)(?:local_?|global_?)?(?:rank|gpu|gpu_id|proc_id|process_index)$")
_FIRST = regex(r"is_(?:main|master|first|rank_?0|rank_?zero|global_zero|local_main)\w*|(?:main|master)_process")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_GROUP_OF_ONE = "world_size"
_OF_PROCESSES = frozenset({"init_process_group", "DistributedDataParallel", "local_rank", "LOCAL_RANK"})
_OF_ONE_GPU = frozenset("set_device device_ids local_rank LOCAL_RANK rank RANK get_rank output_device spawn".split())


def have_gpus_of_their_own(words: frozenset[str]) -> bool:
    """Whether the words of a file are those of several processes each of which it gives a GPU of its own.

    Where it gives none, all that a process sends to CUDA goes to the first GPU that it sees, as what it reads does.
    """
    return not (_OF_PROCESSES.isdisjoint(words) or _OF_ONE_GPU.isdisjoint(words))


def is_run_by_each_rank(tree: ast.Module, node: ast.AST) -> bool:
    """Whether each process of a program that has several runs a place, as far as its file tells."""
    return not (_is_group_of_one(tree) or _is_of_first_rank(tree, node) or _is_of_starter(tree, node))


@once_a_node
def _is_group_of_one(tree: ast.Module) -> bool:
    """Whether all groups of processes have one member, by the text: ``init_process_group(.., world_size=1)``."""
    groups = [each for each in nodes_in(tree, ast.Call) if last_name(each.func) == "init_process_group"]
    sizes = [{given.arg: given.value for given in each.keywords}.get(_GROUP_OF_ONE) for each in groups]
    return bool(groups) and all(isinstance(each, ast.Constant) and each.value == 1 for each in sizes)


def _is_of_first_rank(tree: ast.Module, node: ast.AST) -> bool:
    """Whether a place is below a test that the first process passes alone: ``if rank == 0:``."""
    return any(
        _asks_for_first_rank(each.test) and any(is_below(node, statement) for statement in each.body)
        for each in nodes_in(tree, ast.If)
    )


def _asks_for_first_rank(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) and any(map(_asks_for_first_rank, test.values))
    if isinstance(test, ast.Compare):
        asked, right = test.left, test.comparators[0]
        is_zero = isinstance(right, ast.Constant) and right.value == 0 and not isinstance(right.value, bool)
        return is_zero and isinstance(test.ops[0], ast.Eq) and _is_rank(asked)
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not) and _is_rank(test.operand)
    return _FIRST.search(last_name(test.func if isinstance(test, ast.Call) else test)) is not None


def _is_rank(node: ast.expr) -> bool:
    named = node.func if isinstance(node, ast.Call) else node
    return isinstance(named, (ast.Name, ast.Attribute)) and _RANK.search(last_name(named)) is not None


def _is_of_starter(tree: ast.Module, node: ast.AST) -> bool:
    """Whether a file starts processes by ``mp.spawn(worker)``, and a place is in what `worker` does not come to.

    So it is with a function of the top level that starts them, or that is called by such a one alone.
    """
    workers = _started(tree)
    outer = next((each for each in tree.body if is_below(node, each)), None)
    if not workers or not isinstance(outer, _FUNCTIONS):
        return False
    return outer.name not in _reached(tree, workers)


_STARTS = ("torch.multiprocessing.spawn", "torch.multiprocessing.spawn.spawn")


@once_a_node
def _started(tree: ast.Module) -> frozenset[str]:
    calls = [each for each in nodes_in(tree, ast.Call) if public_path(each.func) in _STARTS]
    return frozenset(dotted_path(each.args[0]) or "" for each in calls if each.args) - {""}


def _reached(tree: ast.Module, workers: frozenset[str]) -> set[str]:
    """The functions of the top level that workers name, directly or through others; all for one that is not there."""
    functions = {each.name: each for each in tree.body if isinstance(each, _FUNCTIONS)}
    if not workers <= functions.keys():
        return set(functions)
    reached, level = set(workers), set(workers)
    while level:
        read = {each.id for name in level for each in inside(functions[name]) if isinstance(each, ast.Name)}
        level = read.intersection(functions) - reached
        reached |= level
    return reached
