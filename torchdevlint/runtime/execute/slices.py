"""The *slice* of a finding: the flagged statements and what they need, without importing the user's module.

Of the function that holds the flagged lines, the statements on the way to them are kept which do only what torch, numpy
and the standard library do. Every other name that they read is a slot. `self` is a Module whose attributes are those
that `__init__` makes in the same way, and slots for the rest. The statements keep their lines, so that a traceback
shows the user's own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from torchdevlint.runtime.execute.call import CannotBeginError
from torchdevlint.runtime.execute.reading import (
    BUILTINS,
    SIMPLE,
    bound_by,
    flat,
    free_names,
    imports_of,
    is_known,
    names_in,
)
from torchdevlint.runtime.execute.slots import Slot, candidates_for
from torchdevlint.runtime.execute.target import (
    Place,
    Region,
    Target,
    dotted,
    method_of,
    statement_at,
)
from torchdevlint.runtime.execute.usage import Usage, usages
from torchdevlint.runtime.execute.values import Setting, build

_MARK = "__torchdevlint_result__"


class SliceProgram:
    """The kept statements of one function, and of `__init__` before it."""

    def __init__(self, target: Target, place: Place | None, mode: str) -> None:
        self.target, self.place, self.mode = target, place, mode
        self.imports, self.known = imports_of(target.tree)
        body = place.function.body if place is not None else target.tree.body
        regions = place.regions if place is not None else (target.at, *target.notes)
        self.kept = _Kept(body, regions, self.known | BUILTINS)
        if not self.kept.statements:
            raise CannotBeginError("the flagged statement cannot be taken out of its function")
        self.init = self._init()
        kept = {row for each in (*self.init, *self.kept.statements) for row in range(each.lineno, last_line(each) + 1)}
        self.wanted = tuple(rows for rows in target.spans if not rows.isdisjoint(kept)) or (
            frozenset({self.kept.statements[-1].lineno}),
        )
        self.complete = False  # it shows what can happen, and nothing by what does not
        self.slots = list(self._slots())

    def _init(self) -> list[ast.stmt]:
        """The statements of `__init__` that make what the slice reads of `self`."""
        owner = self.place.owner if self.place is not None else None
        if owner is None or self.place is None or self.place.function.name == "__init__":
            return []
        function = method_of(self.target.tree, owner, "__init__")
        if function is None:
            return []
        wanted = {path for path in self.kept.free if path.startswith("self.")}
        return _definitions(function.body, wanted, self.known | BUILTINS)

    def _slots(self) -> Iterator[Slot]:
        evidence = usages([*self.init, *self.kept.statements])
        defined = {path for statement in self.init for path in bound_by(statement)}
        free = dict.fromkeys([*free_names(self.init, self.known | BUILTINS, set()), *self.kept.free])
        annotations = self._annotations()
        for path in free:
            within = any(path.startswith(f"{each}.") for each in defined if each != "self")
            if path in defined or path == "self" or within:
                continue
            name = path.rpartition(".")[2]
            usage = evidence.get(path, Usage())
            candidates = candidates_for(name, annotations.get(path, ""), usage, evidence)
            if path in self.kept.from_loader:
                candidates = [{**each, "on": "cpu"} if each["is"] == "tensor" else each for each in candidates]
            yield Slot(path, name, tuple(candidates))

    def _annotations(self) -> dict[str, str]:
        if self.place is None:
            return {}
        arguments = self.place.function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        return {each.arg: ast.unparse(each.annotation) for each in every if each.annotation is not None}

    def run(self, values: dict[str, Any], setting: Setting) -> tuple[Any, Any]:
        torch.manual_seed(0)
        namespace: dict[str, Any] = {"__name__": "slice", "__file__": str(self.target.path)}
        owner = _Self()
        namespace["self"] = owner
        self._execute(self.imports, namespace)
        used = [slot.key for slot in self.slots if values[slot.key]["is"] != "default"]
        first = set(free_names(self.init, self.known | BUILTINS, set()))
        given = {key: build(values[key], setting.before_the_move if key in first else setting) for key in used}
        namespace |= {path: value for path, value in given.items() if "." not in path}
        for path, value in sorted(given.items()):
            if "." in path:
                _assign(namespace, path, value)
        self._execute(self.init, namespace)
        owner.to(setting.modules)
        self._execute(self.kept.statements, namespace)
        return namespace.get(_MARK, namespace.get(self.kept.result or "")), owner

    def _execute(self, statements: Sequence[ast.stmt], namespace: dict[str, Any]) -> None:
        if not statements:
            return
        tree = ast.Module([_without_return(each) for each in statements], [])
        exec(compile(ast.fix_missing_locations(tree), str(self.target.path), "exec"), namespace)  # noqa: S102


class _Self(torch.nn.Module):  # type: ignore[misc]
    """Stands for the instance; moves what is registered in it, like the user's Module."""


class _Kept:
    """The statements of one body that a slice keeps, in order, and the names that they leave free."""

    def __init__(self, body: Sequence[ast.stmt], regions: Sequence[Region], known: frozenset[str]) -> None:
        self.known = known
        self.from_loader: set[str] = set()
        self.result: str | None = None
        chosen: dict[int, ast.stmt] = {}
        for region in regions:
            path = statement_at(body, region)
            if path and isinstance(path[-1], SIMPLE):
                chosen[path[-1].lineno] = path[-1]
            elif path and isinstance(path[-1], (ast.For, ast.If, ast.While, ast.With)):
                self._head(path[-1], chosen)
            for around in path[:-1]:
                if isinstance(around, ast.For):
                    self.from_loader |= names_in(around.target)
        every = list(flat(body))
        self._complete(chosen, every)
        self.statements = [chosen[row] for row in sorted(chosen)]
        self.free = free_names(self.statements, known, set())
        if self.statements and isinstance(self.statements[-1], ast.Assign):
            self.result = dotted(self.statements[-1].targets[0])

    def _head(self, node: ast.stmt, chosen: dict[int, ast.stmt]) -> None:
        """The test or the iterable of a compound statement that is itself flagged."""
        if isinstance(node, ast.For) and len(list(flat(node.body))) <= 3:
            chosen[node.lineno] = node
        elif isinstance(node, (ast.If, ast.While)):
            chosen[node.lineno] = ast.copy_location(ast.Expr(node.test), node)

    def _complete(self, chosen: dict[int, ast.stmt], every: list[ast.stmt]) -> None:
        """Add what defines the names that are read, as far back as it does only what is known."""
        for _ in range(40):
            needed = set(free_names([chosen[row] for row in sorted(chosen)], self.known, set()))
            first = min(chosen) if chosen else 0
            added = False
            for statement in every:
                last = max(chosen, default=0)
                if statement.lineno in chosen or statement.lineno > last or not isinstance(statement, SIMPLE[:3]):
                    continue
                binds = bound_by(statement)
                reads_later = [row for row in chosen if row > statement.lineno]
                if binds & needed and reads_later and is_known(statement, self.known):
                    chosen[statement.lineno] = statement
                    added = True
            if not added or first == 0:
                return


def programs(target: Target, mode: str) -> Iterator[SliceProgram]:
    """Slices of the functions that hold the flagged lines, or of the module. Raises CannotBeginError without any."""
    if mode not in ("operation", "movement", "prefix"):
        raise CannotBeginError("findings of this rule are not taken out of their function")
    reasons = []
    for place in target.places or (None,):
        try:
            program = SliceProgram(target, place, mode)
        except CannotBeginError as error:
            reasons.append(str(error))
            continue
        yield program
    if reasons:
        raise CannotBeginError("; ".join(dict.fromkeys(reasons)))


def _definitions(body: Sequence[ast.stmt], wanted: set[str], known: frozenset[str]) -> list[ast.stmt]:
    """The statements that bind what is `wanted`, and what those read, if they do only what is known."""
    chosen: dict[int, ast.stmt] = {}
    every = [each for each in flat(body) if isinstance(each, (ast.Assign, ast.AnnAssign, ast.Expr))]
    for _ in range(10):
        before = len(chosen)
        for statement in every:
            if statement.lineno not in chosen and bound_by(statement) & wanted and is_known(statement, known):
                chosen[statement.lineno] = statement
                wanted = wanted | set(free_names([statement], known, set()))
        if len(chosen) == before:
            break
    return [chosen[row] for row in sorted(chosen)]


def _assign(namespace: dict[str, Any], path: str, value: Any) -> None:
    owner, _, name = path.rpartition(".")
    holder = namespace[owner.partition(".")[0]]
    for part in owner.split(".")[1:]:
        holder = getattr(holder, part)
    if isinstance(value, torch.Tensor) and isinstance(holder, torch.nn.Module):
        holder.register_buffer(name, value, persistent=False)
    else:
        setattr(holder, name, value)


def _without_return(statement: ast.stmt) -> ast.stmt:
    """A `return` at the top of a slice keeps its value under a name."""
    if not isinstance(statement, ast.Return):
        return statement
    value = statement.value or ast.Constant(None)
    return ast.copy_location(ast.Assign([ast.Name(_MARK, ast.Store())], value), statement)


def last_line(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno
