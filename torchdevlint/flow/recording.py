"""What each expression was when it was run, for those who ask; nothing here is loaded unless somebody does.

The interpreter looks its transfer functions up in a table, so to remember is to give it a table of functions that do
the same and write down what came out. It knows nothing of it. What a target is bound to is no expression that is
evaluated: it is read from the state before the first statement of a body, or after the statement that binds.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.joins import settle
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Choice, Conditions, Value
from torchdevlint.model import Frozen
from torchdevlint.source.nodes import inside, nodes_in

Transfers = Mapping[type, Callable[..., Any]]
Rank = tuple[bool, bool, int, bool]
"""How much a run tells of a place: not one of which nothing is recorded, not one that only a machine without an
accelerator comes to; by its standing, `forward` over methods over functions over scripts; a function that was entered
on its own over one that was called."""

MOST = 6
"""So many runs of one rank are remembered of a place."""
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_BINDING: tuple[type[ast.AST], ...] = (
    *(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.Import, ast.ImportFrom),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, *_COMPREHENSIONS),
    *(ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.ExceptHandler, ast.match_case),
)
"""What binds names."""


class Seen(Frozen, frozen=True):
    """What a place was in one run: in which activation and round of a loop, under which conditions.

    `called_at` is the call that ran the function, None for one that was entered on its own.
    """

    value: Value
    conditions: Conditions
    activation: int
    round: int
    called_at: ast.AST | None


class Recording:
    """What was seen of the expressions and targets of one file, by node; it may be read when the file was run."""

    def __init__(self) -> None:
        self.machine: Machine | None = None
        """The run that is remembered, once it is over."""
        self.tree: ast.Module | None = None
        self.seen: dict[ast.AST, dict[Rank, list[Seen]]] = {}
        self.before: dict[ast.AST, list[ast.AST]] = {}
        """The targets that are bound when a statement, or the body of a comprehension or lambda, begins."""
        self.after: dict[ast.AST, list[ast.AST]] = {}
        """Those that a statement binds."""
        self.ran: set[ast.AST] = set()
        """The statements that some path came to."""
        self.binder: dict[ast.AST, ast.AST] = {}
        """For each target what binds it: a statement, a function for its parameters, a comprehension."""
        self._repeated: set[ast.AST] = set()
        """What is inside of comprehensions, which may be run for each of several items."""

    def of(self, tree: ast.Module, transfers: Transfers) -> dict[type, Callable[..., Any]]:
        """The table for a run of a file, which is remembered instead of any before it."""
        self.machine = None
        self.seen.clear()
        self.ran.clear()
        if self.tree is not tree:
            self.tree = tree
            for binding in _BINDING:
                for node in nodes_in(tree, binding):
                    self._look_at(node)
        found = {
            kind: self._statement(transfer) if issubclass(kind, ast.stmt) else self._expression(transfer)
            for kind, transfer in transfers.items()
        }
        for kind in (ast.Pass, ast.Nonlocal):
            found.setdefault(kind, self._statement(_nothing))
        return found

    def best(self, node: ast.AST) -> tuple[list[Seen], list[Seen]]:
        """What was seen of a node in the runs that tell most, and in the others, best first."""
        ranked = sorted(self.seen.get(node, {}).items(), key=lambda item: item[0], reverse=True)
        if not ranked:
            return [], []
        return ranked[0][1], [each for _, seen in ranked[1:] for each in seen]

    def _expression(self, transfer: Callable[..., Value]) -> Callable[..., Value]:
        before, after, keep = self.before, self.after, self._keep

        def evaluate(frame: Frame, node: ast.expr, state: State) -> Value:
            if node in before:
                self._read(frame, before[node], state)
            value = transfer(frame, node, state)
            keep(frame, node, state, value)
            if node in after:
                self._read(frame, after[node], state)
            return value

        return evaluate

    def _statement(self, transfer: Callable[..., None]) -> Callable[..., None]:
        before, after, ran = self.before, self.after, self.ran.add

        def execute(frame: Frame, node: ast.stmt, state: State) -> None:
            ran(node)
            if node in before:
                self._read(frame, before[node], state)
            transfer(frame, node, state)
            if node in after:
                self._read(frame, after[node], state)

        return execute

    def _read(self, frame: Frame, targets: list[ast.AST], state: State) -> None:
        """What names and paths hold now."""
        for target in targets:
            path = dotted_path(target) if isinstance(target, ast.expr) else name_of(target)
            value = state.env.get(path) if path is not None else None
            if value is None and path is not None:
                value = state.paths.get(path)
            if value is not None:
                value = settle(value, state.conditions) if isinstance(value, Choice) else value
                self._keep(frame, target, state, value)

    def _keep(self, frame: Frame, node: ast.AST, state: State, value: Value) -> None:
        machine = frame.machine
        if machine.reading.is_elsewhere:
            return
        here = not (frame.without_accelerator or state.without_accelerator)
        rank = (machine.muted == 0, here, machine.standing, frame.depth == 0)
        runs = self.seen.setdefault(node, {}).setdefault(rank, [])
        if len(runs) == MOST:
            return
        for each in runs:
            same = each.activation == frame.activation and each.round == frame.loop_round
            if same and (node not in self._repeated or each.value == value):
                return
        called_at = frame.called_at[0] if frame.called_at is not None else None
        runs.append(Seen(value, state.conditions, frame.activation, frame.loop_round, called_at))

    def _look_at(self, node: Any) -> None:
        """Note which targets a node binds, and when."""
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            self._bind(node, self.after, node, (each for target in targets for each in names_in(target)))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._bind(node, self.after, node, node.names)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._bind(node, self.before, node.body[0], names_in(node.target))
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            bound = (each.optional_vars for each in node.items if each.optional_vars is not None)
            self._bind(node, self.before, node.body[0], (each for target in bound for each in names_in(target)))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._bind(node, self.after, node, [node])
            self._bind(node, self.before, node.body[0], parameters_of(node.args))
        elif isinstance(node, ast.ClassDef):
            self._bind(node, self.after, node, [node])
        elif isinstance(node, ast.Lambda):
            self._bind(node, self.before, node.body, parameters_of(node.args))
        elif isinstance(node, ast.ExceptHandler):
            self._bind(node, self.before, node.body[0], [node] if node.name else [])
        elif isinstance(node, ast.match_case):
            captured = (each for each in inside(node.pattern) if name_of(each) is not None)
            self._bind(node, self.before, node.body[0], captured)
        elif isinstance(node, _COMPREHENSIONS):
            self._repeated.update(inside(node))
            first = node.key if isinstance(node, ast.DictComp) else node.elt
            self._bind(node, self.before, first, (each for one in node.generators for each in names_in(one.target)))

    def _bind(
        self, binder: ast.AST, when: dict[ast.AST, list[ast.AST]], place: ast.AST, targets: Iterable[ast.AST]
    ) -> None:
        bound = list(targets)
        when.setdefault(place, []).extend(bound)
        self.binder.update(dict.fromkeys(bound, binder))


def name_of(node: ast.AST) -> str | None:
    """The name that a node binds which is no expression: a parameter, a definition, an import, a pattern."""
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.alias):
        return node.asname or node.name.partition(".")[0]
    name = getattr(node, "rest", None) or getattr(node, "name", None)
    return name if isinstance(name, str) else None


def names_in(target: ast.expr) -> Iterator[ast.expr]:
    """The names, attributes and items that a target binds."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from names_in(each)
    elif isinstance(target, ast.Starred):
        yield from names_in(target.value)
    else:
        yield target


def parameters_of(arguments: ast.arguments) -> Iterator[ast.arg]:
    """All parameters, in the order in which they are written."""
    yield from (*arguments.posonlyargs, *arguments.args)
    if arguments.vararg is not None:
        yield arguments.vararg
    yield from arguments.kwonlyargs
    if arguments.kwarg is not None:
        yield arguments.kwarg


def _nothing(frame: Frame, node: ast.stmt, state: State) -> None:
    pass
