"""Buffers that a method binds anew to what is on the CPU: ``self.mask = torch.zeros(n)``.

``__init__`` registers the name, so that what it holds is where the Module is. A method that is run later puts a tensor
of the default device there, which stays on the CPU until somebody moves the Module again. What a method makes of data
may be read before the first move, and so may all that a method makes which only ``__init__`` calls.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.registration.kept_together import leaves
from torchdevlint.flow.events import AttributeAssigned, Mixed
from torchdevlint.flow.kinds.construction import is_part_of_init
from torchdevlint.flow.kinds.sizes import is_one_element
from torchdevlint.flow.run.built_of_own import registers_by_name
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import DEFAULT, MODEL, Origin
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.tensors import is_of_sizes
from torchdevlint.flow.state.values import AT_LEAST_1, Step, Tensor
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import is_name, nodes_in, once_a_node

_EARLY = regex(r"^_*(?:re)?(?:init|build|create|make|setup|set_up|register|load|from_|fuse|convert|prepare)")
"""Names of methods that are run while a Module is made ready."""
_MOVERS = frozenset({"to", "cuda", "cpu", "_apply"})


def _note_assigned(event: AttributeAssigned) -> None:
    frame, target = event.frame, event.node
    owner = frame.owner
    if owner is None or frame.depth or not is_name(target.value, "self") or not owner.is_module:
        return
    if not _registers_buffer(owner, target.attr) or _is_early(frame, owner) or leaves(owner, target.attr):
        return
    for conditions, value in alternatives(event.value, event.state.conditions):
        if isinstance(value, Tensor) and _stays(frame, value) and not frame.machine.is_without_accelerator(conditions):
            step = Step(f"`self.{target.attr}` is a buffer, which moves with the Module", target)
            buffer = Tensor(MODEL, AT_LEAST_1, (), (step,))
            operation = "the buffer that it takes the place of"
            frame.machine.emit(Mixed(frame, event.state, target, operation, (target, value), (target, buffer)))


def _registers_buffer(owner: ClassInfo, name: str) -> bool:
    """Whether ``__init__`` registers a buffer of this name."""
    inits = [one.methods["__init__"] for one in owner.mro if "__init__" in one.methods]
    return any(name in _buffers(each) for each in inits) and registers_by_name(owner, name)


@once_a_node
def _buffers(init: ast.AST) -> frozenset[str]:
    calls = (each for each in nodes_in(init, ast.Call) if dotted_path(each.func) == "self.register_buffer")
    named = (each.args[:1] or [one.value for one in each.keywords if one.arg == "name"] for each in calls)
    constants = (one for each in named for one in each if isinstance(one, ast.Constant))
    return frozenset(one.value for one in constants if isinstance(one.value, str))


def _is_early(frame: Frame, owner: ClassInfo) -> bool:
    """Whether the method is one for making the Module ready, or moves it, or nothing but ``__init__`` calls it."""
    name = getattr(frame.function, "name", "__init__")
    if frame.entry.kind == "init" or name.startswith("__") or _EARLY.match(name) or name in _MOVERS:
        return True
    return any(each in owner.all_methods for each in _MOVERS) or is_part_of_init(frame.machine, owner, name)


def _stays(frame: Frame, value: Tensor) -> bool:
    """Whether it was made here, with dimensions, of sizes alone, or was kept by ``__init__`` unregistered.

    What is made of data stays as well in a method that asks where the Module is: it is run later.
    """
    if value.parameter or value.moved or is_one_element(value) or not value.creations:
        return False
    if value.device.origin is Origin.KEPT:
        return True
    if value.device != DEFAULT or not value.ndim:
        return False
    return all(map(is_of_sizes, value.creations)) or (frame.function is not None and _asks(frame.function))


@once_a_node
def _asks(method: ast.AST) -> bool:
    """Whether a method reads the device of a part of its object: ``self.mask.device``."""
    asked = (dotted_path(each) or "" for each in nodes_in(method, ast.Attribute) if each.attr == "device")
    return any(each.startswith("self.") and each.count(".") == 2 for each in asked)


EVENTS = {AttributeAssigned: _note_assigned}
