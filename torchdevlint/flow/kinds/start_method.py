"""How a file starts processes: by forking, unless it says otherwise."""

from __future__ import annotations

import ast

from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import NONE, UNKNOWN, Const, Library, Ref, Value
from torchdevlint.patterns import LinePattern
from torchdevlint.project.uses import Project

PROCESS = "multiprocessing.Process"
POOL = "multiprocessing.Pool"
_MODULES = ("multiprocessing", "torch.multiprocessing")
POOLS = (*(f"{module}.Pool" for module in _MODULES), "multiprocessing.pool.Pool")
EXECUTOR = "concurrent.futures.ProcessPoolExecutor"
_OTHERS = frozenset({"spawn", "forkserver"})
_SET = LinePattern(r"^[^#\n]*\bset_start_method\((?!\s*(?:method\s*=\s*)?[\"']fork[\"'])", "set_start_method")
"""What a program says whose processes begin in another way, or in one that it does not tell."""
_MOST_IMPORTERS = 30


def forks(frame: Frame, context: tuple[ast.expr, Value] | None) -> bool:
    """Whether processes are forked where that is the default, given the argument that may say another way."""
    if context is not None and context[1] != NONE:
        return context[1] == Const("fork")
    words = frame.machine.words
    if "set_start_method" in words:
        return "fork" in words and not words & _OTHERS
    return not _is_set_by_programs(frame.machine)


def _is_set_by_programs(machine: Machine) -> bool:
    """Whether all that import the file say how processes start, or are imported by such alone."""
    return machine.others is not None and _is_set_above(machine.others.project, machine.others.project.path, set())


def _is_set_above(project: Project, path: str, seen: set[str]) -> bool:
    above = [each for each in project.importers(path) if each not in seen]
    seen.update(above)
    if not above or len(seen) > _MOST_IMPORTERS:
        return False
    texts = {each: project.text_of(each) for each in above}
    return all(
        text is not None and (text.says(_SET) or _is_set_above(project, each, seen)) for each, text in texts.items()
    )


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
