"""What an operation says of a literal CUDA device that one of its operands comes from, here or elsewhere (TDL012).

The literal may stand in another function than the operation. What is named has to be bound where the literal stands.
"""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.checks.literals.given_devices import Given
from torchdevlint.flow.checks.literals.same_device import is_of_literal
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.brought_back import is_brought_back
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.scope.naming_cuda import names_cuda
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import MODEL, Device, literal
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import came_with_input
from torchdevlint.flow.state.values import Cls, Func, Obj, Tensor, Value
from torchdevlint.flow.vouch.devices import remembered
from torchdevlint.flow.vouch.elsewhere import devices_elsewhere, name_elsewhere, scope_of, stands_here
from torchdevlint.source.nodes import arguments_of, nodes_in, once_a_node

Put = tuple[ast.expr, ast.expr]
"""A literal CUDA device, and the operand that it put there."""


def by_operand(frame: Frame, put: Put, other: tuple[ast.expr, Value], text: str) -> Given | None:
    """What the operand `other` says of the literal that another one comes from; `text` is its own device."""
    node, value = other
    if is_of_literal(frame.function or frame.machine.tree, frame.owner, text):
        return None
    shown = Given(text, f"`{frame.machine.text_of(node)}` is used with it", node, meets=True)
    if stands_here(frame, put[0], node):
        return shown
    return _from_elsewhere(frame, put, shown, value.device if isinstance(value, Tensor) else MODEL)


def by_layer(frame: Frame, put: Put, node: ast.Call, path: str) -> Given | None:
    """What a layer says of the literal that its input comes from, if it is of a Module that no literal has moved."""
    if isinstance(frame.receiver, Obj) and frame.receiver.device == literal("cuda"):
        return None
    layer = f"next({path}.parameters()).device"
    if frame.owner is None or _is_something_imported(frame.owner, path) or _may_be_function(frame.owner, path):
        return None
    if is_of_literal(frame.function or frame.machine.tree, frame.owner, layer):
        return None
    shown = Given(layer, f"`{path}` is given it", node, meets=True)
    if not stands_here(frame, put[0]):
        return _from_elsewhere(frame, put, shown, MODEL)
    input_ = frame.tensor_names[0] if frame.tensor_names else ""
    comes_moved = not input_ or input_ in _moved_by_name(frame.function or frame.machine.tree)
    return shown if comes_moved else replace(shown, text=f"{input_}.device")


def _is_something_imported(owner: ClassInfo, path: str) -> bool:
    """Whether a class keeps a class or function of another library under a path: ``self.prior = dist.Normal``."""
    held = ((info, value) for info in owner.mro for value in values_by_path(info.node).get(path, ()))
    return any(not isinstance(value, ast.Call) and info.public_name(value) is not None for info, value in held)


def _may_be_function(owner: ClassInfo, path: str) -> bool:
    """Whether a class keeps, in some case, a function of this file under a path, which has no parameters to be at."""
    held = (value for info in owner.mro for value in values_by_path(info.node).get(path, ()))
    return any(isinstance(each, ast.Lambda) or isinstance(_meant(owner, each), Func) for each in held)


def _meant(owner: ClassInfo, node: ast.expr) -> Value | None:
    """What a name, or one method of a class of this file, means where a class stands."""
    first, _, method = (dotted_path(node) or "").partition(".")
    found = Cls(owner) if first == "self" else owner.found(node)
    return found.info.method(method, None) if isinstance(found, Cls) and method else found


@once_a_node
def _moved_by_name(scope: ast.AST) -> frozenset[str]:
    """What a function sends to CUDA by name: where it came from, it was not where the function wants it."""
    calls = [each for each in nodes_in(scope, ast.Call) if isinstance(each.func, ast.Attribute)]
    return frozenset(dotted_path(each.func.value) or "" for each in calls if names_cuda(each) is not None)  # type: ignore[attr-defined]


def by_call(frame: Frame, state: State, node: ast.expr) -> Given | None:
    """Where a tensor came from that a function gave, which had brought it to the CPU: the one thing it was given."""
    bound = values_by_path(frame.function or frame.machine.tree).get(dotted_path(node) or "", [node])
    call = bound[0] if len(bound) == 1 else None
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
        call = call.func.value
    if not isinstance(call, ast.Call):
        return None
    given = arguments_of(call)
    paths = [dotted_path(each) for each in given if came_with_input(frame.evaluate(each, state))]
    return Given(f"{paths[0]}.device", f"`{paths[0]}` came from there", call) if len(paths) == 1 and paths[0] else None


def _from_elsewhere(frame: Frame, put: Put, shown: Given, wanted: Device) -> Given | None:
    """What can be said at the literal, which stands elsewhere, of what `shown` shows here.

    That is the device that it has to be, or else by what name it comes together with something that is there.
    """
    place, around = put[0], remembered(frame, put[0])
    if around is None or _is_brought_back(frame, place) or _leads_to_what_is_moved(frame):
        return None
    texts = list(devices_elsewhere(frame, around, place, wanted, shown.text))
    for text in texts:
        if not is_of_what_moves(text, place) and not is_of_literal(scope_of(frame, place), around.owner, text):
            return replace(shown, text=text)
    if texts:
        return None
    named = name_elsewhere(frame, around, *put)
    return None if named is None else replace(shown, text=named[0], kind=named[1])


def _leads_to_what_is_moved(frame: Frame) -> bool:
    """Whether the way here goes through a model of an object whose class sends that to CUDA by name as well."""
    while frame.called_at is not None:
        call, frame = frame.called_at
        path = dotted_path(call.func) if isinstance(call, ast.Call) else None
        if path is not None and frame.owner is not None and path in _moved_by_name(frame.owner.node):
            return path.startswith("self.")
    return False


def _is_brought_back(frame: Frame, place: ast.AST) -> bool:
    """Whether the function here brings to the CPU, in some case, what the one with the literal has given it."""
    here, called = frame.function, getattr(scope_of(frame, place), "name", "")
    calls = nodes_in(here, ast.Call) if here is not None and called else ()
    return here is not None and any(last_name(each.func) == called and is_brought_back(here, each) for each in calls)


def is_of_what_moves(text: str, place: ast.AST) -> bool:
    """Whether a device is that of the very tensor that is moved, ``x.cuda()``: where it came from says nothing."""
    receiver = place.func.value if isinstance(place, ast.Call) and isinstance(place.func, ast.Attribute) else None
    path = None if receiver is None else dotted_path(receiver)
    return path is not None and text == f"{path}.device"
