"""The records that others read: what was seen of each node, in words."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from torchdevlint.flow.recording import Recording, Seen, name_of
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.values import Choice, Unknown
from torchdevlint.flow.telling.held import Held, is_test, lacks
from torchdevlint.flow.telling.reasons import Reasons
from torchdevlint.flow.telling.values import Told, conditions_in_words, dimensions_in_words, tell
from torchdevlint.model import Belief, Span
from torchdevlint.source.nodes import inside


class Teller:
    """Tells what was seen of the nodes of a file that was run."""

    def __init__(self, recording: Recording) -> None:
        assert recording.machine is not None, "nothing was run"
        self.recording = recording
        self.machine: Machine = recording.machine
        self.source = self.machine.reading.source
        self.held = Held(recording)
        self.reasons = Reasons(self.held, self.machine)

    def every(self) -> Iterator[Belief]:
        """All nodes, in the order of the text, outer ones before those inside of them."""
        return (self.belief(node) for _, node in self._nodes)

    def around(self, row: int, column: int) -> Iterator[Belief]:
        """What stands at a place, innermost first."""
        found = [(span, node) for span, node in self._nodes if _holds(span, row, column)]
        return (self.belief(node) for _, node in reversed(found))

    def in_row(self, row: int) -> Iterator[Belief]:
        """What begins in a row and is not inside of something else that does; no literals."""
        last: Span | None = None
        for span, node in self._nodes:
            if span.row != row or isinstance(node, ast.Constant):
                continue
            if last is None or (span.row, span.column) >= (last.end_row, last.end_column):
                last = span
                yield self.belief(node)

    def assigned(self) -> Iterator[Belief]:
        """The targets of assignments whose device is known."""
        for _, node in self._nodes:
            if node in self.recording.binder and not isinstance(node, (ast.arg, ast.alias, ast.stmt)):
                belief = self.belief(node)
                if belief.device is not None:
                    yield belief

    def belief(self, node: ast.AST) -> Belief:
        """What is believed of one node."""
        seen, _ = self.recording.best(node)
        text = name_of(node) if not isinstance(node, ast.expr) else None
        place, text = self._span(node), text or self.source.segment(node)
        assigned = node in self.recording.binder
        value = self.held.one(node)
        told = self._defined(node) if value is None else tell(value, self.machine.reading)
        if told.kind == "unknown":
            told = Told("bool", "a test") if is_test(node) else self._method(node) or told
        missing = told.kind not in ("bool", "function") and value is not None and lacks(value)
        because = self.reasons.of(node) if missing or told.kind == "unknown" else None
        return Belief(
            place,
            text,
            told.kind,
            told.description,
            told.device,
            dimensions_in_words(told.ndim),
            told.notes,
            tuple(self._alternatives(place, text, seen)),
            because,
            assigned,
        )

    def _alternatives(self, place: Span, text: str, seen: list[Seen]) -> Iterator[Belief]:
        """What it is under different conditions."""
        value = seen[0].value if seen else None
        if len(seen) == 1 and isinstance(value, Choice):
            for conditions, each in value.alternatives:
                told = tell(each, self.machine.reading)
                yield _of(place, text, told, conditions_in_words(conditions))

    @cached_property
    def _nodes(self) -> list[tuple[Span, ast.AST]]:
        """What something can be said of, in the order of the text, outer ones first."""
        found: list[tuple[Span, ast.AST]] = []
        for node in inside(self.recording.tree):
            if isinstance(node, (ast.Tuple, ast.List)) and isinstance(node.ctx, ast.Store):
                continue
            if isinstance(node, ast.expr) or node in self.recording.binder:
                found.append((self._span(node), node))
        found.sort(key=lambda each: (each[0].row, each[0].column, -each[0].end_row, -each[0].end_column))
        return found

    def _defined(self, node: ast.AST) -> Told:
        """A definition that is not run as a statement, such as that of a method."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            holder = self.reasons.places.around.get(node)
            owner = f"the method `{holder.name}." if isinstance(holder, ast.ClassDef) else "the function `"
            return Told("function", f"{owner}{node.name}`")
        if isinstance(node, ast.ClassDef):
            return Told("class", f"the class `{node.name}`")
        return Told("unknown", "unknown")

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

    def _span(self, node: ast.AST) -> Span:
        """Where a node stands; of a definition or an import, its name."""
        return self.source.span(node)


def _of(place: Span, text: str, told: Told, when: str) -> Belief:
    return Belief(
        place, text, told.kind, told.description, told.device, dimensions_in_words(told.ndim), told.notes, when=when
    )


def _holds(span: Span, row: int, column: int) -> bool:
    return (span.row, span.column) <= (row, column) < (span.end_row, span.end_column)
