"""A literal CUDA device that is handed on, where the code has the right one at hand: ``Encoder(.., device="cuda")``.

What is called does with it what torch does: it is the current GPU, and nothing where there is none (TDL012).
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.literals.for_cuda import is_for_cuda
from torchdevlint.flow.checks.literals.given_devices import at_hand
from torchdevlint.flow.checks.literals.meant_places import meant_at
from torchdevlint.flow.checks.literals.placement import is_guarded, is_what_it_is_for, record
from torchdevlint.flow.events import Constructed, FunctionCalled, UnknownCalled
from torchdevlint.flow.scope.naming_cuda import cuda_in_words, is_numbered, naming_arguments
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State


def _note_call(event: FunctionCalled | Constructed | UnknownCalled) -> None:
    if event.node.keywords:
        _look(event.frame, event.state, event.node)


def _look(frame: Frame, state: State, node: ast.Call) -> None:
    literals = [each.value for each in node.keywords if each.arg == "device" and each.value in naming_arguments(node)]
    if not literals or is_numbered(cuda_in_words(node)):
        return  # the number of a device may be one of a microphone
    if frame.machine.in_child or is_guarded(state) or is_what_it_is_for(frame) or is_for_cuda(frame):
        return
    found = at_hand(frame, state, node) or meant_at(frame, state, node)
    if found is not None and found.kind == "device":
        record(frame, state, node, cuda_in_words(node), found)


SAYING = ("device",)
EVENTS = {FunctionCalled: _note_call, Constructed: _note_call, UnknownCalled: _note_call}
