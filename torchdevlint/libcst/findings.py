"""What is found in a libcst module, at its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import libcst as cst
from libcst.metadata import BatchableMetadataProvider, CodePosition, CodeRange, MetadataWrapper, PositionProvider
from msgspec import Struct

from torchdevlint.config import Settings
from torchdevlint.engine import check_bytes
from torchdevlint.libcst.origin import Origin, OriginProvider, origin_of, origins
from torchdevlint.libcst.places import Ranges, ranges_in, standing
from torchdevlint.model import Diagnostic, FileResult, Problem, Span
from torchdevlint.source.text import encoded


class Finding(Struct, frozen=True):
    """A finding, and the node that it is at: the expression or statement in its place, or else the smallest around it.

    `node` is None for what is at no node, such as a comment between the statements of a module.
    """

    diagnostic: Diagnostic
    node: cst.CSTNode | None


class FindingProvider(BatchableMetadataProvider[tuple[Finding, ...]]):
    """The findings at each node that has some, and all of a module, in their order, at its root.

    Raises ConfigError, and RuntimeError where something kept the linter from its job.
    """

    METADATA_DEPENDENCIES = (PositionProvider,)

    @classmethod
    def gen_cache(cls, root_path: Path, paths: list[str], timeout: int | None = None, **_: Any) -> Mapping[str, Origin]:
        return origins(root_path, paths)

    def __init__(self, cache: object = None) -> None:
        self.origin = origin_of(cache)
        super().__init__(self.origin)

    def visit_Module(self, node: cst.Module) -> None:  # noqa: N802 (libcst's name)
        result = check(node, self.origin)
        if result.problems:
            raise RuntimeError("; ".join(problem.message for problem in result.problems))
        found = located(result.diagnostics, ranges_in(self.metadata))
        at: dict[cst.CSTNode, list[Finding]] = {}
        for finding in found:
            if finding.node is not None:
                at.setdefault(finding.node, []).append(finding)
        for place, findings in at.items():
            self.set_metadata(place, tuple(findings))
        self.set_metadata(node, tuple(found))


class DevicePlacementVisitor(cst.CSTVisitor):
    """Collects what is found in a module: ``MetadataWrapper(module).visit(visitor)``, or ``module.visit(visitor)``.

    Nodes of findings are those of the module that is visited, which for a `MetadataWrapper` is ``wrapper.module``.
    Raises ConfigError. What kept the linter from its job is in `problems`.
    """

    METADATA_DEPENDENCIES = (PositionProvider, OriginProvider)

    def __init__(self, filename: str | None = None, settings: Settings | None = None) -> None:
        super().__init__()
        self.origin = Origin(filename, settings)
        """What a `FullRepoManager` says of the file holds where this names none."""
        self.findings: list[Finding] = []
        self.problems: list[Problem] = []

    def visit_Module(self, node: cst.Module) -> bool:  # noqa: N802 (libcst's name)
        ranges, origin = self._ranges(node), self.origin
        if origin.filename is None and OriginProvider in self.metadata:
            known = self.get_metadata(OriginProvider, node)
            origin = Origin(known.filename, origin.settings or known.settings)
        result = check(node, origin)
        self.problems += result.problems
        self.findings += located(result.diagnostics, ranges)
        return False

    def _ranges(self, module: cst.Module) -> Ranges:
        if PositionProvider in self.metadata:
            return ranges_in(self.metadata)
        return MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)


def check(module: cst.Module, origin: Origin) -> FileResult:
    """What ``torchdevlint check`` says of a file that holds this module."""
    return check_bytes(encoded(module.code), origin.name, origin.resolved())


def located(diagnostics: Sequence[Diagnostic], ranges: Ranges) -> list[Finding]:
    """The findings of a module at its nodes."""
    if not diagnostics:
        return []
    places = list(standing(ranges))
    exact: dict[Span, cst.CSTNode] = {}
    for node, place in places:
        exact.setdefault(place, node)
    return [Finding(each, exact.get(each.span) or _smallest_around(each.span, places)) for each in diagnostics]


def range_of(span: Span) -> CodeRange:
    """A span as libcst counts: rows from 1, columns from 0."""
    return CodeRange(CodePosition(span.row, span.column - 1), CodePosition(span.end_row, span.end_column - 1))


def _smallest_around(span: Span, places: Iterable[tuple[cst.CSTNode, Span]]) -> cst.CSTNode | None:
    start, end = (span.row, span.column), (span.end_row, span.end_column)
    around = (
        (node, place)
        for node, place in places
        if (place.row, place.column) <= start and end <= (place.end_row, place.end_column)
    )
    return next((node for node, _ in around), None)
