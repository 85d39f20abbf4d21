"""The entrance of the inference."""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchdevlint.config import Settings
from torchdevlint.flow.facts import Fact
from torchdevlint.model import Span


def analyse(tree: ast.Module, span_of: Callable[[ast.AST], Span], text_of: Callable[[ast.AST], str], settings: Settings) -> list[Fact]:
    """The facts of one file, in source order.

    `span_of` gives a node's place and `text_of` its source; both are called only for what ends up in a fact.
    """
    raise NotImplementedError
