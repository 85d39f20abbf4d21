"""Whether groups of processes send by NCCL, as far as files say and the function asks.

The file that sends tells it, or else those of the project that make groups. ``"nccl" if torch.cuda.is_available() else
"gloo"`` is NCCL where there is a GPU; a parameter or an option is what it is by default. A function that asks for NCCL,
and goes on alike, sends by it in one case.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.kinds.options import default_of
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import given_by_default, last_name, public_path
from torchdevlint.flow.state.machine import Frame
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import is_below, is_inside, keyword_of, nodes_in, once_a_node

OTHER_BACKENDS = frozenset({"gloo", "mpi", "hccl", "xccl", "ccl"})
_NCCL = "nccl"
_MAKERS = frozenset({"init_process_group", "new_group"})
_ASKS = frozenset({"torch.cuda.is_available", "torch.distributed.is_nccl_available"})
_MOST_FILES = 8
_MOST_HOPS = 3


def sends_by_nccl(frame: Frame, node: ast.Call) -> bool:
    """Whether what a collective sends goes over NCCL on a machine with GPUs."""
    if frame.function is not None and _asks_for_nccl(frame.function, node):
        return True
    others = frame.machine.others
    holder = others.holding(node) if others is not None else None
    tree = frame.machine.tree if holder is None else holder.tree
    found = _backends(frame, tree)
    if found or others is None or _names_another(tree):
        return found == {_NCCL} and not _names_another(tree)
    paths = others.project.saying(("init_process_group",)) or ()
    for path in paths if len(paths) <= _MOST_FILES else ():
        module = others.project.module(path)
        if module is None or _names_another(module.tree):
            return False
        found |= _backends(frame, module.tree)
    return found == {_NCCL}


def _asks_for_nccl(function: ast.AST, node: ast.Call) -> bool:
    """``if dist.get_backend() == "nccl": pass``, before both cases send the same."""
    for asked in nodes_in(function, ast.If):
        ends = isinstance(asked.body[-1], (ast.Return, ast.Raise, ast.Continue))
        if _is_of_nccl(asked.test) and node.lineno > asked.lineno and not ends:
            return not any(is_inside(node, each) for each in asked.orelse)
    return False


def _is_of_nccl(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    asks = any(last_name(each.func) == "get_backend" for each in nodes_in(test, ast.Call))
    return asks and any(isinstance(each, ast.Constant) and each.value == _NCCL for each in test.comparators)


def _backends(frame: Frame, tree: ast.Module) -> set[str]:
    """What the process groups of a file are made with; a name that is not known is a question mark."""
    return {_backend(frame, call, given, _MOST_HOPS) for call, given in _made_in(tree)}


@once_a_node
def _made_in(tree: ast.Module) -> list[tuple[FunctionNode | ast.Module, ast.expr | None]]:
    """The calls that make groups: the function around each, and what it is told."""
    found: list[tuple[FunctionNode | ast.Module, ast.expr | None]] = []
    for call in nodes_in(tree, ast.Call):
        if last_name(call.func) in _MAKERS:
            around = [each for each in functions_in(tree) if is_below(call, each)]
            first = call.args[0] if call.args and last_name(call.func) == "init_process_group" else None
            found.append((around[-1] if around else tree, keyword_of(call, "backend") or first))
    return found


def _backend(frame: Frame, scope: FunctionNode | ast.Module, given: ast.expr | None, hops: int) -> str:
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        return given.value.lower()
    if isinstance(given, ast.IfExp) and _asks_for_gpu(given.test):
        return _backend(frame, scope, given.body, hops)
    if isinstance(given, ast.Name) and hops:
        bound = list(values_by_path(scope).get(given.id, ()))
        if not isinstance(scope, ast.Module) and not bound:
            bound = [default for name, default in given_by_default(scope.args) if name == given.id]
        return _backend(frame, scope, bound[0], hops - 1) if len(bound) == 1 else "?"
    if isinstance(given, ast.Attribute):
        default = default_of(frame, given)
        return _backend(frame, scope, default, hops - 1) if default is not None and hops else "?"
    return "?"


def _asks_for_gpu(test: ast.expr) -> bool:
    return isinstance(test, ast.Call) and public_path(test.func) in _ASKS


@once_a_node
def _names_another(tree: ast.Module) -> bool:
    """Whether a file names a backend for the CPU, other than for a machine without a GPU."""
    said = set(_said(tree))
    for choice in nodes_in(tree, ast.IfExp):
        if _asks_for_gpu(choice.test):
            said.difference_update(map(id, nodes_in(choice.orelse, ast.Constant)), [id(choice.orelse)])
    return bool(said)


def _said(tree: ast.Module) -> Iterator[int]:
    for each in nodes_in(tree, ast.Constant):
        if isinstance(each.value, str) and each.value.lower() in OTHER_BACKENDS:
            yield id(each)
