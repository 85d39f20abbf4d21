"""What went well because of a value of ours, which is where the program's own may not be: it refutes nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from torchdevlint.runtime.execute.instrument import node_at
from torchdevlint.runtime.execute.target import FunctionNode, Target, dotted, statement_at
from torchdevlint.runtime.execute.watch import Watch

_COPIES = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray"})
_MOVES = frozenset({"to", "cuda"})


def put_right(watch: Watch, function: FunctionNode, values: Mapping[str, Any]) -> str:
    """The first reason why a run of `function` without the symptom says nothing of the finding; empty if none does."""
    return next(_reasons(watch, function, values), "")


def _reasons(watch: Watch, function: FunctionNode, values: Mapping[str, Any]) -> Iterator[str]:
    target = watch.target
    for number, region in enumerate(watch.told.regions):
        seen, expression = watch.seen.get(number), node_at(target, region)
        if seen is None or expression is None:
            continue
        if seen.gave_there and _is_copy(expression):
            yield "what is copied was a tensor of ours, on the accelerator"
        if number in watch.told.at and seen.gave_there and target.code == "TDL101":
            yield "what is kept was made after the Module was moved"
        if number not in watch.told.at:
            modules = {key for key, one in values.items() if one["is"] == "module"}
            for name in sorted(modules & _names(expression) & _moved_after(function, region.end_row)):
                yield f"`{name}` was on the accelerator before the function moved it"
    if target.code == "TDL202" and not watch.has_come_from_there():
        yield "the wrapper of the finding was not made on this machine"
    yield from (f"no `{name}` took part" for name in _classes_without_part(target, watch))


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _moved_after(function: FunctionNode, row: int) -> set[str]:
    moved = (_moved(node) for node in ast.walk(function) if getattr(node, "lineno", 0) > row)
    return {one.id for one in moved if isinstance(one, ast.Name)}


def _is_copy(node: ast.AST) -> bool:
    """Whether it makes a tensor that is where the copied one is."""
    is_copy = isinstance(node, ast.Call) and dotted(node.func) in _COPIES
    return is_copy and all(keyword.arg != "device" for keyword in node.keywords)  # type: ignore[attr-defined]


def _moved(node: ast.AST) -> ast.expr | None:
    """The receiver of a move."""
    is_move = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES
    return node.func.value if is_move else None  # type: ignore[attr-defined]


def _classes_without_part(target: Target, watch: Watch) -> Iterator[str]:
    """The classes that notes point to, of which no method has run."""
    for region in target.notes:
        for node in statement_at(target.tree.body, region)[-1:]:
            if isinstance(node, ast.ClassDef) and node.lineno == region.row:
                inside = (each.lineno for one in node.body for each in ast.walk(one) if isinstance(each, ast.stmt))
                methods = any(isinstance(one, ast.FunctionDef) for one in node.body)
                if methods and watch.rows.isdisjoint(inside):
                    yield node.name
