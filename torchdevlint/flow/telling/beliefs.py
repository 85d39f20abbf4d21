"""The records that others read: what was seen of each node, in words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from msgspec.structs import replace

from torchdevlint.flow.recording import Recording, Seen, name_of
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.values import Choice, Unknown, Value
from torchdevlint.flow.telling.held import Held, is_test, lacks
from torchdevlint.flow.telling.reasons import Reasons
from torchdevlint.flow.telling.values import Told, conditions_in_words, dimensions_in_words, tell
from torchdevlint.model import Belief, Span
from torchdevlint.source.nodes import inside, nodes_in

_MOST = 6
"""So many alternatives are told."""
_UNKNOWN = Told("unknown", "unknown")


class Teller:
    """Tells what was seen of the nodes of a file that was run."""

    def __init__(self, recording: Recording) -> None:
        assert recording.machine is not None, "nothing was run"
        self.recording = recording
        self.tree = recording.machine.tree
        self.machine: Machine = recording.machine
        self.source = self.machine.reading.source
        self.held = Held(recording)
        self.reasons = Reasons(self.held, self.machine)

    def every(self) -> Iterator[Belief]:
        """All nodes, in the order of the text, outer ones before those inside of them."""
        return (self.belief(node) for _, node in self._nodes)

    def around(self, row: int, column: int) -> Iterator[Belief]:
        """What stands at a place, innermost first."""
        found = [node for span, node in self._nodes if _holds(span, row, column)]
        return map(self.belief, reversed(found))

    def in_row(self, row: int) -> Iterator[Belief]:
        """What begins in a row and is not inside of something else that does; no literals.

        What is assigned is left out where it is what is said of the target, and so is a call that gives None, such as
        that of `print`, where something can be said of what it is given or of whose method it is.
        """
        last: Span | None = None
        told: Belief | None = None
        unheard: list[Belief] = []
        passed: set[ast.AST] = set()
        for span, node in self._nodes:
            if span.row != row or isinstance(node, ast.Constant) or node in passed:
                continue
            if last is None or (span.row, span.column) >= (last.end_row, last.end_column):
                belief = self.belief(node)
                if isinstance(node, ast.Call) and belief.kind == "none":
                    unheard.append(belief)
                    passed.add(node.func)
                    continue
                last = span
                if told is None or not (told.assigned and self._is_assigned(node) and _agree(told, belief)):
                    yield belief
                told = belief
        if told is None:
            yield from unheard[:1]

    def _is_assigned(self, node: ast.AST) -> bool:
        """Whether a node is the whole right side of an assignment."""
        return getattr(self.reasons.places.around.get(node), "value", None) is node

    def first_row(self, row: int) -> int:
        """The row in which the statement begins that goes on in this one."""
        around = [each for each in nodes_of(self.tree) if each.lineno <= row <= (each.end_lineno or each.lineno)]
        return max((each.lineno for each in around), default=row)

    def assigned(self) -> Iterator[Belief]:
        """The targets of assignments whose device is known."""
        for _, node in self._nodes:
            if node in self.recording.binder and isinstance(node, ast.expr):
                value = self.held.one(node)
                belief = None if value is None or lacks(value) else self.belief(node)
                if belief is not None and belief.device is not None:
                    yield belief

    def belief(self, node: ast.AST) -> Belief:
        """What is believed of one node."""
        place, text = self._span(node), name_of(node) if not isinstance(node, ast.expr) else None
        value = self.held.one(node)
        told = self._told(node, value)
        missing = told.kind not in ("bool", "function") and value is not None and lacks(value)
        seen, others = self.recording.best(node)
        conditions = seen[0].conditions if len({each.conditions for each in seen}) == 1 else ()
        return replace(
            _record(place, text or self.source.segment(node), told, conditions_in_words(conditions)),
            alternatives=tuple(self._alternatives(place, text or self.source.segment(node), seen, others)),
            unknown_because=self.reasons.of(node) if missing or told.kind == "unknown" else None,
            assigned=node in self.recording.binder,
        )

    def _told(self, node: ast.AST, value: Value | None) -> Told:
        told = self._defined(node) if value is None else tell(value, self.machine.reading)
        if told.kind != "unknown":
            return told
        return Told("bool", "a test") if is_test(node) else self._method(node) or told

    def _defined(self, node: ast.AST) -> Told:
        """A definition that is not run as a statement, such as that of a method."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            holder = self.reasons.places.around.get(node)
            owner = f"the method `{holder.name}." if isinstance(holder, ast.ClassDef) else "the function `"
            return Told("function", f"{owner}{node.name}`")
        return Told("class", f"the class `{node.name}`") if isinstance(node, ast.ClassDef) else _UNKNOWN

    def _method(self, node: ast.AST) -> Told | None:
        """What is called as a method of something that is known: what it gives is told of the call."""
        call = self.reasons.places.around.get(node)
        if not isinstance(call, ast.Call) or call.func is not node:
            return None
        if isinstance(node, ast.Name) and node.id == "super":
            return Told("class", "`super`")
        holder = self.held.one(node.value) if isinstance(node, ast.Attribute) else None
        if holder is None or isinstance(holder, Unknown):
            return None
        told = tell(holder, self.machine.reading)
        return Told("function", f"the method `{node.attr}` of {told.description}")  # type: ignore[attr-defined]

    def _alternatives(self, place: Span, text: str, seen: list[Seen], others: list[Seen]) -> Iterator[Belief]:
        """What it is under different conditions, in different rounds of a loop, and for different calls."""
        found: dict[tuple[Told, str], None] = {}
        for each, when in self._cases(seen):
            found[tell(each, self.machine.reading), when] = None
        best = {each.value for each in seen}
        if any(map(lacks, best)):
            for run in (run for run in others if not lacks(run.value) and run.value not in best):
                found[tell(run.value, self.machine.reading), self._when(run)] = None
        if len({told.description for told, _ in found}) > 1 or (found and any(map(lacks, best))):
            yield from (_record(place, text, told, when) for told, when in list(found)[:_MOST])

    def _cases(self, seen: Sequence[Seen]) -> Iterator[tuple[Value, str]]:
        """The values in the runs that tell most, with when each is so."""
        values = list(dict.fromkeys(each.value for each in seen))
        if len(values) <= 1:
            for value in values:
                held = value.alternatives if isinstance(value, Choice) else ()
                yield from ((each, conditions_in_words(under)) for under, each in held)
            return
        first = seen[0]
        for each in seen:
            if each.activation != first.activation or seen[-1].activation != first.activation:
                yield each.value, self._when(each)
            elif seen[-1].round == first.round:
                yield each.value, ""
            else:
                yield each.value, "in the first round" if each.round == first.round else "in later rounds"

    def _when(self, seen: Seen) -> str:
        """Which run it was."""
        if seen.called_at is None:
            return conditions_in_words(seen.conditions)
        span = self.machine.reading.span_of(seen.called_at)
        return f"as line {span.row} calls it" if not span.file else "as another file calls it"

    @cached_property
    def _nodes(self) -> list[tuple[Span, ast.AST]]:
        """What something can be said of, in the order of the text, outer ones first."""
        found: list[tuple[Span, ast.AST]] = []
        annotations = self._annotations
        for node in inside(self.tree):
            if node in annotations:
                continue
            if isinstance(node, (ast.Tuple, ast.List, ast.Starred)) and isinstance(node.ctx, ast.Store):
                continue
            if isinstance(node, ast.Slice):
                continue
            if isinstance(node, ast.expr) or node in self.recording.binder:
                found.append((self._span(node), node))
        found.sort(key=lambda each: (each[0].row, each[0].column, -each[0].end_row, -each[0].end_column))
        return found

    @property
    def _annotations(self) -> set[ast.AST]:
        """What stands in annotations, which are not run."""
        found: list[ast.expr | None] = [each.annotation for each in nodes_in(self.tree, ast.arg)]
        found += [each.annotation for each in nodes_in(self.tree, ast.AnnAssign)]
        found += [each.returns for each in nodes_in(self.tree, ast.FunctionDef)]
        found += [each.returns for each in nodes_in(self.tree, ast.AsyncFunctionDef)]
        return {each for annotation in found if annotation is not None for each in inside(annotation)}

    def _span(self, node: ast.AST) -> Span:
        """Where a node stands; of a definition, a parameter and a handler, its name."""
        span = self.source.span(node)
        name = name_of(node) if not isinstance(node, ast.expr) else None
        if name is None:
            return span
        line = self.source.lines[span.row - 1]
        found = re.search(rf"\b{re.escape(name)}\b", line[span.column - 1 :])
        if found is None:
            return span
        start = span.column + found.start()
        return Span(span.row, start, span.row, start + len(name))


def nodes_of(tree: ast.Module) -> list[ast.stmt]:
    return [each for each in inside(tree) if isinstance(each, ast.stmt)]


def _record(place: Span, text: str, told: Told, when: str) -> Belief:
    dimensions = dimensions_in_words(told.ndim)
    return Belief(place, text, told.kind, told.description, told.device, dimensions, told.notes, when=when)


def _agree(one: Belief, other: Belief) -> bool:
    """Whether the same is said of both."""
    return (one.kind, one.description, one.notes) == (other.kind, other.description, other.notes)


def _holds(span: Span, row: int, column: int) -> bool:
    return (span.row, span.column) <= (row, column) < (span.end_row, span.end_column)
