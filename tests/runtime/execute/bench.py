"""Snippets as findings: linted, or pointed at by hand, and taken through the child's side or the whole ladder."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.casefile import lint
from torchdevlint.config import Settings
from torchdevlint.model import Diagnostic, Related, Severity, Span
from torchdevlint.runtime.child import Limits
from torchdevlint.runtime.execute.target import Region, Target
from torchdevlint.runtime.verify.ladder import Climb, Order, climb
from torchdevlint.runtime.verify.server import Server
from torchdevlint.runtime.verify.verdict import Judgement, Rung

EVERYTHING = Settings(preview=True, ignore=("TDL900", "TDL901"), extend_select=("TDL012", "TDL106"))
SECONDS = 60.0


@dataclass(frozen=True)
class Bench:
    """A folder for snippets and the process that executes them."""

    folder: Path
    server: Server

    def write(self, text: str, name: str = "model.py") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def findings(self, text: str, name: str = "model.py") -> list[Diagnostic]:
        path = self.write(text, name)
        return list(lint(path.read_text(encoding="utf-8"), EVERYTHING, str(path)))

    def finding(self, text: str, name: str = "model.py") -> Diagnostic:
        """The only finding in a snippet."""
        (found,) = self.findings(text, name)
        return found

    def climb(self, diagnostic: Diagnostic, examples: Mapping[str, str] | None = None, **order: Any) -> Climb:
        limits = order.pop("limits", Limits(SECONDS))
        return climb(diagnostic, Order(limits=limits, examples=examples, root=self.folder, **order), self.server)

    def judgement(self, diagnostic: Diagnostic, examples: Mapping[str, str] | None = None, **order: Any) -> Judgement:
        """What the ladder says of a finding; a failure of the test if it is nothing."""
        climbed = self.climb(diagnostic, examples, **order)
        if climbed.judgement is None:
            pytest.fail(f"no rung says something: {climbed.reasons}")
        return climbed.judgement

    def reasons(self, diagnostic: Diagnostic, **order: Any) -> dict[Rung, str]:
        """Why no rung says anything; a failure of the test if one does."""
        climbed = self.climb(diagnostic, **order)
        if climbed.judgement is not None:
            pytest.fail(f"a judgement: {climbed.judgement}")
        return dict(climbed.reasons)

    def ask(self, do: str, target: Target, mode: str = "operation", rung: str = "synthesised", **more: Any) -> Any:
        """What `perform.find` or `perform.execute` gives."""
        finding = {
            "path": str(target.path),
            "code": target.code,
            "at": _sent(target.at),
            "notes": [_sent(one) for one in target.notes],
            "silent": target.silent,
        }
        request = {
            "do": do, "finding": finding, "mode": mode, "rung": rung, "device": "simulated", "accelerators": 2,
            "seconds": SECONDS, "memory": None, "examples": {}, "paths": [str(self.folder)], **more,
        }  # fmt: skip
        answer = self.server.ask(request)
        assert answer.ended == "returned", answer
        return answer.value


def place_of(text: str, marked: str) -> Span:
    """Where `marked`, which is there once, is in a text."""
    assert text.count(marked) == 1, text.count(marked)
    start = text.index(marked)
    row = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    end_row = row + marked.count("\n")
    end_column = len(marked) - marked.rfind("\n") if "\n" in marked else column + len(marked)
    return Span(row, column, end_row, end_column)


def by_hand(path: Path, code: str, marked: str, *notes: str, symptom: str = "RuntimeError") -> Diagnostic:
    """A finding that no linter made: of the rule `code`, at the text `marked`."""
    text = path.read_text(encoding="utf-8")
    related = tuple(Related("here", str(path), place_of(text, note)) for note in notes)
    span = place_of(text, marked)
    return Diagnostic(
        str(path), span, code, "by-hand", "a message", Severity.ERROR, symptom, "help", "url", span.row, related
    )


def target_of(path: Path, marked: str, *notes: str, code: str = "TDL003", silent: bool = False) -> Target:
    """The same, as the child reads it."""
    source = path.read_text(encoding="utf-8")
    at, *others = (_region(place_of(source, each)) for each in (marked, *notes))
    return Target(path, code, at, tuple(others), silent, source)


def _region(span: Span) -> Region:
    return Region(span.row, span.column, span.end_row, span.end_column)


def _sent(region: Region) -> list[int]:
    return [region.row, region.column, region.end_row, region.end_column]
