"""Which slots decide how a run goes: what the failing statement reads, and the tests that a run did not pass.

A slot is followed through the names of its function and through the attributes that the class keeps it in. What is
found says only which slots are changed first, so that names that mean something else cost time and nothing else.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType, TracebackType

from torchdevlint.runtime.execute.called import INIT
from torchdevlint.runtime.execute.target import FunctionNode, Region, blocks_of, dotted, first_line, statement_at

DEEPEST = 6
"""How many assignments and calls a name is followed through."""
MOST_CALLERS = 3
"""How many calls lead from the function that is called to one that did not run."""
_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_TESTED = (ast.If, ast.While)


@dataclass(frozen=True)
class _Scope:
    """A function of the file, and the class that it is a method of."""

    function: FunctionNode
    owner: ast.ClassDef | None

    @cached_property
    def assigned(self) -> dict[str, list[ast.expr]]:
        return _assignments(self.function)


class Deciding:
    """The slots of one program of a file, by what its text says. `entry` is the function that is called."""

    def __init__(
        self,
        tree: ast.Module,
        path: str,
        entry: FunctionNode,
        owner: ast.ClassDef | None,
        keys: Iterable[str],
        before: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`before` has the keys of the slots for calls that the instance gets first, by the method."""
        self._path = os.path.realpath(path)
        self._scopes = list(_scopes(tree))
        self._entry, self._owner = entry, owner
        self._keys = frozenset(keys)
        self._before = before

    def of_error(self, error: BaseException) -> tuple[str, ...]:
        """Slots that the failing statement reads, and those that its callers gave it; the nearest first."""
        rows = list(_rows(error.__traceback__, self._path))
        found: dict[str, None] = {}
        for row in reversed(rows):
            found.update(dict.fromkeys(self._of_row(row, is_last=row == rows[-1])))
        return tuple(found)

    def of_missed(self, missed: Iterable[frozenset[int]]) -> tuple[str, ...]:
        """Slots that the tests read which stand between the start of a function and lines that did not run."""
        found: dict[str, None] = {}
        for rows in missed:
            row = min((row for row in rows if row > 0), default=0)
            if row and (scope := self._scope_at(row)) is not None:
                found.update(dict.fromkeys(self._of_the_way_to(row, scope, MOST_CALLERS)))
        return tuple(found)

    def _of_the_way_to(self, row: int, scope: _Scope, left: int) -> Iterator[str]:
        """What decides that a row of a function runs, and that the function is called."""
        for test in _tests_before(scope.function.body, statement_at(scope.function.body, Region(row, 1, row))):
            yield from self._of(test, scope)
        if left:
            for call, caller in self._calls_of(scope):
                yield from self._of_the_way_to(call.lineno, caller, left - 1)

    def _of_row(self, row: int, is_last: bool) -> Iterator[str]:
        scope = self._scope_at(row)
        if scope is None:
            return
        around = statement_at(scope.function.body, Region(row, 1, row))
        if not around:
            return
        if is_last and isinstance(around[-1], ast.Raise):
            for each in reversed(around):
                if isinstance(each, _TESTED):
                    yield from self._of(each.test, scope)
            return
        for node in _head(around[-1]):
            yield from self._of(node, scope)

    def _of(self, node: ast.AST, scope: _Scope) -> Iterator[str]:
        """The slots that an expression of a function reads."""
        yield from self._slots_of(_read(node), scope, set(), DEEPEST)

    def _slots_of(self, paths: Iterable[str], scope: _Scope, seen: set[tuple[str, int]], depth: int) -> Iterator[str]:
        for path in paths:
            head, _, rest = path.partition(".")
            attribute = rest.partition(".")[0]
            if head == "self" and not attribute:
                continue
            key = (f"self.{attribute}", 0) if head == "self" else (head, id(scope.function))
            if key in seen or not depth:
                continue
            seen.add(key)
            if head == "self":
                yield from self._of_attribute(attribute, scope, seen, depth)
            else:
                yield from self._of_name(head, scope, seen, depth)

    def _of_name(self, name: str, scope: _Scope, seen: set[tuple[str, int]], depth: int) -> Iterator[str]:
        function = scope.function
        key = f"{INIT}{name}" if function.name == "__init__" else name
        if key in self._keys and (function is self._entry or function.name == "__init__"):
            yield key
        for value in scope.assigned.get(name, ()):
            yield from self._slots_of(_read(value), scope, seen, depth - 1)
        if function is not self._entry:
            for call, caller in self._calls_of(scope):
                for value in _given_for(name, call, function):
                    yield from self._slots_of(_read(value), caller, seen, depth - 1)

    def _of_attribute(self, name: str, scope: _Scope, seen: set[tuple[str, int]], depth: int) -> Iterator[str]:
        if f"{INIT}{name}" in self._keys:
            yield f"{INIT}{name}"
        owner = scope.owner or self._owner
        for one in self._scopes:
            if one.owner is owner and owner is not None:
                for value in one.assigned.get(f"self.{name}", ()):
                    if one.function.name in self._before:
                        yield self._before[one.function.name]
                    yield from self._slots_of(_read(value), one, seen, depth - 1)

    def _scope_at(self, row: int) -> _Scope | None:
        """The innermost function at a row."""
        inside = [
            each for each in self._scopes if first_line(each.function) <= row <= (each.function.end_lineno or row)
        ]
        return max(inside, key=lambda each: each.function.lineno, default=None)

    def _calls_of(self, scope: _Scope) -> Iterator[tuple[ast.Call, _Scope]]:
        """The calls in the file of a function by its name; the entry is called by nobody."""
        if scope.function is not self._entry:
            calls = self._calls.get(scope.function.name, ())
            yield from ((call, one) for call, one in calls if one.function is not scope.function)

    @cached_property
    def _calls(self) -> dict[str, list[tuple[ast.Call, _Scope]]]:
        """All calls in functions of the file, by the name of what is called."""
        found: dict[str, list[tuple[ast.Call, _Scope]]] = {}
        for one in self._scopes:
            for node in ast.walk(one.function):
                if isinstance(node, ast.Call):
                    found.setdefault(_name_of(node), []).append((node, one))
        return found


def _name_of(call: ast.Call) -> str:
    return (dotted(call.func) or "").rpartition(".")[2]


def _given_for(name: str, call: ast.Call, function: FunctionNode) -> Iterator[ast.expr]:
    """The argument of a call that a parameter gets; a method does not count its instance."""
    listed = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    if listed[:1] in (["self"], ["cls"]) and isinstance(call.func, ast.Attribute):
        del listed[0]
    if name in listed and listed.index(name) < len(call.args):
        yield call.args[listed.index(name)]
    yield from (each.value for each in call.keywords if each.arg == name)


def _scopes(tree: ast.Module) -> Iterator[_Scope]:
    def inside(node: ast.AST, owner: ast.ClassDef | None) -> Iterator[_Scope]:
        for each in ast.iter_child_nodes(node):
            if isinstance(each, FunctionNode):
                yield _Scope(each, owner)
                yield from inside(each, owner)
            else:
                yield from inside(each, each if isinstance(each, ast.ClassDef) else owner)

    return inside(tree, None)


def _rows(traceback: TracebackType | None, path: str) -> Iterator[int]:
    """The lines of the file on the way to an exception, the outermost first."""
    while traceback is not None:
        if os.path.realpath(traceback.tb_frame.f_code.co_filename) == path:
            yield traceback.tb_lineno
        traceback = traceback.tb_next


def _tests_before(body: Sequence[ast.stmt], around: Sequence[ast.stmt]) -> Iterator[ast.expr]:
    """The tests of what holds a statement, the nearest first, and of what may leave the function before it."""
    tests: list[ast.expr] = []
    block: Sequence[ast.stmt] = body
    for holder in around:
        for before in block:
            if before is holder:
                break
            if isinstance(before, ast.If) and any(isinstance(each, _ENDS) for each in ast.walk(before)):
                tests.append(before.test)
        if isinstance(holder, _TESTED) and holder is not around[-1]:
            tests.append(holder.test)
        elif isinstance(holder, (ast.For, ast.AsyncFor)) and holder is not around[-1]:
            tests.append(holder.iter)
        block = next((each for each in blocks_of(holder) if any(one in around for one in each)), ())
    return reversed(tests)


def _head(statement: ast.stmt) -> Iterator[ast.AST]:
    """What a statement evaluates itself: all of a simple one, the test or the iterable of a compound one."""
    if isinstance(statement, _TESTED):
        yield statement.test
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        yield statement.iter
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        yield from (item.context_expr for item in statement.items)
    elif isinstance(statement, ast.Assert):
        yield statement.test
    elif not any(True for _ in blocks_of(statement)):
        yield statement


def _read(node: ast.AST) -> Iterator[str]:
    """The names that are read, each with the attributes that follow it."""
    path = dotted(node)
    if path is not None:
        if isinstance(getattr(node, "ctx", None), ast.Load):
            yield path
        return
    for each in ast.iter_child_nodes(node):
        yield from _read(each)


def _assignments(function: FunctionNode) -> dict[str, list[ast.expr]]:
    """What a function assigns to its names and attributes, or takes them from in a loop."""
    found: dict[str, list[ast.expr]] = {}

    def note(target: ast.expr, value: ast.expr) -> None:
        one, other = getattr(target, "elts", ()), getattr(value, "elts", ())
        if one and len(one) == len(other):  # ``a, b = x, y``
            for each, part in zip(one, other, strict=True):
                note(each, part)
            return
        for path in _bound(target):
            found.setdefault(path, []).append(value)

    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                note(target, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
            note(node.target, node.value)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            note(node.target, node.iter)
    return found


def _bound(target: ast.expr) -> list[str]:
    if isinstance(target, (ast.Tuple, ast.List)):
        return [each for one in target.elts for each in _bound(one)]
    if isinstance(target, ast.Starred):
        return _bound(target.value)
    if isinstance(target, ast.Subscript):
        return _bound(target.value)
    path = dotted(target)
    return [] if path is None else [path]
