"""Tensors that a Module keeps as plain attributes beside a buffer that is made alike (TDL101).

``self.register_buffer("cos", angles.cos())`` beside ``self.sin = angles.sin()``: who reads the one reads the other, and
the Module moves the buffer alone. It is seen where the Module is made, be it in a method that its ``__init__`` calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec.structs import replace

from torchdevlint.flow.checks.registration.kept_together import leaves
from torchdevlint.flow.checks.registration.put_with_buffers import reads_of_own
from torchdevlint.flow.checks.registration.registering import may_move_along
from torchdevlint.flow.events import FunctionEnded, Mixed
from torchdevlint.flow.facts.tensors import KEPT
from torchdevlint.flow.kinds.construction import is_part_of_init
from torchdevlint.flow.scope.like_buffers import Like, like_buffers
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import MODEL, UNREGISTERED, stays_behind
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import AT_LEAST_1, Site, Step, Tensor
from torchdevlint.source.nodes import nodes_in


def _note_end(event: FunctionEnded) -> None:
    """A method of the Module that reads such an attribute, be it one that a derived class keeps."""
    frame, owner, method = event.frame, event.frame.owner, event.frame.function
    if owner is None or not owner.is_module or frame.depth or not isinstance(method, ast.FunctionDef):
        return
    if "register_buffer" not in frame.machine.words or method.name == "__init__" or frame.entry.kind == "init":
        return
    for each in frame.machine.classes.values():
        is_read_so = owner in each.mro and each.all_methods.get(method.name, (None, None))[1] is method
        for target, buffer in _kept_when_made(each) if is_read_so else ():
            read = next((one for one in reads_of_own(method) if one.attr == target.attr), None)
            if read is None or not _stays(each, target.attr) or is_part_of_init(frame.machine, each, method.name):
                continue
            there = Tensor(MODEL, AT_LEAST_1, (), (Step("registered here, and made alike", buffer),))
            stayed = _kept(frame, each, target)
            frame.machine.emit(Mixed(frame, event.state, read, KEPT, (read, stayed), (buffer, there)))


def _kept_when_made(owner: ClassInfo) -> Iterator[Like]:
    """What ``__init__`` of a class, or a method that this calls, keeps beside a buffer that is made alike."""
    for name, (_, method) in owner.all_methods.items():
        likes = like_buffers(method) if isinstance(method, ast.FunctionDef) else ()
        if likes and _is_run_when_made(owner, name):
            yield from likes


def _is_run_when_made(owner: ClassInfo, name: str) -> bool:
    """Whether ``__init__`` is the method, or calls it, be it that of a base which that of the class calls.

    What is kept later may be kept in its place.
    """
    inits = [each.methods["__init__"] for each in owner.mro if "__init__" in each.methods]
    for init in inits if name != "__init__" else ():
        called = [each.func for each in nodes_in(init, ast.Call) if isinstance(each.func, ast.Attribute)]
        if any(dotted_path(each) == f"self.{name}" for each in called):
            return True
        if not any(each.attr == "__init__" for each in called):
            return False
    return name == "__init__"


def _stays(owner: ClassInfo, name: str) -> bool:
    """Whether the methods in force write it once and do not spell its name, and nothing moves it or reads it there."""
    methods = [method for _, method in owner.all_methods.values()]
    written = [each for method in methods for each in nodes_in(method, ast.Attribute) if _is_written(each, name)]
    again = {id(call.args[0]) for method in methods for call in _registered_later(method)}
    spelled = (each.value for method in methods for each in nodes_in(method, ast.Constant) if id(each) not in again)
    if len(written) != 1 or any(each == name for each in spelled):
        return False
    return not (may_move_along(owner, name) or leaves(owner, name))


def _registered_later(method: ast.AST) -> Iterator[ast.Call]:
    """What `forward` registers under a test: ``if n > self.length: self.register_buffer("cos", angles.cos())``."""
    if getattr(method, "name", "") == "forward":
        calls = (each for test in nodes_in(method, ast.If) for each in nodes_in(test, ast.Call) if each.args)
        yield from (each for each in calls if dotted_path(each.func) == "self.register_buffer")


def _is_written(node: ast.Attribute, name: str) -> bool:
    return node.attr == name and not isinstance(node.ctx, ast.Load) and dotted_path(node) == f"self.{name}"


def _kept(frame: Frame, owner: ClassInfo, target: ast.Attribute) -> Tensor:
    """What the attribute holds, with where that was made, as for whoever combines it with another tensor."""
    value = owner.attributes.get(target.attr)
    held = [] if value is None else [each for _, each in alternatives(value)]
    found = next((each for each in held if isinstance(each, Tensor) and each.creations), None)
    if found is not None:
        return found if stays_behind(found.device) else replace(found, device=UNREGISTERED)
    site = Site(target, "", "init", frame.scope, False, None)
    return Tensor(UNREGISTERED, AT_LEAST_1, (site,), (Step(f"kept as `self.{target.attr}`", target),))


SAYING = ("register_buffer",)
EVENTS = {FunctionEnded: _note_end}
