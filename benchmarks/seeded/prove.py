"""Which seeded bugs an execution shows: the right code passes on a simulated accelerator, and the changed code fails.

A bug is executed as `verify` executes a finding, in a copy of its package that holds the changed file. What is executed
are the findings that are new near the edit; of a bug that was missed, the finding that its rule would make of the edit.
`verify` looks for values with which the function runs where every accelerator is the CPU, and confirms a finding if the
same values show its symptom on an accelerator. Then the file as it was is executed with these very values. Of a load
(TDL201) only the statement is executed, with a file of ours: that proves nothing of the program, and is told apart.
"""

from __future__ import annotations

import ast
import math
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kinds import KINDS, File, Seed
from sample import Seeded
from score import Outcome, noticed

from torchdevlint.model import Diagnostic, Related, Severity, Span
from torchdevlint.runtime.child import Limits
from torchdevlint.runtime.verify.ladder import Order, climb
from torchdevlint.runtime.verify.reasons import why
from torchdevlint.runtime.verify.server import Answer, Server
from torchdevlint.runtime.verify.verdict import Verdict

PROVED, LOAD, NOT_SHOWN, NOT_RUN = "proved", "load", "not shown", "could not be run"
RIGHT_FAILS = "fails before as well"
VERDICTS = (PROVED, LOAD, NOT_SHOWN, NOT_RUN, RIGHT_FAILS)
MOST_FINDINGS = 2
"""How many findings of one bug are executed."""
_CODES = {
    "literal": "TDL012", "map_location": "TDL201", "result": "TDL001", "like": "TDL003", "factory": "TDL003",
    "container": "TDL102", "buffer": "TDL101", "numpy": "TDL006", "move": "TDL003",
}  # fmt: skip
"""The rule that is about bugs of a kind."""
_NEVER_BEGAN = (
    "the module needs", "importing the module fails", "a part of its package", "no values were found",
    "only its callers", "the time was over", "it cannot be called", "the process that", "nothing was executed",
    "a simulated accelerator cannot", "what surrounds it", "other reasons",
)  # fmt: skip
"""How the groups of reasons begin with which the function did not come to its end."""


_NOT_REACHED = re.compile(r"does not come to|did not run to its end")
LONGEST = 160
"""Characters of a reason that are kept."""


@dataclass(frozen=True)
class Proof:
    """What executing one seeded bug has shown: the `code` of the finding that was executed, `why` it proves nothing."""

    key: str
    verdict: str
    code: str = ""
    why: str = ""

    def as_row(self) -> dict[str, Any]:
        return asdict(self)


class _Kept(Server):
    """A server that keeps the request that showed the symptom, and that has an end for all requests of one bug."""

    failing: dict[str, Any] | None = None
    end = 0.0

    def ask(self, request: dict[str, Any]) -> Answer:
        left = self.end - time.monotonic()
        if left <= 0:
            return Answer("timed out", detail="the time of this bug is over")
        answer = super().ask({**request, "seconds": min(request["seconds"], left)})
        if request["do"] == "execute" and answer.ended == "returned" and answer.value["symptom"]:
            self.failing = request
        return answer


def prove(outcomes: Iterable[Outcome], roots: dict[str, Path], seconds: float, most: float) -> Iterator[Proof]:
    """A proof for each bug that can be seeded again: `seconds` for one execution, `most` for all of one bug."""
    ordered = sorted(outcomes, key=lambda each: (each.label, each.path, each.row))
    with TemporaryDirectory() as work, _inside(Path(work) / "empty"), _Kept() as server:
        for label, of_package in groupby(ordered, key=lambda each: each.label):
            right, changed = Path(work) / "right" / label, Path(work) / "changed" / label
            for copy in (right, changed):
                shutil.copytree(roots[label], copy)
            order = Order(root=changed, limits=Limits(seconds))
            for each in of_package:
                seeded = _again(each, right)
                if seeded is not None:
                    server.failing, server.end = None, time.monotonic() + most
                    yield _proof(each, seeded, changed, order, server)


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """An empty current folder, beside which packages do not count as an application."""
    folder.mkdir()
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _again(outcome: Outcome, root: Path) -> Seeded | None:
    """The bug of a stored row, in a copy of its package."""
    file = File((root / outcome.path).read_bytes())
    every = (Seeded(outcome.label, root, outcome.path, seed) for seed in KINDS[outcome.kind](file))
    return next((each for each in every if each.key == outcome.key), None)


def _proof(outcome: Outcome, seeded: Seeded, changed: Path, order: Order, server: _Kept) -> Proof:
    path = changed / seeded.path
    data = path.read_bytes()
    wrong = seeded.seed.applied(data)
    findings = noticed(data, wrong, str(path), seeded.seed.row) or _as_the_rule_says(seeded.seed, wrong, str(path))
    if not findings:
        return Proof(outcome.key, NOT_RUN, "", "nothing is left to be executed")
    path.write_bytes(wrong)
    reasons: list[str] = []
    try:
        for finding in findings[:MOST_FINDINGS]:
            climbed = climb(finding, order, server)
            if climbed.judgement is None or climbed.judgement.verdict is not Verdict.CONFIRMED:
                reasons += [text for _, text in climbed.reasons] if climbed.judgement is None else ["it ran well"]
                continue
            if finding.code == "TDL201":
                return Proof(outcome.key, LOAD, finding.code)
            before = _before(seeded, data, server)
            return Proof(outcome.key, RIGHT_FAILS if before else PROVED, finding.code, before)
    finally:
        path.write_bytes(data)
    told = "it ran well" if reasons[:1] == ["it ran well"] else why(reasons).group
    return Proof(outcome.key, NOT_RUN if told.startswith(_NEVER_BEGAN) else NOT_SHOWN, findings[0].code, told)


def _before(seeded: Seeded, data: bytes, server: _Kept) -> str:
    """Why the file as it was does not pass with the values that showed the symptom; empty if it does."""
    assert server.failing is not None
    server.end = math.inf
    request, finding = server.failing, server.failing["finding"]
    of_right = {
        "path": str(seeded.root / seeded.path),
        "at": moved_back(seeded.seed, data, finding["at"]),
        **{key: [moved_back(seeded.seed, data, each) for each in finding[key]] for key in ("notes", "also")},
    }
    paths = [str(seeded.root), *request["paths"][1:]]
    answer = server.ask({**request, "finding": {**finding, **of_right}, "paths": paths})
    if answer.ended != "returned":
        return f"the right code {answer.ended}: {answer.detail}"[:LONGEST]
    shown = answer.value
    if shown["symptom"] or shown["exception"] is not None:
        return str(shown["exception"] or "the right code shows the same symptom")[:LONGEST]
    return shown["reason"][:LONGEST] if _NOT_REACHED.search(shown["reason"]) else ""


def moved_back(seed: Seed, data: bytes, span: Sequence[int]) -> list[int]:
    """Where a region of the changed file was before the edit."""
    changed = seed.applied(data)
    start, end = _offset(changed, span[0], span[1]), _offset(changed, span[2], span[3])
    after, more = seed.start + len(seed.new), seed.end - seed.start - len(seed.new)
    start = start + more if start >= after else min(start, seed.start)
    end = end + more if end >= after and end > seed.start else end if end <= seed.start else seed.end
    return [*_place(data, start), *_place(data, end)]


def _offset(data: bytes, row: int, column: int) -> int:
    lines = data.split(b"\n")
    return sum(len(line) + 1 for line in lines[: row - 1]) + len(lines[row - 1].decode()[: column - 1].encode())


def _place(data: bytes, offset: int) -> tuple[int, int]:
    row = data.count(b"\n", 0, offset) + 1
    start = data.rfind(b"\n", 0, offset) + 1
    return row, len(data[start:offset].decode()) + 1


def _as_the_rule_says(seed: Seed, wrong: bytes, path: str) -> list[Diagnostic]:
    """The finding that the rule of its kind would make of a bug that was missed; none where a statement is gone."""
    file = File(wrong)
    if seed.kind not in _CODES or seed.new.strip() == b"pass":
        return []
    last = seed.start + len(seed.new)
    around = [
        node for node in file.nodes
        if isinstance(node, ast.expr) and file.start(node) <= seed.start and last <= file.end(node)
    ]  # fmt: skip
    if seed.kind in ("factory", "literal", "map_location", "result"):
        around = [node for node in around if isinstance(node, ast.Call)]
    elif seed.kind == "numpy":
        around = [node for node in around if isinstance(node, ast.Call) and file.end(node) > last]
    elif seed.kind == "buffer":
        stored = [node for node in file.nodes if isinstance(node, ast.Assign) and file.start(node) == seed.start]
        around = [node.value for node in stored]
    smallest = min(around, key=lambda node: file.end(node) - file.start(node), default=None)
    if smallest is None:
        return []
    uses = _uses(file, seed) if seed.kind == "buffer" else ()
    related = tuple(Related("it is used here", path, _span(file, node)) for node in uses)
    code = _CODES[seed.kind]
    span = _span(file, smallest)
    return [Diagnostic(path, span, code, "", "", Severity.ERROR, "", "", "", span.row, related)]


def _uses(file: File, seed: Seed) -> list[ast.Attribute]:
    """The first place of another method where the attribute is read that was a buffer."""
    for owner in (node for node in file.nodes if isinstance(node, ast.ClassDef)):
        held = [each for each in owner.body if isinstance(each, ast.FunctionDef)]
        inside = [each for each in held if each.lineno <= seed.row <= (each.end_lineno or 0)]
        if not inside:
            continue
        name = seed.new.split(b" = ")[0].rpartition(b".")[2].decode()
        reads = [node for each in held if each not in inside for node in ast.walk(each)]
        return [
            node for node in reads
            if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load)
        ][:1]  # fmt: skip
    return []


def _span(file: File, node: ast.expr) -> Span:
    return Span(*_place(file.data, file.start(node)), *_place(file.data, file.end(node)))
