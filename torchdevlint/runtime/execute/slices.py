"""The *slice* of a finding: the flagged statements and what they need, without importing the user's module.

Of the function that holds the flagged lines, the statements on the way to them are kept which do only what torch, numpy
and the standard library do. Every other name that they read is a slot. `self` is a Module whose attributes are those
that `__init__` makes in the same way, and slots for the rest. Where one flagged function calls another, the other is
sliced as well and stands in its place. The statements keep their lines, so that a traceback shows the user's own.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType
from typing import Any

import torch

from torchdevlint.runtime.execute.doubts import doubts
from torchdevlint.runtime.execute.errors import CannotBeginError
from torchdevlint.runtime.execute.guards import Guards
from torchdevlint.runtime.execute.instrument import WATCH, flagged, instrumented
from torchdevlint.runtime.execute.reading import (
    BUILTINS,
    SIMPLE,
    bound_by,
    flat,
    free_names,
    imports_of,
    is_known,
    names_in,
    on_the_way,
)
from torchdevlint.runtime.execute.slots import Slot, candidates_for
from torchdevlint.runtime.execute.target import Place, Region, Target, dotted, method_of, statement_at
from torchdevlint.runtime.execute.usage import Usage, counter_of, usages
from torchdevlint.runtime.execute.values import Description, Setting, build, value

_MARK = "__torchdevlint_result__"


class SliceProgram:
    """The kept statements of one function, of `__init__` before it, and of a flagged function that it calls."""

    def __init__(self, target: Target, place: Place | None, callee: Place | None = None) -> None:
        self.target, self.place = target, place
        self.told = flagged(target)
        self._compiled: dict[tuple[int, ...], CodeType] = {}
        self.imports, self.known = imports_of(target.tree)
        body = place.function.body if place is not None else target.tree.body
        regions = place.regions if place is not None else (target.at, *target.notes)
        self.callee: _Callee | None = None
        called: frozenset[str] = frozenset()
        if callee is not None and place is not None:
            self.callee = _Callee(self, callee)
            regions, called = (*regions, *_calls_of(place, callee)), frozenset(_paths_of(callee))
        self.kept = _Kept(body, regions, self.known | BUILTINS | called, called)
        if not self.kept.statements:
            raise CannotBeginError("the flagged statement cannot be taken out of its function")
        self.init = self._init()
        self.guards = Guards(body, [each for each in (target.at, *target.also) if each in regions], str(target.path))
        inside = self.callee.kept.statements if self.callee is not None else []
        every = (*self.init, *self.kept.statements, *inside)
        kept = {row for each in every for row in range(each.lineno, last_line(each) + 1)}
        self.wanted = tuple(rows for rows in target.spans if not rows.isdisjoint(kept)) or (
            frozenset({self.kept.statements[-1].lineno}),
        )
        self.complete = False  # it shows what can happen, and nothing by what does not
        self.slots = list(self._slots())
        self.stand_ins: list[Any] = []
        """What the last run was given for objects whose class is not known to be a Module."""
        self.doubts = list(doubts(target, place, body, self.kept.statements, self.known | BUILTINS | called))
        if callee is not None:
            inside = self.callee.kept.statements if self.callee is not None else []
            self.doubts += doubts(target, callee, callee.function.body, inside, self.known | BUILTINS)

    def _init(self) -> list[ast.stmt]:
        """The statements of `__init__` that make what the slice reads of `self`."""
        owner = self.place.owner if self.place is not None else None
        if owner is None or self.place is None or self.place.function.name == "__init__":
            return []
        function = method_of(self.target.tree, owner, "__init__")
        if function is None:
            return []
        wanted = {path for path in self._free() if path.startswith("self.")}
        return _definitions(function.body, wanted, self.known | BUILTINS)

    def _free(self) -> list[str]:
        """The names that the statements leave free, without those that the callee gets from its caller."""
        inside = self.callee.free if self.callee is not None else []
        return list(dict.fromkeys([*self.kept.free, *inside]))

    def _slots(self) -> Iterator[Slot]:
        inside = self.callee.kept.statements if self.callee is not None else []
        evidence = usages([*self.init, *self.kept.statements, *inside])
        for name in self._counters():
            evidence.setdefault(name, Usage()).counts = True
        defined = {path for statement in self.init for path in bound_by(statement)}
        free = dict.fromkeys([*free_names(self.init, self.known | BUILTINS, set()), *self._free()])
        annotations, defaults = self._annotations(), self._defaults()
        for path in free:
            within = any(path.startswith(f"{each}.") for each in defined if each != "self")
            if path in defined or path == "self" or within:
                continue
            name = path.rpartition(".")[2]
            usage = evidence.get(path, Usage())
            candidates = candidates_for(name, annotations.get(path, ""), usage, evidence)
            if path in defaults:
                candidates = [defaults[path], *(each for each in candidates if each != defaults[path])]
            if path in self.kept.from_loader:
                candidates = [{**each, "on": "cpu"} if each["is"] == "tensor" else each for each in candidates]
            yield Slot(path, name, tuple(candidates))

    def _defaults(self) -> dict[str, Description]:
        """The defaults of the parameters that are written as constants."""
        if self.place is None:
            return {}
        arguments = self.place.function.args
        by_place = [*arguments.posonlyargs, *arguments.args]
        given = [
            *zip(reversed(by_place), reversed(arguments.defaults), strict=False),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ]
        constants = {each.arg: default.value for each, default in given if isinstance(default, ast.Constant)}
        plain = (bool, int, float, str, type(None))
        return {name: value(one) for name, one in constants.items() if isinstance(one, plain)}

    def _counters(self) -> set[str]:
        """The names that loops count with, whose heads the slice does not run."""
        body = self.place.function.body if self.place is not None else self.target.tree.body
        loops = [each for node in body for each in ast.walk(node) if isinstance(each, (ast.For, ast.AsyncFor))]
        counters = {id(counter): path for loop in loops if (counter := counter_of(loop)) and (path := dotted(counter))}
        others = {
            each.id
            for loop in loops
            for each in ast.walk(loop.target)
            if isinstance(each, ast.Name) and id(each) not in counters
        }
        return set(counters.values()) - others

    def _annotations(self) -> dict[str, str]:
        if self.place is None:
            return {}
        arguments = self.place.function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        return {each.arg: ast.unparse(each.annotation) for each in every if each.annotation is not None}

    def run(self, values: Mapping[str, Any], setting: Setting) -> tuple[Any, Any]:
        torch.manual_seed(0)
        namespace: dict[str, Any] = {"__name__": "slice", "__file__": str(self.target.path)}
        owner = _Self()
        namespace["self"] = owner
        self.execute(self.imports, namespace)
        used = [slot.key for slot in self.slots if values[slot.key]["is"] != "default"]
        first = set(free_names(self.init, self.known | BUILTINS, set()))
        given = {key: build(values[key], setting.before_the_move if key in first else setting) for key in used}
        annotations = self._annotations()
        self.stand_ins = [one for key, one in given.items() if not annotations.get(key, "").endswith("Module")]
        namespace |= {path: one for path, one in given.items() if "." not in path}
        for path, one in sorted(given.items()):
            if "." in path:
                _assign(namespace, path, one)
        if self.callee is not None:
            self.callee.bind(namespace, owner)
        self.execute(self.init, namespace)
        owner.to(setting.modules)
        self.guards.ask(namespace)
        self.execute(self.kept.statements, namespace)
        return namespace.get(_MARK, namespace.get(self.kept.result or "")), owner

    def execute(self, statements: Sequence[ast.stmt], namespace: dict[str, Any]) -> None:
        """Run statements in a namespace; a `return` keeps its value there."""
        if not statements:
            return
        rows = tuple(each.lineno for each in statements)
        if rows not in self._compiled:
            watched = instrumented(statements, self.told) if hasattr(builtins, WATCH) else statements
            body = [_without_return(each) for each in watched]
            tree = ast.fix_missing_locations(ast.Module(body, []))
            self._compiled[rows] = compile(tree, str(self.target.path), "exec")
        exec(self._compiled[rows], namespace)  # noqa: S102


class _Callee:
    """A flagged function that the sliced one calls: its own slice, as a function of its parameters."""

    def __init__(self, program: SliceProgram, place: Place) -> None:
        self.program, self.place = program, place
        arguments = place.function.args
        self.parameters = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        self.parameters = [each for each in self.parameters if each not in ("self", "cls")]
        returns = [each for each in flat(place.function.body) if isinstance(each, ast.Return)]
        regions = (*place.regions, *(Region(each.lineno, 1, last_line(each)) for each in returns[-1:]))
        known = program.known | BUILTINS
        self.guards = Guards(place.function.body, place.regions, str(program.target.path))
        self.kept = _Kept(place.function.body, regions, known)
        self.free = [path for path in self.kept.free if path not in self.parameters]

    def bind(self, namespace: dict[str, Any], owner: torch.nn.Module) -> None:
        """Put it where the caller looks for it."""

        def called(*given: Any, **named: Any) -> Any:
            inside = {**namespace, **dict(zip(self.parameters, given, strict=False)), **named}
            inside.pop(_MARK, None)
            self.guards.ask(inside)
            self.program.execute(self.kept.statements, inside)
            return inside.get(_MARK)

        if self.place.owner is None:
            namespace[self.place.function.name] = called
        else:
            setattr(owner, self.place.function.name, called)


def _paths_of(place: Place) -> tuple[str, ...]:
    name = place.function.name
    return (name,) if place.owner is None else (f"self.{name}", f"{place.owner.name}.{name}")


def _calls_of(place: Place, callee: Place) -> list[Region]:
    """Where a function calls another."""
    paths = _paths_of(callee)
    calls = [node for node in ast.walk(place.function) if isinstance(node, ast.Call) and dotted(node.func) in paths]
    return [Region(node.lineno, node.col_offset + 1, node.end_lineno or node.lineno) for node in calls[:1]]


class _Self(torch.nn.Module):  # type: ignore[misc]
    """Stands for the instance; moves what is registered in it, like the user's Module."""


class _Kept:
    """The statements of one body that a slice keeps, in order, and the names that they leave free."""

    def __init__(
        self,
        body: Sequence[ast.stmt],
        regions: Sequence[Region],
        known: frozenset[str],
        called: frozenset[str] = frozenset(),
    ) -> None:
        self.known, self.called = known, called
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
        self._complete(chosen, list(on_the_way(body, regions)))
        self.statements = [chosen[row] for row in sorted(chosen)]
        self.free = free_names(self.statements, known, set(called))
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
            added = False
            for statement in every:
                if statement.lineno in chosen or not isinstance(statement, SIMPLE[:3]):
                    continue
                later = [chosen[row] for row in sorted(chosen) if row > statement.lineno]
                needed = set(free_names(later, self.known, set(self.called)))
                if bound_by(statement) & needed and is_known(statement, self.known, self.called):
                    chosen[statement.lineno] = statement
                    added = True
            if not added:
                return


def programs(target: Target, mode: str) -> Iterator[SliceProgram]:
    """Slices of the functions that hold the flagged lines, or of the module. Raises CannotBeginError without any."""
    if mode not in ("operation", "exception", "movement", "prefix", "test"):
        raise CannotBeginError("findings of this rule are not taken out of their function")
    reasons = []
    pairs: list[tuple[Place | None, Place | None]] = [
        (place, callee)
        for place in target.places
        for callee in target.places
        if callee is not place and callee.function.name != "__init__" and _calls_of(place, callee)
    ]
    for place, callee in (*pairs, *((place, None) for place in target.places or (None,))):
        try:
            program = SliceProgram(target, place, callee)
        except CannotBeginError as error:
            reasons.append(str(error))
            continue
        yield program
    if reasons:
        raise CannotBeginError("; ".join(dict.fromkeys(reasons)))


def _definitions(body: Sequence[ast.stmt], wanted: set[str], known: frozenset[str]) -> list[ast.stmt]:
    """The statements that bind what is `wanted`, and what those read, if they do only what is known."""
    chosen: dict[int, ast.stmt] = {}
    every = [
        each
        for each in flat(body)
        if isinstance(each, (ast.Assign, ast.AnnAssign, ast.Expr))
        and not (isinstance(each.value, ast.Constant) and each.value.value is None)
    ]
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
