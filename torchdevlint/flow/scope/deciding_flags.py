"""The test by which a function decides whether it moves things to CUDA (TDL012)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import dotted_path, mentions_cuda
from torchdevlint.flow.scope.naming_cuda import asks_for_cuda
from torchdevlint.source.nodes import assignment_of, ids_below, nodes_in, once_a_node, own_nodes_in


@once_a_node
def deciding_test(scope: ast.AST) -> ast.expr | None:
    """The first test under which something is moved to CUDA. ``x.is_cuda`` says where `x` is, and of nothing else.

    A test decides nothing if its other side moves things as well, or if what it moves has been moved before and is only
    wrapped: whether several GPUs are used is not whether CUDA is.
    """
    for node in own_nodes_in(scope, ast.If):
        if not _asks(node.test):
            continue
        moves = [each for part in node.body for each in _moves_in(part)]
        wrapped = [path for part in node.body for path in _wrapped_by(part)]
        before = {path for each in _before(scope, node) for path in _moved_by(each)}
        others = [each for each in moves if _moved(each) not in before or _moved(each) not in wrapped]
        if others and not any(_moves_in(part) for part in node.orelse):
            return node.test
    return None


def _asks(test: ast.expr) -> bool:
    """``use_cuda``, ``not args.no_cuda``, ``torch.cuda.is_available() and not args.nogpu``."""
    if isinstance(test, ast.BoolOp):
        return all(map(_asks, test.values))
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    last = (dotted_path(test) or "").rpartition(".")[2]
    return asks_for_cuda(test) or (mentions_cuda(last) and last != "is_cuda")


def _moves_in(statement: ast.stmt) -> list[ast.Call]:
    return [each for each in nodes_in(statement, ast.Call) if _is_bare_move(each)]


def _is_bare_move(node: ast.AST) -> bool:
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "cuda"
    return named and not node.args  # type: ignore[attr-defined]


def _moved(move: ast.Call) -> str | None:
    """What a move moves, or what the wrapper holds that it moves: `net` of ``nn.DataParallel(net).cuda()``."""
    given = move.func.value  # type: ignore[attr-defined]
    return dotted_path(given.args[0] if isinstance(given, ast.Call) and given.args else given)


def _wrapped_by(statement: ast.stmt) -> Iterator[str]:
    """What a statement hands to a call that gives it back under its name: ``net = nn.DataParallel(net)``."""
    assigned = assignment_of(statement)
    target = dotted_path(assigned.targets[0]) if assigned is not None else None
    if target is None:
        return
    for call in nodes_in(statement, ast.Call):
        first = call.args[0] if call.args else None
        if isinstance(first, ast.Call) and _is_bare_move(first):
            first = first.func.value  # type: ignore[attr-defined]
        if first is not None and dotted_path(first) == target:
            yield target


def _before(scope: ast.AST, test: ast.If) -> Iterator[ast.stmt]:
    """The statements that are run before a test, whichever way it is come to."""
    for field in ("body", "orelse", "finalbody", "handlers"):
        block: list[ast.AST] = getattr(scope, field, None) or []
        if not isinstance(block, list) or not any(each is test or id(test) in ids_below(each) for each in block):
            continue
        for each in block:
            if each is test:
                return
            if id(test) in ids_below(each):
                yield from _before(each, test)
                return
            if isinstance(each, (ast.Assign, ast.AnnAssign, ast.Expr)):
                yield each


def _moved_by(statement: ast.stmt) -> Iterator[str]:
    """What a statement moves to CUDA: ``net.cuda()``, ``net = Net().cuda()``."""
    assigned = assignment_of(statement)
    value = statement.value if isinstance(statement, ast.Expr) else assigned.value if assigned is not None else None
    if not isinstance(value, ast.Call) or not _is_bare_move(value):
        return
    moved = [_moved(value)] if assigned is None else map(dotted_path, assigned.targets)
    yield from (path for path in moved if path is not None)
