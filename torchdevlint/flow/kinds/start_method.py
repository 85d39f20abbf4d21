"""How a file starts processes: by forking, unless it says otherwise."""

from __future__ import annotations

import ast

from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import NONE, Const, Value

_OTHERS = frozenset({"spawn", "forkserver"})


def forks(frame: Frame, context: tuple[ast.expr, Value] | None) -> bool:
    """Whether processes are forked where that is the default, given the argument that may say another way."""
    if context is not None and context[1] != NONE:
        return context[1] == Const("fork")
    words = frame.machine.words
    return "set_start_method" not in words or ("fork" in words and not words & _OTHERS)
