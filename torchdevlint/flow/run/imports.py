"""Imports: what they bind, and what the other files of the project make of it."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import canonical, is_dtype_name
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.others import Imported, owner_of
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.touch import Touch
from torchdevlint.flow.state.values import UNKNOWN, Dtype, Ref, Value
from torchdevlint.source.imported import CUSTOMARY
from torchdevlint.source.nodes import once_a_node


def import_modules(frame: Frame, node: ast.Import, state: State) -> None:
    for alias in node.names:
        root = alias.name.partition(".")[0]
        bound = alias.name if alias.asname is not None else root
        state.env[alias.asname or root] = _module(frame, bound, 0) or Ref(bound)
        _note_touch(frame, node, state, alias.name, 0)


def import_names(frame: Frame, node: ast.ImportFrom, state: State) -> None:
    others = frame.machine.others
    path = others.locate(frame.closure, node.module or "", node.level) if others is not None else None
    for name, member, outside in _names_from(node):
        if member == "*":
            if frame.function is None and owner_of(frame.closure) is None:
                _note_star(frame, path)
        elif path is not None and isinstance(outside, Ref):
            state.env[name] = Imported(outside.name, path, member)
        else:
            state.env[name] = outside
    _note_touch(frame, node, state, node.module or "", node.level)


def _note_star(frame: Frame, path: str | None) -> None:
    if path is None:
        frame.machine.unseen_star = True
    else:
        frame.machine.stars.insert(0, path)


@once_a_node
def _names_from(node: ast.ImportFrom) -> tuple[tuple[str, str, Ref | Dtype], ...]:
    """The names that an import binds, those that it asks for, and what they are if no file of the project has them."""
    module = "." * node.level + (node.module or "")
    names = ((alias, canonical(f"{module}.{alias.name}")) for alias in node.names)
    return tuple(
        (alias.asname or alias.name, alias.name, Dtype() if is_dtype_name(full) else Ref(full)) for alias, full in names
    )


def _module(frame: Frame, name: str, level: int) -> Imported | None:
    others = frame.machine.others
    path = others.locate(frame.closure, name, level) if others is not None else None
    return None if path is None else Imported(name, path, "")


def resolve(frame: Frame, value: Value) -> Value:
    """What was imported, where a file of the project says it; the name alone where none does.

    The names of torch and of Python are given back as they are.
    """
    others = frame.machine.others
    if others is None or not isinstance(value, Imported):
        return value
    found = others.value(value)
    if found is None:
        return value if not value.member else Ref(value.name)
    return found if found != UNKNOWN else Ref(value.name)


def member(frame: Frame, module: Imported, name: str) -> Value | None:
    """``module.name`` for a module of the project, or None where its files do not say."""
    others = frame.machine.others
    if others is None or module.member:
        return None
    found = others.member(module.path, name, f"{module.name}.{name}")
    return None if found is None or found == UNKNOWN else resolve(frame, found)


def from_stars(frame: Frame, name: str) -> Value:
    """A name that its file does not bind: from a module of the project whose names that file imports with a star."""
    found = _from_seen_stars(frame, name)
    unseen = found == UNKNOWN and frame.machine.unseen_star and owner_of(frame.closure) is None
    return Ref(CUSTOMARY[name]) if unseen and name in CUSTOMARY else found


def _from_seen_stars(frame: Frame, name: str) -> Value:
    others = frame.machine.others
    if others is None:
        return UNKNOWN
    owner = owner_of(frame.closure)
    if owner is not None:
        found = others.member(owner.module.path, name, name) if owner.module.stars else None
        return UNKNOWN if found is None else resolve(frame, found)
    for path in frame.machine.stars:
        names = others.of(path)
        if names is not None and others.is_exported(names, name):
            found = others.member(path, name, name)
            if found is not None:
                return resolve(frame, found)
    return UNKNOWN


def _note_touch(frame: Frame, node: ast.Import | ast.ImportFrom, state: State, name: str, level: int) -> None:
    """An import that makes CUDA read the visible devices, which only matters where a file sets them."""
    others = frame.machine.others
    if others is None or state.touched is not None or not frame.machine.sets_visible_devices:
        return
    parts = name.split(".") if name else []
    names = [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
    if isinstance(node, ast.ImportFrom):
        names += [f"{name}.{alias.name}".lstrip(".") for alias in node.names]
    for each in names:
        path = others.locate(frame.closure, each, level)
        cause = others.touch_of(path) if path is not None else None
        if cause is not None:
            inside = cause.inside or (cause.text, frame.machine.span_of(cause.node))
            state.touched = Touch(node, f"import {'.' * level}{each}", cause.effect, inside)
            return
