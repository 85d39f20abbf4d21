"""Texts that name a device, or should: what is wrong with one, and what is known of one that is put together."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.state.devices import Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Const, Dev, Tensor, Value
from torchdevlint.patterns import regex

STRING = regex(r"([A-Za-z_]+)(?::(?:0|[1-9][0-9]*))?", re.ASCII)
_TYPE = regex(r"[A-Za-z]+", re.ASCII)
_DOUBLED = regex(r"cuda:(cuda|cpu)\b")
_BEGUN = regex(r"([A-Za-z]+):", re.ASCII)

Problem = tuple[str, str, str]
"""What is wrong, what was found, and what to write in its place, if that can be said."""


def of_text(text: str) -> Problem | None:
    """What is wrong with a device string; one that starts with a type which is not known may be another library's."""
    match, start = STRING.fullmatch(text), _TYPE.match(text)
    kind = start.group().lower() if start is not None else ""
    if match is not None:
        if match.group(1) in torch_api.DEVICE_TYPES:
            return None
        if match.group(1).lower() in torch_api.DEVICE_TYPES:
            return "type", match.group(1), f'"{text.lower()}"'
        return ("type", match.group(1), f'"cuda{text[len(kind) :]}"') if kind in torch_api.NO_DEVICE_TYPES else None
    if text.isdecimal():
        return "string", text, f'"cuda:{text}"'
    doubled = _DOUBLED.match(text)
    if doubled is not None:
        return "string", text, f'"{text[len("cuda:") :]}"' if of_text(text[len("cuda:") :]) is None else ""
    rest = text[len(kind) :]
    malformed = kind in ("cuda", "cpu", "mps", "xpu", "gpu") and not rest[:1].isalpha()
    return ("string", text, "") if malformed and start is not None and start.group() == kind else None


def begun(node: ast.expr, text_of: Callable[[ast.AST], str]) -> Problem | None:
    """What is wrong with the type of ``f"gpu:{i}"``, ``"gpu:" + n`` and ``"gpu:%d" % i``, whichever number follows."""
    start = _BEGUN.match(_beginning(node) or "")
    if start is None or start.group(1).lower() not in torch_api.NO_DEVICE_TYPES:
        return None
    return "type", start.group(1), text_of(node).replace(start.group(), "cuda:", 1)


def _beginning(node: ast.expr) -> str | None:
    """The literal text that a string starts with, of which a later part is not known."""
    if isinstance(node, ast.JoinedStr) and len(node.values) > 1:
        return _beginning(node.values[0])
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        return _beginning(node.left)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _beginning(node.func.value)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def spliced(frame: Frame, state: State, node: ast.expr) -> list[Value]:
    """``f"cuda:{device}"`` and ``"cuda:" + device`` as text, where all parts are known."""
    if isinstance(node, ast.JoinedStr):
        parts = [_text_of(frame, state, each) for each in node.values]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [_text_of(frame, state, node.left, added=True), _text_of(frame, state, node.right, added=True)]
    else:
        return []
    return [] if None in parts else [Const("".join(each for each in parts if each is not None))]


def _text_of(frame: Frame, state: State, node: ast.expr, added: bool = False) -> str | None:
    """The text that a part of a string becomes; what is `added` has to be a string itself."""
    if isinstance(node, ast.FormattedValue):
        if node.format_spec is not None or node.conversion != -1:
            return None
        node = node.value
    value = frame.evaluate(node, state)
    if isinstance(value, Const) and isinstance(value.value, str if added else (str, int)):
        return str(value.value)
    if not isinstance(value, Dev) or value.number or added:
        return None
    if value.device.origin is Origin.LITERAL:
        return value.device.name if value.device.index is None else f"{value.device.name}:{value.device.index}"
    of_tensor = isinstance(node, ast.Attribute) and isinstance(frame.evaluate(node.value, state), Tensor)
    return "cuda:0" if of_tensor else None
