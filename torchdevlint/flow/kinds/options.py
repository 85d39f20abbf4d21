"""What is known of a number or a flag that a program is configured with: by its value, or by its default."""

from __future__ import annotations

import ast

from torchdevlint.flow.calling.functions import defaults
from torchdevlint.flow.names import dotted_path
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame, State
from torchdevlint.flow.state.values import Const, Guard, Value
from torchdevlint.source.nodes import nodes_in

_COUNTS = ("cpu_count", "device_count")


def surely_some(frame: Frame, state: State, node: ast.expr, value: Value) -> bool:
    """A number above 0; what a call counts; or a parameter or option whose default is one."""
    known = [each.value for _, each in alternatives(value) if isinstance(each, Const)]
    if known:
        return all(_is_some(each) for each in known) and len(known) == len(alternatives(value))
    if isinstance(node, ast.Call):
        name = (dotted_path(node.func) or "").rpartition(".")[2]
        inner = [surely_some(frame, state, each, frame.evaluate(each, state)) for each in node.args]
        return name in _COUNTS or (name in ("min", "max", "int") and bool(inner) and all(inner))
    default = _default_of(frame, node)
    return isinstance(default, ast.Constant) and _is_some(default.value)


def surely_true(frame: Frame, node: ast.expr, value: Value) -> bool:
    """True, or a test that holds where an accelerator is there; or a parameter or option that is True by default."""
    if isinstance(value, Guard):
        return value.holds
    default = None if isinstance(value, Const) else _default_of(frame, node)
    return value == Const(True) or (isinstance(default, ast.Constant) and default.value is True)


def _is_some(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _default_of(frame: Frame, node: ast.expr) -> ast.expr | None:
    """The default of a parameter of the function around, or of the option of a command line that an attribute is."""
    if isinstance(node, ast.Name) and frame.function is not None:
        return dict(defaults(frame.function)).get(node.id)
    if isinstance(node, ast.Attribute) and frame.machine.tree is not None:
        for call in nodes_in(frame.machine.tree, ast.Call):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument" and _is_for(call, node.attr):
                return next((each.value for each in call.keywords if each.arg == "default"), None)
    return None


def _is_for(call: ast.Call, name: str) -> bool:
    """Whether an option of a command line is read as an attribute with that name."""
    given = [each.value.value for each in call.keywords if each.arg == "dest" and isinstance(each.value, ast.Constant)]
    options = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return name in (given or [each.lstrip("-").replace("-", "_") for each in options if len(each) > 2])
