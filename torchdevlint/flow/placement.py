"""Placements that ignore what the code knows: a literal CUDA device beside a known one, and reads by the host."""

from __future__ import annotations

import ast
import re

from torchdevlint.flow.arguments import Arguments
from torchdevlint.flow.devices import Device, Origin
from torchdevlint.flow.facts import IgnoresGivenDevice, Operand, ReadOnHost
from torchdevlint.flow.machine import Frame, State
from torchdevlint.flow.names import dotted_path
from torchdevlint.flow.values import Dev, Tensor

_ABOUT_ACCELERATORS = re.compile(r"cuda|gpu|device|is_available", re.IGNORECASE)
HOST_LIBRARIES = ("numpy.", "matplotlib.", "sklearn.", "scipy.", "cv2.", "PIL.", "pandas.", "skimage.", "seaborn.")
"""What reads a tensor through NumPy."""
_READS_NOTHING = frozenset("shape size ndim prod".split())


def note_literal(frame: Frame, state: State, node: ast.AST) -> None:
    """A move to, or creation on, CUDA by name, where the right device is at hand (TDL012)."""
    text = _names_cuda(node)
    if text is None or frame.function is None or not isinstance(node, ast.Call):
        return
    found = _of_guard(state, node) or (None if _is_guarded(state) else _at_hand(frame, state, node))
    if found is None:
        return
    given, why, place = found
    machine = frame.machine
    machine.record(
        ("literal", node),
        lambda: IgnoresGivenDevice(machine.span_of(node), text, given, why, machine.span_of(place)),
        state,
    )


def _names_cuda(node: ast.AST) -> str | None:
    """The part of a call that names CUDA: ``.cuda()``, ``"cuda"``, ``torch.cuda.FloatTensor``; None if none does."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
        given = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "device")]
        return ".cuda()" if not given or isinstance(given[0], ast.Constant) else None
    for each in (*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "device")):
        value = each.args[0] if isinstance(each, ast.Call) and each.args and _is_device(each) else each
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value.startswith("cuda"):
            return f'"{value.value}"'
    path = dotted_path(node.func) or ""
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


def _at_hand(frame: Frame, state: State, node: ast.Call) -> tuple[str, str, ast.AST] | None:
    """An expression for the right device that the function has: an argument, its own device, a tensor argument."""
    assert frame.function is not None
    root = _root(node)
    for name, value in state.env.items():
        if isinstance(value, Dev) and value.device.origin is Origin.EXPRESSION and value.device.name == name:
            return name, f"the function is given `{name}`", frame.function
    owner = frame.owner
    if owner is not None and any("device" in info.writers or "device" in info.methods for info in owner.mro):
        return "self.device", "the object knows its device", owner.node
    if frame.context not in ("forward", "method", "function"):
        return None
    for name in frame.tensor_names:
        if name != root:
            return f"{name}.device", f"the argument `{name}` is a tensor", frame.function
    return None


def _root(node: ast.Call) -> str | None:
    """The name that a chain of calls and attributes starts with."""
    part: ast.AST = node.func
    while not isinstance(part, ast.Name):
        if isinstance(part, (ast.Attribute, ast.Subscript)):
            part = part.value
        elif isinstance(part, ast.Call):
            part = part.func
        else:
            return None
    return part.id


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


def note_library_read(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments) -> None:
    """A call of NumPy, matplotlib and their kin with a tensor of an accelerator among its arguments."""
    if not name.startswith(HOST_LIBRARIES) or name.rpartition(".")[2] in _READS_NOTHING:
        return
    for value_node, value in arguments.pairs:
        if isinstance(value, Tensor) and not value.opaque:
            note_host_read(frame, state, node, value_node, value)


def _is_off_host(device: Device) -> bool:
    if device.origin is Origin.LITERAL:
        return device.name not in ("cpu", "meta")
    return device.origin in (Origin.MODEL, Origin.EXPRESSION)
