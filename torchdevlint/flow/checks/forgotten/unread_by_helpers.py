"""Helpers that are told a device which they never read, and return what a factory makes (TDL310).

Functions of a file that others call are run with what these give them, and not on their own. So they are judged by
their text: ``def _one_hot(size, index, device): out = torch.zeros(size); out[index] = 1.0; return out``.
"""

from __future__ import annotations

import ast
from functools import partial

from torchdevlint.flow.checks.forgotten.unread_devices import is_dismissed
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.facts.devices import DeviceNotForwarded
from torchdevlint.flow.scope.decorators import decorator_names, is_plain
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.names import last_name, parameter_names, public_path
from torchdevlint.flow.scope.parameters import names_given_as_values, reads, reads_all
from torchdevlint.flow.scope.returned_factories import returned_factory
from torchdevlint.flow.state.machine import Machine
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import nodes_in, once_a_node

_NAME = "device"


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    if not imports_torch(machine.tree):
        return
    for function in functions_in(machine.tree):
        if _NAME not in parameter_names(function) or not _is_private(function.name) or reads(function, _NAME):
            continue
        made = returned_factory(function)
        if made is not None and _is_own(machine, function) and not is_dismissed(machine, function, _NAME):
            machine.record_anyway(("not forwarded", function, _NAME), partial(_fact, machine, function, made))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _is_own(machine: Machine, function: FunctionNode) -> bool:
    """Whether the file alone says what the function takes, and calls it by its name."""
    if not is_plain(function) or decorator_names(function) - {"staticmethod", "no_grad"} or reads_all(function):
        return False
    if function in machine.pipeline or function.name in names_given_as_values(machine.tree):
        return False
    owners = [info for info in machine.classes.values() if function.name in info.methods]
    return len(owners) < 2 and all(info.resolved for info in owners) and function.name in _called(machine.tree)


@once_a_node
def _called(tree: ast.Module) -> frozenset[str]:
    return frozenset(last_name(each.func) for each in nodes_in(tree, ast.Call))


def _fact(machine: Machine, function: FunctionNode, made: ast.Call) -> DeviceNotForwarded:
    given = next(each for each in nodes_in(function.args, ast.arg) if each.arg == _NAME)
    maker = public_path(made.func)
    return DeviceNotForwarded(
        machine.span_of(made),
        function.name,
        _NAME,
        "factory",
        maker,
        f"{_NAME}={_NAME}",
        machine.span_of(given),
        machine.text_of(made),
        False,
        False,
    )


SAYING = ("dev", "Dev", "DEV")
EVENTS = {FileEnded: _note_end}
