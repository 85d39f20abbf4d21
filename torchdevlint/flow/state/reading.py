"""Which file the code that is being run stands in, and where its nodes stand."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from torchdevlint.flow.state.others import OtherFiles, OtherNames, holds, owner_of
from torchdevlint.flow.state.values import Closure
from torchdevlint.model import Span
from torchdevlint.project.modules import ModuleFile
from torchdevlint.source.text import Source

T = TypeVar("T")


class Reading:
    """The file that is analysed, and the other one, if any, whose code is being run."""

    def __init__(self, tree: ast.Module, source: Source, others: OtherFiles | None) -> None:
        self.tree = tree
        self.source = source
        self.others = others
        self._other: OtherNames | None = None
        self._telling = 0

    @contextmanager
    def running(self, closure: Closure) -> Iterator[None]:
        """While code is run that sees these names, which tell the file that it is from."""
        around, self._other = self._other, owner_of(closure)
        try:
            yield
        finally:
            self._other = around

    def told(self, make: Callable[[], T]) -> T:
        """What `make` gives, which may tell of nodes of several files."""
        self._telling += 1
        try:
            return make()
        finally:
            self._telling -= 1

    def span_of(self, node: ast.AST) -> Span:
        """Where a node stands, in whichever file."""
        other = self._file_of(node)
        if other is None or self.others is None:
            return self.source.span(node)
        return replace(other.source.span(node), file=other.path)

    def text_of(self, node: ast.AST) -> str:
        """The source of a node of the code that is being run; of any node while something is `told`."""
        other = self._file_of(node) if self._telling else self._other and self._other.module
        return (other or self).source.segment(node)

    def _file_of(self, node: ast.AST) -> ModuleFile | None:
        """The other file that a node stands in; one that was made on the way stands where code is being run."""
        if self.others is None or not self.others.names or holds(self.tree, node):
            return None
        return self.others.holding(node) or (self._other.module if self._other is not None else None)
