"""The flagged expressions of a file, and the file with calls around them that tell when they run. No torch.

A line that was executed says little of an expression in it: ``torch.ones(8) if w is None else w`` may never make a
tensor. So each expression that a finding speaks of is wrapped, in what is compiled and not in the file:
``f(x, y)`` becomes ``watch.done(watch.begin(0), watch.operand(0, f)(watch.operand(0, x), watch.operand(0, y)))``, and
what stands deeper in it ``watch.inside(0, z)``. Lines, columns and the order of evaluation stay as they were.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torchdevlint.runtime.execute.target import Region, Target, blocks_of, read_target, statement_at

WATCH = "__torchdevlint_watch__"
"""The name in `builtins` under which wrapped code finds the watch."""
_MADE = "_torchdevlint_made"
"""The attribute of nodes that are not the user's."""
Key = tuple[str, int, int, int, int]
_SIMPLE = (ast.Name, ast.Attribute, ast.Constant, ast.Subscript)


@dataclass(frozen=True, slots=True)
class Flagged:
    """The expressions of a finding by number: those that it flags (`at`) come before those that its notes point to.

    `operands` says how many operands are evaluated before an expression does its work, 0 where that is not known.
    """

    numbers: Mapping[Key, int]
    regions: tuple[Region, ...]
    at: frozenset[int]
    operands: tuple[int, ...]

    def in_rows(self, first: int, last: int) -> tuple[int, ...]:
        """The numbers of those that stand in some lines."""
        return tuple(number for number, one in enumerate(self.regions) if first <= one.row and one.end_row <= last)


def row_of(number: int) -> int:
    """The row that stands for the evaluation of an expression, where rows tell what was executed: a negative one."""
    return -1 - number


def flagged(target: Target) -> Flagged:
    """The expressions that a finding speaks of. A parameter, or the target of a loop, is none and left out."""
    numbers: dict[Key, int] = {}
    regions: list[Region] = []
    operands: list[int] = []
    at: set[int] = set()
    flagged_places = (target.at, *target.also)
    for region in dict.fromkeys((*flagged_places, *target.notes)):
        node = node_at(target, region)
        if node is None:
            continue
        number = numbers.setdefault(_key(node), len(numbers))
        if number == len(regions):
            regions.append(region)
            operands.append(_count(node))
        if region in flagged_places:
            at.add(number)
    return Flagged(numbers, tuple(regions), frozenset(at), tuple(operands))


def bits_of(findings: Sequence[dict[str, Any]]) -> list[int]:
    """The marks that stand for each finding: those of the tensors that come from what it flags, or were given to it."""
    found, shift = [], 0
    for finding in findings:
        told = flagged(read_target(finding))
        found.append(sum(1 << (shift + number) for number in told.at))
        shift += len(told.regions)
    return found


def watch_name(number: int) -> str:
    """The name of one of several watches. It ends in underscores as well, or Python would mangle it in a class."""
    return f"{WATCH.removesuffix('__')}_{number}__"


def instrumented(nodes: Sequence[ast.stmt], told: Flagged, name: str = WATCH) -> list[ast.stmt]:
    """A copy of statements in which the flagged expressions are wrapped, for the watch of that `name`."""
    wrapper = _Wrapper(told, name)
    found: list[ast.stmt] = []
    for node in nodes:
        made = wrapper.visit(copy.deepcopy(node))
        found += made if isinstance(made, list) else [made]
    return [ast.fix_missing_locations(each) for each in found]


def _key(node: ast.AST) -> Key:
    """What tells a node from others also in a copy; one that was not in the file has no place."""
    places = (getattr(node, name, 0) or 0 for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"))
    return (type(node).__name__, *places)  # type: ignore[return-value]


def node_at(target: Target, region: Region) -> ast.expr | ast.stmt | None:
    """The expression at a region, the statement that writes in place there, or the value of a keyword or a name."""
    lines = target.source.splitlines()
    if not 0 < region.row <= region.end_row <= len(lines):
        return None
    start = (region.row, len(lines[region.row - 1][: region.column - 1].encode()))
    end = (region.end_row, len(lines[region.end_row - 1][: region.end_column - 1].encode()))
    found: list[ast.AST] = []
    for node in ast.walk(target.tree):
        first = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
        last = (getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0))
        if (
            first == start
            and (last == end or not region.end_column)
            and isinstance(node, (ast.expr, ast.stmt, ast.keyword))
        ):
            found.append(node)
    if not found:
        return None
    node = found[0] if region.end_column else max(found, key=lambda each: getattr(each, "end_col_offset", 0))
    if isinstance(node, ast.keyword):
        return node.value
    if isinstance(node, (ast.Expr, ast.Return, ast.Starred)):
        return node.value
    if isinstance(node, ast.Slice) or any(isinstance(each, ast.Slice) for each in getattr(node, "elts", ())):
        return None  # an index that is no value
    if isinstance(getattr(node, "ctx", None), ast.Store):
        path = statement_at(target.tree.body, region)
        last_one = path[-1] if path else None
        return last_one.value if isinstance(last_one, (ast.Assign, ast.AnnAssign)) and last_one.value else None
    if isinstance(node, ast.Assign):
        return node if isinstance(node.targets[0], ast.Subscript) else node.value
    return node if isinstance(node, (ast.expr, ast.AugAssign)) else None


def _count(node: ast.AST) -> int:
    if isinstance(node, ast.Call):
        return 1 + len(node.args) + len(node.keywords)
    if isinstance(node, ast.Compare):
        return 1 + len(node.comparators)
    if isinstance(node, ast.Subscript):
        return 1 + len(_indices(node.slice))
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.Assign)):
        return 2
    return 1 if isinstance(node, (ast.Attribute, ast.UnaryOp)) else 0


def _indices(node: ast.expr) -> list[ast.expr]:
    """The expressions that an index is made of."""
    if isinstance(node, ast.Tuple):
        return [each for part in node.elts for each in _indices(part)]
    if isinstance(node, ast.Slice):
        return [each for each in (node.lower, node.upper, node.step) if each is not None]
    return [node]


class _Wrapper(ast.NodeTransformer):
    """Wraps flagged expressions. What does not run in its place is left alone: annotations, patterns, f-strings."""

    def __init__(self, told: Flagged, name: str) -> None:
        self.told, self.name = told, name
        self.within: int | None = None

    def visit(self, node: ast.AST) -> Any:
        if getattr(node, _MADE, False):  # by another finding's wrapper
            return self.generic_visit(node)
        number = self.told.numbers.get(_key(node)) if isinstance(node, (ast.expr, ast.stmt)) else None
        if number is not None and not isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            return self._flagged(node, number)
        if self.within is None or not isinstance(node, ast.expr):
            return super().visit(node)
        return self._inside(node, self.within)

    def _flagged(self, node: ast.AST, number: int) -> Any:
        outer, self.within = self.within, number
        if isinstance(node, (ast.AugAssign, ast.Assign)):
            node.value = self.visit(node.value)
        else:
            self._visit_parts(node)
        self.within = outer
        if isinstance(node, ast.stmt):
            return self._statement(node, number)
        assert isinstance(node, ast.expr)
        self._operands(node, number)
        return self._call("done", node, self._call("begin", node, ast.Constant(number)), node)

    def _inside(self, node: ast.expr, number: int) -> Any:
        self._visit_parts(node)
        looked = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
        if not looked or isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            return node
        return self._call("inside", node, ast.Constant(number), node)

    def _visit_parts(self, node: ast.AST) -> None:
        if isinstance(node, ast.JoinedStr):
            return
        if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            outer, self.within = self.within, None  # it may run later, and often; what is flagged in it is
            self.generic_visit(node)
            self.within = outer
            return
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):  # a bound method is no value to look at
            node.func.value = self.visit(node.func.value)
            node.args = [self.visit(each) for each in node.args]
            node.keywords = [self.visit(each) for each in node.keywords]
        else:
            self.generic_visit(node)

    def _operands(self, node: ast.expr, number: int) -> None:
        """Wrap the operands of a flagged expression."""

        def operand(part: ast.expr) -> ast.expr:
            if isinstance(part, ast.Starred):
                part.value = operand(part.value)
                return part
            return self._call("operand", part, ast.Constant(number), part)

        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Attribute) and not function.attr.startswith("__"):
                receiver, name = function.value, ast.Constant(function.attr)
                node.func = self._call("method", function, ast.Constant(number), receiver, name)
            else:
                node.func = operand(function)
            node.args = [operand(each) for each in node.args]
            for keyword in node.keywords:
                keyword.value = operand(keyword.value)
        elif isinstance(node, ast.BinOp):
            node.left, node.right = operand(node.left), operand(node.right)
        elif isinstance(node, ast.Compare):
            node.left, node.comparators = operand(node.left), [operand(each) for each in node.comparators]
        elif isinstance(node, ast.Subscript):
            node.value = operand(node.value)
            node.slice = _each_index(node.slice, operand)
        elif isinstance(node, ast.Attribute):
            node.value = operand(node.value)
        elif isinstance(node, ast.UnaryOp):
            node.operand = operand(node.operand)

    def _statement(self, node: ast.stmt, number: int) -> list[ast.stmt]:
        """``x += y`` and ``x[i] = y``: the target is read before, where reading it is all that happens."""

        def alone(made: ast.expr) -> ast.stmt:
            return ast.copy_location(ast.Expr(made), node)

        assert isinstance(node, (ast.AugAssign, ast.Assign))
        target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
        read = target if isinstance(node, ast.AugAssign) else target.value  # type: ignore[attr-defined]
        node.value = self._call("operand", node.value, ast.Constant(number), node.value)
        if not _only_reads(read):
            return [node]
        before = self._call("operand", read, self._call("begin", node, ast.Constant(number)), _loaded(read))
        after = self._call("done", read, ast.Constant(number), _loaded(read))
        return [alone(before), node, alone(after)]

    def _call(self, method: str, place: ast.AST, *arguments: ast.expr) -> ast.Call:
        watch = ast.Name(self.name, ast.Load())
        function = ast.Attribute(watch, method, ast.Load())
        made = ast.copy_location(ast.Call(function, list(arguments), []), place)
        for each in (made, function, watch, *arguments):
            if each is made or not hasattr(each, "lineno"):
                ast.copy_location(each, place)
                setattr(each, _MADE, True)
        return made

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        node.defaults = [self.visit(each) for each in node.defaults]
        node.kw_defaults = [each if each is None else self.visit(each) for each in node.kw_defaults]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self.visit(node.args)
        self._body(node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_match_case(self, node: Any) -> Any:
        if node.guard is not None:
            node.guard = self.visit(node.guard)
        self._body(node)
        return node

    def _body(self, node: Any) -> None:
        for block in list(blocks_of(node)):
            made: list[ast.stmt] = []
            for each in block:
                one = self.visit(each)
                made += one if isinstance(one, list) else [one]
            block[:] = made


def _each_index(node: ast.expr, wrap: Any) -> ast.expr:
    if isinstance(node, ast.Tuple):
        node.elts = [_each_index(each, wrap) for each in node.elts]
        return node
    if isinstance(node, ast.Slice):
        for name in ("lower", "upper", "step"):
            if getattr(node, name) is not None:
                setattr(node, name, wrap(getattr(node, name)))
        return node
    return wrap(node)  # type: ignore[no-any-return]


def _only_reads(node: ast.AST) -> bool:
    return all(isinstance(each, (*_SIMPLE, ast.expr_context)) for each in ast.walk(node))


def _loaded(node: ast.expr) -> ast.expr:
    made = copy.deepcopy(node)
    made.ctx = ast.Load()  # type: ignore[attr-defined]
    return made
