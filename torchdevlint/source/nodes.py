"""Which attributes of an `ast` node hold further nodes, worked out once per node class.

A walk over `CHILDREN` is several times faster than `ast.walk`. Names, constants, operators and expression contexts
have no entry: nothing below them has a position.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar

from msgspec import Struct

_PLAIN = frozenset(
    "arg attr conversion ctx is_async kwd_attrs level module name op ops rest simple str type_comment "
    "type_ignores".split()
)
"""Fields that hold strings, numbers, contexts or operators."""

Node = TypeVar("Node", bound=ast.AST)
Result = TypeVar("Result")

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_HOLD_BLOCKS = {kind for kind in ast.stmt.__subclasses__() if "body" in kind._fields}.difference(_DEFINITIONS)
"""Statements with blocks of statements that are run where they stand."""
_LEAVES = (ast.Name, ast.Constant, ast.alias, ast.Global, ast.Nonlocal)


def _table() -> dict[type, tuple[Callable[[Any], Any], ...]]:
    found: dict[type, tuple[Callable[[Any], Any], ...]] = {}
    for kind in vars(ast).values():
        if not isinstance(kind, type) or not issubclass(kind, ast.AST) or issubclass(kind, _LEAVES):
            continue
        fields = [field for field in kind._fields if field not in _PLAIN]
        if fields:
            found[kind] = tuple(attrgetter(field) for field in fields)
    return found


CHILDREN = _table()
"""For each class of inner node, a getter for each field that holds a node, a list of nodes, or None."""


def below(nodes: Iterable[Any]) -> list[Any]:
    """The children of `nodes`, one level down; may hold None and strings where a field does."""
    found: list[Any] = []
    add, extend, table = found.append, found.extend, CHILDREN
    for node in nodes:
        for get in table.get(type(node), ()):
            value = get(node)
            if type(value) is list:
                extend(value)
            elif value is not None:
                add(value)
    return found


def inside(node: ast.AST) -> Iterator[Any]:
    """A node and all that is below it, nearer ones first, as `ast.walk` gives them, but for what has no position."""
    level = [node]
    while level:
        for each in level:
            if each is not None:
                yield each
        level = below(level)


def is_inside(node: ast.AST, scope: ast.AST) -> bool:
    """Whether `inside` gives the very node for `scope`."""
    level: list[Any] = [scope]
    while level:
        if node in level:
            return True
        level = below(level)
    return False


def once_a_node(find: Callable[[Node], Result]) -> Callable[[Node], Result]:
    """`find`, whose result for a node is kept with the node; it must depend on nothing else.

    It is kept among the attributes of the node, under a name that is no identifier.
    """
    key = f"{find.__module__}.{find.__qualname__}"

    @wraps(find)
    def found(node: Node) -> Result:
        kept = node.__dict__
        try:
            result: Result = kept[key]
        except KeyError:
            result = kept[key] = find(node)
        return result

    return found


def nodes_in(scope: ast.AST, kind: type[Node]) -> list[Node]:
    """The nodes below `scope` whose class is `kind`, nearer ones first. All of a scope are found in one walk."""
    return _walked(scope)[0].get(kind, [])


def ids_below(scope: ast.AST) -> frozenset[int]:
    """What tells the very nodes below `scope` from those of other trees."""
    return frozenset(map(id, chain.from_iterable(_walked(scope)[0].values())))


def is_below(node: ast.AST, scope: ast.AST) -> bool:
    """Whether the very node is below `scope`, which costs next to nothing once that was walked."""
    return node in nodes_in(scope, type(node))


def own_nodes_in(scope: ast.AST, kind: type[Node]) -> list[Node]:
    """The same without what is inside of functions and classes that are defined in `scope`."""
    return _walked_alone(scope).get(kind, [])


@once_a_node
def own_blocks_in(scope: ast.AST) -> list[list[ast.stmt]]:
    """The blocks of statements of a scope itself, not of the functions and classes that it defines."""
    found, level = list[list[ast.stmt]](), [scope]
    while level:
        below = list[ast.AST]()
        for block in (getattr(holder, name, None) for holder in level for name in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and block:
                found.append(block)
                below += [each for each in block if type(each) in _HOLD_BLOCKS]
        level = below
    return found


def arguments_of(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call, those by position first; ``*args`` and ``**kwargs`` are among them."""
    return [*call.args, *[each.value for each in call.keywords]]


def keyword_of(call: ast.Call, name: str) -> ast.expr | None:
    """What a call gives by a keyword, or None."""
    return next((each.value for each in call.keywords if each.arg == name), None)


class Assignment(Struct):
    """What binds targets to a value: ``a = b = v``, ``a: T = v``, ``(a := v)``."""

    targets: list[ast.expr]
    value: ast.expr
    node: ast.Assign | ast.AnnAssign | ast.NamedExpr

    @property
    def lineno(self) -> int:
        return self.node.lineno


def assignment_of(node: ast.AST | None) -> Assignment | None:
    """What a node assigns, where it does; an annotation alone (``a: T``) assigns nothing."""
    if isinstance(node, ast.Assign):
        return Assignment(node.targets, node.value, node)
    if isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        return Assignment([node.target], node.value, node)
    return None


def binds_name(node: Assignment | ast.Assign, name: str) -> bool:
    """Whether a target of an assignment is a name, as it stands: not a part of a tuple."""
    return any(is_name(each, name) for each in node.targets)


@once_a_node
def assignments_in(scope: ast.AST) -> list[Assignment]:
    """The assignments below `scope`, whichever way they are written, nearer ones first."""
    return _assignments(_walked(scope)[0], scope)


@once_a_node
def own_assignments_in(scope: ast.AST) -> list[Assignment]:
    """The same without what is inside of functions and classes that are defined in `scope`."""
    return _assignments(_walked_alone(scope), scope)


def _assignments(nodes: dict[type, list[Any]], scope: ast.AST) -> list[Assignment]:
    found = nodes.get(ast.Assign, [])
    other = [*nodes.get(ast.AnnAssign, ()), *nodes.get(ast.NamedExpr, ())]
    if other:
        wanted = {id(each) for each in (*found, *other)}
        levels = _shared(scope)[0] or _levels_by_walk(scope)
        found = [each for level in levels for each in level if type(each) in _ASSIGNING and id(each) in wanted]
    return [made for each in found if (made := assignment_of(each)) is not None]


_ASSIGNING = frozenset({ast.Assign, ast.AnnAssign, ast.NamedExpr})


def _levels_by_walk(scope: ast.AST) -> Iterator[list[Any]]:
    level = below([scope])
    while level:
        yield level
        level = below(level)


@once_a_node
def _walked_alone(scope: ast.AST) -> dict[type, list[Any]]:
    everything = _walked(scope)[0]
    if everything.keys().isdisjoint(_DEFINITIONS):
        return everything
    found: defaultdict[type, list[Any]] = defaultdict(list)
    level = below([scope])
    while level:
        for node in level:
            found[type(node)].append(node)
        level = below([node for node in level if not isinstance(node, _DEFINITIONS)])
    return found


def levels_in(scope: ast.AST) -> int:
    """How many levels of nodes with a position there are below `scope`."""
    return _walked(scope)[1]


@once_a_node
def _walked(scope: ast.AST) -> tuple[dict[type, list[Any]], int]:
    """All nodes below `scope` by their class, and how many levels they are."""
    found: defaultdict[type, list[Any]] = defaultdict(list)
    levels = _shared(scope)[0] or _levels(scope)
    for level in levels:
        for node in level:
            found[type(node)].append(node)
    return found, len(levels)


def levels_of_body(scope: ast.AST) -> Iterable[Sequence[Any]]:
    """The statements of a function or module, or the expression of a lambda, then what is below them, by levels."""
    levels, ranges = _shared(scope)
    if levels:
        yield from (level[start:end] for level, (start, end) in zip(levels, ranges, strict=False))
        return
    body = getattr(scope, "body", [])
    level = list(body) if isinstance(body, list) else [body]
    while level:
        yield level
        level = below(level)


_Ranges = list[tuple[int, int]]
_SHARED = f"{__name__}.shared"
_SCOPES = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})


def _shared(scope: ast.AST) -> tuple[list[list[Any]], _Ranges]:
    """The levels below a module or definition that the walk over the module found, and where in them its body is."""
    shared: tuple[list[list[Any]], _Ranges] = scope.__dict__.get(_SHARED, ([], []))
    return shared


def _levels(scope: ast.AST) -> list[list[Any]]:
    """All nodes below `scope` by levels. A walk over a module leaves them with it and each definition."""
    levels: list[list[Any]] = []
    starts: list[list[int]] = []
    level = below([scope])
    while level:
        levels.append(level)
        level, begin = _below_each(level)
        starts.append(begin)
    if isinstance(scope, ast.Module):
        scope.__dict__[_SHARED] = levels, [(0, len(each)) for each in levels]
        for depth, level in enumerate(levels):
            if not _SCOPES.isdisjoint(map(type, level)):
                for place, node in enumerate(level):
                    if type(node) in _SCOPES:
                        node.__dict__[_SHARED] = _below_one(levels, starts, depth, place)
    return levels


def _below_each(nodes: Iterable[Any]) -> tuple[list[Any], list[int]]:
    """The children of `nodes`, and where those of each begin, the end of all last."""
    found: list[Any] = []
    starts: list[int] = []
    add, extend, begin, table = found.append, found.extend, starts.append, CHILDREN
    for node in nodes:
        begin(len(found))
        for get in table.get(type(node), ()):
            value = get(node)
            if type(value) is list:
                extend(value)
            elif value is not None:
                add(value)
    begin(len(found))
    return found, starts


def _below_one(
    levels: list[list[Any]], starts: list[list[int]], depth: int, place: int
) -> tuple[list[list[Any]], _Ranges]:
    """What the levels hold below one node, and where in it what is below its body is; `starts` tell whose is what."""
    body = levels[depth][place].body
    found: list[list[Any]] = []
    ranges: _Ranges = []
    start, end = starts[depth][place], starts[depth][place + 1]
    first = levels[depth + 1].index(body[0], start, end)
    last = first + len(body)
    for level, at in zip(levels[depth + 1 :], starts[depth + 1 :], strict=True):
        found.append(level[start:end])
        ranges.append((first - start, last - start))
        start, end, first, last = at[start], at[end], at[first], at[last]
        if start == end:
            break
    return found, ranges


def parts_of_tuple(node: ast.expr) -> list[ast.expr]:
    """The elements of a tuple, or the expression alone: the targets of ``a, b = v``, the places of ``x[i, j]``."""
    return node.elts if isinstance(node, ast.Tuple) else [node]


def parts_of_sequence(node: ast.expr) -> list[ast.expr]:
    """The same, of a list as well."""
    return node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]


def is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def is_bare_constant(statement: ast.stmt) -> bool:
    """Whether a statement does nothing: a docstring, ``...``."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


@once_a_node
def names_bound_in(scope: ast.AST) -> frozenset[str]:
    """The names that are written or deleted anywhere below `scope`."""
    return frozenset(each.id for each in nodes_in(scope, ast.Name) if not isinstance(each.ctx, ast.Load))


def dropped_by(expression: ast.expr) -> Iterator[ast.expr]:
    """What a statement drops the results of: ``a.cuda()`` and ``b.cuda()`` in ``a.cuda(), b.cuda()``."""
    if isinstance(expression, ast.Tuple):
        parts = expression.elts
    elif isinstance(expression, ast.IfExp):
        parts = [expression.body, expression.orelse]
    elif isinstance(expression, ast.BoolOp):
        parts = expression.values[-1:]
    else:
        yield expression
        return
    for part in parts:
        yield from dropped_by(part)
