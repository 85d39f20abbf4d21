"""Placements that ignore what the code knows: a literal CUDA device beside a known one, and reads by the host."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from torchdevlint.flow.devices import CPU, Device, Origin
from torchdevlint.flow.facts import IgnoresGivenDevice, Operand, ReadOnHost
from torchdevlint.flow.machine import Frame, State
from torchdevlint.flow.names import dotted_path
from torchdevlint.flow.values import Dev, Tensor, Value

_ABOUT_ACCELERATORS = re.compile(r"cuda|gpu|device|is_available", re.IGNORECASE)
HOST_LIBRARIES = ("numpy.", "matplotlib.", "sklearn.", "scipy.", "cv2.", "PIL.", "pandas.", "skimage.", "seaborn.")
"""What reads a tensor through NumPy."""
_READS_NOTHING = frozenset("shape size ndim prod".split())


def note_literal(frame: Frame, state: State, node: ast.AST) -> None:
    """A move to, or creation on, CUDA by name, where the code says elsewhere which device it has to be (TDL012)."""
    text = _names_cuda(node)
    if text is None or not isinstance(node, ast.Call) or _is_what_it_is_for(frame):
        return
    if not _is_guarded(state):
        frame.machine.literals.add(node)
    found = _of_guard(state, node) or _up_again(frame, node, state)
    if found is None and not _is_guarded(state):
        found = _at_hand(frame, state, node)
    if found is not None:
        _record(frame, state, node, text, *found)


def note_mixed(frame: Frame, state: State, one: tuple[ast.expr, Tensor], other: tuple[ast.expr, Tensor]) -> None:
    """An operation of a tensor that was put on CUDA by name, and one whose device only its owner knows (TDL012)."""
    for (_, placed), (node, given) in ((one, other), (other, one)):
        if placed.device.origin is not Origin.LITERAL or given.device.origin not in (Origin.MODEL, Origin.ARGUMENT):
            continue
        place = placed.steps[-1].node if placed.steps and not placed.steps[-1].of_module else None
        text = _names_cuda(place) if place is not None else None
        if text is None or place not in frame.machine.literals or not isinstance(place, ast.Call):
            continue
        expression = frame.machine.text_of(node)
        _record(frame, state, place, text, f"{expression}.device", f"`{expression}` is used with it", node)


def _record(frame: Frame, state: State, node: ast.AST, text: str, given: str, why: str, place: ast.AST) -> None:
    machine = frame.machine
    machine.record(
        ("literal", node),
        lambda: IgnoresGivenDevice(machine.span_of(node), text, given, why, machine.span_of(place)),
        state,
    )


def _is_what_it_is_for(frame: Frame) -> bool:
    """In an override of ``cuda`` or ``to``."""
    return getattr(frame.function, "name", "") in ("cuda", "to", "_apply")


def _names_cuda(node: ast.AST) -> str | None:
    """The part of a call that names CUDA: ``.cuda()``, ``"cuda"``, ``torch.cuda.FloatTensor``; None if none does."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
        given = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "device")]
        return ".cuda()" if not given else None
    for each in (*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "device")):
        value = each.args[0] if isinstance(each, ast.Call) and each.args and _is_device(each) else each
        if isinstance(value, ast.Constant) and value.value in ("cuda", "cuda:0"):
            return f'"{value.value}"'
    path = dotted_path(node.func) or ""
    if any(keyword.arg == "device" for keyword in node.keywords):
        return None
    return path if ".cuda." in path and path.endswith("Tensor") else None


def _is_device(node: ast.Call) -> bool:
    return (dotted_path(node.func) or "").endswith("device")


def _is_guarded(state: State) -> bool:
    """Whether a test that asks for an accelerator, in whatever words, encloses the place."""
    return state.guarded or any(_ABOUT_ACCELERATORS.search(key) for key, _ in state.conditions)


def _of_guard(state: State, node: ast.Call) -> tuple[str, str, ast.AST] | None:
    """``if x.is_cuda: y = y.cuda()``: the right device is that of `x`."""
    if state.cuda_of is None:
        return None
    path = dotted_path(state.cuda_of)
    moved = dotted_path(node.func.value) if isinstance(node.func, ast.Attribute) else None
    if path is None or path == moved:
        return None
    return f"{path}.device", f"the test asks where `{path}` is", state.cuda_of


def _up_again(frame: Frame, node: ast.Call, state: State) -> tuple[str, str, ast.AST] | None:
    """``x.cpu().f().cuda()``: the right device is the one that `x` came from."""
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    value = frame.evaluate(receiver, state) if receiver is not None else None
    if not isinstance(value, Tensor) or value.device != CPU or len(value.steps) < 2:
        return None
    down = value.steps[-1].node
    source = down.func.value if isinstance(down, ast.Call) and isinstance(down.func, ast.Attribute) else None
    path = dotted_path(_stem(source)) if source is not None else None
    return None if path in (None, "self") else (f"{path}.device", f"`{path}` came from there", down)


def _stem(node: ast.expr) -> ast.expr:
    """The name or attribute that a chain of method calls starts with."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node


def _at_hand(frame: Frame, state: State, node: ast.Call) -> tuple[str, str, ast.AST] | None:
    """An expression for the right device that is used around the place, or given to the function."""
    if frame.function is not None:
        for name, value in state.env.items():
            if isinstance(value, Dev) and value.device.origin is Origin.EXPRESSION and value.device.name == name:
                return name, f"the function is given `{name}`", frame.function
    scope = frame.function or frame.machine.tree
    for each in devices_in(scope) if scope is not None else ():
        if not _is_literal(frame, each, state):
            path = dotted_path(each) or ""
            return path, f"`{path}` is used beside it", each
    owner = frame.owner
    if owner is None:
        return None
    for each in (found for info in owner.mro for found in devices_in(info.node)):
        if dotted_path(each) == "self.device" and not _is_literal(frame, each, state):
            return "self.device", "the object knows its device", each
    return None


@lru_cache(maxsize=512)
def devices_in(scope: ast.AST) -> tuple[ast.expr, ...]:
    """The attributes that a function, class or file gives to ``.to(..)`` or ``device=``, such as ``args.device``."""
    found: list[ast.expr] = []
    for node in ast.walk(scope):
        if not isinstance(node, ast.Call):
            continue
        given = [keyword.value for keyword in node.keywords if keyword.arg == "device"]
        if isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            given += node.args[:1]
        found += [
            each for each in given if isinstance(each, ast.Attribute) and each.attr == "device" and dotted_path(each)
        ]
    return tuple(found)


def _is_literal(frame: Frame, node: ast.expr, state: State) -> bool:
    """Whether the device that is at hand is the same literal, or the CPU."""
    value = frame.evaluate(node, state)
    return not isinstance(value, Dev) or value.device.origin in (Origin.LITERAL, Origin.DEFAULT, Origin.TOP)


def note_host_read(
    frame: Frame, state: State, node: ast.Call, value_node: ast.expr, value: Tensor, forced: bool = False
) -> None:
    """``t.numpy()`` or ``np.f(t)`` where `t` is on an accelerator (TDL006)."""
    if forced or not _is_off_host(value.device):
        return
    machine = frame.machine
    machine.record(
        ("host", node),
        lambda: ReadOnHost(
            machine.span_of(node),
            machine.text_of(node),
            Operand(
                machine.text_of(value_node),
                value.device.describe(),
                machine.span_of(value_node),
                machine.evidence(value.steps),
            ),
            value.parameter,
        ),
        state,
    )


def reads_on_host(name: str) -> bool:
    """Whether a library function turns its tensors into arrays."""
    return name.startswith(HOST_LIBRARIES) and name.rpartition(".")[2] not in _READS_NOTHING


def note_library_read(frame: Frame, state: State, node: ast.Call, operands: list[tuple[ast.expr, Value]]) -> None:
    """A call of NumPy, matplotlib and their kin with a tensor of an accelerator among its arguments."""
    for value_node, value in operands:
        if isinstance(value, Tensor):
            note_host_read(frame, state, node, value_node, value)


def _is_off_host(device: Device) -> bool:
    if device.origin is Origin.LITERAL:
        return device.name not in ("cpu", "meta")
    return device.origin in (Origin.MODEL, Origin.EXPRESSION)
