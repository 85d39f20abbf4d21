"""Which file the code that is being run stands in, and where its nodes stand."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.state.others import OtherFiles, OtherNames, holds, owner_of
from torchdevlint.flow.state.values import Closure
from torchdevlint.model import Span
from torchdevlint.project.modules import ModuleFile
from torchdevlint.source.nodes import below
from torchdevlint.source.text import Source


class Reading:
    """The file that is analysed, and the other one, if any, whose code is being run."""

    def __init__(self, tree: ast.Module, source: Source, others: OtherFiles | None) -> None:
        self.tree = tree
        self.source = source
        self.others = others
        self._other: OtherNames | None = None

    @property
    def is_elsewhere(self) -> bool:
        """Whether the code that is being run is that of another file."""
        return self._other is not None

    @property
    def tree_here(self) -> ast.Module:
        """The file whose code is being run."""
        return self._other.module.tree if self._other is not None else self.tree

    def enter(self, closure: Closure) -> OtherNames | None:
        """From now on code is run that sees these names, which tell the file that it is from. Gives what `leave` takes.

        A context manager would take as long as a small body.
        """
        around, self._other = self._other, owner_of(closure)
        return around

    def leave(self, around: OtherNames | None) -> None:
        """Code is run that stands where that did which was run before."""
        self._other = around

    def span_of(self, node: ast.AST) -> Span:
        """Where a node stands, in whichever file."""
        other = self._file_of(node)
        if other is None or self.others is None:
            return self.source.span(node)
        return replace(other.source.span(node), file=other.path)

    def text_of(self, node: ast.AST) -> str:
        """The source of a node, of whichever file."""
        return (self._file_of(node) or self).source.segment(node)

    def text_here(self, node: ast.AST) -> str:
        """The source of a node of the code that is being run."""
        return (self._other.module if self._other is not None else self).source.segment(node)

    def _file_of(self, node: ast.AST) -> ModuleFile | None:
        """The other file that a node stands in; one that was made on the way stands where a part of it does.

        If no part of it stands anywhere, it is where code is being run.
        """
        if self.others is None or not self.others.names:
            return None
        if holds(self.tree, node):
            return None
        other = self._other.module if self._other is not None else None
        if other is not None and holds(other.tree, node):
            return other
        found = self.others.holding(node)
        if found is not None or any(holds(self.tree, part) for part in below([node])):
            return found
        return next(filter(None, map(self.others.holding, below([node]))), other)
