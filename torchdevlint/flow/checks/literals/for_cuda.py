"""Code for CUDA alone: classes with its name, tests that are skipped without it, and what launches kernels for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, mentions_cuda, public_path, words_in
from torchdevlint.flow.state.machine import Frame
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import assignment_of, nodes_in, once_a_node, own_nodes_in

_SETS_UP = frozenset({"setUp", "setUpClass", "setUpModule", "setup_method", "setup_class", "setup_module", "setup"})
_SKIPS = regex(r"(?:^|\.)(?:skip|skipTest|SkipTest)$")
_ASKS = regex(r"cuda|gpu", re.IGNORECASE)


def is_for_cuda(frame: Frame) -> bool:
    """Whether what is run is for CUDA by a decorator or a skip of it, its class or its file, or by the class's name."""
    tree = frame.machine.reading.tree_here
    owners = [each.node for each in frame.owner.mro] if frame.owner is not None else []
    if any(_is_named_so(each.name) for each in owners[:1]) or _is_skipped(tree):
        return True
    if any(_is_decorated(tree, each) or _is_skipped(each) for each in owners):
        return True
    function = frame.function
    if function is None:
        return False
    return _is_decorated(tree, function) or _skips_itself(function)


def _is_named_so(name: str) -> bool:
    """Whether a class has CUDA in its name, or is a test of something on GPUs."""
    return "cuda" in name.lower() or ("Test" in name and mentions_cuda(name))


def _is_decorated(tree: ast.Module, node: ast.AST) -> bool:
    """``@requires_cuda``, or a decorator that this file makes of a question for CUDA."""
    return any(_asks(tree, each) for each in getattr(node, "decorator_list", ()))


def _asks(scope: ast.AST, node: ast.expr) -> bool:
    bound = (value for name in words_in(node) for value in values_by_path(scope).get(name, ()))
    return _speaks_of_cuda(node) or any(map(_speaks_of_cuda, bound))


def _speaks_of_cuda(node: ast.expr) -> bool:
    return any(map(mentions_cuda, words_in(node)))


@once_a_node
def _is_skipped(scope: ast.Module | ast.ClassDef) -> bool:
    """Whether a file or class of tests is skipped without CUDA: by ``pytestmark``, or by what sets it up."""
    marks = [value for value in values_by_path(scope).get("pytestmark", ()) if value in _assigned_on_top(scope)]
    if any(_asks(scope, each) for each in marks):
        return True
    set_up = [each for each in scope.body if isinstance(each, ast.FunctionDef) and each.name in _SETS_UP]
    top = [scope] if isinstance(scope, ast.Module) else []
    return any(map(_skips_itself, (*set_up, *top)))


@once_a_node
def _skips_itself(scope: ast.AST) -> bool:
    """``if not torch.cuda.is_available(): self.skipTest("no CUDA")``, asked for each literal in it."""
    return any(_speaks_of_cuda(each.test) and _skips(each.body) for each in own_nodes_in(scope, ast.If))


def _assigned_on_top(scope: ast.Module | ast.ClassDef) -> list[ast.expr]:
    return [each.value for each in map(assignment_of, scope.body) if each is not None]


def _skips(body: Iterable[ast.stmt]) -> bool:
    calls = (call for each in body for call in nodes_in(each, ast.Call))
    raised = (each.exc for each in body if isinstance(each, ast.Raise) and each.exc is not None)
    return any(_SKIPS.search(dotted_path(each) or "") for each in (*(call.func for call in calls), *raised))


def kernel_before(scope: ast.AST, line: int) -> bool:
    """Whether a function launches a kernel for CUDA before a line: tensors of the CPU do not get behind it."""
    return any(first < line for first in _kernels_in(scope))


@once_a_node
def _kernels_in(scope: ast.AST) -> tuple[int, ...]:
    """The lines of calls such as ``nms_cuda.forward(..)`` and ``_ext.nms_gpu(..)``, none of which is torch's own."""
    paths = ((call.lineno, public_path(call.func)) for call in nodes_in(scope, ast.Call))
    return tuple(
        line
        for line, path in paths
        if _ASKS.search(path) and not path.startswith("torch.") and not path.endswith((".cuda", ".is_cuda"))
    )
