"""Objects of accelerate that place things, by what made them, their annotation, or what they are asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.annotations import annotation_name, without_none
from torchdevlint.flow.scope.uses import asked_in
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Unknown
from torchdevlint.source.nodes import nodes_in

ACCELERATOR = "accelerate.Accelerator"
_ASKED = frozenset(
    """
    prepare prepare_model unwrap_model accumulate backward gather_for_metrics wait_for_everyone is_main_process
    is_local_main_process sync_gradients clip_grad_norm_ save_state load_state init_trackers free_memory
    """.split()
)
"""What nothing else that is called an accelerator is asked for."""


def at_hand(frame: Frame, state: State) -> Iterator[tuple[str, str, ast.AST]]:
    """``accelerator.device`` for each name that holds an `Accelerator` here, why, and the place that shows it."""
    function = frame.function
    for name, value in state.env.items():
        if isinstance(value, Unknown) and value.made_by == ACCELERATOR:
            yield f"{name}.device", f"`{name}` knows the device", function or frame.machine.tree
    for each in nodes_in(function.args, ast.arg) if function is not None else ():
        named = annotation_name(without_none(each.annotation)) == "Accelerator"
        if named or (each.arg == "accelerator" and _is_asked(function, each.arg)):
            yield f"{each.arg}.device", f"the function is given `{each.arg}`", each


def _is_asked(function: ast.AST | None, name: str) -> bool:
    """Whether a parameter without a type is asked for what an `Accelerator` has."""
    return function is not None and not _ASKED.isdisjoint(asked_in(function).get(name, ()))
