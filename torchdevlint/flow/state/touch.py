"""What made CUDA read the visible devices, after which changing them comes too late."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.state.values import Conditions
from torchdevlint.model import Frozen, Span


class Touch(Frozen, frozen=True):
    """A call, or the import of a module that makes one, that made CUDA read the visible devices.

    `inside` is the call that the module makes, and where. `conditions` are the branches on the way there, as the
    function sees them in which the state is.
    """

    node: ast.AST
    text: str
    effect: str
    inside: tuple[str, Span] | None = None
    conditions: Conditions = ()


def seen_by_caller(touched: Touch | None, conditions: Conditions) -> Touch | None:
    """The touch of CUDA in a function that was called, on a path of its caller."""
    return None if touched is None else replace(touched, conditions=conditions)
