"""What is around a node, and which bindings of a name come to it: read from the text, for the reasons."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from torchdevlint.flow.recording import Recording, name_of
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import below

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_SCOPES = (*FUNCTIONS, ast.Module, ast.ClassDef)


class Places:
    """The nodes of a file with what is around them, and what binds the names in it."""

    def __init__(self, recording: Recording, tree: ast.Module) -> None:
        self.tree = tree
        self.recording = recording

    @cached_property
    def around(self) -> dict[ast.AST, ast.AST]:
        """For each node the one that it is directly below."""
        found: dict[ast.AST, ast.AST] = {}
        level: list[Any] = [self.tree]
        while level:
            deeper: list[Any] = []
            for node in level:
                inner = [each for each in below([node]) if isinstance(each, ast.AST)]
                found.update(dict.fromkeys(inner, node))
                deeper += inner
            level = deeper
        return found

    def outward(self, node: ast.AST) -> Iterator[ast.AST]:
        """What is around a node, nearer ones first."""
        while (node := self.around.get(node, self.tree)) is not self.tree:
            yield node
        yield self.tree

    def function_around(self, node: ast.AST) -> AnyFunction | None:
        return next((each for each in self.outward(node) if isinstance(each, FUNCTIONS)), None)

    def class_around(self, node: ast.AST) -> ast.ClassDef | None:
        return next((each for each in self.outward(node) if isinstance(each, ast.ClassDef)), None)

    def statement_of(self, node: ast.AST) -> ast.AST:
        """The statement that a node stands in."""
        return next((each for each in (node, *self.outward(node)) if isinstance(each, ast.stmt)), self.tree)

    @cached_property
    def _bound(self) -> dict[tuple[ast.AST, str], list[ast.AST]]:
        """The targets by scope and name, in the order in which they are written."""
        found: dict[tuple[ast.AST, str], list[ast.AST]] = {}
        for target, binder in self.recording.binder.items():
            name = dotted_path(target) if isinstance(target, ast.expr) else name_of(target)
            if name is not None:
                found.setdefault((self._scope_of(target, binder), name), []).append(target)
        for targets in found.values():
            targets.sort(key=_position)
        return found

    def _scope_of(self, target: ast.AST, binder: ast.AST) -> ast.AST:
        if isinstance(binder, _COMPREHENSIONS) or (isinstance(target, ast.arg) and isinstance(binder, FUNCTIONS)):
            return binder
        return next((each for each in self.outward(target) if isinstance(each, _SCOPES)), self.tree)

    def bindings(self, name: str, use: ast.AST) -> list[ast.AST]:
        """The targets that may have bound a name, or a path such as ``self.h``, when it is read at a place."""
        for scope in self.outward(use):
            if not isinstance(scope, (*_SCOPES, *_COMPREHENSIONS)):
                continue
            bound = self._bound.get((scope, name), ())
            if bound:
                return self._reaching(list(bound), use)
        return []

    def _reaching(self, bound: list[ast.AST], use: ast.AST) -> list[ast.AST]:
        """The last one before a place that is on every path to it, and those after that one; else all before it."""
        around = {use, *self.outward(use)}
        binder_of = self.recording.binder
        before = [each for each in bound if _position(each) < _position(use) and not _reads(binder_of[each], around)]
        reaching: list[ast.AST] = []
        for each in reversed(before):
            reaching.append(each)
            binder = self.recording.binder[each]
            holder = binder if isinstance(each, ast.arg) or binder in around else self.around.get(binder)
            if holder is not None and holder in around and not _in_other_arm(binder, use, holder, around):
                break
        return reaching[::-1] or bound


def _reads(binder: ast.AST, around: set[ast.AST]) -> bool:
    """Whether a place is in what a binding reads before it binds, such as the right side of an assignment."""
    if isinstance(binder, (ast.For, ast.AsyncFor)):
        return binder.iter in around
    if isinstance(binder, (ast.With, ast.AsyncWith)):
        return any(each.context_expr in around for each in binder.items)
    return isinstance(binder, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and binder in around


def _in_other_arm(binder: ast.AST, use: ast.AST, holder: ast.AST, around: set[ast.AST]) -> bool:
    """Whether two statements below one node stand in different blocks of it, such as the arms of an `if`."""
    if binder is holder or not isinstance(holder, (ast.If, ast.Try, ast.For, ast.While)):
        return False
    for block in (getattr(holder, name, []) for name in ("body", "orelse", "finalbody", "handlers")):
        if binder in block:
            return not any(each in around for each in block)
    return False


def _position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
