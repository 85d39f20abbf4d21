"""Which names are bound at a place on every path that comes there, as far as the text of their scope shows it.

What a fix names is vouched for by `torchdevlint.flow.vouch` alone, which asks this.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from torchdevlint.flow.scope.names import last_name, parameter_names
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import assignments_in, below, inside, nodes_in, once_a_node

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_MOST_HOPS = 4
Scope = AnyFunction | ast.Module

_BLOCKS = ("body", "orelse", "finalbody")
LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_SWALLOWS = frozenset({"suppress", "raises", "assertRaises"})
"""Contexts that may end before their body does."""


def surely_bound(scope: Scope, place: ast.AST) -> frozenset[str]:
    """The parameters of the scope that holds `place`, and the names that it binds before, whichever way it is taken."""
    if isinstance(scope, ast.Lambda):
        return frozenset(_parameters(scope)) | _in_comprehensions(scope.body, place)
    held = set() if isinstance(scope, ast.Module) else _parameters(scope)
    return frozenset(held | _before(scope, "body", place))


def bound_anew(scope: Scope, place: ast.AST) -> frozenset[str]:
    """The names of `surely_bound` that are bound by statements, whatever the function was given under them."""
    return frozenset() if isinstance(scope, ast.Lambda) else frozenset(_before(scope, "body", place))


def steady(scope: Scope, place: ast.AST) -> frozenset[str]:
    """The names of `surely_bound` that hold, whenever `place` is reached, what one run of the scope binds them to.

    A name that a loop carries from one round to the next may hold something else in each, and so may what is made of
    it; one that another function binds too may hold anything, as may one that is bound in the midst of an expression.
    """
    return surely_bound(scope, place) - _carried(scope, place) - _bound_elsewhere(scope)


def _carried(scope: Scope, place: ast.AST) -> set[str]:
    """The names that a loop around a place binds, but not in each round before the place is reached."""
    loops: list[ast.For | ast.AsyncFor | ast.While] = [*nodes_in(scope, ast.For), *nodes_in(scope, ast.While)]
    loops += nodes_in(scope, ast.AsyncFor)
    found: set[str] = set()
    for loop in loops:
        in_header = isinstance(loop, ast.While) and _holds(loop.test, place)
        if not in_header and blocks(loop)["body"].number_of(place) is None:
            continue
        anew = set() if in_header else _before(loop, "body", place)
        if not isinstance(loop, ast.While):
            anew |= _names(loop.target)
        found |= {each.id for each in nodes_in(loop, ast.Name) if not isinstance(each.ctx, ast.Load)} - anew
        found |= _made_of(loop, found)
    return found


def _made_of(loop: ast.AST, names: set[str]) -> set[str]:
    """What assignments in a loop bind to something that is made of these names, or of what they bind."""
    found: set[str] = set()
    for _ in range(_MOST_HOPS):
        known = names | found
        new = {
            name
            for each in assignments_in(loop)
            if any(one.id in known for one in inside(each.value) if isinstance(one, ast.Name))
            for name in _names(*each.targets)
        }
        if new <= known:
            break
        found |= new
    return found


@once_a_node
def _bound_elsewhere(scope: Scope) -> frozenset[str]:
    """The names of a scope that functions share, and those that handlers, patterns and ``:=`` bind, or unbind."""
    shared: list[ast.Global | ast.Nonlocal] = [*nodes_in(scope, ast.Global), *nodes_in(scope, ast.Nonlocal)]
    found = {name for each in shared for name in each.names}
    found |= {each.name for each in nodes_in(scope, ast.ExceptHandler) if each.name}
    found |= {each.target.id for each in nodes_in(scope, ast.NamedExpr)}
    captures: list[ast.MatchAs | ast.MatchStar] = [*nodes_in(scope, ast.MatchAs), *nodes_in(scope, ast.MatchStar)]
    found |= {each.name for each in captures if each.name}
    return frozenset(found | {each.rest for each in nodes_in(scope, ast.MatchMapping) if each.rest})


def scopes_around(tree: ast.Module, place: ast.AST) -> list[Scope]:
    """The functions whose bodies a place is in, from the inside out, and the module; nothing for what is not in it.

    Classes have no names for the functions inside of them.
    """
    table, found = _function_of(tree), list[Scope]()
    if id(place) not in table:
        return found
    function = table[id(place)]
    while function is not None:
        found.append(function)
        function = table[id(function)]
    return [*found, tree]


@once_a_node
def _function_of(tree: ast.Module) -> dict[int, Scope | None]:
    """For each node of a file the function whose body it is in, None for the module. Defaults and the like are outside.

    What is kept with a tree must not hold it: the two would be freed when the collector comes by, and not at once.
    """
    found: dict[int, Scope | None] = {}
    left: list[tuple[ast.AST, Scope | None]] = [(each, None) for each in tree.body]
    while left:
        node, scope = left.pop()
        found[id(node)] = scope
        inside = below([node])
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            body = set(_body(node))
            left += [(each, node) for each in _body(node)]
            inside = [each for each in inside if each not in body]
        left += [(each, scope) for each in inside if isinstance(each, ast.AST)]
    return found


def _body(scope: Scope) -> list[ast.stmt] | list[ast.expr]:
    return [scope.body] if isinstance(scope, ast.Lambda) else scope.body


def binds(scope: Scope, name: str) -> bool:
    """Whether a name is one of the scope's own."""
    return name in _own(scope)


def times_bound(scope: Scope, name: str) -> int:
    """How often a scope binds a name: as a parameter, by statements, and in functions that it holds."""
    return _own(scope).get(name, 0)


@once_a_node
def _own(scope: Scope) -> dict[str, int]:
    given = [] if isinstance(scope, ast.Module) else [*_parameters(scope)]
    found: dict[str, int] = {}
    declared = {name for each in _of_itself(scope) if isinstance(each, ast.Global) for name in each.names}
    for name in (*given, *_bound_by_statements(scope)):
        if name not in declared:
            found[name] = found.get(name, 0) + 1
    return found


def _bound_by_statements(scope: Scope) -> Iterator[str]:
    for each in _of_itself(scope):
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
            yield each.id
        elif isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield each.name
        elif isinstance(each, (ast.Import, ast.ImportFrom)):
            yield from ((one.asname or one.name).partition(".")[0] for one in each.names)
        elif isinstance(each, ast.ExceptHandler) and each.name:
            yield each.name


def _of_itself(scope: Scope) -> Iterator[ast.AST]:
    """The nodes below a scope, without those inside of its functions and classes."""
    level: list[ast.AST] = list(_body(scope))
    while level:
        yield from (each for each in level if each is not None)
        level = below([each for each in level if not isinstance(each, _SCOPES)])


def bound_at_the_end(body: Iterable[ast.stmt]) -> frozenset[str]:
    """The names that a block binds, whichever way it is taken."""
    held: set[str] = set()
    for statement in body:
        held |= _bound_by(statement)
        held -= _deleted_by(statement)
    return frozenset(held)


def _parameters(function: AnyFunction) -> set[str]:
    """The names of its parameters; a lambda in a default has some of its own."""
    starred = (each for each in (function.args.vararg, function.args.kwarg) if each is not None)
    return {*parameter_names(function), *(each.arg for each in starred)}


def _before(holder: ast.AST, field: str, place: ast.AST) -> set[str]:
    """What the statements of a block bind before the place, which is in one of them or is one."""
    block = blocks(holder).get(field)
    number = block.number_of(place) if block is not None else None
    if block is None or number is None:
        return set()
    return block.bound_before(number) | _within(block.body[number], place)


class Block:
    """The statements of a block, with the first one that binds each name whichever way it is taken."""

    def __init__(self, body: list[ast.stmt]) -> None:
        self.body = body
        self.first: dict[str, int] = {}
        self.deletes = any(map(_deleted_by, body))
        for number, statement in enumerate(body):
            for name in _bound_by(statement):
                self.first.setdefault(name, number)

    def number_of(self, place: ast.AST) -> int | None:
        """The number of the statement that a place is in, or is."""
        number = bisect_right(self.body, _start(place), key=_start) - 1
        return number if number >= 0 and _holds(self.body[number], place) else None

    def bound_before(self, number: int) -> set[str]:
        """The names that the statements before the one of that number bind, whichever way they are taken."""
        if self.deletes:
            return set(bound_at_the_end(self.body[:number]))
        return {name for name, first in self.first.items() if first < number}


def blocks_around(scope: Scope, place: ast.AST) -> Iterator[Block]:
    """The blocks of a scope that a place is in, from the outside in."""
    holders: list[ast.AST] = [scope]
    while holders:
        inner: list[ast.AST] = []
        for block in (block for holder in holders for block in blocks(holder).values()):
            number = block.number_of(place)
            if number is not None:
                yield block
                inside_it = block.body[number]
                inner += [inside_it, *getattr(inside_it, "handlers", ()), *getattr(inside_it, "cases", ())]
        holders = inner


@once_a_node
def blocks(holder: ast.AST) -> dict[str, Block]:
    """The blocks of a scope, a compound statement, or one of its handlers and cases, by their field."""
    found = {field: getattr(holder, field, None) for field in _BLOCKS}
    return {field: Block(body) for field, body in found.items() if isinstance(body, list) and body}


def _within(statement: ast.stmt, place: ast.AST) -> set[str]:
    """What a statement binds before a place that is inside of it."""
    held = set(_in_comprehensions(statement, place))
    for name, block in blocks(statement).items():
        if block.number_of(place) is None:
            continue
        if name == "body" and isinstance(statement, (ast.For, ast.AsyncFor)):
            held |= _names(statement.target)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            held |= _names(*(item.optional_vars for item in statement.items))
        elif name == "orelse" and isinstance(statement, ast.Try):
            held |= bound_at_the_end(statement.body)
        held |= _before(statement, name, place)
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        held |= _before(part, "body", place)
    return held


def _in_comprehensions(node: ast.AST, place: ast.AST) -> frozenset[str]:
    """The targets of the comprehensions around a place, as far as they are bound where it is."""
    held: set[str] = set()
    found: list[ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp] = []
    found += nodes_in(node, ast.ListComp)
    found += nodes_in(node, ast.SetComp)
    found += nodes_in(node, ast.DictComp)
    found += nodes_in(node, ast.GeneratorExp)
    for each in found:
        if _holds(each, place):
            for generator in each.generators:
                if _holds(generator.iter, place):
                    break
                held |= _names(generator.target)
    return frozenset(held)


def _bound_by(statement: ast.stmt) -> set[str]:
    """What a statement binds on every path that goes on behind it."""
    if isinstance(statement, ast.Assign):
        return _names(*statement.targets)
    if isinstance(statement, ast.AnnAssign):
        return _names(statement.target) if statement.value is not None else set()
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(each.asname or each.name).partition(".")[0] for each in statement.names}
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        bound = _names(*(item.optional_vars for item in statement.items))
        return bound if any(map(_may_end_early, statement.items)) else bound | bound_at_the_end(statement.body)
    if isinstance(statement, ast.If):
        return _in_all([statement.body, statement.orelse])
    if isinstance(statement, ast.Try):
        ways = [[*statement.body, *statement.orelse], *(each.body for each in statement.handlers)]
        return _in_all(ways) | bound_at_the_end(statement.finalbody)
    return set()


def _in_all(blocks: list[list[ast.stmt]]) -> set[str]:
    """What all of these blocks bind, of those that are not left before their end."""
    taken = [bound_at_the_end(each) for each in blocks if not each or not isinstance(each[-1], LEAVING)]
    return set(frozenset.intersection(*taken)) if taken else set()


def _may_end_early(item: ast.withitem) -> bool:
    return isinstance(item.context_expr, ast.Call) and last_name(item.context_expr.func) in _SWALLOWS


def _deleted_by(statement: ast.stmt) -> set[str]:
    return {each.id for each in nodes_in(statement, ast.Name) if isinstance(each.ctx, ast.Del)}


def _names(*targets: ast.expr | None) -> set[str]:
    """The names that targets of assignments bind."""
    return {
        each.id
        for target in targets
        if target is not None
        for each in inside(target)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }


def _holds(node: ast.AST, place: ast.AST) -> bool:
    return _start(node) <= _start(place) and _end(place) <= _end(node)


def _start(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _end(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "end_lineno", 0) or 0, getattr(node, "end_col_offset", 0) or 0
