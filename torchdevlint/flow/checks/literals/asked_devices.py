"""Devices that are made of a tensor's ``is_cuda``, and so forget which GPU it is on (TDL012).

``torch.device("cuda" if x.is_cuda else "cpu")`` is the device of `x`, or the current GPU.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.literals.given_devices import Given
from torchdevlint.flow.checks.literals.placement import record
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Value


def _note_device(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    chosen = node.args[0] if len(node.args) == 1 and not node.keywords else None
    if frame.function is None or not isinstance(chosen, ast.IfExp) or not isinstance(chosen.test, ast.Attribute):
        return
    arms = [each.value if isinstance(each, ast.Constant) else None for each in (chosen.body, chosen.orelse)]
    if chosen.test.attr == "is_cuda" and arms == ["cuda", "cpu"]:
        asked = chosen.test.value
        text = frame.machine.text_of(asked)
        why, of_tensor = f"the test asks where `{text}` is", dotted_path(asked) is not None
        found = Given(f"{text}.device", why, asked, "question", of_tensor=of_tensor)
        record(frame, state, node, frame.machine.text_of(chosen.body), found)


FUNCTIONS = {"torch.device": _note_device}
