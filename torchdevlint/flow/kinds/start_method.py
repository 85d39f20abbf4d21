"""How a file starts processes: by forking, unless it says otherwise."""

from __future__ import annotations

import ast

from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import NONE, UNKNOWN, Const, Library, Ref, Value

PROCESS = "multiprocessing.Process"
POOL = "multiprocessing.Pool"
_MODULES = ("multiprocessing", "torch.multiprocessing")
POOLS = (*(f"{module}.Pool" for module in _MODULES), "multiprocessing.pool.Pool")
EXECUTOR = "concurrent.futures.ProcessPoolExecutor"
_OTHERS = frozenset({"spawn", "forkserver"})


def forks(frame: Frame, context: tuple[ast.expr, Value] | None) -> bool:
    """Whether processes are forked where that is the default, given the argument that may say another way."""
    if context is not None and context[1] != NONE:
        return context[1] == Const("fork")
    words = frame.machine.words
    return "set_start_method" not in words or ("fork" in words and not words & _OTHERS)


def context(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``get_context("fork")`` has what the module has; of the other methods nothing is known."""
    method = arguments.get(0, "method")
    return Ref("multiprocessing") if method is not None and method[1] == Const("fork") else UNKNOWN


def process(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``Process(target=f, args=(a, b))``: what it will run, with what."""
    parts = (arguments.value(1, "target"), arguments.value(3, "args"), arguments.value(4, "kwargs"))
    return Library(PROCESS, children=parts, made_at=node)


def pool(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """Several processes that take tasks; with a context of their own nothing is known of them."""
    given = arguments.keywords.get("mp_context") or arguments.keywords.get("context")
    return UNKNOWN if given is not None and given[1] != Ref("multiprocessing") else Library(POOL, made_at=node)


MAKERS = {
    **{f"{module}.get_context": context for module in _MODULES},
    **{f"{module}.Process": process for module in (*_MODULES, "multiprocessing.process", "multiprocessing.context")},
    **dict.fromkeys((*POOLS, EXECUTOR), pool),
}
"""What calls of these functions and classes give."""
